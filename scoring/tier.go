package scoring

import (
	"fmt"
	"strings"
)

// Tier is the class of model a message calls for. Tiers are ordered: Light < Standard < Heavy.
// The zero value is Standard, so that a forgotten tier is never a cheap one.
type Tier int8

// The prompt tiers.
const (
	Light    Tier = iota - 1 // the cheapest capable model will do
	Standard                 // the default model
	Heavy                    // the strongest model available
)

// String returns "light", "standard" or "heavy"; a value outside the range prints as tier(n).
func (t Tier) String() string {
	switch t {
	case Light:
		return "light"
	case Standard:
		return "standard"
	case Heavy:
		return "heavy"
	}
	return fmt.Sprintf("tier(%d)", int8(t))
}

// MarshalText returns the tier's name.
func (t Tier) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// ParseTier reads a tier's name, in any case. The error lists the names that it knows.
func ParseTier(name string) (Tier, error) {
	for t := Light; t <= Heavy; t++ {
		if strings.EqualFold(name, t.String()) {
			return t, nil
		}
	}
	return Standard, fmt.Errorf("parsing tier %q: want light, standard or heavy", name)
}
