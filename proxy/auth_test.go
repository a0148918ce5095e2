package proxy_test

import (
	"crypto/sha256"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/understudy-ai/understudy/proxy"
)

func keyFor(key string, caller proxy.Caller) proxy.Key {
	return proxy.Key{SHA256: sha256.Sum256([]byte(key)), Caller: caller}
}

// TestKeys holds that a key decides who a request is from, that two tenants
// share nothing, and that our keys stay with us.
func TestKeys(t *testing.T) {
	s := newStack(t, func(c *proxy.Config) {
		c.Auth = proxy.Auth{Mode: proxy.AuthKeys, Keys: []proxy.Key{
			keyFor("key-one", proxy.Caller{Tenant: "one", Agent: "atlas"}), keyFor("key-two", proxy.Caller{Tenant: "two"}),
		}}
		up := c.Upstreams["default"]
		up.Key = "upstream-secret"
		c.Upstreams["default"] = up
	})
	user := "X-User-Id: ana"
	s.post(ask("auto", "We decided to use PostgreSQL for the ledger."), "Authorization: Bearer key-one", user, "X-Agent-Id: default")
	if err := s.memory.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	question := ask("auto", "Which database did we pick for the ledger?")

	s.post(question, "Authorization: bearer key-one", user)
	last := s.upstream.Last()
	if !strings.Contains(string(last.Body), "PostgreSQL") {
		t.Errorf("the key's agent does not see its memory: %s", last.Body)
	}
	if got := last.Header.Get("Authorization"); got != "Bearer upstream-secret" {
		t.Errorf("Authorization upstream = %q, want the upstream's own key", got)
	}
	s.post(question, "Authorization: Bearer key-two", user, "X-Agent-Id: atlas")
	if out := string(s.upstream.Last().Body); strings.Contains(out, "PostgreSQL") {
		t.Errorf("another tenant sees it: %s", out)
	}

	for _, path := range []string{"/v1/chat/completions", "/v1/models", "/v1/embeddings"} {
		for _, header := range []string{"X-Agent-Id: a", "Authorization: Bearer wrong", "Authorization: Basic key-one", "Authorization: Bearer "} {
			before := len(s.upstream.Requests())
			method := "POST"
			if path == "/v1/models" {
				method = "GET"
			}
			a := s.send(method, path, question, header)
			if rows, err := s.ledger.Recent(t.Context(), "", 10); err != nil || len(rows) > 0 {
				t.Errorf("a stranger left %d rows, %v", len(rows), err)
			}
			if a.status != 401 || gjson.Get(a.body, "error.type").String() != "authentication_error" || len(s.upstream.Requests()) != before {
				t.Errorf("%s with %q = %d %s, want 401 and nothing sent", path, header, a.status, a.body)
			}
		}
	}
}

func TestKeyIsNotSentUpstream(t *testing.T) {
	s := newStack(t, func(c *proxy.Config) {
		c.Auth = proxy.Auth{Mode: proxy.AuthKeys, Keys: []proxy.Key{keyFor("key-one", proxy.Caller{Tenant: "one"})}}
	})
	for _, path := range []string{"/v1/chat/completions", "/v1/embeddings"} {
		s.send("POST", path, ask("auto", "hi"), "Authorization: Bearer key-one")
		if got := s.upstream.Last().Header.Get("Authorization"); got != "" {
			t.Errorf("%s: Authorization upstream = %q, want none", path, got)
		}
	}
}

// TestPassthroughTenants holds that two Authorization headers are two tenants.
func TestPassthroughTenants(t *testing.T) {
	s := newStack(t, func(c *proxy.Config) {
		c.Auth.Mode = proxy.AuthPassthrough
		up := c.Upstreams["default"]
		up.Key = "ours" // which no caller may spend
		c.Upstreams["default"] = up
	})
	if a := s.post(ask("auto", "hi")); a.status != 401 || len(s.upstream.Requests()) != 0 {
		t.Errorf("without a key: %d, %d requests upstream; want 401 and none", a.status, len(s.upstream.Requests()))
	}
	s.post(ask("auto", "We decided to use PostgreSQL for the ledger."), "Authorization: Bearer a", "X-User-Id: ana")
	if err := s.memory.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]bool{"a": true, "b": false} {
		s.post(ask("auto", "Which database for the ledger?"), "Authorization: Bearer "+key, "X-User-Id: ana")
		last := s.upstream.Last()
		if got := strings.Contains(string(last.Body), "PostgreSQL"); got != want {
			t.Errorf("key %s: memory recalled = %v, want %v", key, got, want)
		}
		if got := last.Header.Get("Authorization"); got != "Bearer "+key {
			t.Errorf("Authorization upstream = %q, want the client's", got)
		}
	}
}

