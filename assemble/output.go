package assemble

import (
	"strings"
	"unicode/utf8"
)

// Assembled is a rendered prompt. Both texts are complete containers without white space around them; an empty one
// means that nothing is to be added there.
type Assembled struct {
	// SystemBlock is appended to the client's system prompt after [Separator].
	SystemBlock string `json:"system_block"`
	// UserPrefix goes before the newest human text, followed by [Separator].
	UserPrefix string `json:"user_prefix"`
	// Scaffold is the response scaffold in use, already part of one of the texts; empty for none.
	Scaffold string `json:"scaffold"`
	// Blocks lists the sections of both texts in order.
	Blocks []Block `json:"blocks"`
	// FrameIDs lists the memories and asides ([Aside]) in the texts, in order, those without an ID left out.
	FrameIDs []string `json:"frame_ids"`
	// Debug says what was decided.
	Debug Debug `json:"debug"`
}

// The texts that a [Block] can be part of.
const (
	PartSystem     = "system"
	PartUserPrefix = "user_prefix"
)

// How long a section's bytes live.
const (
	static   = "static"   // as long as the operator's text
	frozen   = "epoch"    // as long as the conversation's epoch
	volatile = "volatile" // one turn
)

// Block locates one section for inspection.
type Block struct {
	Name string `json:"name"`
	// Layer is identity, contract, knowledge, working or runtime.
	Layer string `json:"layer"`
	// Stability is static (as long as the operator's text), epoch (frozen with the conversation) or volatile (chosen
	// anew for each turn).
	Stability string `json:"stability"`
	// Source says where the text came from, comma-separated: files, persona, scaffold, workspace memory, personal
	// memory, events, channels, participants, briefing, request, status.
	Source string `json:"source"`
	// Part is the text that holds the section, [PartSystem] or [PartUserPrefix].
	Part string `json:"part"`
	// Start and End are byte offsets into that text, half open, heading included.
	Start int `json:"start"`
	End   int `json:"end"`
	// Chars counts the characters from Start to End; Tokens is an estimate of theirs, see [EstimateTokens].
	Chars  int `json:"chars"`
	Tokens int `json:"tokens"`
}

// EstimateTokens guesses how many tokens a text has, by its script: four characters of what has one byte each, two of
// others with two, one of what has more (CJK). Upstreams count for themselves; this is for looking at a prompt.
func EstimateTokens(text string) int {
	quarters := 0
	for _, r := range text {
		switch {
		case r < utf8.RuneSelf:
			quarters++
		case r < 0x800:
			quarters += 2
		default:
			quarters += 4
		}
	}
	return (quarters + 3) / 4
}

// Debug is the account of one assembly.
type Debug struct {
	ModelTier ModelTier `json:"model_tier"`
	// Retrieval is what the tier allows.
	Retrieval  Limits  `json:"retrieval"`
	TaskShape  string  `json:"task_shape"`
	Confidence float64 `json:"confidence"`
	// ScaffoldApplied says that the prompt holds a scaffold; HeldOut that it got none for the sake of measuring.
	ScaffoldApplied bool `json:"scaffold_applied"`
	HeldOut         bool `json:"held_out"`
	// Sections names the sections rendered, in order.
	Sections []string `json:"sections"`
	// FramesUsed counts the notes rendered.
	FramesUsed int `json:"frames_used"`
	// TotalChars counts the characters added to the request.
	TotalChars int `json:"total_chars"`
	// Truncated lists the sections that show less than there was.
	Truncated []Truncation `json:"truncated,omitempty"`
}

// Truncation says how many of a section's distinct notes are shown.
type Truncation struct {
	Section string `json:"section"`
	Shown   int    `json:"shown"`
	Total   int    `json:"total"`
}

// piece is one rendered text with its account: what an epoch keeps and resends. It is not changed once rendered.
type piece struct {
	text      string
	chars     int
	spans     []span
	notes     []noteKey
	truncated []truncation
	scaffold  string
	cut       bool // the budget, not the tier, took something away
	afresh    bool // rendered anew for each request, frozen with no epoch
}

