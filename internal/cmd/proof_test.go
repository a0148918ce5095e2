package cmd

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/understudy-ai/understudy/internal/config"
)

// told is one request of a script: what the client sent, and what went upstream.
type told struct {
	sent, out []string // raw messages
}

// script plays conversations against a server that learns meanwhile.
type script struct {
	t    *testing.T
	app  *app
	last func() []byte // newest body upstream
	all  []told
}

// ask sends a history, and holds that whatever any earlier request of the
// conversation shares with it went out as it does now.
func (s *script) ask(what string, history []string) {
	s.t.Helper()
	body := `{"model":"auto","messages":[` + strings.Join(history, ",") + `]}`
	resp := post(s.t, s.app, body, "X-User-Id", "ana", "X-Session-Id", "one")
	if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: HTTP %d, %v", what, resp.StatusCode, err)
	}
	now := told{sent: history, out: raws(gjson.GetBytes(s.last(), "messages").Array())}
	for i, before := range s.all {
		n := 0
		for n < min(len(before.sent), len(now.sent)) && before.sent[n] == now.sent[n] {
			n++
		}
		if diff := cmp.Diff(before.out[:n], now.out[:n]); diff != "" {
			s.t.Errorf("%s: the first %d messages differ from those of request %d (-then +now):\n%s", what, n, i, diff)
		}
	}
	s.all = append(s.all, now)
}

// learn has the user say something in another conversation.
func (s *script) learn(said string) {
	s.t.Helper()
	resp := post(s.t, s.app, `{"model":"auto","messages":[`+message("user", said)+`]}`, "X-User-Id", "ana", "X-Session-Id", "other", "X-Context-Mode", "none")
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		s.t.Fatal(err)
	}
	if err := s.app.memory.Sync(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
}

func message(role, content string) string {
	b, _ := json.Marshal(map[string]string{"role": role, "content": content}) // strings always marshal
	return string(b)
}

// TestScriptedConversation plays twenty human turns while memory grows, with
// answers regenerated, a history edited by the client, branches from earlier
// turns, a second client in the same conversation, and restarts in between.
// What went out for a turn goes out the same with it ever after.
func TestScriptedConversation(t *testing.T) {
	noLeaks(t)
	a, upstream := start(t, func(*config.Config) {})
	cfg := a.cfg
	s := &script{t: t, app: a, last: func() []byte { return upstream.Last().Body }}
	tally := func() {
		t.Helper()
		if got := prefixRatio(t, s.app); got != 1 {
			t.Errorf("prompt_prefix_kept_ratio = %v, want 1", got)
		}
	}
	restart := func() {
		t.Helper()
		tally()
		closeApp(t, s.app)
		var err error
		if s.app, err = startApp(t.Context(), cfg, IO{}, slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(err)
		}
	}
	topics := strings.Fields("ledger billing payroll checkout search catalogue inbox calendar reporting identity shipping returns pricing inventory support newsletter mobile partner archive telemetry")
	tools := strings.Fields("PostgreSQL Kafka NATS Redis SQLite ClickHouse RabbitMQ Elasticsearch Terraform Kubernetes Nomad Prometheus Grafana Vault MinIO Envoy Temporal Airflow DuckDB etcd")
	s.learn("I prefer answers as short bullet points.")

	history := []string{message("system", "You are a helpful engineer.")}
	var branch []string
	for i, topic := range topics {
		s.learn(fmt.Sprintf("We decided to use %s for the %s service.", tools[i], topic))
		question := fmt.Sprintf("Which tool do we use for the %s service?", topic)
		if i%4 == 3 {
			question = fmt.Sprintf("Compare %s and %s for the %s service: pros and cons, and the trade-offs?", tools[i], tools[i-1], topic)
		}
		history = append(history, message("user", question))
		s.ask(fmt.Sprint("turn ", i+1), history)
		switch i {
		case 4:
			s.ask("turn 5 regenerated", history)
		case 6:
			branch = append(slices.Clone(history[:5]), message("user", "And what of the payroll service instead?"))
			s.ask("branch from turn 2", branch)
		case 8:
			restart()
			s.ask("turn 9 after a restart", history)
		case 10:
			branch = append(branch, message("assistant", "Noted."), message("user", "Which tool for billing?"))
			s.ask("second client, on the branch", branch)
		case 12:
			edited := slices.Clone(history)
			edited[3] = message("user", "Which tool did we use for billing, again?")
			s.ask("history edited at turn 2", edited)
		case 14:
			history = append(history, `{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"look","arguments":"{}"}}]}`,
				`{"role":"tool","tool_call_id":"c1","content":"It is `+tools[i]+`."}`)
			s.ask("turn 15, a step of a tool loop", history)
		case 16:
			restart()
		}
		history = append(history, message("assistant", "It is "+tools[i]+"."))
	}
	tally()
	closeApp(t, s.app)
	if text := strings.Join(s.all[len(s.all)-1].out, ""); strings.Count(text, "<understudy-context>") < 3 {
		t.Errorf("the last request carries few additions:\n%s", text)
	}
}

func prefixRatio(t *testing.T, a *app) float64 {
	t.Helper()
	families, err := a.metrics.Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "understudy_prompt_prefix_kept_ratio" {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatal("the metric is missing")
	return 0
}

// TestFlagOff holds that with assembly off, by the environment or the
// configuration, not a byte of any message differs from what the client sent,
// whatever is remembered, and that otherwise memory and scaffold are there.
func TestFlagOff(t *testing.T) {
	noLeaks(t)
	const messages = `[ {"role":"system","content":"Be \u0062rief.","cache_control":{"type":"ephemeral"}},` +
		`{"role":"user","content":[{"type":"text","text":"Compare Redis and NATS for our event bus: pros and cons?"}]} ]`
	tests := []struct {
		name string
		opts config.Options
		want bool
	}{
		{"UNDERSTUDY_PROMPT_ASSEMBLER=0", config.Options{Env: []string{"UNDERSTUDY_PROMPT_ASSEMBLER=0"}}, false},
		{"UNDERSTUDY_PROMPT_ASSEMBLER=false", config.Options{Env: []string{"UNDERSTUDY_PROMPT_ASSEMBLER=false"}}, false},
		{"assemble.enabled: false", config.Options{Flags: map[string]string{"assemble.enabled": "false"}}, false},
		{"UNDERSTUDY_PROMPT_ASSEMBLER=1", config.Options{Env: []string{"UNDERSTUDY_PROMPT_ASSEMBLER=1"}}, true},
		{"unset", config.Options{}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			loaded, err := config.Load(tt.opts)
			if err != nil {
				t.Fatal(err)
			}
			a, upstream := start(t, func(c *config.Config) { c.Assemble = loaded.Config.Assemble })
			defer closeApp(t, a)
			s := &script{t: t, app: a}
			s.learn("We decided to use NATS for the event bus.")
			post(t, a, `{"model":"auto","messages":`+messages+`,"temperature":1.0}`, "X-User-Id", "ana", "X-Tier", "light")
			body := string(upstream.Last().Body)
			if got := !strings.HasSuffix(body, `,"messages":`+messages+`,"temperature":1.0}`); got != tt.want {
				t.Errorf("messages changed: %v, want %v: %s", got, tt.want, body)
			}
			if got := strings.Contains(body, "understudy-context"); got != tt.want {
				t.Errorf("assembled: %v, want %v: %s", got, tt.want, body)
			}
		})
	}
}
