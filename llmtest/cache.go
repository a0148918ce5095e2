package llmtest

import "sync"

// promptCache remembers recent prompts per model and tells how much of a new
// one a provider would have had in its cache.
type promptCache struct {
	mu    sync.Mutex
	known map[string][]string
}

const (
	cacheBlock = 32 // tokens; real providers cache in blocks of 64 to 1,024
	cacheKept  = 64 // prompts per model
)

// use returns the cached tokens of prompt and remembers it.
func (c *promptCache) use(model, prompt string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known = make(map[string][]string)
	}
	best := 0
	for _, old := range c.known[model] {
		best = max(best, commonPrefix(old, prompt))
	}
	c.known[model] = append(c.known[model], prompt)
	if n := len(c.known[model]); n > cacheKept {
		c.known[model] = c.known[model][n-cacheKept:]
	}
	return best / 4 / cacheBlock * cacheBlock
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
