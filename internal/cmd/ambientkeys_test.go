package cmd

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/tidwall/gjson"

	"github.com/understudy-ai/understudy/ambient"
	"github.com/understudy-ai/understudy/internal/config"
	"github.com/understudy-ai/understudy/llmtest"
	"github.com/understudy-ai/understudy/memory"
)

const modelSays = "The model finds that all is well with the bus."

// tale is an app that lives through some hours, and what can be seen of it.
type tale struct {
	t        *testing.T
	a        *app
	upstream *llmtest.Upstream
	minutes  atomic.Int64
	seen     []string
}

// tell plays a team's afternoon under a configuration and returns all that can
// be seen of it: prompts, events, calls in the background.
func tell(t *testing.T, edit func(*config.Ambient)) []string {
	t.Helper()
	upstream, err := llmtest.Start(demoSmall, demoMid, demoLarge)
	if err != nil {
		t.Fatal(err)
	}
	defer upstream.Close()
	cfg := demoConfig(t.TempDir(), upstream.URL())
	cfg.Limits.SmartBudget = time.Minute // whatever the machine is busy with
	cfg.Ambient.Briefing.Timeout = time.Minute
	cfg.Ambient.Background.Model = demoSmall
	edit(&cfg.Ambient)
	s := &tale{t: t, upstream: upstream}
	noon := time.Date(2026, 3, 18, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return noon.Add(time.Duration(s.minutes.Load()) * time.Minute) }
	if s.a, err = startApp(t.Context(), cfg, IO{Clock: clock}, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	defer closeApp(t, s.a)
	backgroundSays(upstream, 200, modelSays)
	s.play()
	return s.seen
}

func (s *tale) play() {
	s.remember()
	for i, name := range []string{"Ann", "Bob", "Cid", "Dee", "Eve", "Fay"} {
		s.says(name, "I work on part "+fmt.Sprint(i)+" of the bus, and I prefer short answers to long ones.")
		s.pass(1)
	}
	for i := range 20 {
		s.happens("eng", ambient.Outcome, fmt.Sprintf("build %d of the bus took %d seconds", i, 100+i))
	}
	s.happens("eng", ambient.Outcome, "the benchmark harness compiles")
	s.happens("board", ambient.Decision, "the bus is for sale")
	s.fetches()
	s.pass(3)
	s.asks("worker", workerTask, "X-Process-Type", "worker", "X-Context-Mode", "briefed", "X-Session-Id", "w1", "X-Channel-Id", "eng")
	s.pass(20)
	s.says("Ann", "I am now the lead of the bus.")
	s.pass(10)
	s.says("Ann", "I maintain the harness.")
	s.asks("newcomer", "What is new?", "X-Session-Id", "n", "X-Channel-Id", "lobby", "X-User-Id", "zoe")
	s.says("Gus", "Who is here?")
	s.pass(3 * 24 * 60)
	s.happens("eng", ambient.Outcome, "days went by")
	s.pass(61)
	s.report()
}

// pass lets minutes go by, and the background do its work.
func (s *tale) pass(minutes int64) {
	s.minutes.Add(minutes)
	if s.a.ambient != nil {
		s.settle()
		s.a.ambient.Work(s.t.Context())
	}
}

func (s *tale) remember() {
	scope, err := memory.NewScope("default", "default", "")
	if err != nil {
		s.t.Fatal(err)
	}
	for i := range 40 {
		if _, err := s.a.memory.Add(s.t.Context(), scope, memory.NewItem{Type: memory.Fact, Content: fmt.Sprintf("Rack %d stands in room %d of the old hall.", i, i*3)}); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *tale) happens(channel string, typ ambient.EventType, summary string) {
	if s.a.ambient == nil {
		return
	}
	private := slices.Contains(s.a.cfg.Ambient.PrivateChannels, channel)
	scope, err := ambient.NewScope("default", "default", "", channel, private)
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.a.ambient.Record(s.t.Context(), []ambient.Posted{{Scope: scope, Event: ambient.Event{Type: typ, Summary: summary}}}); err != nil {
		s.t.Fatal(err)
	}
}

// says is a message in the team's channel.
func (s *tale) says(name, words string) {
	s.asks(name, words, "X-User-Id", strings.ToLower(name), "X-User-Name", name, "X-Platform", "slack", "X-Channel-Id", "eng", "X-Session-Id", "eng")
}

// fetches is a worker's run that ends by silence: its answer calls a tool.
func (s *tale) fetches() {
	s.upstream.Misbehave(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"x","object":"chat.completion","created":1,"model":"stage-small","choices":[{"index":0,"finish_reason":"tool_calls","message":
			{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]}}],"usage":{"prompt_tokens":9,"completion_tokens":9,"total_tokens":18}}`)
	})
	s.asks("silent worker", "Fetch the logs of the old bus", "X-Process-Type", "worker", "X-Session-Id", "w0", "X-Channel-Id", "eng")
	backgroundSays(s.upstream, 200, modelSays)
}

// asks sends a request and notes what went upstream for it.
func (s *tale) asks(who, words string, headers ...string) {
	s.t.Helper()
	body, err := json.Marshal(map[string]any{"model": "auto", "messages": []map[string]string{{"role": "user", "content": words}}})
	if err != nil {
		s.t.Fatal(err)
	}
	resp := post(s.t, s.a, string(body), headers...)
	_, _ = io.Copy(io.Discard, resp.Body)
	s.settle()
	s.seen = append(s.seen, who+": "+gjson.GetBytes(s.upstream.Last().Body, "messages").Raw)
}

// settle waits until everything is noted.
func (s *tale) settle() {
	s.t.Helper()
	if !eventually(func() bool { return testutil.ToFloat64(s.a.metrics.InFlight) == 0 }) {
		s.t.Fatal("a request doesn't end")
	}
	for _, sync := range []error{s.a.memory.Sync(s.t.Context()), s.a.ledger.Sync(s.t.Context())} {
		if sync != nil {
			s.t.Fatal(sync)
		}
	}
	if s.a.ambient != nil {
		if err := s.a.ambient.Sync(s.t.Context()); err != nil {
			s.t.Fatal(err)
		}
	}
}

// report notes the events that are left, and the calls in the background.
func (s *tale) report() {
	if s.a.ambient == nil {
		return
	}
	page, err := s.a.ambient.Events(s.t.Context(), "default", "default", ambient.Filter{Limit: 500})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range page.Items {
		s.seen = append(s.seen, fmt.Sprint(e.At.Format(time.DateTime), " ", e.Type, " ", e.Audience, " ", e.Summary))
	}
	s.seen = append(s.seen, fmt.Sprintf("%+v", s.a.ambient.Background().Calls))
}

// Every key of ambient changes something that can be seen: none is read by
// nobody.
func TestAmbientKeysMatter(t *testing.T) {
	noLeaks(t)
	byRules := func(c *config.Ambient) { c.Background.Model = "" }
	keys := map[string]struct {
		edit func(*config.Ambient)
		see  func([]string) string // nil: all that is steady
		base func(*config.Ambient) // of both sides; nil: nothing
	}{
		"enabled":                          {edit: func(c *config.Ambient) { c.Enabled = false }},
		"knowledge_words":                  {edit: func(c *config.Ambient) { c.KnowledgeWords = 40 }, base: byRules},
		"working_tokens":                   {edit: func(c *config.Ambient) { c.WorkingTokens = 120 }},
		"events_ttl":                       {edit: func(c *config.Ambient) { c.EventsTTL = 48 * time.Hour }},
		"run_idle":                         {edit: func(c *config.Ambient) { c.RunIdle = 2 * time.Hour }, see: sees("worker_completed everybody Fetch")},
		"private_channels":                 {edit: func(c *config.Ambient) { c.PrivateChannels = []string{"board"} }},
		"participants.min":                 {edit: func(c *config.Ambient) { c.Participants.Min = 8 }, see: sees("Gus: ", "# Participants")},
		"participants.max":                 {edit: func(c *config.Ambient) { c.Participants.Max = 2 }, see: sees("Gus: ", "(2 of ")},
		"participants.tokens":              {edit: func(c *config.Ambient) { c.Participants.Tokens = 20 }, see: sees("Gus: ", "** — "+modelSays)},
		"participants.summary_stale_after": {edit: func(c *config.Ambient) { c.Participants.SummaryStaleAfter = time.Minute }, see: sees("Gus: ", "maintain the harness"), base: byRules},
		"participants.summary_interval":    {edit: func(c *config.Ambient) { c.Participants.SummaryInterval = 24 * time.Hour }, see: sees("Gus: ", "**Fay** — The model")},
		"participants.summaries_per_pass":  {edit: func(c *config.Ambient) { c.Participants.SummariesPerPass = 1 }, see: manyProfiles},
		"participants.summary_words":       {edit: func(c *config.Ambient) { c.Participants.SummaryWords = 3 }, see: sees("Gus: ", "— The model finds that")},
		"briefing.timeout":                 {edit: func(c *config.Ambient) { c.Briefing.Timeout = time.Nanosecond }},
		"briefing.relevance":               {edit: func(c *config.Ambient) { c.Briefing.Relevance = 0.1 }, base: byRules},
		"background.model":                 {edit: byRules},
		"background.calls_per_hour":        {edit: func(c *config.Ambient) { c.Background.CallsPerHour = 2 }, see: manyProfiles},
		"background.usd_per_hour":          {edit: func(c *config.Ambient) { c.Background.USDPerHour = 0.005 }, see: manyProfiles},
	}
	elsewhere := map[string]string{"cache_bytes": "only speed shows it; the tests of ambient's cache hold it"}
	for _, key := range yamlKeys(reflect.TypeFor[config.Ambient](), "") {
		if keys[key].edit == nil && elsewhere[key] == "" {
			t.Errorf("nothing shows that ambient.%s matters", key)
		}
	}
	plain, ruled := tell(t, func(*config.Ambient) {}), tell(t, byRules)
	if diff := cmp.Diff(steady(plain), steady(tell(t, func(*config.Ambient) {}))); diff != "" {
		t.Fatalf("the tale isn't the same each time, so that differences say nothing:\n%s", diff)
	}
	for key, k := range keys {
		t.Run(key, func(t *testing.T) {
			before, see := plain, k.see
			if k.base != nil {
				before = ruled
			} else {
				k.base = func(*config.Ambient) {}
			}
			if see == nil {
				see = steady
			}
			if after := tell(t, func(c *config.Ambient) { k.base(c); k.edit(c) }); see(before) == see(after) {
				t.Errorf("it changes nothing that can be seen: %.300s", see(after))
			}
		})
	}
}

// sees looks for a line with all these words.
func sees(words ...string) func([]string) string {
	return func(seen []string) string {
		return fmt.Sprint(slices.ContainsFunc(seen, func(line string) bool {
			return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(line, word) })
		}))
	}
}

// manyProfiles reports whether the model wrote more than some.
func manyProfiles(seen []string) string {
	_, calls, _ := strings.Cut(seen[len(seen)-1], "{Purpose:profile Calls:")
	var n int
	_, _ = fmt.Sscan(calls, &n) // none is 0
	return fmt.Sprint(n > 8)
}

// moody is what the machine's pace has a part in: when profiles are made, and
// when a silent run is seen to have ended.
var moody = regexp.MustCompile(`# Participants.*?\\n\\n|\{Purpose:profile[^}]*\}|\\n- \[[^\]]*\] Fetch the logs[^\\]*`)

// steady is all but that.
func steady(seen []string) string {
	return moody.ReplaceAllString(strings.Join(seen, "\n"), "")
}

// yamlKeys lists the keys of a section, with dots.
func yamlKeys(of reflect.Type, prefix string) (keys []string) {
	for field := range of.Fields() {
		key := prefix + field.Tag.Get("yaml")
		if field.Type.Kind() == reflect.Struct {
			keys = append(keys, yamlKeys(field.Type, key+".")...)
		} else {
			keys = append(keys, key)
		}
	}
	return keys
}
