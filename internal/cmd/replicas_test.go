//go:build unix

package cmd

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/understudy-ai/understudy/llmtest"
)

// replicas are servers in processes and with data folders of their own, which
// share an upstream and nothing else.
type replicas struct {
	t        *testing.T
	upstream *llmtest.Upstream
	all      []*child
}

// startReplicas starts two of a configuration.
func startReplicas(t *testing.T, config string) *replicas {
	t.Helper()
	upstream, err := llmtest.Start("one")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = upstream.Close() })
	r := &replicas{t: t, upstream: upstream}
	for range 2 {
		path := filepath.Join(t.TempDir(), "config.yaml")
		text := "listen: 127.0.0.1:0\ndata_dir: " + t.TempDir() + "\nrouting: {enabled: false}\nupstreams:\n  default:\n    base_url: " + upstream.URL() + "\n" + config
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		r.all = append(r.all, startChild(t, nil, "understudy", "serve", "-config", path))
	}
	return r
}

// ask sends a history to one of them and returns what went upstream, message by
// message.
func (r *replicas) ask(replica int, session string, history []string) []string {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, r.all[replica].base+"/v1/chat/completions",
		strings.NewReader(`{"model":"one","messages":[`+strings.Join(history, ",")+`]}`))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("X-User-Id", "ana")
	req.Header.Set("X-Session-Id", session)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		r.t.Fatalf("replica %d: HTTP %d, %v: %s", replica, resp.StatusCode, err, body)
	}
	sent := r.upstream.Requests()
	for i := len(sent) - 1; i >= 0; i-- {
		if sent[i].Method == http.MethodPost { // else a replica that has just started looks which models there are
			return raws(gjson.GetBytes(sent[i].Body, "messages").Array())
		}
	}
	r.t.Fatal("nothing went upstream")
	return nil
}

// learn has one of them learn something, and waits until it is there.
func (r *replicas) learn(replica int, said string) {
	r.t.Helper()
	content, _ := json.Marshal(map[string]string{"agent": "default", "user": "ana", "type": "decision", "content": said}) // strings always marshal
	resp, err := http.Post(r.all[replica].base+"/api/memories", "application/json", strings.NewReader(string(content)))
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode/100 != 2 {
		r.t.Fatalf("replica %d: HTTP %d, %v: %s", replica, resp.StatusCode, err, body)
	}
}

// TestReplicas has two replicas answer the turns of one conversation in turn,
// while both learn, each something else. What a replica sent for a turn, or
// without anything for one that it didn't see, it sends ever after, although
// the other sends otherwise.
func TestReplicas(t *testing.T) {
	noLeaks(t)
	r := startReplicas(t, "models:\n  - {name: one, id: one, upstream: default, tier: small, context: 128000}\n")
	services := strings.Fields("ledger billing payroll checkout search catalogue inbox calendar")
	history := []string{message("system", "You are a helpful engineer.")}
	before := [2][]string{{}, {}} // what each sent last
	for i, service := range services {
		for replica, tool := range []string{"PostgreSQL", "Kafka"} {
			r.learn(replica, fmt.Sprintf("We decided to use %s %d for the %s service.", tool, i, service))
		}
		history = append(history, message("user", fmt.Sprintf("Which tool do we use for the %s service?", service)))
		replica := []int{0, 1, 1, 0, 1, 0, 0, 1}[i]
		sent := r.ask(replica, "one", history)
		if diff := cmp.Diff(before[replica], sent[:len(before[replica])]); diff != "" {
			t.Errorf("turn %d: replica %d sends otherwise what it sent before (-then +now):\n%s", i+1, replica, diff)
		}
		tool := fmt.Sprintf("%s %d", []string{"PostgreSQL", "Kafka"}[replica], i)
		if !strings.Contains(sent[0]+sent[len(sent)-1], tool) {
			t.Errorf("turn %d: replica %d doesn't tell of %s:\n%s", i+1, replica, tool, strings.Join(sent, "\n"))
		}
		before[replica] = sent
		history = append(history, message("assistant", "So be it."))
	}
	if before[0][0] == before[1][0] {
		t.Errorf("both send the same, though each knows something else:\n%s", before[0][0])
	}
}

// TestReplicasWithoutMemory holds that what is the operator's and the client's
// is the same from either replica, byte for byte: the second finds in the
// provider's cache what the first put there.
func TestReplicasWithoutMemory(t *testing.T) {
	noLeaks(t)
	identity := t.TempDir()
	if err := os.WriteFile(filepath.Join(identity, "SOUL.md"), []byte("You are Atlas."), 0o600); err != nil {
		t.Fatal(err)
	}
	r := startReplicas(t, "models:\n  - {name: one, id: one, upstream: default, tier: frontier, context: 128000}\n"+
		"memory: {enabled: false}\nagents:\n  default: {identity_dir: "+identity+"}\n")
	before := []string{}
	history := []string{message("system", "You are a helpful engineer.")}
	for i := range 6 {
		history = append(history, message("user", fmt.Sprintf("Compare option %d and %d: pros and cons?", i, i+1)))
		sent := r.ask(i%2, "one", history)
		if diff := cmp.Diff(before, sent[:len(before)]); diff != "" {
			t.Errorf("turn %d differs from what the other replica sent (-before +now):\n%s", i+1, diff)
		}
		before = sent
		history = append(history, message("assistant", "So be it."))
	}
	if !strings.Contains(before[0], "You are Atlas.") {
		t.Errorf("nothing was added to\n%s", before[0])
	}
}
