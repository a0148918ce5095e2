package proxy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/understudy-ai/understudy/proxy"
)

// TestMemoriesAPI adds, lists and forgets, and holds that a running
// conversation is told no more of what was forgotten.
func TestMemoriesAPI(t *testing.T) {
	s := newStack(t, func(c *proxy.Config) { c.Memories = c.Memory.(proxy.Memories) })
	added := s.send("POST", "/api/memories", `{"agent":"default","user":"ana","type":"decision","content":"We decided to use PostgreSQL for the ledger."}`)
	id := gjson.Get(added.body, "id").String()
	if added.status != 200 || gjson.Get(added.body, "outcome").String() != "stored" || id == "" {
		t.Fatalf("adding = %d %s", added.status, added.body)
	}
	n := 0
	sees := func(want bool) { // a new turn each time: one that was answered keeps its bytes
		t.Helper()
		n++
		s.post(ask("auto", fmt.Sprintf("Question %d: which database for the ledger?", n)), "X-User-Id: ana", "X-Session-Id: s")
		if got := strings.Contains(string(s.upstream.Last().Body), "PostgreSQL"); got != want {
			t.Errorf("the prompt has it: %v, want %v", got, want)
		}
	}
	listed := func(query string) int {
		t.Helper()
		return int(gjson.Get(s.send("GET", "/api/memories?"+query, "").body, "items.#").Int())
	}
	sees(true)
	for query, want := range map[string]int{"user=ana": 1, "user=ana&q=ledger": 1, "user=ana&q=tea": 0, "user=ana&type=goal": 0, "user=bob": 0, "user=ana&agent=atlas": 0, "user=ana&tenant=other": 0} {
		if got := listed(query); got != want {
			t.Errorf("GET /api/memories?%s lists %d, want %d", query, got, want)
		}
	}
	for _, query := range []string{"", "?user=bob", "?user=ana&tenant=other", "?user=ana&agent=atlas"} {
		if a := s.send("DELETE", "/api/memories/"+id+query, ""); a.status != 404 {
			t.Errorf("DELETE %s = %d %s, want 404", query, a.status, a.body)
		}
	}
	if a := s.send("DELETE", "/api/memories/"+id+"?user=ana", ""); a.status != 200 || listed("user=ana") != 0 {
		t.Errorf("DELETE = %d %s, then %d listed, want none", a.status, a.body, listed("user=ana"))
	}
	sees(false)

	s.send("POST", "/api/memories", `{"user":"ana","type":"preference","content":"I prefer PostgreSQL."}`)
	sees(true)
	if a := s.send("DELETE", "/api/users/ana", ""); gjson.Get(a.body, "forgotten").Int() != 1 {
		t.Errorf("DELETE /api/users/ana = %d %s, want 1 forgotten", a.status, a.body)
	}
	sees(false)

	for _, bad := range []answer{
		s.send("POST", "/api/memories", `{"type":"rumour","content":"x"}`), s.send("POST", "/api/memories", `{"content":7}`),
		s.send("GET", "/api/memories?limit=many", ""), s.send("GET", "/api/memories?cursor=%21", ""), s.send("GET", "/api/stats?since=soon", ""),
		s.send("GET", "/api/stats?group_by=mood", ""), s.send("GET", "/api/requests?limit=0", ""),
	} {
		if bad.status != 400 || !gjson.Get(bad.body, "error.message").Exists() {
			t.Errorf("bad call = %d %s, want 400 in OpenAI's shape", bad.status, bad.body)
		}
	}
}
