package ledger

import "math"

// Settle fills e's Cost, Baseline, Saved, Priced and Disputed from its usage. routed and
// baseline are the prices of the two models, nil when unknown; reportedCost is
// what the upstream says this answer cost in USD (x-litellm-response-cost),
// nil when it doesn't say. It overrides our own reckoning; 0 is how LiteLLM
// reports a model that it has no price for, and is taken as nothing said.
//
// The baseline is the baseline model on the original prompt, which is the
// prompt less what we injected, with the same answer and the same share of
// cached tokens, or with WarmTokens cached where that is known. The difference
// to the cost is split so that
//
//	Baseline − Cost = Routing + Memory + Scaffold + Cache + Retries + Background
//
// holds to the last of the whole billionths of a dollar that all of them are
// rounded to:
//
//   - Memory, Scaffold: minus the injected tokens, at what a prompt token of
//     this very request cost on average. Charging them as if none were cached
//     would show up as routing savings even where nothing was routed. If they
//     lift the prompt into its model's long-context price, that is theirs, too.
//   - Cache: the baseline with the cache it would have had, less the baseline
//     with this request's share of cached tokens. Negative when a switch left
//     a warm cache behind.
//   - Retries: minus RetryCost.
//   - Background: minus the cost of one of our own calls, which has no
//     baseline and nothing else to split.
//   - Routing: the rest.
//
// A request that failed without a bill costs and saves 0; one that failed with
// a bill never saves, but may overspend. If the usage, the baseline's price,
// or the routed price where it is needed is unknown, e stays unpriced.
func Settle(e *Entry, routed, baseline *Price, reportedCost *float64) {
	e.Cost, e.Baseline, e.Saved, e.Priced, e.Disputed = nil, nil, Savings{}, false, false
	reportedCost = Plausible(reportedCost)
	if e.Background != "" {
		e.settleBackground(routed, reportedCost)
		return
	}

	retries := toNano(e.RetryCost)
	if !e.UsageKnown {
		if e.unbilled() {
			e.price(bill{cost: retries, retries: -retries})
		}
		return
	}
	b, ok := reckon(e, routed, baseline, reportedCost)
	if !ok {
		return
	}
	b.cost += retries
	b.retries = -retries
	if e.failed() && b.baseline > b.cost {
		b = bill{cost: b.cost, baseline: b.cost}
	}
	e.price(b)
}

// unbilled reports whether a request without usage is known to be free.
func (e *Entry) unbilled() bool {
	switch e.Outcome {
	case OutcomeUpstreamError, OutcomeUnreachable, OutcomeRejected:
		return true
	default:
		return false
	}
}

// failed reports whether the client got less than an answer, and not by its
// own choice.
func (e *Entry) failed() bool {
	switch e.Outcome {
	case OutcomeOK, OutcomeBypass, OutcomeClientCancelled:
		return false
	default:
		return true
	}
}

// Plausible returns a cost in USD that an upstream reports, or nil for what
// can't be one: nothing, less, no number, or more than any request can cost.
func Plausible(cost *float64) *float64 {
	if cost == nil || !(*cost > 0 && *cost <= maxUSD) { // NaN compares false.
		return nil
	}

	return cost
}

// settleBackground prices one of our own calls.
func (e *Entry) settleBackground(routed *Price, reported *float64) {
	cost, known := routed.Cost(e.Usage)
	known = known && e.UsageKnown
	switch {
	case reported != nil:
		e.Disputed = known && disputed(*reported, cost)
		cost = *reported
	case e.unbilled() && !e.UsageKnown:
		cost = 0
	case !known:
		return
	}
	e.price(bill{cost: toNano(cost), background: -toNano(cost)})
}

// disputed reports whether a bill and our reckoning differ by more than 5 % of
// what we reckon: more than rounding and a stale digit in a price.
func disputed(reported, reckoned float64) bool {
	return math.Abs(reported-reckoned) > 0.05*reckoned
}

