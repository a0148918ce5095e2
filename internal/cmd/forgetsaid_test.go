package cmd

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/understudy-ai/understudy/ambient"
	"github.com/understudy-ai/understudy/internal/config"
	"github.com/understudy-ai/understudy/llmtest"
	"github.com/understudy-ai/understudy/memory"
)

// TestForgottenWords forgets a memory by the API of a running server, and by the command on its data folder: nothing of its
// words is left in what surrounds conversations, whatever they were noted for, and nobody is told of them; what else was said
// stays.
func TestForgottenWords(t *testing.T) {
	const secret = "Zanzibar"
	for _, tt := range []struct {
		name   string
		change func(*config.Config)
		say    func(f *forgetting)
		want   string // is still in the file of the surroundings
	}{
		{"no event is made of it", func(*config.Config) {}, func(f *forgetting) { f.say("I live in Zanzibar.") }, ""},
		{"an event is", func(*config.Config) {}, func(f *forgetting) { f.say("We decided to hold the summit in Zanzibar.") }, ""},
		{"unanswered, and said again", func(*config.Config) {}, func(f *forgetting) {
			f.upstream.Misbehave(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
			f.say("I live in Zanzibar.")
			f.upstream.Misbehave(nil)
			f.say("I live in Zanzibar.")
		}, ""},
		{"said again and again, no turns kept", func(c *config.Config) { c.Memory.Capture = "facts" }, func(f *forgetting) {
			for _, day := range []string{"Hello! ", "As I said: ", "Once more. "} {
				f.say(day + "I live in Zanzibar.")
			}
		}, ""},
		{"something took its place", func(*config.Config) {}, func(f *forgetting) {
			f.say("I live in Zanzibar.")
			f.say("I live in Lisbon.")
		}, "Lisbon"},
	} {
		for _, offline := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, offline %v", tt.name, offline), func(t *testing.T) {
				f := newForgetting(t, tt.change)
				tt.say(f)
				f.say("Peanuts are fine.")
				f.ask("Anything new?", "X-User-Id", "bo", "X-Channel-Id", "ops", "X-Session-Id", "ops")
				id := f.await(secret)
				if !f.holds(ambientFile, secret) && !f.holds(ambientFile+"-wal", secret) {
					t.Fatal("the surroundings have nothing of it to begin with")
				}
				if offline {
					f.command("-id", id, "-user", "ann")
				} else {
					f.call(http.MethodDelete, "/api/memories/"+id+"?user=ann")
				}
				for _, file := range []string{ambientFile, ambientFile + "-wal", promptsFile} {
					if f.holds(file, secret) {
						t.Errorf("%s still has it", file)
					}
				}
				for _, want := range []string{tt.want, "Peanuts"} {
					if !f.holds(ambientFile, want) && !f.holds(ambientFile+"-wal", want) {
						t.Errorf("%q is gone, too", want)
					}
				}
				if offline {
					return
				}
				for _, session := range []string{"ops", "new"} {
					f.ask("Anything newer?", "X-User-Id", "bo", "X-Channel-Id", "ops", "X-Session-Id", session)
					if body := string(f.upstream.Last().Body); strings.Contains(body, secret) {
						t.Errorf("in %s somebody is told\n%s", session, body)
					}
				}
			})
		}
	}
}

// TestForgetKeepsEvents forgets while no server runs: events stay for as long as the configuration says.
func TestForgetKeepsEvents(t *testing.T) {
	f := newForgetting(t, func(c *config.Config) { c.Ambient.EventsTTL = 90 * 24 * time.Hour })
	f.say("I live in Zanzibar.")
	id := f.await("Zanzibar")
	scope, err := ambient.NewScope("default", "default", "ann", "eng", false)
	if err != nil {
		t.Fatal(err)
	}
	old := ambient.Event{Type: ambient.Outcome, Summary: "the quagga is back", At: time.Now().Add(-60 * 24 * time.Hour)}
	if _, err := f.app.ambient.Record(t.Context(), []ambient.Posted{{Scope: scope, Event: old}}); err != nil {
		t.Fatal(err)
	}
	f.command("-id", id, "-user", "ann")
	store, err := ambient.Open(t.Context(), surroundings(f.app.cfg))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if page, err := store.Events(t.Context(), "default", "default", ambient.Filter{Type: ambient.Outcome}); err != nil || len(page.Items) != 1 {
		t.Errorf("after 60 of 90 days there are %v, %v, want the event", page.Items, err)
	}
}

