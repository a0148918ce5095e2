package proxy

import (
	"sync"
	"time"
)

// seldomEvery is how often the same fault is logged while it lasts. Metrics
// count each time.
const seldomEvery = time.Minute

// seldom tells which of many equal log lines are due, so that a fault that
// every request meets does not fill the log. The zero value is ready.
type seldom struct {
	mu   sync.Mutex
	last map[string]time.Time
}

// due reports whether the last line with the key was long ago. Keys must be
// few.
func (s *seldom) due(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if last, ok := s.last[key]; ok && now.Sub(last) < seldomEvery {
		return false
	}
	if s.last == nil {
		s.last = make(map[string]time.Time)
	}
	s.last[key] = now
	return true
}
