package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/understudy-ai/understudy/internal/preset"
)

// Validate returns every broken rule of c, joined, each naming the dotted key and what would be right; nil when c is
// fit to run. It looks at c alone: that files exist and upstreams answer is found out by those who use them.
func (c *Config) Validate() error {
	var errs []error
	for _, p := range c.problems() {
		errs = append(errs, p)
	}
	return errors.Join(errs...)
}

func (c *Config) problems() []problem {
	var k checker
	c.checkServer(&k)
	c.checkAuth(&k)
	c.checkUpstreams(&k)
	c.checkModels(&k)
	c.checkProfiles(&k)
	c.checkModelChoices(&k)
	c.checkPromptRouting(&k)
	c.checkAgents(&k)
	c.checkMemory(&k)
	c.checkAmbient(&k)
	return k.problems
}

// UnixPrefix begins an address to listen on that is a Unix socket's path.
const UnixPrefix = "unix:"

func (c *Config) checkServer(k *checker) {
	host, port, err := net.SplitHostPort(c.Listen)
	number, notNumber := strconv.Atoi(port)
	path, unix := strings.CutPrefix(c.Listen, UnixPrefix)
	switch {
	case unix && path != "":
		// Its file's mode says who may connect.
	case err != nil || notNumber != nil || number < 0 || number > 65535:
		k.add("listen", "expected host:port such as 127.0.0.1:8484, or unix:PATH, got %q", clip(c.Listen))
	case c.Auth.Mode == "none" && !isLoopback(host):
		k.add("listen", "%q can be reached from other machines, which auth.mode none does not allow: "+
			"listen on 127.0.0.1, or set auth.mode to keys or passthrough", clip(c.Listen))
	}
	if c.DataDir == "" {
		k.add("data_dir", "must name a folder")
	}
	k.oneOf("log.level", c.Log.Level, "debug", "info", "warn", "error")
	k.oneOf("log.format", c.Log.Format, "text", "json")
	// The least header block is the usual buffer of a server, which any client fits in.
	within(k, "limits.body_bytes", c.Limits.BodyBytes, 1<<10, 1<<30)
	within(k, "limits.header_bytes", c.Limits.HeaderBytes, 4<<10, 1<<20)
	k.positive("limits.smart_budget", c.Limits.SmartBudget)
	k.positive("shutdown.grace", c.Shutdown.Grace)
}

func (c *Config) checkAuth(k *checker) {
	k.oneOf("auth.mode", c.Auth.Mode, "none", "keys", "passthrough")
	if c.Auth.Mode == "keys" && len(c.Auth.Keys) == 0 {
		k.add("auth.keys", "mode keys needs at least one key, or nobody can call")
	}
	seen := map[string]bool{}
	for i, key := range c.Auth.Keys {
		at := fmt.Sprintf("auth.keys.%d", i)
		hash := strings.ToLower(key.SHA256)
		if raw, err := hex.DecodeString(hash); err != nil || len(raw) != sha256.Size {
			k.add(at+".sha256", "must be the SHA-256 of a key, 64 hex digits: printf %%s KEY | sha256sum")
		} else if seen[hash] {
			k.add(at+".sha256", "is listed twice")
		}
		seen[hash] = true
		if key.Tenant == "" {
			k.add(at+".tenant", "must name who owns what this key's requests leave behind")
		}
		if key.Profile != "" {
			c.checkProfile(k, at+".profile", key.Profile)
		}
	}
}

// isLoopback reports whether only this machine can reach host. An empty host is every address.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (c *Config) checkUpstreams(k *checker) {
	if len(c.Upstreams) == 0 {
		k.add("upstreams", "at least one is needed")
	}
	for _, name := range names(c.Upstreams) {
		u, key := c.Upstreams[name], "upstreams."+name
		k.name(key, name)
		if text := urlProblem(u.BaseURL); text != "" {
			k.add(key+".base_url", "%s", text)
		}
		// A key pasted in place of a name must not be repeated.
		if strings.ContainsFunc(u.APIKeyEnv, notEnvName) {
			k.add(key+".api_key_env", "must be the name of an environment variable (the value is not shown, as it may be a key)")
		}
		if u.APIKeyEnv != "" && u.APIKeyFile != "" {
			k.add(key, "api_key_env and api_key_file are both set: keep one")
		}
		k.positive(key+".timeouts.connect", u.Timeouts.Connect)
		k.positive(key+".timeouts.first_byte", u.Timeouts.FirstByte)
		k.positive(key+".timeouts.idle", u.Timeouts.Idle)
		k.atLeast(key+".max_conns", u.MaxConns, 1)
	}
}

