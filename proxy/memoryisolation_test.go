package proxy_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/understudy-ai/understudy/memory"
	"github.com/understudy-ai/understudy/proxy"
)

// person is somebody with a secret of theirs.
type person struct{ tenant, agent, user string }

func (p person) secret() string {
	return fmt.Sprintf("locker-of-%s-%s-%s-end", p.tenant, p.agent, p.user)
}

func (p person) query() string {
	return url.Values{"tenant": {p.tenant}, "agent": {p.agent}, "user": {p.user}}.Encode()
}

func (p person) headers() []string {
	return []string{
		"Authorization: Bearer key of " + p.tenant, "X-Agent-Id: " + p.agent, "X-User-Id: " + p.user,
		"X-Session-Id: the same for all", "X-Channel-Id: the same for all",
	}
}

// TestNothingCrosses has people whose names resemble each other say and import
// a secret each, in one session and channel, and holds that no prompt and no
// answer of the admin API that is asked for one of them has another's.
func TestNothingCrosses(t *testing.T) {
	s := newStack(t, func(c *proxy.Config) {
		inspected(c)
		c.Memories, c.Limits.SmartBudget = c.Memory.(*memory.Store), time.Minute
		c.Auth = proxy.Auth{Mode: proxy.AuthKeys, Admin: "adm", Keys: []proxy.Key{
			keyFor("key of t", proxy.Caller{Tenant: "t"}), keyFor("key of t1", proxy.Caller{Tenant: "t1"}),
		}}
	})
	admin := func(method, path, body string) answer { return s.send(method, path, body, "Authorization: Bearer adm") }
	var people []person
	for _, tenant := range []string{"t", "t1"} {
		for _, agent := range []string{"default", "atlas"} {
			for _, user := range []string{"u1", "u10"} {
				people = append(people, person{tenant, agent, user})
			}
		}
	}
	for _, p := range people {
		s.post(ask("auto", "Remember that the door is of "+p.secret()), p.headers()...)
		if a := admin("POST", "/api/memories/import?"+p.query(), fmt.Sprintf(`{"id":"x","content":"The window is of %s"}`, p.secret())); gjson.Get(a.body, "stored").Int() != 1 {
			t.Fatalf("import = %d %s", a.status, a.body)
		}
	}
	if err := s.memory.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}

	// holds fails if a text has a secret that nobody of those who are may say it, or lacks all of theirs.
	holds := func(what, text string, who ...person) {
		t.Helper()
		theirs := 0
		for _, p := range people {
			n := strings.Count(text, p.secret())
			allowed := false
			for _, w := range who {
				allowed = allowed || w == p
			}
			if theirs += n; n > 0 && !allowed {
				t.Errorf("%s has the secret of %+v", what, p)
			}
		}
		if theirs == 0 && len(who) > 0 {
			t.Errorf("%s has nothing of %v: the test tests nothing", what, who)
		}
	}
	for _, p := range people {
		s.post(ask("auto", "Whose are the door and the window?"), p.headers()...)
		holds(fmt.Sprintf("a prompt for %+v", p), string(s.upstream.Last().Body), p)
		for _, path := range []string{"/api/memories?", "/api/memories?q=window&", "/api/memories/export?"} {
			holds(path, admin("GET", path+p.query(), "").body, p)
		}
		search := fmt.Sprintf(`{"agent":%q,"user":%q,"query":"door window","gate":false,"k":50}`, p.agent, p.user)
		holds("search", admin("POST", "/api/memories/search?tenant="+p.tenant, search).body, p)
		nobody := person{p.tenant, p.agent, "u"}
		holds("a list for nobody", admin("GET", "/api/memories?"+nobody.query(), "").body)
		holds("an export for nobody", admin("GET", "/api/memories/export?"+nobody.query(), "").body)
	}

	// What an admin sees of a tenant has nothing of another tenant's.
	for i, tenant := range []string{"t", "t1"} {
		own, other := people[i*4:i*4+4], people[(1-i)*4].tenant
		q := "?tenant=" + tenant
		holds("/api/channels/inspect", admin("GET", "/api/channels/inspect"+q+"&channel_id="+url.QueryEscape("the same for all"), "").body, own...)
		for _, path := range []string{"/api/channels", "/api/users", "/api/users/u1", "/api/stats", "/api/ledger/export"} {
			holds(path, admin("GET", path+q, "").body)
		}
		requests := gjson.Get(admin("GET", "/api/requests"+q, "").body, "items.#.id").Array()
		if len(requests) == 0 {
			t.Error("no requests")
		}
		for _, id := range requests {
			holds("/api/requests/", admin("GET", "/api/requests/"+id.String()+q, "").body, own...)
			if a := admin("GET", "/api/requests/"+id.String()+"?tenant="+other, ""); a.status != 404 {
				t.Errorf("another tenant's request = %d %s, want 404", a.status, a.body)
			}
		}
	}

	// And one who is forgotten takes nobody else's along.
	forgotten := people[0]
	admin("DELETE", "/api/users/u1?tenant=t&agent=default", "")
	for _, p := range people {
		var who []person
		if p != forgotten {
			who = []person{p}
		}
		holds("afterwards, an export", admin("GET", "/api/memories/export?"+p.query(), "").body, who...)
	}
	for _, id := range gjson.Get(admin("GET", "/api/requests?tenant=t", "").body, "items.#.id").Array() {
		if a := admin("GET", "/api/requests/"+id.String()+"?tenant=t", ""); strings.Contains(a.body, forgotten.secret()) {
			t.Errorf("afterwards, a request has the secret: %s", a.body)
		}
	}
}