// bill is the money of one request; routing's share is what remains.
type bill struct {
	cost, baseline, memory, scaffold, cache, retries, background nano
}

// reckon works out all of e's bill but the retries.
func reckon(e *Entry, routed, baseline *Price, reported *float64) (bill, bool) {
	u := e.Usage
	memory := clamp(e.InjectedMemoryTokens, u.Input)
	scaffold := clamp(e.InjectedScaffoldTokens, u.Input-memory)
	injected := memory + scaffold

	cost, known := routed.Cost(u)
	if baseline == nil || !known && (reported == nil || injected > 0) {
		return bill{}, false
	}

	// How far the upstream's bill is from our price list. It applies to the
	// baseline too where that is the same price, lest a discount on the bill
	// look like a saving.
	factor, same := 1.0, baseline.Same(routed)
	if reported != nil {
		e.Disputed = known && disputed(*reported, cost)
		if cost > 0 {
			factor = *reported / cost
		} else if same { // At a price of 0 there is nothing to split the bill by.
			return bill{cost: toNano(*reported), baseline: toNano(*reported)}, true
		}
		cost = *reported
	}
	baseFactor := 1.0
	if same {
		baseFactor = factor
	}

	sameShare := baseFactor * baseline.original(u, u.Input-injected)
	warm := sameShare
	if e.WarmTokens != nil {
		warm = baseFactor * baseline.warm(u, u.Input-injected, *e.WarmTokens)
	}

	b := bill{
		cost:     toNano(cost),
		baseline: toNano(warm),
		cache:    toNano(warm) - toNano(sameShare),
	}
	if injected > 0 {
		usd, _ := routed.Cost(u)
		added := factor * (usd - routed.original(u, u.Input-injected))
		b.memory = -toNano(added * share(float64(memory), injected))
		b.scaffold = -toNano(added * share(float64(scaffold), injected))
	}

	return b, true
}

// original returns the USD for the first input tokens of u's prompt, of which
// the same share is cached and written, and the same answer.
func (p *Price) original(u Usage, input int64) float64 {
	p = p.at(input)

	return p.prompt(u)*share(float64(input), u.Input) + p.answer(u)
}

// warm is original with cached tokens in the cache. The rest is written to the
// cache in u's own proportion.
func (p *Price) warm(u Usage, input, cached int64) float64 {
	p = p.at(input)
	hit := float64(clamp(cached, input))
	cold := float64(input) - hit
	written := cold * share(float64(u.CacheWrite), u.Input-u.Cached)
	hour := cold * share(float64(u.CacheWriteHour), u.Input-u.Cached)

	return p.tokens(cold-written, hit, written, hour) + p.answer(u)
}

// share returns part/whole, 0 of nothing.
func share(part float64, whole int64) float64 {
	if whole <= 0 {
		return 0
	}

	return part / float64(whole)
}

func clamp(n, most int64) int64 { return max(0, min(n, most)) }

// price writes b into e.
func (e *Entry) price(b bill) {
	cost, baseline := b.cost.usd(), b.baseline.usd()
	e.Cost, e.Baseline, e.Priced = &cost, &baseline, true
	e.Saved = Savings{
		Routing:    (b.baseline - b.cost - b.memory - b.scaffold - b.cache - b.retries - b.background).usd(),
		Memory:     b.memory.usd(),
		Scaffold:   b.scaffold.usd(),
		Cache:      b.cache.usd(),
		Retries:    b.retries.usd(),
		Background: b.background.usd(),
	}
}

// nano is money in billionths of a dollar. A cheap cached token costs a few of
// them, so rounding is far below what any bill shows, and integers add up
// exactly in Go and in SQLite.
type nano int64

// maxUSD bounds one amount, so that 9,000 of the largest still fit an int64.
const maxUSD = 1e6

func toNano(usd float64) nano {
	if math.IsNaN(usd) {
		return 0
	}

	return nano(math.Round(math.Max(-maxUSD, math.Min(usd, maxUSD)) * 1e9))
}

func (n nano) usd() float64 { return float64(n) / 1e9 }
