package cmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/understudy-ai/understudy/internal/background"
	"github.com/understudy-ai/understudy/internal/config"
	"github.com/understudy-ai/understudy/llmtest"
)

// TestMonthOfCalls plays a month through the proxy: without a model for the
// background nothing but the clients' own requests goes upstream, with one
// exactly the calls that the triggers promise, reckoned here a second time.
func TestMonthOfCalls(t *testing.T) {
	for model, every := range map[string]time.Duration{"": 12 * time.Hour, demoSmall: 3 * time.Hour} {
		t.Run("model "+model, func(t *testing.T) {
			noLeaks(t)
			m := startMonth(t, model)
			defer closeApp(t, m.app)
			for at := time.Date(2026, 3, 1, 0, 15, 0, 0, time.UTC); at.Month() == time.March; at = at.Add(every) {
				m.step(t, at)
			}
			if got := m.asked.Load(); got != m.sent {
				t.Errorf("%d requests of clients went upstream, want %d", got, m.sent)
			}
			want := callCounts{}
			if model != "" {
				want = m.want
			}
			if got := (callCounts{m.days.Load(), m.paragraphs.Load(), m.profiles.Load(), m.knowledge.Load()}); got != want {
				t.Errorf("the background's calls are %+v, want %+v", got, want)
			}
			if w := m.want; model != "" && min(w.days, w.paragraphs, w.profiles, w.knowledge) < 20 {
				t.Errorf("%+v is too little to prove anything", w)
			}
		})
	}
}

// callCounts are the background's calls by what they are for.
type callCounts struct{ days, paragraphs, profiles, knowledge int64 }

// callMonth is a month being played, and what it should lead to.
type callMonth struct {
	app   *app
	now   atomic.Int64 // Unix seconds
	rand  *rand.Rand
	zones map[string]*time.Location

	asked, days, paragraphs, profiles, knowledge atomic.Int64 // what came upstream

	sent    int64
	want    callCounts
	pending map[string]*pending  // by agent and channel
	made    map[string]time.Time // profiles, by agent and user
}

// pending is what a paragraph will be made of.
type pending struct {
	day    string
	events int
	first  time.Time
}

func startMonth(t *testing.T, model string) *callMonth {
	t.Helper()
	m := &callMonth{rand: rand.New(rand.NewPCG(3, 4)), zones: map[string]*time.Location{}, pending: map[string]*pending{}, made: map[string]time.Time{}}
	upstream, err := llmtest.Start(demoSmall, demoMid, demoLarge)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = upstream.Close() })
	upstream.Misbehave(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // from memory
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		switch text := string(body); {
		case strings.Contains(text, "with a team's agent on one day"):
			m.days.Add(1)
		case strings.Contains(text, "with a team's agent in part of a day"):
			m.paragraphs.Add(1)
		case strings.Contains(text, "what an agent remembers of a person"):
			m.profiles.Add(1)
		case strings.Contains(text, "what an agent knows, as a list"):
			m.knowledge.Add(1)
		default:
			m.asked.Add(1)
		}
		upstream.Answer(w, r)
	})
	cfg := demoConfig(t.TempDir(), upstream.URL())
	cfg.Ambient.Background.Model = model
	cfg.Ambient.PrivateChannels = []string{"leads"}
	for agent, zone := range map[string]string{"rook": "Europe/Berlin", "wren": "America/New_York", "lark": "Asia/Kolkata"} {
		cfg.Agents[agent] = config.Agent{Timezone: zone}
		if m.zones[agent], err = time.LoadLocation(zone); err != nil {
			t.Fatal(err)
		}
	}
	m.now.Store(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC).Unix())
	clock := func() time.Time { return time.Unix(m.now.Load(), 0) }
	if m.app, err = startApp(t.Context(), cfg, IO{Clock: clock}, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	return m
}

