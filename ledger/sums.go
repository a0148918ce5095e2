package ledger

import (
	"encoding/binary"
	"errors"
	"slices"
)

// sums are counters over entries: the requests of callers, and beside them
// what our own background calls cost. The sums of two sets of entries that
// have none in common add up to those of both, so roll-ups of roll-ups stay
// exact.
type sums struct {
	requests, unpriced, disputed int64
	cost, baseline               nano                // Background calls included.
	saved, overspent             [numComponents]nano // Net, and the negative parts made positive.
	tokens                       Tokens              // Without background calls.
	tiers                        [len(tiers) + 1]int64
	switches                     [len(directions)]int64
	outcomes                     [len(outcomes)]int64
	arms                         [len(arms)]armSums
	background                   backgroundSums
	overhead, firstByte, total   histogram
}

type armSums struct {
	requests, output, truncated, corrected int64
	cost                                   nano
}

type backgroundSums struct {
	calls, tokens int64
	cost          nano
}

const numComponents = 6

// What counters are for, in their order. New names go to the end of the last
// list alone; see counters.
var (
	tiers      = [...]string{"light", "standard", "heavy"} // Then one counter for none of them.
	directions = [...]string{"up", "down", "level"}
	outcomes   = [...]string{
		OutcomeOK, OutcomeBypass, OutcomeClientCancelled, OutcomeStreamIncomplete,
		OutcomeUpstreamError, OutcomeUnreachable, OutcomeTimeout, OutcomeRejected,
	}
	arms = [...]string{ArmApplied, ArmHeldOut}
)

// counters lists every counter, in the order in which the file holds them. A
// new one goes to the end: what an older build wrote is then read as 0.
func (s *sums) counters() []*int64 {
	n := func(nanos *nano) *int64 { return (*int64)(nanos) }
	t := &s.tokens
	all := make([]*int64, 0, 64+3*numBuckets)
	all = append(all, &s.requests, &s.unpriced, &s.disputed, n(&s.cost), n(&s.baseline))
	for i := range numComponents {
		all = append(all, n(&s.saved[i]), n(&s.overspent[i]))
	}
	all = append(all, &t.Input, &t.Cached, &t.CacheWrite, &t.CacheWriteHour, &t.Output, &t.Reasoning, &t.InjectedMemory, &t.InjectedScaffold)
	for _, list := range [][]int64{s.tiers[:], s.switches[:], s.outcomes[:]} {
		for i := range list {
			all = append(all, &list[i])
		}
	}
	for i := range s.arms {
		all = append(all, &s.arms[i].requests, &s.arms[i].output, n(&s.arms[i].cost))
	}
	all = append(all, &s.background.calls, &s.background.tokens, n(&s.background.cost))
	for _, h := range []*histogram{&s.overhead, &s.firstByte, &s.total} {
		for i := range h {
			all = append(all, &h[i])
		}
	}
	for i := range s.arms {
		all = append(all, &s.arms[i].truncated, &s.arms[i].corrected)
	}

	return all
}

// count adds one entry.
func (s *sums) count(e *Entry) {
	s.money(e)
	if e.Background != "" {
		s.background.calls++
		s.background.tokens += e.Usage.Input + e.Usage.Output
		return
	}
	s.requests++
	s.tokens.count(e)
	tier := slices.Index(tiers[:], e.Tier)
	if tier < 0 {
		tier = len(tiers)
	}
	s.tiers[tier]++
	if i := slices.Index(directions[:], e.Switched); i >= 0 {
		s.switches[i]++
	}
	if i := slices.Index(outcomes[:], e.Outcome); i >= 0 {
		s.outcomes[i]++
	}
	if i := slices.Index(arms[:], e.ScaffoldArm); i >= 0 {
		s.arms[i].requests++
		s.arms[i].output += e.Usage.Output
		if e.Truncated {
			s.arms[i].truncated++
		}
	}
	if i := slices.Index(arms[:], e.CorrectedArm); i >= 0 {
		s.arms[i].corrected++
	}
	if e.Overhead > 0 {
		s.overhead.observe(e.Overhead)
	}
	if e.FirstByte > 0 {
		s.firstByte.observe(e.FirstByte)
	}
	if e.Total > 0 {
		s.total.observe(e.Total)
	}
}

// money adds what one entry cost and saved.
func (s *sums) money(e *Entry) {
	if e.Disputed {
		s.disputed++
	}
	if !e.Priced {
		s.unpriced++
		return
	}
	cost := toNano(*e.Cost)
	s.cost += cost
	s.baseline += toNano(*e.Baseline)
	for i, usd := range e.Saved.list() {
		amount := toNano(usd)
		s.saved[i] += amount
		s.overspent[i] += max(0, -amount)
	}
	if e.Background != "" {
		s.background.cost += cost
	} else if i := slices.Index(arms[:], e.ScaffoldArm); i >= 0 {
		s.arms[i].cost += cost
	}
}

func (t *Tokens) count(e *Entry) {
	t.Input += e.Usage.Input
	t.Cached += e.Usage.Cached
	t.CacheWrite += e.Usage.CacheWrite
	t.CacheWriteHour += e.Usage.CacheWriteHour
	t.Output += e.Usage.Output
	t.Reasoning += e.Usage.Reasoning
	t.InjectedMemory += e.InjectedMemoryTokens
	t.InjectedScaffold += e.InjectedScaffoldTokens
}

// add adds o.
func (s *sums) add(o *sums) {
	theirs := o.counters()
	for i, c := range s.counters() {
		*c += *theirs[i]
	}
}

// encode writes the counters as varints; a 0 is followed by how many more
// zeros there are.
func (s *sums) encode() []byte {
	var data []byte
	zeros := -1 // How many in a row, less one.
	for _, c := range s.counters() {
		if *c == 0 {
			zeros++
			continue
		}
		data, zeros = appendZeros(data, zeros), -1
		data = binary.AppendVarint(data, *c)
	}

	return appendZeros(data, zeros)
}

func appendZeros(data []byte, zeros int) []byte {
	if zeros < 0 {
		return data
	}

	return binary.AppendUvarint(append(data, 0), uint64(zeros))
}

var errSums = errors.New("roll-up is damaged")

// addEncoded adds what encode wrote to counters.
func addEncoded(counters []*int64, data []byte) error {
	for at := 0; len(data) > 0; at++ {
		v, n := binary.Varint(data)
		if n <= 0 || at >= len(counters) {
			return errSums
		}
		data = data[n:]
		if v != 0 {
			*counters[at] += v
			continue
		}
		zeros, n := binary.Uvarint(data)
		if n <= 0 || zeros > uint64(len(counters)) {
			return errSums
		}
		data = data[n:]
		at += int(zeros)
	}

	return nil
}
