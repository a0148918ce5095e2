package assemble

import "slices"

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
	// FrameIDs lists the memories in the texts, in order, those without an ID left out.
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
	// Layer is identity, contract, knowledge or working.
	Layer string `json:"layer"`
	// Stability is static (as long as the operator's text), epoch (frozen with the conversation) or volatile (chosen
	// anew for each turn).
	Stability string `json:"stability"`
	// Source says where the text came from, comma-separated: files, persona, scaffold, workspace memory, personal
	// memory.
	Source string `json:"source"`
	// Part is the text that holds the section, [PartSystem] or [PartUserPrefix].
	Part string `json:"part"`
	// Start and End are byte offsets into that text, half open, heading included.
	Start int `json:"start"`
	End   int `json:"end"`
}

// Debug is the account of one assembly.
type Debug struct {
	ModelTier       ModelTier `json:"model_tier"`
	TaskShape       string    `json:"task_shape"`
	Confidence      float64   `json:"confidence"`
	ScaffoldApplied bool      `json:"scaffold_applied"`
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

// piece is one rendered text with its account: what an epoch keeps and resends.
type piece struct {
	text      string
	chars     int
	blocks    []Block
	notes     []noteKey
	truncated []Truncation
	scaffold  string
	cut       bool // the budget, not the tier, took something away
}

// assembled joins a system block and the newest turn's prefix into their common account.
func assembled(in Input, system, prefix piece) Assembled {
	out := Assembled{
		SystemBlock: system.text,
		UserPrefix:  prefix.text,
		Scaffold:    system.scaffold + prefix.scaffold, // at most one of them has it
		Blocks:      slices.Concat(system.blocks, prefix.blocks),
		Debug: Debug{
			ModelTier:  in.Tier,
			TaskShape:  in.Shape,
			Confidence: in.ShapeConfidence,
			Truncated:  slices.Concat(system.truncated, prefix.truncated),
		},
	}
	out.Debug.ScaffoldApplied = out.Scaffold != ""
	for _, b := range out.Blocks {
		out.Debug.Sections = append(out.Debug.Sections, b.Name)
	}
	out.count(system)
	out.count(prefix)
	return out
}

// count adds a piece that is part of the request to the totals.
func (a *Assembled) count(p piece) {
	a.Debug.FramesUsed += len(p.notes)
	a.Debug.TotalChars += p.chars
	for _, n := range p.notes {
		if n.id != "" {
			a.FrameIDs = append(a.FrameIDs, n.id)
		}
	}
}