// TestGuard refuses what a web page could make a browser send to the loopback.
func TestGuard(t *testing.T) {
	s := newStack(t, func(c *proxy.Config) { c.Auth.AllowedHosts = []string{"host.docker.internal"} })
	tests := []struct {
		name, header string
		status       int
	}{
		{"none", "X-Agent-Id: a", 200},
		{"localhost", "Host: localhost:8484", 200},
		{"IPv6", "Host: [::1]:8484", 200},
		{"allowed name", "Host: host.docker.internal", 200},
		{"rebound name", "Host: evil.example", 403},
		{"name that begins well", "Host: localhost.evil.example", 403},
		{"local page", "Origin: http://localhost:3000", 200},
		{"foreign page", "Origin: https://evil.example", 403},
		{"null origin", "Origin: null", 403},
	}
	for _, tt := range tests {
		for _, path := range []string{"/v1/chat/completions", "/api/stats", "/metrics"} {
			t.Run(tt.name+path, func(t *testing.T) {
				method := "GET"
				if strings.HasPrefix(path, "/v1") {
					method = "POST"
				}
				if a := s.send(method, path, ask("auto", "hi"), tt.header); a.status != tt.status {
					t.Errorf("%s with %q = %d %s, want %d", path, tt.header, a.status, a.body, tt.status)
				}
			})
		}
	}
}

func TestAdminKey(t *testing.T) {
	tests := []struct {
		name, admin, header string
		mode                proxy.AuthMode
		status              int
	}{
		{name: "no key in mode none", mode: proxy.AuthNone, header: "X-Agent-Id: a", status: 200},
		{name: "no key elsewhere", mode: proxy.AuthPassthrough, header: "Authorization: Bearer x", status: 403},
		{name: "right key", mode: proxy.AuthPassthrough, admin: "adm", header: "Authorization: Bearer adm", status: 200},
		{name: "wrong key", mode: proxy.AuthPassthrough, admin: "adm", header: "Authorization: Bearer ad", status: 401},
		{name: "wrong key in mode none", mode: proxy.AuthNone, admin: "adm", header: "X-Agent-Id: a", status: 401},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newStack(t, func(c *proxy.Config) { c.Auth.Mode, c.Auth.Admin = tt.mode, secretText(tt.admin) })
			for _, path := range []string{"/api/stats", "/api/requests", "/api/requests/x"} {
				want := tt.status
				if path == "/api/requests/x" && want == 200 {
					want = 404
				}
				if a := s.send("GET", path, "", tt.header); a.status != want {
					t.Errorf("%s = %d %s, want %d", path, a.status, a.body, want)
				}
			}
		})
	}
}

// TestSecretsStay plants secrets in every place a request has and looks for
// them wherever we write.
func TestSecretsStay(t *testing.T) {
	s := newStack(t, func(c *proxy.Config) {
		up := c.Upstreams["default"]
		up.Key = "planted-upstream-key"
		c.Upstreams["default"] = up
		c.Auth.Admin = "planted-admin-key"
	})
	words := "Remember that my password is planted-password1, and the key is sk-plantedplantedplantedplantedplanted12."
	a := s.post(ask("auto", words), "Authorization: Bearer planted-client-key", "X-User-Id: ana")
	s.post("{planted-body", "Authorization: Bearer planted-client-key")
	if err := s.memory.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.row(a)
	page, err := s.listMemories("ana")
	if err != nil {
		t.Fatal(err)
	}
	admin := "Authorization: Bearer planted-admin-key"
	for name, text := range map[string]string{
		"log": s.log.String(), "metrics": s.send("GET", "/metrics", "").body, "stats": s.send("GET", "/api/stats?group_by=agent", "", admin).body,
		"requests": s.send("GET", "/api/requests", "", admin).body, "readyz": s.send("GET", "/readyz", "").body, "memories": page,
	} {
		if text == "" || strings.Contains(text, "planted") {
			t.Errorf("%s shows a planted secret, or nothing at all:\n%s", name, text)
		}
	}
	if !strings.Contains(page, "redacted") {
		t.Errorf("nothing was learned, so nothing was held: %s", page)
	}
}
