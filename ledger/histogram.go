package ledger

import (
	"math/bits"
	"time"
)

// histogram counts durations in buckets that grow with them: four to each
// doubling, from a microsecond to an hour, so that a percentile read from it
// is at most an eighth off, and adding two up is exact.
type histogram [numBuckets]int64

const numBuckets = 1 + 4*32

func (h *histogram) observe(d time.Duration) { h[bucketOf(d)]++ }

// bucketOf returns the bucket for d. Bucket 0 holds what is below a
// microsecond, bucket 1+4e+q what is at least 2^e·(1+q/4) microseconds and
// less than the next one's.
func bucketOf(d time.Duration) int {
	us := uint64(max(0, d.Microseconds()))
	if us == 0 {
		return 0
	}
	e := bits.Len64(us) - 1
	quarter := us << 2 >> e & 3 // The two bits after the leading one.

	return min(1+4*e+int(quarter), numBuckets-1)
}

// floorOf returns where a bucket begins, in microseconds.
func floorOf(bucket int) float64 {
	if bucket == 0 {
		return 0
	}
	e, quarter := (bucket-1)/4, (bucket-1)%4

	return float64(uint64(1)<<e) * (1 + float64(quarter)/4)
}

// percentile returns the duration that a share of the observations does not
// exceed, taking those of a bucket as spread evenly over it. It is 0 when
// nothing was observed.
func (h *histogram) percentile(share float64) time.Duration {
	var all int64
	for _, n := range h {
		all += n
	}
	rank := share * float64(all)
	for bucket, n := range h {
		if n > 0 && rank <= float64(n) {
			from, to := floorOf(bucket), floorOf(bucket+1)
			us := from + (to-from)*max(0, rank)/float64(n)
			return time.Duration(us * float64(time.Microsecond))
		}
		rank -= float64(n)
	}

	return 0
}
