package ledger

// Price is what a model costs, in USD per million tokens.
type Price struct {
	Input  float64 `json:"input"`
	Output float64 `json:"output"`

	// CacheRead is the price of prompt tokens read from the provider's cache,
	// CacheWrite of those written to it; nil: the input price.
	CacheRead  *float64 `json:"cache_read,omitempty"`
	CacheWrite *float64 `json:"cache_write,omitempty"`

	// CacheWriteHour is the price of what is written to be kept for an hour;
	// nil: that of any cache write.
	CacheWriteHour *float64 `json:"cache_write_1h,omitempty"`

	// Reasoning is the price of the output that is thought; nil: Output.
	Reasoning *float64 `json:"reasoning,omitempty"`

	// Long is the price of requests whose prompt has more than LongAbove
	// tokens, all of their tokens; nil: there is no other.
	Long      *Price `json:"long,omitempty"`
	LongAbove int64  `json:"long_above,omitempty"`
}

// Cost returns what u costs in USD. It is not ok for a nil price: unknown,
// which is not 0.
func (p *Price) Cost(u Usage) (usd float64, ok bool) {
	if p == nil {
		return 0, false
	}
	p = p.at(u.Input)

	return p.prompt(u) + p.answer(u), true
}

// at returns the price of a request with a prompt of so many tokens.
func (p *Price) at(input int64) *Price {
	if p != nil && p.Long != nil && input > p.LongAbove {
		return p.Long
	}

	return p
}

// prompt returns the USD for u's prompt, each token at its own rate.
func (p *Price) prompt(u Usage) float64 {
	return p.tokens(float64(u.Input-u.Cached-u.CacheWrite), float64(u.Cached), float64(u.CacheWrite), float64(u.CacheWriteHour))
}

// tokens returns the USD for a prompt of fresh, cached and written tokens, some
// of the latter written for an hour.
func (p *Price) tokens(fresh, cached, written, hour float64) float64 {
	write := or(p.CacheWrite, p.Input)

	return (fresh*p.Input + cached*or(p.CacheRead, p.Input) + (written-hour)*write + hour*or(p.CacheWriteHour, write)) / 1e6
}

// answer returns the USD for u's output.
func (p *Price) answer(u Usage) float64 {
	return (float64(u.Output-u.Reasoning)*p.Output + float64(u.Reasoning)*or(p.Reasoning, p.Output)) / 1e6
}

// Same reports whether p and q ask the same of every kind of token. Two
// unknown prices are not the same.
func (p *Price) Same(q *Price) bool {
	if p == nil || q == nil {
		return false
	}
	if p == q {
		return true
	}
	long := p.Long == nil && q.Long == nil || p.LongAbove == q.LongAbove && p.Long.Same(q.Long)

	return long && p.Input == q.Input && p.Output == q.Output &&
		or(p.CacheRead, p.Input) == or(q.CacheRead, q.Input) &&
		or(p.CacheWrite, p.Input) == or(q.CacheWrite, q.Input) &&
		or(p.CacheWriteHour, or(p.CacheWrite, p.Input)) == or(q.CacheWriteHour, or(q.CacheWrite, q.Input)) &&
		or(p.Reasoning, p.Output) == or(q.Reasoning, q.Output)
}

// or returns *price, or otherwise when it is nil.
func or(price *float64, otherwise float64) float64 {
	if price == nil {
		return otherwise
	}

	return *price
}
