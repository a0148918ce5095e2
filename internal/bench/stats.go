package bench

import (
	"math"
	"slices"
	"time"
)

// timing is how long an answer took. The zero timing stands for a failure.
type timing struct {
	first time.Duration // until the first byte of the body
	total time.Duration // until its end
}

func (t timing) failed() bool { return t.total == 0 }

func firstByte(t timing) time.Duration { return t.first }
func whole(t timing) time.Duration     { return t.total }

// quantile is the nearest-rank quantile of durations, in microseconds; 0 of
// none. It sorts them.
func quantile(d []time.Duration, q float64) float64 {
	if len(d) == 0 {
		return 0
	}
	slices.Sort(d)
	rank := max(1, int(math.Ceil(q*float64(len(d)))))
	return micros(d[rank-1])
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// values are the parts of all timings that did not fail.
func values(all []timing, part func(timing) time.Duration) []time.Duration {
	var out []time.Duration
	for _, t := range all {
		if !t.failed() {
			out = append(out, part(t))
		}
	}
	return out
}

// added are the differences of the pairs of which neither failed. Some may be
// negative.
func added(direct, proxied []timing, part func(timing) time.Duration) []time.Duration {
	var out []time.Duration
	for i := range min(len(direct), len(proxied)) {
		if !direct[i].failed() && !proxied[i].failed() {
			out = append(out, part(proxied[i])-part(direct[i]))
		}
	}
	return out
}
