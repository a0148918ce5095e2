package cmd

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/understudy-ai/understudy/assemble"
	"github.com/understudy-ai/understudy/internal/config"
)

// TestConversationGoesOnAfterRestart restarts in the middle of a conversation
// whose memory grows: what was sent before is sent again, byte for byte, until
// its user is forgotten.
func TestConversationGoesOnAfterRestart(t *testing.T) {
	noLeaks(t)
	const (
		first  = `{"role":"user","content":"Compare Redis and NATS for our event bus: pros and cons?"}`
		second = first + `,{"role":"assistant","content":"NATS."},{"role":"user","content":"And what of the ledger service?"}`
		third  = second + `,{"role":"assistant","content":"PostgreSQL."},{"role":"user","content":"Thanks."}`
	)
	a, upstream := start(t, func(*config.Config) {})
	cfg := a.cfg
	send := func(messages string) []gjson.Result {
		t.Helper()
		resp := post(t, a, `{"model":"auto","messages":[`+messages+`]}`, "X-User-Id", "ana", "X-Session-Id", "one")
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatal(err)
		}
		return gjson.GetBytes(upstream.Last().Body, "messages").Array()
	}
	learn := func(said string) {
		t.Helper()
		post(t, a, `{"model":"auto","messages":[{"role":"user","content":"`+said+`"}]}`, "X-User-Id", "ana", "X-Session-Id", "other")
		if err := a.memory.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	restart := func() {
		t.Helper()
		var err error
		if a, err = startApp(t.Context(), cfg, IO{}, slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(err)
		}
	}

	learn("We decided to use NATS for the event bus of the shop.")
	send(first)
	learn("We decided to use PostgreSQL for the ledger service.")
	two := send(second)
	if text := two[0].Raw + two[3].Raw; !strings.Contains(text, "NATS for the event") || !strings.Contains(text, "PostgreSQL for the ledger") {
		t.Fatalf("memory is not in %s", text)
	}
	closeApp(t, a)
	restart()
	three := send(third)
	if diff := cmp.Diff(raws(two), raws(three[:len(two)])); diff != "" {
		t.Errorf("after the restart (-before +after):\n%s", diff)
	}

	req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, strings.TrimSuffix(a.url(), "/v1")+"/api/users/ana", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("forgetting ana: %v, %v", resp, err)
	}
	resp.Body.Close()
	files, err := filepath.Glob(filepath.Join(cfg.DataDir, promptsFile+"*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no file of prompts: %v", err)
	}
	for _, path := range files {
		if raw, err := os.ReadFile(path); err != nil || strings.Contains(string(raw), "ledger service") {
			t.Errorf("%s still holds what ana said (%v)", path, err)
		}
	}
	closeApp(t, a)
	restart()
	for _, m := range send(third) {
		if strings.Contains(m.Raw, "PostgreSQL for the ledger") {
			t.Errorf("what was forgotten came again: %s", m.Raw)
		}
	}
	closeApp(t, a)
}

func raws(messages []gjson.Result) (out []string) {
	for _, m := range messages {
		out = append(out, m.Raw)
	}
	return out
}

func TestIdentityFilesAreReadAgain(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	agent := &agentTexts{dir: dir, speech: true, persona: &assemble.Persona{Name: "Ada", Text: "Brief."}, logger: slog.New(slog.DiscardHandler)}
	write("ROLE.md", "Answer.")
	write("SOUL.md", "You are Atlas.")
	write("NOTES.md", "Not for prompts.")
	if err := agent.open(); err != nil {
		t.Fatal(err)
	}
	later := func() { // as if textsAge had passed
		s := *agent.state.Load()
		s.looked = s.looked.Add(-textsAge)
		agent.state.Store(&s)
	}
	steps := []struct {
		name   string
		change func()
		want   []assemble.IdentityFile
	}{
		{"as opened, in order", func() {}, []assemble.IdentityFile{{Name: "SOUL.md", Text: "You are Atlas."}, {Name: "ROLE.md", Text: "Answer."}}},
		{"changed, not yet looked at", func() { write("SOUL.md", "You are Ada, at last.") }, []assemble.IdentityFile{{Name: "SOUL.md", Text: "You are Atlas."}, {Name: "ROLE.md", Text: "Answer."}}},
		{"changed", later, []assemble.IdentityFile{{Name: "SOUL.md", Text: "You are Ada, at last."}, {Name: "ROLE.md", Text: "Answer."}}},
		{"one more", func() { write("SPEECH.md", "Slowly."); later() }, []assemble.IdentityFile{{Name: "SOUL.md", Text: "You are Ada, at last."}, {Name: "ROLE.md", Text: "Answer."}, {Name: "SPEECH.md", Text: "Slowly."}}},
		{"too large, as before", func() { write("ROLE.md", strings.Repeat("x", maxText+1)); later() }, []assemble.IdentityFile{{Name: "SOUL.md", Text: "You are Ada, at last."}, {Name: "ROLE.md", Text: "Answer."}, {Name: "SPEECH.md", Text: "Slowly."}}},
		{"one gone", func() { os.Remove(filepath.Join(dir, "ROLE.md")); later() }, []assemble.IdentityFile{{Name: "SOUL.md", Text: "You are Ada, at last."}, {Name: "SPEECH.md", Text: "Slowly."}}},
	}
	edition := map[uint64]string{}
	for _, step := range steps {
		step.change()
		got := agent.now()
		if diff := cmp.Diff(step.want, got.Identity); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
		text := fmt.Sprint(got.Identity)
		if before, ok := edition[got.Edition]; ok && before != text {
			t.Errorf("%s: edition %d stands for other texts, too", step.name, got.Edition)
		}
		edition[got.Edition] = text
	}
	if len(edition) != 4 {
		t.Errorf("%d editions, want 4", len(edition))
	}
}

