package assemble

import "time"

// minEpochTurns is how many human turns an epoch serves before it may end for want of room. With fewer, a prompt that
// is nearly full of identity would be rendered anew on each turn, and losing the prompt cache costs more than the
// memories that were left out.
const minEpochTurns = 4

// epoch is a stretch of one conversation in which what was added doesn't change. It is guarded by Sessions.mu.
type epoch struct {
	key    string
	number int
	used   time.Time
	block  piece
	turns  map[TurnKey]piece
	served int // turns that were the newest of a request
	bytes  int // as last counted by grown
	size   int // estimate of the memory held
}

// open begins an epoch with the first rendering of everything.
func (a *Assembler) open(number int, turns []TurnKey, in Input) *epoch {
	block, prefix := a.first(in)
	e := &epoch{number: number, block: block, turns: map[TurnKey]piece{}}
	e.size = epochOverhead + block.size()
	if len(turns) > 0 {
		e.passOver(turns[:len(turns)-1])
		e.record(turns[len(turns)-1], prefix)
	}
	return e
}

// extend makes sure that each of the turns has its piece, rendering the newest one's when it is new. It is false when
// that found no room and the epoch should end.
func (e *epoch) extend(a *Assembler, turns []TurnKey, in Input) bool {
	if len(turns) == 0 {
		return true
	}
	earlier, newest := turns[:len(turns)-1], turns[len(turns)-1]
	e.passOver(earlier)
	var known seen
	known.addAll(e.block)
	spent := e.block.chars
	for _, t := range earlier {
		known.addAll(e.turns[t])
		spent += e.turns[t].chars
	}
	recorded, ok := e.turns[newest]
	// Each prefix fitted when it was rendered, but branches and edits can bring together what never stood together.
	if spent+recorded.chars > max(a.opts.MaxSystemChars, e.block.chars) {
		return false
	}
	if ok {
		return true
	}
	prefix := a.later(in, &known, a.opts.MaxSystemChars-spent)
	if prefix.cut && e.served >= minEpochTurns {
		return false
	}
	e.record(newest, prefix)
	return true
}

// passOver settles that turns which went out without a prefix never get one.
func (e *epoch) passOver(turns []TurnKey) {
	for _, t := range turns {
		if _, ok := e.turns[t]; !ok {
			e.turns[t] = piece{}
			e.size += turnOverhead
		}
	}
}

func (e *epoch) record(t TurnKey, p piece) {
	e.turns[t] = p
	e.size += turnOverhead + p.size()
	e.served++
}

// plan gathers what goes out with a request whose turns all have their piece.
func (e *epoch) plan(turns []TurnKey, in Input) Plan {
	var newest piece
	if len(turns) > 0 {
		newest = e.turns[turns[len(turns)-1]]
	}
	if in.FormatFixed {
		// The same turn asked again, now for a fixed format: this once the recorded scaffold would do harm.
		newest = newest.withoutScaffold()
	}
	out := Plan{Assembled: assembled(in, e.block, newest), Prefixes: map[int]string{}, Epoch: e.number}
	for i, t := range turns {
		p := e.turns[t]
		if i == len(turns)-1 {
			p = newest
		} else {
			out.count(p)
		}
		if p.text != "" {
			out.Prefixes[i] = p.text
		}
		out.weigh(p)
	}
	out.weigh(e.block)
	return out
}

// weigh adds a piece to the plan's bytes.
func (p *Plan) weigh(part piece) {
	for _, b := range part.blocks {
		p.TextBytes += b.End - b.Start
	}
	p.ScaffoldBytes += part.scaffoldBytes()
}

// frameIDs lists the memories that the epoch's additions show.
func (e *epoch) frameIDs() []string {
	var a Assembled
	a.count(e.block)
	for _, p := range e.turns {
		a.count(p)
	}
	return a.FrameIDs
}

// grown returns by how many bytes the epoch has grown since it was last asked.
func (e *epoch) grown() int {
	by := e.size - e.bytes
	e.bytes = e.size
	return by
}

func (s *seen) addAll(p piece) {
	for _, n := range p.notes {
		s.add(n)
	}
}

// What a map entry, a list element and the structs take beside their texts, roughly.
const (
	epochOverhead = 512
	turnOverhead  = 256
)

// size estimates the memory that a piece holds beside its own struct.
func (p piece) size() int {
	const block, note, truncation = 112, 24, 32
	size := len(p.text) + len(p.blocks)*block + len(p.notes)*note + len(p.truncated)*truncation
	for _, n := range p.notes {
		size += len(n.id)
	}
	return size
}