// forgetting is a server that hears things which are to be forgotten.
type forgetting struct {
	t        *testing.T
	app      *app
	upstream *llmtest.Upstream
	closed   bool
}

func newForgetting(t *testing.T, change func(*config.Config)) *forgetting {
	noLeaks(t)
	a, upstream := start(t, change)
	f := &forgetting{t: t, app: a, upstream: upstream}
	t.Cleanup(f.close)
	return f
}

func (f *forgetting) close() {
	if !f.closed {
		f.closed = true
		closeApp(f.t, f.app)
	}
}

func (f *forgetting) ask(words string, headers ...string) {
	f.t.Helper()
	resp := post(f.t, f.app, `{"model":"auto","messages":[{"role":"user","content":"`+words+`"}]}`, headers...)
	_, _ = io.Copy(io.Discard, resp.Body)
}

// say is Ann in a channel, never twice in a millisecond: that would be one request.
func (f *forgetting) say(words string) {
	f.t.Helper()
	before := f.seen()
	eventually(func() bool { return time.Now().After(before.Add(time.Millisecond)) })
	f.ask(words, "X-User-Id", "ann", "X-User-Name", "Ann", "X-Channel-Id", "eng", "X-Session-Id", "eng")
	if !eventually(func() bool { return f.seen().After(before) }) { // which is after the answer
		f.t.Fatalf("%q wasn't heard", words)
	}
}

// seen is when Ann was seen last.
func (f *forgetting) seen() (last time.Time) {
	f.t.Helper()
	page, err := f.app.ambient.Humans(f.t.Context(), "default", "ann", 0, "")
	if err != nil {
		f.t.Fatal(err)
	}
	for _, human := range page.Items {
		last = human.LastSeen
	}
	return last
}

// await returns the ID of Ann's memory that has a word.
func (f *forgetting) await(word string) (id string) {
	f.t.Helper()
	scope, err := memory.NewScope("default", "default", "ann")
	if err != nil {
		f.t.Fatal(err)
	}
	if !eventually(func() bool {
		page, err := f.app.memory.List(f.t.Context(), scope, memory.Filter{Text: word})
		if err != nil {
			f.t.Fatal(err)
		}
		if len(page.Items) == 1 {
			id = page.Items[0].ID
		}
		return id != ""
	}) {
		f.t.Fatalf("no memory says %q", word)
	}
	return id
}

// holds reports whether a file of the data folder has a word.
func (f *forgetting) holds(file, word string) bool {
	f.t.Helper()
	raw, err := os.ReadFile(filepath.Join(f.app.cfg.DataDir, file))
	if err != nil && !os.IsNotExist(err) {
		f.t.Fatal(err)
	}
	return bytes.Contains(bytes.ToLower(raw), []byte(strings.ToLower(word)))
}

func (f *forgetting) call(method, path string) {
	f.t.Helper()
	req, err := http.NewRequestWithContext(f.t.Context(), method, strings.TrimSuffix(f.app.url(), "/v1")+path, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		f.t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK {
		f.t.Fatalf("%s %s = %d %s", method, path, resp.StatusCode, body)
	}
}

// command ends the server and runs "memory forget" on its data folder.
func (f *forgetting) command(args ...string) {
	f.t.Helper()
	f.close()
	file := filepath.Join(f.t.TempDir(), "config.yaml")
	c := f.app.cfg
	text := fmt.Sprintf("data_dir: %s\nambient:\n  events_ttl: %s\nmemory:\n  capture: %s\n", c.DataDir, c.Ambient.EventsTTL, c.Memory.Capture)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
	var out, talk strings.Builder
	if code := Main(append([]string{"memory", "forget", "-config", file}, args...), IO{Out: &out, Err: &talk}); code != 0 || out.String() != "1 forgotten\n" {
		f.t.Fatalf("forget exits with %d: %s%s", code, out.String(), talk.String())
	}
}
