package proxy

import (
	"bytes"
	"io"

	"github.com/tidwall/gjson"

	"github.com/understudy-ai/understudy/ledger"
)

// bill is what attempts that failed were billed.
type bill struct {
	usd     float64
	unknown bool // something was billed at a price that is not known
}

func (b *bill) add(o bill) {
	b.usd += o.usd
	b.unknown = b.unknown || o.unknown
}

// charge is what a failed attempt was billed: what its answer says it cost, or
// the tokens that it reports. Most failures say nothing and cost nothing.
func (x *exchange) charge(resp *response) (b bill) {
	if resp == nil {
		return b
	}
	if usd := reportedCost(&resp.Header); usd != nil {
		return bill{usd: *usd}
	}
	held, ok := resp.body.(*bytes.Reader)
	if !resp.held || !ok {
		return b
	}
	body, err := io.ReadAll(held)
	held.Reset(body)
	usage := gjson.GetBytes(body, "usage")
	if err != nil || !usage.IsObject() {
		return b
	}
	if usd := ownFigure([]byte(usage.Raw)); usd != nil {
		return bill{usd: *usd}
	}
	u, known := ledger.ParseUsage([]byte(usage.Raw))
	if !known {
		return b
	}
	m := x.billed()
	if m == nil {
		return bill{unknown: true}
	}
	usd, priced := m.Price.Cost(u)
	return bill{usd: usd, unknown: !priced}
}

// ownFigure is the cost in USD that some put into the usage (OpenRouter,
// LiteLLM for streams when asked to), nil when there is none.
func ownFigure(usage []byte) *float64 {
	cost := gjson.GetBytes(usage, "cost")
	if cost.Type != gjson.Number {
		return nil
	}
	return ledger.Plausible(&cost.Num)
}
