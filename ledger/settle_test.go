package ledger

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// Prices of the tests: a dear and a cheap model, in USD per million tokens.
var (
	dear  = &Price{Input: 3, Output: 15, CacheRead: ptr(0.3), CacheWrite: ptr(3.75)}
	cheap = &Price{Input: 1, Output: 5, CacheRead: ptr(0.1), CacheWrite: ptr(1.25)}
)

// long is twice as dear for prompts of more than 1,000 tokens.
var long = &Price{Input: 1, Output: 5, LongAbove: 1_000, Long: &Price{Input: 2, Output: 10}}

// amounts is what Settle sets.
type amounts struct {
	Cost, Baseline float64
	Saved          Savings
}

func TestSettle(t *testing.T) {
	known := Usage{Input: 10_000, Cached: 5_000, Output: 1_000}
	ok := Entry{Outcome: OutcomeOK, UsageKnown: true, Usage: known}
	with := func(change func(*Entry)) Entry {
		e := ok
		change(&e)
		return e
	}
	injecting := with(func(e *Entry) { e.InjectedMemoryTokens, e.InjectedScaffoldTokens = 800, 200 })

	tests := []struct {
		name             string
		entry            Entry
		routed, baseline *Price
		reported         *float64
		want             *amounts // Nil: unpriced.
	}{
		{"same model", ok, dear, dear, nil, &amounts{Cost: 0.0315, Baseline: 0.0315}},
		{
			"cheaper model", ok, cheap, dear, nil,
			&amounts{0.0105, 0.0315, Savings{Routing: 0.021}},
		},
		{
			"dearer model overspends", ok, dear, cheap, nil,
			&amounts{0.0315, 0.0105, Savings{Routing: -0.021}},
		},
		{
			"what was injected costs, and routing saves nothing on the same model", injecting, dear, dear, nil,
			// A prompt token costs 1.65 per million on average.
			&amounts{0.0315, 0.02985, Savings{Memory: -0.00132, Scaffold: -0.00033}},
		},
		{
			"cheaper model, net of what was injected", injecting, cheap, dear, nil,
			&amounts{0.0105, 0.02985, Savings{Routing: 0.0199, Memory: -0.00044, Scaffold: -0.00011}},
		},
		{
			"a switch that lost the cache",
			Entry{
				Outcome: OutcomeOK, UsageKnown: true, WarmTokens: ptr(int64(50_000)),
				Usage: Usage{Input: 50_000, CacheWrite: 50_000, Output: 100},
			},
			cheap, dear, nil,
			&amounts{0.063, 0.0165, Savings{Routing: 0.126, Cache: -0.1725}},
		},
		{
			"warm tokens beyond the original prompt count no further",
			with(func(e *Entry) { e.InjectedMemoryTokens, e.WarmTokens = 1_000, ptr(int64(99_999)) }),
			dear, dear, nil,
			&amounts{0.0315, 0.0177, Savings{Memory: -0.00165, Cache: -0.01215}},
		},
		{
			"the reported cost overrides ours", ok, cheap, dear, ptr(0.02),
			&amounts{0.02, 0.0315, Savings{Routing: 0.0115}},
		},
		{
			"a discount on the bill isn't a saving", injecting, dear, dear, ptr(0.0315 / 2),
			&amounts{0.01575, 0.014925, Savings{Memory: -0.00066, Scaffold: -0.000165}},
		},
		{
			"the reported cost stands in for an unknown price", ok, nil, dear, ptr(0.02),
			&amounts{0.02, 0.0315, Savings{Routing: 0.0115}},
		},
		{
			"memory that lifts a prompt into the long price",
			Entry{Outcome: OutcomeOK, UsageKnown: true, Usage: Usage{Input: 1_100, Output: 100}, InjectedMemoryTokens: 150, InjectedScaffoldTokens: 50},
			long, long, nil,
			// 1,100 tokens at 2 and 100 at 10, against 900 at 1 and 100 at 5.
			&amounts{0.0032, 0.0014, Savings{Memory: -0.00135, Scaffold: -0.00045}},
		},
		{
			"a long prompt to a model without a long price",
			Entry{Outcome: OutcomeOK, UsageKnown: true, Usage: Usage{Input: 2_000, Output: 100}},
			cheap, long, nil,
			&amounts{0.0025, 0.005, Savings{Routing: 0.0025}},
		},
		{
			"what a switch has to write for an hour again",
			Entry{
				Outcome: OutcomeOK, UsageKnown: true, WarmTokens: ptr(int64(8_000)),
				Usage: Usage{Input: 10_000, CacheWrite: 10_000, CacheWriteHour: 10_000, Output: 100},
			},
			dear, dear, nil,
			// 10,000 at 3.75 against 8,000 at .3 and 2,000 at 3.75.
			&amounts{0.039, 0.0114, Savings{Cache: -0.0276}},
		},
		{
			"a bill for what is said to be free is the baseline's, too, on the same model", injecting, &Price{}, &Price{}, ptr(0.02),
			&amounts{Cost: 0.02, Baseline: 0.02},
		},
		{"a reported cost of 0 says nothing", ok, cheap, dear, ptr(0.0), &amounts{0.0105, 0.0315, Savings{Routing: 0.021}}},
		{
			"one of our own calls", with(func(e *Entry) { e.Background = "extractor" }), cheap, nil, nil,
			&amounts{Cost: 0.0105, Saved: Savings{Background: -0.0105}},
		},
		{
			"one of our own, as billed",
			Entry{Outcome: OutcomeOK, Background: "extractor"},
			nil, nil, ptr(0.02),
			&amounts{Cost: 0.02, Saved: Savings{Background: -0.02}},
		},
		{"one of our own, without a price", with(func(e *Entry) { e.Background = "extractor" }), nil, nil, nil, nil},
		{"one of our own that failed", Entry{Outcome: OutcomeUpstreamError, Background: "extractor"}, cheap, nil, nil, &amounts{}},
		{"a reported cost that can't be one", ok, dear, dear, ptr(math.NaN()), &amounts{Cost: 0.0315, Baseline: 0.0315}},
		{"unknown routed price", ok, nil, dear, nil, nil},
		{"unknown routed price, and injected tokens to price", injecting, nil, dear, ptr(0.02), nil},
		{"unknown baseline price", ok, dear, nil, ptr(0.02), nil},
		{"unknown usage", Entry{Outcome: OutcomeOK}, dear, dear, ptr(0.02), nil},
		{"unknown usage of a cancelled request", Entry{Outcome: OutcomeClientCancelled}, dear, dear, nil, nil},
		{"a failure without a bill", Entry{Outcome: OutcomeUpstreamError}, nil, nil, nil, &amounts{}},
		{
			"a failure after an attempt that was billed",
			Entry{Outcome: OutcomeUnreachable, RetryCost: 0.01},
			dear, dear, nil,
			&amounts{Cost: 0.01, Saved: Savings{Retries: -0.01}},
		},
		{
			"an attempt that was billed", with(func(e *Entry) { e.RetryCost = 0.01 }), cheap, dear, nil,
			&amounts{0.0205, 0.0315, Savings{Routing: 0.021, Retries: -0.01}},
		},
		{
			"a broken stream saves nothing",
			with(func(e *Entry) { e.Outcome = OutcomeStreamIncomplete }), cheap, dear, nil,
			&amounts{Cost: 0.0105, Baseline: 0.0105},
		},
		{
			"but it may overspend",
			with(func(e *Entry) { e.Outcome = OutcomeStreamIncomplete }), dear, cheap, nil,
			&amounts{0.0315, 0.0105, Savings{Routing: -0.021}},
		},
		{
			"more injected than the prompt has",
			with(func(e *Entry) { e.InjectedMemoryTokens, e.InjectedScaffoldTokens = 1<<40, 1<<40 }), dear, dear, nil,
			&amounts{0.0315, 0.015, Savings{Memory: -0.0165}},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e := test.entry
			Settle(&e, test.routed, test.baseline, test.reported)
			if test.want == nil {
				if e.Priced || e.Cost != nil || e.Baseline != nil || e.Saved != (Savings{}) {
					t.Errorf("Settle set amounts, want unpriced: %+v", e)
				}
				return
			}
			if !e.Priced || e.Cost == nil || e.Baseline == nil {
				t.Fatalf("Settle left it unpriced, want %+v", *test.want)
			}
			got := amounts{*e.Cost, *e.Baseline, e.Saved}
			if diff := cmp.Diff(*test.want, got, cmpopts.EquateApprox(0, 1.5e-9)); diff != "" {
				t.Errorf("Settle (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSettleAgainForgetsTheFirst(t *testing.T) {
	e := Entry{Outcome: OutcomeOK, UsageKnown: true, Usage: Usage{Input: 10, Output: 1}}
	Settle(&e, cheap, dear, nil)
	Settle(&e, nil, dear, nil)
	if e.Priced || e.Cost != nil || e.Baseline != nil || e.Saved != (Savings{}) {
		t.Errorf("amounts are left: %+v", e)
	}
}

func TestUnpricedEntryShowsNoAmount(t *testing.T) {
	e := Entry{ID: "r", Outcome: OutcomeOK, UsageKnown: true, Usage: Usage{Input: 10, Output: 1}}
	Settle(&e, nil, nil, nil)
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	if s := string(text); strings.Contains(s, "usd") || strings.Contains(s, "saved") || !strings.Contains(s, `"priced":false`) {
		t.Errorf("an unpriced entry shows amounts: %s", s)
	}
}

// randomEntry and randomPrice make what can come, and some of what can't.
func randomEntry(r *rand.Rand) Entry {
	outcomes := []string{OutcomeOK, OutcomeBypass, OutcomeClientCancelled, OutcomeStreamIncomplete, OutcomeUpstreamError, OutcomeTimeout}
	input := 1 + r.Int64N(200_000)
	cached := r.Int64N(input + 1)
	e := Entry{
		Outcome:    outcomes[r.IntN(len(outcomes))],
		UsageKnown: r.IntN(10) > 0,
		Usage:      Usage{Input: input, Cached: cached, CacheWrite: r.Int64N(input - cached + 1), Output: r.Int64N(10_000)},
	}
	e.Usage.CacheWriteHour, e.Usage.Reasoning = r.Int64N(e.Usage.CacheWrite+1), r.Int64N(e.Usage.Output+1)
	if r.IntN(2) == 0 {
		e.InjectedMemoryTokens, e.InjectedScaffoldTokens = r.Int64N(input+100), r.Int64N(300)
	}
	if r.IntN(2) == 0 {
		e.WarmTokens = ptr(r.Int64N(input + 100))
	}
	if r.IntN(4) == 0 {
		e.RetryCost = r.Float64()
	}
	if r.IntN(8) == 0 {
		e.Background = "extractor"
	}

	return e
}

func randomPrice(r *rand.Rand) *Price {
	p := &Price{Input: r.Float64() * 15, Output: r.Float64() * 75}
	if r.IntN(2) == 0 {
		p.CacheRead = ptr(p.Input * r.Float64())
	}
	if r.IntN(2) == 0 {
		p.CacheWrite = ptr(p.Input * 1.25)
		p.CacheWriteHour = ptr(p.Input * 2)
	}
	if r.IntN(4) == 0 {
		p.Reasoning = ptr(p.Output * 2)
	}
	if r.IntN(2) == 0 {
		p.LongAbove, p.Long = 100_000, &Price{Input: p.Input * 2, Output: p.Output * 1.5}
		p.Long.inherit(p)
	}

	return p
}

func TestSavedIsTheDifference(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for range 20_000 {
		e, routed, baseline := randomEntry(r), randomPrice(r), randomPrice(r)
		if r.IntN(4) == 0 {
			baseline = routed
		}
		var reported *float64
		if r.IntN(4) == 0 {
			reported = ptr(r.Float64())
		}
		Settle(&e, routed, baseline, reported)
		if !e.Priced {
			continue
		}
		difference := toNano(*e.Baseline) - toNano(*e.Cost)
		s := e.Saved
		sum := toNano(s.Routing) + toNano(s.Memory) + toNano(s.Scaffold) + toNano(s.Cache) + toNano(s.Retries) + toNano(s.Background)
		if difference != sum || toNano(s.Total()) != sum {
			t.Fatalf("seed %d: baseline − cost = %d, Σ saved = %d, Total = %v\n%+v\n%+v", seed, difference, sum, s.Total(), e, s)
		}
		if s.Memory > 0 || s.Scaffold > 0 || s.Retries > 0 || s.Background > 0 {
			t.Fatalf("seed %d: what we add saves money: %+v", seed, s)
		}
		if baseline == routed && (s.Routing > 4e-9 || s.Routing < -4e-9) {
			t.Fatalf("seed %d: routing to the same price saves %v", seed, s.Routing)
		}
	}
}

func BenchmarkSettle(b *testing.B) {
	e := Entry{
		Outcome: OutcomeOK, UsageKnown: true, InjectedMemoryTokens: 300, WarmTokens: ptr(int64(4_000)),
		Usage: Usage{Input: 10_000, Cached: 5_000, Output: 1_000},
	}
	b.ReportAllocs()
	for b.Loop() {
		Settle(&e, cheap, dear, nil)
	}
}

func TestDisputed(t *testing.T) {
	e := Entry{Outcome: OutcomeOK, UsageKnown: true, Usage: Usage{Input: 10_000, Output: 1_000}} // 0.015 by the list
	tests := []struct {
		name     string
		routed   *Price
		reported *float64
		want     bool
	}{
		{"nothing reported", cheap, nil, false},
		{"the same", cheap, ptr(0.015), false},
		{"4 % more", cheap, ptr(0.0156), false},
		{"6 % more", cheap, ptr(0.0159), true},
		{"6 % less", cheap, ptr(0.0141), true},
		{"nothing of our own to compare with", nil, ptr(0.0159), false},
		{"0 says nothing", cheap, ptr(0.0), false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, background := range []string{"", "extractor"} {
				e := e
				e.Background = background
				Settle(&e, test.routed, dear, test.reported)
				if e.Disputed != test.want {
					t.Errorf("background %q: disputed %v, want %v", background, e.Disputed, test.want)
				}
			}
		})
	}
}
