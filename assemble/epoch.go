package assemble

import (
	"strings"
	"time"
)

// minEpochTurns is how many human turns an epoch serves before it may end for want of room. With fewer, a prompt that
// is nearly full of identity would be rendered anew on each turn, and losing the prompt cache costs more than the
// memories that were left out.
const minEpochTurns = 4

// epoch is a stretch of one conversation in which what was added doesn't change. It is guarded by Sessions.mu.
type epoch struct {
	key     Conversation
	number  int
	used    time.Time
	block   *piece
	turns   map[TurnKey]*piece
	edition uint64    // of the operator's texts in block
	news    []TurnKey // turns that the journal hasn't heard of
	heard   time.Time // when it last heard of the epoch
	served  int       // turns that were the newest of a request
	bytes   int       // as last counted by grown
	size    int       // estimate of the memory held
}

// nothing is the piece of a turn that went out without one.
var nothing = &piece{}

// open begins an epoch with the first rendering of everything.
func (a *Assembler) open(key Conversation, number int, turns []TurnKey, in *Input) *epoch {
	block, prefix := a.first(in)
	e := newEpoch(key, number, in.Edition, block)
	if n := len(turns) - 1; n >= 0 {
		e.passOver(turns[:n])
		e.record(turns[n], prefix)
	}
	return e
}

func newEpoch(key Conversation, number int, edition uint64, block *piece) *epoch {
	return &epoch{key: key, number: number, edition: edition, block: block, turns: map[TurnKey]*piece{}, size: epochOverhead + len(key.Session) + block.size()}
}

// spent counts the characters that the block and these turns' prefixes take.
func (e *epoch) spent(turns []TurnKey) int {
	chars := e.block.chars
	for _, t := range turns {
		if p := e.turns[t]; p != nil {
			chars += p.chars
		}
	}
	return chars
}

// fits reports whether the turns' prefixes have room beside the block. Each fitted when it was rendered, but branches
// and edits can bring together what never stood together.
func (e *epoch) fits(a *Assembler, turns []TurnKey) bool {
	return e.spent(turns) <= max(a.opts.MaxSystemChars, e.block.chars)
}

// extend renders the newest turn's prefix and returns it, nil when the epoch has no room for it and should end.
func (e *epoch) extend(a *Assembler, turns []TurnKey, in *Input) *piece {
	newest := len(turns) - 1
	e.passOver(turns[:newest])
	known := shown{keys: make([]noteKey, 0, 64)}
	known.keys = append(known.keys, e.block.notes...)
	for _, t := range turns[:newest] {
		known.keys = append(known.keys, e.turns[t].notes...)
	}
	prefix := a.later(in, &known, a.opts.MaxSystemChars-e.spent(turns[:newest]))
	if prefix.cut && e.served >= minEpochTurns {
		return nil
	}
	e.record(turns[newest], prefix)
	return prefix
}

// passOver settles that turns which went out without a prefix never get one.
func (e *epoch) passOver(turns []TurnKey) {
	for _, t := range turns {
		if e.turns[t] == nil {
			e.turns[t] = nothing
			e.news = append(e.news, t)
			e.size += turnOverhead
		}
	}
}

func (e *epoch) record(t TurnKey, p *piece) {
	if p.text == "" {
		p = nothing
	}
	e.turns[t] = p
	e.news = append(e.news, t)
	e.size += turnOverhead + p.size()
	e.served++
}

// forget takes back what record did for a turn.
func (e *epoch) forget(t TurnKey) {
	e.size -= turnOverhead + e.turns[t].size()
	delete(e.turns, t)
	e.served--
}

// plan gathers what goes out with a request whose turns all have their piece.
func (e *epoch) plan(turns []TurnKey, in *Input) Plan {
	out := Plan{
		SystemBlock: e.block.text, Scaffold: e.block.scaffold, Epoch: e.number,
		in: Input{Tier: in.Tier, Shape: in.Shape, ShapeConfidence: in.ShapeConfidence, HeldOut: in.HeldOut}, block: e.block, newest: nothing,
	}
	out.weigh(e.block)
	for i, t := range turns {
		p := e.turns[t]
		if i == len(turns)-1 {
			if in.FormatFixed {
				// The same turn asked again, now for a fixed format: this once the recorded scaffold would do harm.
				p = p.withoutScaffold()
			}
			out.newest, out.UserPrefix, out.Scaffold = p, p.text, out.Scaffold+p.scaffold
		}
		if p.text != "" {
			out.Prefixes = append(out.Prefixes, Prefix{Turn: i, Text: p.text, piece: p})
		}
		out.weigh(p)
	}
	return out
}

// weigh adds a piece to the plan's sums.
func (p *Plan) weigh(part *piece) {
	p.FramesUsed += len(part.notes)
	for i := range part.notes {
		if id := part.notes[i].id; id != "" && !strings.HasPrefix(id, Aside) {
			p.Memories++
		}
	}
	p.TotalChars += part.chars
	p.TextBytes += part.textBytes()
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

// What a map entry, a list element and the structs take beside their texts, roughly.
const (
	epochOverhead = 512
	turnOverhead  = 160
)

// size estimates the memory that a piece holds beside its own struct.
func (p *piece) size() int {
	const span, note, truncation = 24, 24, 24
	size := len(p.text) + len(p.spans)*span + len(p.notes)*note + len(p.truncated)*truncation
	for _, n := range p.notes {
		size += len(n.id)
	}
	return size
}
