package proxy

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s seldom
		steps := []struct {
			name string
			wait time.Duration
			key  string
			want bool
		}{
			{"the first", 0, "memory/error", true},
			{"the same at once", 0, "memory/error", false},
			{"another", 0, "memory/timeout", true},
			{"the same soon", seldomEvery - time.Second, "memory/error", false},
			{"the same later", time.Second, "memory/error", true},
		}
		for _, tt := range steps {
			time.Sleep(tt.wait) // the clock of synctest
			if got := s.due(tt.key); got != tt.want {
				t.Errorf("%s: due(%q) = %v, want %v", tt.name, tt.key, got, tt.want)
			}
		}
	})
}