// TestForgottenOffline holds that a user who is forgotten while no server runs
// is gone from what conversations were told, and nobody else is.
func TestForgottenOffline(t *testing.T) {
	noLeaks(t)
	a, _ := start(t, func(*config.Config) {})
	for _, user := range []string{"ana", "bob"} {
		post(t, a, `{"model":"auto","messages":[{"role":"user","content":"We decided to use NATS for the shop of `+user+`."}]}`, "X-User-Id", user, "X-Session-Id", "one")
		if err := a.memory.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		post(t, a, `{"model":"auto","messages":[{"role":"user","content":"What of the shop?"}]}`, "X-User-Id", user, "X-Session-Id", "two")
	}
	closeApp(t, a)
	held := func() string {
		raw, err := os.ReadFile(filepath.Join(a.cfg.DataDir, promptsFile))
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	if text := held(); !strings.Contains(text, "shop of ana") || !strings.Contains(text, "shop of bob") {
		t.Fatal("the file of prompts doesn't hold what was told")
	}
	ofAna := func(whose assemble.Conversation, _ []string) bool { return whose.User == "ana" }
	if err := dropPrompts(t.Context(), a.cfg.DataDir, ofAna); err != nil {
		t.Fatal(err)
	}
	if text := held(); strings.Contains(text, "shop of ana") || !strings.Contains(text, "shop of bob") {
		t.Error("the file of prompts holds ana's, or bob's no more")
	}
}

// TestReviewExpects holds that the review of a channel misses what the agent's
// configuration promises, and what found no room.
func TestReviewExpects(t *testing.T) {
	noLeaks(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "SOUL.md"), []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a, _ := start(t, func(c *config.Config) {
		c.Assemble.MaxSystemChars = 300
		c.Agents = map[string]config.Agent{"bot": {IdentityDir: dir, Persona: config.Persona{Name: "Ada", Text: strings.Repeat("Never guess. ", 20)}}}
	})
	defer closeApp(t, a)
	for _, text := range []string{"We decided to use NATS for the event bus.", "Which bus?"} {
		resp := post(t, a, `{"model":"auto","messages":[{"role":"user","content":"`+text+`"}]}`, "X-Channel-Id", "ops", "X-Agent-Id", "bot", "X-Session-Id", text)
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatal(err)
		}
		if err := a.memory.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(path, []byte("agents: {bot: {identity_dir: "+dir+", persona: {name: Ada, text: Brief.}}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := runReview(t.Context(), []string{"-config", path, "-url", strings.TrimSuffix(a.url(), "/v1"), "-channel", "ops", "-json"}, IO{Out: &out}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range gjson.Get(out.String(), `findings.#(rule=="missing_section")#.message`).Array() {
		got = append(got, f.String())
	}
	want := []string{
		`There is no section "Identity", although agents.bot.identity_dir is set.`,
		`There is no section "State", although 1 notes of it were left out for want of room.`,
		`There is no section "Conversation Context", although 2 notes of it were left out for want of room.`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("missing (-want +got):\n%s\n%s", diff, out.String())
	}
}

// TestReviewChannel reviews what a running server sent in a channel.
func TestReviewChannel(t *testing.T) {
	noLeaks(t)
	a, _ := start(t, func(c *config.Config) { c.Auth.AdminKeyEnv = "ADMIN" }, "ADMIN=secret")
	defer closeApp(t, a)
	resp := post(t, a, `{"model":"auto","messages":[{"role":"system","content":"Be concise in your answers.\nGive rich responses."},{"role":"user","content":"Hi!"}]}`, "X-Channel-Id", "#ops")
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, env, channel string
		want               string // of stdout, stderr or the error
	}{
		{"with the key", "ADMIN=secret", "#ops", "contradict each other about the length of answers"},
		{"without", "", "#ops", "HTTP 401"},
		{"another channel", "ADMIN=secret", "#none", "HTTP 404"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			err := runReview(t.Context(), []string{"-set", "auth.admin_key_env=ADMIN", "-url", strings.TrimSuffix(a.url(), "/v1"), "-channel", tt.channel},
				IO{Out: &out, Env: []string{tt.env}})
			if err == nil || !strings.Contains(out.String()+err.Error(), tt.want) {
				t.Errorf("review says %v\n%s\nwant %q", err, out.String(), tt.want)
			}
		})
	}
}
