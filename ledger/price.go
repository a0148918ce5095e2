package ledger

// Price is what a model costs, in USD per million tokens.
type Price struct {
	Input, Output float64

	// CacheRead is the price of prompt tokens read from the provider's cache,
	// CacheWrite of those written to it; nil: the input price.
	CacheRead, CacheWrite *float64
}

// Cost returns what u costs in USD. It is not ok for a nil price: unknown,
// which is not 0.
func (p *Price) Cost(u Usage) (usd float64, ok bool) {
	if p == nil {
		return 0, false
	}

	return p.prompt(u) + p.answer(u), true
}

// prompt returns the USD for u's prompt, each token at its own rate.
func (p *Price) prompt(u Usage) float64 {
	return p.tokens(float64(u.Input-u.Cached-u.CacheWrite), float64(u.Cached), float64(u.CacheWrite))
}

// tokens returns the USD for a prompt of fresh, cached and written tokens.
func (p *Price) tokens(fresh, cached, written float64) float64 {
	return (fresh*p.Input + cached*or(p.CacheRead, p.Input) + written*or(p.CacheWrite, p.Input)) / 1e6
}

// answer returns the USD for u's output.
func (p *Price) answer(u Usage) float64 {
	return float64(u.Output) * p.Output / 1e6
}

// equal reports whether p and q ask the same of every kind of token. Two
// unknown prices are not the same.
func (p *Price) equal(q *Price) bool {
	return p != nil && q != nil && p.Input == q.Input && p.Output == q.Output &&
		or(p.CacheRead, p.Input) == or(q.CacheRead, q.Input) &&
		or(p.CacheWrite, p.Input) == or(q.CacheWrite, q.Input)
}

// or returns *price, or otherwise when it is nil.
func or(price *float64, otherwise float64) float64 {
	if price == nil {
		return otherwise
	}

	return *price
}
