package proxy_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/understudy-ai/understudy/ambient"
	"github.com/understudy-ai/understudy/internal/chat"
	"github.com/understudy-ai/understudy/proxy"
)

// withAmbient gives a stack a store of what surrounds conversations.
func withAmbient(t testing.TB) (edit func(*proxy.Config)) {
	t.Helper()
	s, err := ambient.Open(t.Context(), ambient.Config{Path: filepath.Join(t.TempDir(), "ambient.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return func(c *proxy.Config) { c.Ambient = s }
}

// TestEventsAPI posts and lists events, and finds them in the prompts of those who may hear of them.
func TestEventsAPI(t *testing.T) {
	s := newStack(t, withAmbient(t))
	for _, tt := range []struct{ body, want string }{
		{`{"summary":"decision by prefix? no","type":"decision","user":"ana","name":"Ana","channel":"eng"}`, `stored`},
		{`{"summary":"BLOCKED_ON: the staging database","channel":"eng"}`, `stored`},
		{`[{"summary":"the payroll is late","channel":"board","private":true},{"summary":"ana is on leave","user":"ana"}]`, `["stored","stored"]`},
	} {
		a := s.send("POST", "/api/events", tt.body)
		got := gjson.Get(a.body, "outcome").String() + gjson.Get(a.body, "results.#.outcome").Raw
		if a.status != 200 || got != tt.want {
			t.Fatalf("POST %s = %d %s, want %s", tt.body, a.status, a.body, tt.want)
		}
	}
	for query, want := range map[string]string{
		"": `["user","channel","everybody","everybody"]`, "?channel=eng&limit=1": `["everybody"]`, "?user=ana": `["user","everybody"]`,
		"?type=blocked_on": `["everybody"]`, "?until=2020-01-01": `[]`, "?agent=other": `[]`, "?tenant=other": `[]`,
	} {
		if a := s.send("GET", "/api/events"+query, ""); a.status != 200 || gjson.Get(a.body, "items.#.audience").Raw != want {
			t.Errorf("GET /api/events%s = %d %s, want %s", query, a.status, a.body, want)
		}
	}
	sees := func(session string, headers ...string) string {
		t.Helper()
		s.post(ask("auto", "What is new, "+session+"?"), append(headers, "X-Session-Id: "+session)...)
		body, out := string(s.upstream.Last().Body), ""
		for _, word := range []string{"decision by prefix", "staging database", "payroll", "on leave"} {
			if strings.Contains(body, word) {
				out += word[:1]
			}
		}
		return out
	}
	for _, tt := range []struct {
		name    string
		headers []string
		want    string
	}{
		{"a stranger", []string{"X-User-Id: bob"}, "ds"},
		{"the user", []string{"X-User-Id: ana"}, "dso"},
		{"the private channel", []string{"X-User-Id: bob", "X-Channel-Id: board", "X-Channel-Private: true"}, "dsp"},
		{"a channel of that name that says it is open", []string{"X-User-Id: bob", "X-Channel-Id: board"}, "ds"},
		{"another agent", []string{"X-User-Id: ana", "X-Agent-Id: atlas"}, ""},
		{"no context", []string{"X-User-Id: ana", "X-Context-Mode: none"}, ""},
		{"no memory", []string{"X-User-Id: ana", "X-Memory: off"}, ""},
	} {
		if got := sees(tt.name, tt.headers...); got != tt.want {
			t.Errorf("%s sees %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestEventsAPIRefuses names what is wrong, and stores nothing of such a call.
func TestEventsAPIRefuses(t *testing.T) {
	s := newStack(t, withAmbient(t))
	for _, tt := range []struct{ body, want string }{
		{`{"summary":"x","type":"party"}`, "type"},
		{`[{"summary":"x"},{"summary":"x","mood":"good"}]`, "[1].mood"},
		{`{"summary":7}`, "summary"},
		{`{}`, "summary"},
		{`{"summary":"x","at":"yesterday"}`, "at"},
		{`{"summary":"x","at":"2999-01-01T00:00:00Z"}`, "at"},
		{`{"summary":"x","importance":2}`, "importance"},
		{`{"summary":"x","importance":0}`, "importance"},
		{`{"summary":"x","private":"no"}`, "private"},
		{`{"summary":"x","user":"a\u0000b"}`, "agent"},
		{`[]`, ""},
		{`[`, ""},
		{`7`, ""},
		{`null`, ""},
		{``, ""},
		{`[7]`, "[0]"},
	} {
		a := s.send("POST", "/api/events", tt.body)
		if a.status != 400 || gjson.Get(a.body, "error.param").String() != tt.want {
			t.Errorf("POST %s = %d %s, want 400 for %q", tt.body, a.status, a.body, tt.want)
		}
	}
	for _, query := range []string{"?type=party", "?limit=x", "?cursor=x", "?since=soon"} {
		if a := s.send("GET", "/api/events"+query, ""); a.status != 400 {
			t.Errorf("GET /api/events%s = %d %s, want 400", query, a.status, a.body)
		}
	}
	if a := s.send("GET", "/api/events", ""); gjson.Get(a.body, "items.#").Int() != 0 {
		t.Errorf("stored: %s", a.body)
	}
}

// FuzzParseEvents holds that any body is either events that can be stored, or a 400 that says what is wrong.
func FuzzParseEvents(f *testing.F) {
	for _, seed := range []string{
		`{"summary":"x"}`, `[{"summary":"outcome: y","type":"decision","importance":0.5,"at":"2026-03-18T10:00:00+01:00"},{"summary":"z","private":true,"channel":"c"}]`,
		`{"summary":"x","agent":"a","user":"u","name":"n","session":"s","at":null}`, `[null]`, `{"summary":"\ud800","user":"\u0000"}`, `[[]]`, `{"importance":1e999}`, ` 7`,
	} {
		f.Add(seed)
	}
	now := time.Date(2026, 3, 18, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, body string) {
		posted, many, err := proxy.ParseEvents([]byte(body), "acme", now, func(id, _ string) bool { return id == "c" })
		if err != nil {
			if e, ok := errors.AsType[*chat.Error](err); !ok || e.Status != 400 || e.Message == "" {
				t.Fatalf("ParseEvents(%q) fails with %v, want a 400", body, err)
			}
			return
		}
		if len(posted) == 0 || !many && len(posted) != 1 {
			t.Fatalf("ParseEvents(%q) = %d events, many %v", body, len(posted), many)
		}
		for _, p := range posted {
			e := p.Event
			if strings.TrimSpace(e.Summary) == "" || e.Type != "" && !e.Type.Known() || e.Importance < 0 || e.Importance > 1 || e.At.After(now.Add(24*time.Hour)) {
				t.Errorf("ParseEvents(%q) lets %+v through", body, e)
			}
		}
	})
}
