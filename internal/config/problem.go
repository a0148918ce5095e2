package config

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
)

// problem is one thing that is wrong with a configuration.
type problem struct {
	// at is where the value came from: a position, a variable, or "" when it is a default or not known.
	at string
	// key is the dotted key, or "" where text says it all.
	key  string
	text string
}

// Error returns "at: key: text" without the parts that are not there.
func (p problem) Error() string { return prefix(p.at) + prefix(p.key) + p.text }

// checker collects the problems of a configuration.
type checker struct{ problems []problem }

func (c *checker) add(key, format string, args ...any) {
	c.problems = append(c.problems, problem{key: key, text: fmt.Sprintf(format, args...)})
}

// oneOf wants value to be among known.
func (c *checker) oneOf(key, value string, known ...string) {
	if !slices.Contains(known, value) {
		c.add(key, "unknown value %q%s", clip(value), hint(value, known))
	}
}

// atLeast wants value to be no less than least.
func (c *checker) atLeast(key string, value, least int) {
	if value < least {
		c.add(key, "must be at least %d, is %d", least, value)
	}
}

// within wants value to be in [least, most].
func within[T int | float64](c *checker, key string, value, least, most T) {
	if !(value >= least && value <= most) { // so that NaN is refused
		c.add(key, "must be between %v and %v, is %v", least, most, value)
	}
}

// positive wants a duration above zero.
func (c *checker) positive(key string, d time.Duration) {
	if d <= 0 {
		c.add(key, "must be longer than 0, is %s", formatDuration(d))
	}
}

// price wants an optional price to be a number from 0 up.
func (c *checker) price(key string, price *float64) {
	if price != nil && !(*price >= 0 && *price <= math.MaxFloat64) {
		c.add(key, "must be 0 or more (USD per million tokens), is %v", *price)
	}
}

// plainName wants a name that callers can send in a header.
func (c *checker) plainName(key, name string) {
	unfit := func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }
	if name == "" || strings.ContainsFunc(name, unfit) {
		c.add(key, "name %q must not be empty or hold white space", clip(name))
	}
}

// name wants a name of the operator's own making, to which a stricter rule may apply.
func (c *checker) name(key, name string) {
	for _, r := range name {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !letter && r != '-' && r != '_' && r != '.' {
			c.add(key, "name %q may hold letters, digits, '-', '_' and '.' only", clip(name))
			return
		}
	}
	if name == "" {
		c.add(key, "an empty name is not allowed")
	}
}
