package cmd

import (
	"io"
	"strings"
	"testing"

	"github.com/understudy-ai/understudy/ambient"
	"github.com/understudy-ai/understudy/internal/config"
	"github.com/understudy-ai/understudy/memory"
)

// TestEventsFromTraffic has what people decide and what workers do told to the next conversation of the agent.
func TestEventsFromTraffic(t *testing.T) {
	noLeaks(t)
	a, upstream := start(t, func(*config.Config) {})
	defer closeApp(t, a)
	say := func(words string, headers ...string) {
		t.Helper()
		resp := post(t, a, `{"model":"auto","messages":[{"role":"user","content":"`+words+`"}]}`, headers...)
		_, _ = io.Copy(io.Discard, resp.Body)
	}
	inChannel := []string{"X-User-Id", "ann", "X-User-Name", "Ann", "X-Channel-Id", "eng", "X-Session-Id", "eng"}
	say("We decided to use PostgreSQL for the ledger.", inChannel...)
	say("Benchmark the ledger with my key hunter2: sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH", "X-Process-Type", "worker", "X-Channel-Id", "eng", "X-Session-Id", "w1")
	say("My salary is due on 2026-04-01.", "X-User-Id", "bob")

	var got []string
	all := eventually(func() bool {
		page, err := a.ambient.Events(t.Context(), "default", "default", ambient.Filter{})
		if err != nil {
			t.Fatal(err)
		}
		got = nil
		for _, e := range page.Items {
			got = append(got, string(e.Type)+" "+e.Audience+" "+e.Name)
		}
		return len(got) >= 3
	})
	want := map[string]bool{"decision everybody Ann": true, "worker_completed everybody ": true, "deadline_set user ": true}
	for _, e := range got {
		delete(want, e)
	}
	if !all || len(want) > 0 {
		t.Fatalf("events %q; missing %v", got, want)
	}
	resp := post(t, a, `{"model":"auto","messages":[{"role":"user","content":"We decided to use PostgreSQL for the ledger."},{"role":"assistant","content":"Fine."},{"role":"user","content":"And now?"}]}`, inChannel...)
	_, _ = io.Copy(io.Discard, resp.Body)
	if body := string(upstream.Last().Body); strings.Contains(body, "Ann: We decided") || !strings.Contains(body, "Benchmark the ledger") {
		t.Errorf("a conversation is told what it says itself, or not what happened elsewhere:\n%s", body)
	}
	say("What is new?", "X-User-Id", "carl", "X-Session-Id", "new")
	body := string(upstream.Last().Body)
	for _, told := range []string{"# Working Memory", "Ann: We decided to use PostgreSQL", "Benchmark the ledger"} {
		if !strings.Contains(body, told) {
			t.Errorf("the prompt doesn't say %q:\n%s", told, body)
		}
	}
	for _, secret := range []string{"salary", "sk-proj-", "bob"} {
		if strings.Contains(body, secret) {
			t.Errorf("the prompt says %q:\n%s", secret, body)
		}
	}
	if n := len(upstream.Requests()); n != 5 {
		t.Errorf("%d requests went upstream, want the five of clients", n)
	}
	known, err := memory.NewScope("default", "default", "ann")
	if err != nil {
		t.Fatal(err)
	}
	page, err := a.memory.List(t.Context(), known, memory.Filter{Text: "PostgreSQL"})
	if err != nil || len(page.Items) != 1 {
		t.Fatalf("memory knows %v, %v, want the decision", page.Items, err)
	}
	if _, err := a.ambient.EraseMade(t.Context(), "default", "default", ambient.Forgotten{ID: page.Items[0].ID}); err != nil {
		t.Fatal(err)
	}
	left, err := a.ambient.Events(t.Context(), "default", "default", ambient.Filter{Type: ambient.Decision})
	if err != nil || len(left.Items) != 0 {
		t.Errorf("a memory's event stays when it is forgotten: %v, %v", left.Items, err)
	}
}