// step has something happen, has the background do its work, and reckons what
// calls that makes.
func (m *callMonth) step(t *testing.T, at time.Time) {
	t.Helper()
	m.now.Store(at.Unix())
	agent, channel, n := []string{"rook", "wren", "lark"}[m.rand.IntN(3)], []string{"dev", "leads"}[m.rand.IntN(2)], 1+m.rand.IntN(2)
	if m.rand.IntN(20) == 0 {
		n = 15
	}
	m.happen(t, at, agent, channel, n)
	if m.rand.IntN(5) == 0 {
		m.chat(t, at, agent, fmt.Sprint("user", m.rand.IntN(5)))
	}
	if m.rand.IntN(10) == 0 {
		m.learn(t, agent)
	}
	// The jobs come round at their own times, too: those of now are over by then.
	at = at.Add(6 * time.Minute)
	if err := m.app.ambient.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	m.now.Store(at.Unix())
	m.app.ambient.Work(t.Context())
	idle := func() bool {
		return !slices.ContainsFunc(m.app.ambient.Background().Jobs, func(j background.JobReport) bool { return j.Running })
	}
	if !eventually(idle) {
		t.Fatal("the background doesn't come to rest")
	}
}

// happen posts events of a channel: fifteen of them, or four hours since the
// first, make a paragraph; the first of a day closes the one before.
func (m *callMonth) happen(t *testing.T, at time.Time, agent, channel string, n int) {
	t.Helper()
	var events []map[string]string
	for range n {
		events = append(events, map[string]string{"agent": agent, "channel": channel, "summary": fmt.Sprintf("outcome: crane %d was repaired", m.rand.IntN(1000))})
	}
	m.call(t, "/api/events", events)
	day, key := at.In(m.zones[agent]).Format(time.DateOnly), agent+" "+channel
	p := m.pending[key]
	if p == nil || p.day != day {
		if p != nil {
			m.want.days++
		}
		p = &pending{day: day}
		m.pending[key] = p
	}
	if p.events == 0 {
		p.first = at
	}
	p.events += n
	m.paragraph(p, at)
}

// call calls the API.
func (m *callMonth) call(t *testing.T, path string, body any) {
	t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Post(strings.TrimSuffix(m.app.url(), "/v1")+path, "application/json", bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if answer, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode >= 300 {
		t.Fatalf("HTTP %d: %s (%v)", resp.StatusCode, answer, err)
	}
}

// learn adds a memory: what is known is put into words anew when nothing more
// comes for a minute.
func (m *callMonth) learn(t *testing.T, agent string) {
	t.Helper()
	m.want.knowledge++
	m.call(t, "/api/memories", map[string]string{"agent": agent, "type": "fact", "content": fmt.Sprintf("Crane %d of the new quay lifts %d tons.", m.want.knowledge, 100+m.rand.IntN(900))})
}

// paragraph reckons whether events make one now.
func (m *callMonth) paragraph(p *pending, at time.Time) {
	if p.events >= 15 || p.events > 0 && at.Sub(p.first) >= 4*time.Hour {
		m.want.paragraphs++
		p.events = 0
	}
}

// chat has somebody ask in an open channel, who is told of open channels: a
// paragraph that is due by its age is made then at the latest. Their profile is stale when there
// is none, or one that is older by an hour.
func (m *callMonth) chat(t *testing.T, at time.Time, agent, user string) {
	t.Helper()
	m.sent++
	resp := post(t, m.app, `{"model":"auto","messages":[{"role":"user","content":"Where does crane seven stand?"}]}`,
		"X-Agent-Id", agent, "X-User-Id", user, "X-User-Name", "Person "+user, "X-Platform", "slack", "X-Channel-Id", "harbour", "X-Session-Id", user+at.String())
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	if p := m.pending[agent+" dev"]; p != nil && p.day == at.In(m.zones[agent]).Format(time.DateOnly) {
		m.paragraph(p, at)
	}
	if made, ok := m.made[agent+" "+user]; !ok || at.Sub(made) > time.Hour {
		m.want.profiles++
		m.made[agent+" "+user] = at.Add(6 * time.Minute)
	}
}
