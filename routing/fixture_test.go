package routing

import (
	"sync"
	"testing"
	"time"

	"github.com/understudy-ai/understudy/assemble"
	"github.com/understudy-ai/understudy/internal/chat"
	"github.com/understudy-ai/understudy/ledger"
	"github.com/understudy-ai/understudy/scoring"
)

// testModels are in no price list, so each has what is written here and
// nothing else.
func testModels() []Model {
	return []Model{
		{
			Name: "small", ID: "test/small-1", Tier: assemble.Small, Context: 8_000, MaxOutput: 2_000,
			Supports: []string{"tools"}, Price: &ledger.Price{Input: 0.1, Output: 0.4},
		},
		{
			Name: "mid", ID: "test/mid-1", Tier: assemble.Mid, Context: 32_000, MaxOutput: 8_000,
			Supports: []string{"tools", "json_schema"}, Price: &ledger.Price{Input: 1, Output: 5},
		},
		{
			Name: "large", ID: "test/large-1", Tier: assemble.Frontier, Context: 128_000, MaxOutput: 32_000,
			Supports: []string{"tools", "json_schema", "vision", "reasoning"}, Price: &ledger.Price{Input: 5, Output: 25},
		},
		{Name: "coder", ID: "test/coder-1", Tier: assemble.Mid, Price: &ledger.Price{Input: 2, Output: 10}},
		{Name: "unpriced", ID: "test/unpriced-1", Tier: assemble.Mid},
	}
}

func newTestCatalogue(tb testing.TB, models ...Model) *Catalogue {
	tb.Helper()
	c, err := NewCatalogue(models, &ledger.PriceList{})
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func testConfig(tb testing.TB) Config {
	return Config{
		Catalogue: newTestCatalogue(tb, testModels()...),
		Explicit:  ExplicitCheaper,
		Profile:   "balanced",
		Profiles: map[string]Profile{
			"balanced": {Light: "small", Standard: "mid", Heavy: "large"},
			"eco":      {Light: "small", Standard: "small", Heavy: "mid"},
			"premium":  {Light: "mid", Standard: "large", Heavy: "large"},
			"strange":  {Light: "large", Standard: "unpriced", Heavy: "small"},
		},
		AgentProfiles: map[string]string{"thrifty": "eco", "plain": ""},
		ProcessTypes:  map[string]string{"channel": "mid", "branch": "mid", "worker": "small"},
		TaskOverrides: map[string]string{"coding": "coder"},
		PromptRouted:  []string{"channel", "branch"},
		Session:       SessionConfig{Idle: 30 * time.Minute, CacheTTL: 5 * time.Minute, Horizon: 3, DownAfter: 2, Max: 100},
		Clock:         func() time.Time { return time.Unix(1_800_000_000, 0) },
	}
}

// newTestRouter makes a router from testConfig as changed by change.
func newTestRouter(tb testing.TB, change func(*Config)) *Router {
	tb.Helper()
	cfg := testConfig(tb)
	if change != nil {
		change(&cfg)
	}
	r, err := New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// request is the first turn of a conversation of its own, of the given tier.
func request(model string, tier scoring.Tier) Request {
	return Request{
		Session: "s", Turn: "1", Agent: "default", Model: model, ProcessType: "channel",
		Score: scoring.Score{Tier: tier, Confidence: 0.9}, InputTokens: 1_000,
	}
}

func decide(tb testing.TB, r *Router, req Request) Decision {
	tb.Helper()
	d, err := r.Decide(req)
	if err != nil {
		tb.Fatalf("Decide(%+v): %v", req, err)
	}
	return d
}

func nameOf(m *Model) string {
	if m == nil {
		return ""
	}
	return m.Name
}

// fakeClock stands still until it is moved. Safe for concurrent use.
type fakeClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

var vision = chat.Needs{Vision: true}
