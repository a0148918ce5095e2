package bench

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestQuantile(t *testing.T) {
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(100-i) * time.Microsecond
	}
	tests := []struct {
		name string
		d    []time.Duration
		q    float64
		want float64
	}{
		{"none", nil, 0.5, 0},
		{"one", []time.Duration{7 * time.Microsecond}, 0.99, 7},
		{"median", hundred, 0.5, 50},
		{"p99", hundred, 0.99, 99},
		{"least", hundred, 0, 1},
		{"greatest", hundred, 1, 100},
		{"negative", []time.Duration{2000, -3000, 1000}, 0.5, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := quantile(tt.d, tt.q); got != tt.want {
				t.Errorf("quantile(%v) = %v, want %v", tt.q, got, tt.want)
			}
		})
	}
}

// TestAdded holds that differences are taken within pairs, and that a pair
// with a failure counts for nothing.
func TestAdded(t *testing.T) {
	direct := []timing{{1, 10}, {2, 20}, {}, {4, 400}}
	proxied := []timing{{3, 15}, {}, {9, 90}, {5, 390}}
	if diff := cmp.Diff([]time.Duration{5, -10}, added(direct, proxied, whole)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]time.Duration{2, 1}, added(direct, proxied, firstByte)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]time.Duration{15, 90, 390}, values(proxied, whole)); diff != "" {
		t.Error(diff)
	}
}
