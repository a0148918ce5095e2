package proxy

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/understudy-ai/understudy/internal/chat"
	"github.com/understudy-ai/understudy/internal/secret"
)

// AuthMode says who may call.
type AuthMode string

// The modes.
const (
	AuthNone        AuthMode = "none"        // whoever reaches the loopback
	AuthKeys        AuthMode = "keys"        // the listed callers
	AuthPassthrough AuthMode = "passthrough" // whoever the upstream accepts with their own key; the tenant is a hash of it
)

// Auth says who may call, and who may use the admin API.
type Auth struct {
	Mode         AuthMode
	Keys         []Key
	Admin        secret.Text // "": /api needs no key in mode none and is closed in the others
	AllowedHosts []string    // names for mode none, beside those of the loopback
}

// Key is one caller of mode keys.
type Key struct {
	SHA256 [sha256.Size]byte // of the key
	Caller
}

// Caller is who a request comes from.
type Caller struct {
	Tenant  string
	Agent   string // "": the request says
	Profile string // "": the agent's
}

// ParseKeyHash reads the hash of a key, 64 hex digits.
func ParseKeyHash(s string) (sum [sha256.Size]byte, err error) {
	raw, err := hex.DecodeString(s)
	if err != nil || len(raw) != len(sum) {
		return sum, fmt.Errorf("%q is not a SHA-256 in hex", s)
	}
	return [sha256.Size]byte(raw), nil
}

// caller says who is calling. The error is a 401.
func (a *Auth) caller(h *fasthttp.RequestHeader) (Caller, error) {
	authorization := strings.TrimSpace(string(h.Peek(fasthttp.HeaderAuthorization)))
	switch a.Mode {
	case AuthPassthrough:
		if authorization == "" {
			return Caller{}, &chat.Error{Status: 401, Code: chat.CodeInvalidKey, Message: "Send the upstream's key as \"Authorization: Bearer KEY\"; it is passed on."}
		}
		return Caller{Tenant: digest(authorization)}, nil
	case AuthKeys:
		return a.lookUp(bearer(authorization))
	}
	return Caller{Tenant: "default"}, nil
}

// lookUp compares with every key, so that the time it takes tells nothing.
func (a *Auth) lookUp(key string) (Caller, error) {
	sum := sha256.Sum256([]byte(key))
	found := -1
	for i := range a.Keys {
		if subtle.ConstantTimeCompare(sum[:], a.Keys[i].SHA256[:]) == 1 {
			found = i
		}
	}
	if found < 0 || key == "" {
		return Caller{}, &chat.Error{Status: 401, Code: chat.CodeInvalidKey, Message: "Incorrect API key. Send \"Authorization: Bearer KEY\" with a key that auth.keys lists."}
	}
	return a.Keys[found].Caller, nil
}

func bearer(authorization string) string {
	scheme, key, _ := strings.Cut(authorization, " ")
	if !strings.EqualFold(scheme, "bearer") {
		return ""
	}
	return strings.TrimSpace(key)
}

// guard refuses what a web page could make a browser send in mode none, where
// no key protects the loopback: a Host that is not ours (a name of the page's
// own that resolves to the loopback), or a foreign Origin.
func (s *Server) guard(c *fiber.Ctx) error {
	if s.cfg.Auth.Mode != AuthNone && s.cfg.Auth.Mode != "" {
		return c.Next()
	}
	if host := string(c.Request().Host()); !s.cfg.Auth.local(host) {
		return &chat.Error{Status: 403, Code: chat.CodeForbidden, Param: "Host", Message: fmt.Sprintf("The Host %.100q is not allowed; auth.allowed_hosts adds names.", host)}
	}
	if origin := c.Get(fiber.HeaderOrigin); origin != "" {
		if u, err := url.Parse(origin); err != nil || !s.cfg.Auth.local(u.Host) {
			return &chat.Error{Status: 403, Code: chat.CodeForbidden, Param: "Origin", Message: fmt.Sprintf("The Origin %.100q is not allowed; auth.allowed_hosts adds names.", origin)}
		}
	}
	return c.Next()
}

// local reports whether a host, with or without port, is the loopback's or an
// allowed one.
func (a *Auth) local(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip != nil && ip.IsLoopback() || slices.Contains(a.AllowedHosts, host)
}

// admin lets through who may use the admin API.
func (s *Server) admin(c *fiber.Ctx) error {
	a := &s.cfg.Auth
	if a.Admin == "" {
		if a.Mode == AuthNone || a.Mode == "" {
			return c.Next()
		}
		return &chat.Error{Status: 403, Code: chat.CodeForbidden, Message: "The admin API is closed: auth.admin_key_env names no key."}
	}
	given, want := sha256.Sum256([]byte(bearer(c.Get(fiber.HeaderAuthorization)))), sha256.Sum256([]byte(a.Admin))
	if subtle.ConstantTimeCompare(given[:], want[:]) != 1 {
		return &chat.Error{Status: 401, Code: chat.CodeInvalidKey, Message: "The admin API takes \"Authorization: Bearer KEY\" with the admin key."}
	}
	return c.Next()
}