// notEnvName reports whether r is unfit for the name of a variable.
func notEnvName(r rune) bool {
	return (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_'
}

// urlProblem says what is wrong with the root of an API, or "". It does not repeat the URL, which may hold a secret.
func urlProblem(text string) string {
	u, err := url.Parse(text)
	switch {
	case text == "":
		return "is missing: give the root of the API, such as https://api.openai.com/v1"
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return "must be an http or https URL such as https://api.openai.com/v1"
	case u.User != nil:
		return "must not hold a user or password: use api_key_env or api_key_file"
	case strings.ContainsAny(text, "?#"):
		return "must not hold a query or fragment"
	}
	return ""
}

func (c *Config) checkAgents(k *checker) {
	for _, id := range names(c.Agents) {
		a, key := c.Agents[id], "agents."+id
		k.plainName(key, id)
		if a.Profile != "" {
			c.checkProfile(k, key+".profile", a.Profile)
		}
		if a.Preset != "" {
			k.oneOf(key+".preset", a.Preset, preset.Names()...)
		}
		if a.Timezone != "" {
			k.zone(key+".timezone", a.Timezone)
		}
		if (a.Persona.Name == "") != (a.Persona.Text == "") {
			k.add(key+".persona", "needs both name and text")
		}
	}
}

// zone wants a name of the time zone database.
func (k *checker) zone(key, name string) {
	if _, err := time.LoadLocation(name); err != nil || name == "Local" || name == "" {
		k.add(key, "is no time zone %q; a name looks like Europe/Belgrade", clip(name))
	}
}

func (c *Config) checkMemory(k *checker) {
	k.oneOf("memory.capture", c.Memory.Capture, "turns", "facts", "off")
	k.positive("memory.turn_ttl", c.Memory.TurnTTL)
	k.zone("memory.timezone", c.Memory.Timezone)
	if c.Memory.Extractor.Model != "" {
		c.checkModelChoice(k, "memory.extractor.model", c.Memory.Extractor.Model)
	}
	k.atLeast("memory.embedder.dimensions", c.Memory.Embedder.Dimensions, 0)
	within(k, "memory.embedder.min_cosine", c.Memory.Embedder.MinCosine, 0, 1)
	if u, err := url.Parse(c.OTel.Endpoint); c.OTel.Endpoint != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		k.add("otel.endpoint", "expected a URL such as http://127.0.0.1:4318, got %q", clip(c.OTel.Endpoint))
	}
	if c.Ledger.Retention < 0 {
		k.add("ledger.retention", "must not be negative, is %s; 0 is for good", formatDuration(c.Ledger.Retention))
	}
	k.atLeast("memory.queue", c.Memory.Queue, 1)
	k.atLeast("memory.index_bytes", c.Memory.IndexBytes, 1<<20)
	k.atLeast("ambient.knowledge_words", c.Ambient.KnowledgeWords, 0)
	k.positive("ambient.briefing.timeout", c.Ambient.Briefing.Timeout)
	within(k, "ambient.briefing.relevance", c.Ambient.Briefing.Relevance, 0, 1)
	if c.Ambient.Background.Model != "" {
		c.checkModelChoice(k, "ambient.background.model", c.Ambient.Background.Model)
	}
	within(k, "ambient.background.calls_per_hour", c.Ambient.Background.CallsPerHour, 0, 10_000)
	within(k, "ambient.background.usd_per_hour", c.Ambient.Background.USDPerHour, 0, 10_000)
	k.oneOf("assemble.placement", c.Assemble.Placement, "epoch", "system")
	k.atLeast("assemble.max_system_chars", c.Assemble.MaxSystemChars, 1)
	within(k, "assemble.confidence_threshold", c.Assemble.ConfidenceThreshold, 0, 1)
	if c.Assemble.TierOverride != "" {
		k.oneOf("assemble.tier_override", c.Assemble.TierOverride, "small", "mid", "frontier")
	}
	within(k, "assemble.hold_out", c.Assemble.HoldOut, 0, 1)
	k.positive("assemble.capture.ttl", c.Assemble.Capture.TTL)
	k.atLeast("assemble.capture.bytes", c.Assemble.Capture.Bytes, 0)
}