// span is where a section stands in a piece's text.
type span struct {
	kind       kind
	from       origin
	start, end int
}

// truncation is a section that shows less than there was.
type truncation struct {
	kind         kind
	shown, total int
}

// textBytes is the size of all sections, without their container.
func (p *piece) textBytes() int {
	size := 0
	for i := range p.spans {
		size += p.spans[i].end - p.spans[i].start
	}
	return size
}

// scaffoldBytes is the size of the scaffold section, heading included. It is the last one.
func (p *piece) scaffoldBytes() int {
	if p.scaffold == "" {
		return 0
	}
	last := p.spans[len(p.spans)-1]
	return last.end - last.start
}

// withoutScaffold returns the piece as it would be had no scaffold applied.
func (p *piece) withoutScaffold() *piece {
	if p.scaffold == "" {
		return p
	}
	if len(p.spans) == 1 {
		return &piece{truncated: p.truncated}
	}
	out, last := *p, len(p.spans)-1
	out.text = p.text[:p.spans[last-1].end] + p.text[p.spans[last].end:]
	out.chars = utf8.RuneCountInString(out.text)
	out.spans = p.spans[:last:last]
	out.scaffold = ""
	return &out
}

// account tells of a system block and the newest turn's prefix, and counts the earlier turns' among prefixes, too.
func account(in *Input, system, prefix *piece, prefixes []Prefix) Assembled {
	out := Assembled{
		SystemBlock: system.text,
		UserPrefix:  prefix.text,
		Scaffold:    system.scaffold + prefix.scaffold, // at most one of them has it
		Debug: Debug{
			ModelTier:  in.Tier,
			Retrieval:  LimitsFor(in.Tier),
			TaskShape:  in.Shape,
			Confidence: in.ShapeConfidence,
			HeldOut:    in.HeldOut,
		},
	}
	out.Debug.ScaffoldApplied = out.Scaffold != ""
	out.list(PartSystem, system)
	out.list(PartUserPrefix, prefix)
	for _, b := range out.Blocks {
		out.Debug.Sections = append(out.Debug.Sections, b.Name)
	}
	out.count(system)
	for i := range prefixes {
		if p := prefixes[i].piece; p != prefix {
			out.count(p)
		}
	}
	out.count(prefix)
	return out
}

// list adds the sections of a piece.
func (a *Assembled) list(part string, p *piece) {
	for _, s := range p.spans {
		k := &kinds[s.kind]
		text := p.text[s.start:s.end]
		a.Blocks = append(a.Blocks, Block{
			Name: k.name, Layer: k.layer, Stability: s.stability(p), Source: s.source(), Part: part,
			Start: s.start, End: s.end, Chars: utf8.RuneCountInString(text), Tokens: EstimateTokens(text),
		})
	}
	for _, t := range p.truncated {
		a.Debug.Truncated = append(a.Debug.Truncated, Truncation{Section: kinds[t.kind].name, Shown: t.shown, Total: t.total})
	}
}

// count adds a piece that is part of the request to the totals.
func (a *Assembled) count(p *piece) {
	a.Debug.FramesUsed += len(p.notes)
	a.Debug.TotalChars += p.chars
	for _, n := range p.notes {
		if n.id != "" {
			a.FrameIDs = append(a.FrameIDs, n.id)
		}
	}
}

// stability says how long the section's bytes live.
func (s span) stability(p *piece) string {
	fromMemory := s.from&(fromWorkspace|fromPersonal|fromSheet) != 0
	switch {
	case s.kind == kindFormat, s.kind == kindStatus, fromMemory && p.afresh:
		return volatile
	case fromMemory:
		return frozen
	}
	return static
}

// source names where the section's content came from.
func (s span) source() string {
	var parts []string
	if s.from&(fromText|fromSheet) != 0 {
		parts = append(parts, kinds[s.kind].source)
	}
	if s.from&fromWorkspace != 0 {
		parts = append(parts, "workspace memory")
	}
	if s.from&fromPersonal != 0 {
		parts = append(parts, "personal memory")
	}
	return strings.Join(parts, ", ")
}
