package ambient

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// held is how many bytes a cache holds, by its own count of its entries.
func (c *cache[K, V]) held() (bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, generation := range []map[K]*cached[V]{c.fresh, c.stale} {
		for _, entry := range generation {
			bytes += entry.bytes
		}
	}
	return bytes
}

// TestCacheIsBounded holds that a cache keeps what is used and lets go of the rest, however entries grow and come back.
func TestCacheIsBounded(t *testing.T) {
	c := cache[int, int]{limit: 10 * entryBytes}
	made := 0
	use := func(key int) {
		c.find(key, func() int { made++; return key })
	}
	for i := range 1000 {
		use(-1)
		use(i)
		c.grew(i, entryBytes/2*(i%5))
		if held := c.held(); held > 2*c.limit+4*entryBytes {
			t.Fatalf("%d bytes are held after %d entries, want about %d at most", held, i, 2*c.limit)
		}
	}
	if made != 1001 {
		t.Errorf("%d entries were made, want each one once", made)
	}
	if c.find(0, nil) != nil {
		t.Error("the first entry is still there")
	}
	c.drop(func(key int, _ *int) bool { return key == -1 })
	if c.find(-1, nil) != nil || c.find(999, nil) == nil {
		t.Error("drop dropped something else")
	}
}

// TestEvictedFeedsComeBack holds that what is told doesn't depend on what is in RAM.
func TestEvictedFeedsComeBack(t *testing.T) {
	small, now := eventStore(t, func(c *Config) { c.CacheBytes = 6 * entryBytes })
	large, also := eventStore(t, nil)
	at(t, now, "2026-03-17 10:00")
	also.set(now.now())
	for i := range 60 {
		scope := place(t, fmt.Sprint("user", i%20), []string{"", "eng"}[i%2], false)
		tell(t, small, now, scope, fmt.Sprintf("decision: Number %d", i))
		tell(t, large, also, scope, fmt.Sprintf("decision: Number %d", i))
		for _, reader := range []Scope{scope, place(t, "user1", "", false), place(t, "nobody", "", false)} {
			if diff := cmp.Diff(working(t, large, also, reader, true), working(t, small, now, reader, true)); diff != "" {
				t.Fatalf("after %d events (-large +small cache):\n%s", i+1, diff)
			}
		}
	}
	if small.feeds.held() >= large.feeds.held() {
		t.Errorf("the small cache holds %d bytes, the large one %d", small.feeds.held(), large.feeds.held())
	}
}
