package proxy_test

import (
	"crypto/sha256"
	"net/http"
	"os"
	"path/filepath"
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
// them wherever we write: the log, the files, and every route that is ours, so
// that one that is added is held to it, too.
func TestSecretsStay(t *testing.T) {
	s := newStack(t, func(c *proxy.Config) {
		up := c.Upstreams["default"]
		up.Key = "planted-upstream-key"
		c.Upstreams["default"] = up
		c.Auth.Admin = "planted-admin-key"
		c.Memories = c.Memory.(proxy.Memories)
		inspected(c)
	})
	words := "Remember that my password is planted-password1, and the key is sk-plantedplantedplantedplantedplanted12."
	client := []string{"Authorization: Bearer planted-client-key", "X-User-Id: ana", "X-Channel-Id: lobby", "X-Api-Key: planted-header"}
	a := s.post(ask("auto", words), client...)
	s.post("{planted-body", client...)
	s.send(http.MethodPost, "/v1/embeddings", "planted-embedding", client...)
	if err := s.memory.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.row(a)
	page, err := s.listMemories("ana")
	if err != nil {
		t.Fatal(err)
	}
	written := map[string]string{"the log": s.log.String()}
	for _, route := range s.ownRoutes() {
		method, path, _ := strings.Cut(route, " ")
		body := ask("auto", "What is my password?") // unless it takes something else
		switch path {
		case "/api/memories":
			body = `{"user":"ana","content":` + mustQuote(words) + `}`
		case "/api/memories/search":
			body = `{"user":"ana","query":"password key"}`
		case "/api/memories/import":
			body = `{"content":` + mustQuote(words) + `}`
		case "/api/memories/:id":
			path = "/api/memories/" + gjson.Get(page, "items.0.id").String()
		case "/api/requests/:id":
			path = "/api/requests/" + a.header.Get("X-Request-Id")
		case "/api/users/:id":
			path = "/api/users/ana"
		}
		if method == http.MethodGet {
			body = ""
		}
		got := s.send(method, path+"?user=ana&agent=default&channel_id=lobby&since=1h", body, "Authorization: Bearer planted-admin-key", "X-User-Id: ana")
		if written[route] = got.body; got.status != 200 {
			t.Errorf("%s = %d %s; tell this test how to ask", route, got.status, got.body)
		}
	}
	files, err := filepath.Glob(filepath.Join(s.dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		written[path] = string(content)
	}
	for place, text := range written {
		if at := strings.Index(text, "planted"); at >= 0 {
			t.Errorf("%s shows a planted secret: %q", place, text[max(0, at-40):min(len(text), at+60)])
		}
	}
	if !strings.Contains(page, "redacted") {
		t.Errorf("nothing was learned, so nothing was held: %s", page)
	}
}

// ownRoutes are all routes that answer themselves; those that forget come last.
func (s *stack) ownRoutes() (routes []string) {
	var last []string
	for _, route := range s.server.Routes() {
		method, path, _ := strings.Cut(route, " ")
		switch {
		case method == http.MethodHead, strings.Contains(path, "/v1/"), path == "/chat/completions":
		case method == http.MethodDelete:
			last = append(last, route)
		default:
			routes = append(routes, route)
		}
	}
	return append(routes, last...)
}
