package assemble

import (
	"fmt"
	"strconv"
	"strings"
)

// ModelTier is the size class of a model: how much context it can sort through, and whether it needs a scaffold.
type ModelTier int8

// The tiers, in order. The zero value is Mid, which is also what an unknown model gets.
const (
	Small    ModelTier = -1
	Mid      ModelTier = 0
	Frontier ModelTier = 1
)

// String returns small, mid or frontier.
func (t ModelTier) String() string {
	switch t {
	case Small:
		return "small"
	case Mid:
		return "mid"
	case Frontier:
		return "frontier"
	}
	return "tier(" + strconv.Itoa(int(t)) + ")"
}

// MarshalText writes the tier as String does.
func (t ModelTier) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// ParseModelTier is the inverse of String. It errs on any other text.
func ParseModelTier(s string) (ModelTier, error) {
	for _, t := range []ModelTier{Small, Mid, Frontier} {
		if s == t.String() {
			return t, nil
		}
	}
	return Mid, fmt.Errorf("parsing model tier %q: want small, mid or frontier", s)
}

// TierForModel guesses the tier from a model's name by its family prefix, in any case, after the provider's own
// prefix ("openrouter/google/", "us.anthropic."). A name of no known family is Mid.
func TierForModel(model string) ModelTier {
	name := bareModel(model)
	switch {
	case strings.HasPrefix(name, "claude-"):
		if strings.Contains(name, "opus") {
			return Frontier
		}
		return Mid
	case hasAnyPrefix(name, "gemma-4", "gemma4", "qwen3.5-"):
		return Small
	case hasAnyPrefix(name, "gemma", "qwen", "llama", "meta-llama"):
		// These families span 0.1 to 400 billion parameters; the name says which.
		if b := billions(name); b > 0 && b < 40 {
			return Small
		}
	}
	return Mid
}

// bareModel lower-cases a model's name and takes away the provider's path and the vendor and region labels that some
// clouds put in front.
func bareModel(model string) string {
	name := strings.ToLower(strings.TrimSpace(model))
	name = name[strings.LastIndexByte(name, '/')+1:]
	for {
		label, rest, ok := strings.Cut(name, ".")
		switch {
		case !ok:
			return name
		case label == "us", label == "eu", label == "apac", label == "global",
			label == "anthropic", label == "google", label == "meta", label == "qwen":
			name = rest
		default:
			return name
		}
	}
}

func hasAnyPrefix(s string, prefixes ...string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

// billions reads the parameter count that a name states as a word of its own ("32b", "0.5b", "270m"), in billions.
// It is 0 when the name states none, and when it counts experts ("17b-16e"), since the size is then that of one expert.
func billions(name string) float64 {
	size := 0.0
	for _, word := range strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("-_:@", r) }) {
		n, err := strconv.ParseFloat(word[:len(word)-1], 64)
		if err != nil {
			continue
		}
		switch word[len(word)-1] {
		case 'e':
			return 0
		case 'b':
			if size == 0 {
				size = n
			}
		case 'm':
			if size == 0 {
				size = n / 1000
			}
		}
	}
	return size
}

// Limits say how much memory a tier gets.
type Limits struct {
	// Frames bounds the notes of each section.
	Frames int `json:"frames"`
	// RecallLimit is how many items to search for. It is twice Frames, because some of what is found is already in
	// the prompt.
	RecallLimit int `json:"recall_limit"`
	// Floor is the least score at which a found item is worth showing. The search's own relevance gate decides what
	// matches at all; the floor only keeps a weaker reader from weak matches.
	Floor float64 `json:"floor"`
	// Profile names the scoring profile for the search.
	Profile string `json:"profile"`
}

// LimitsFor returns the limits of a tier: 3, 6 or 10 frames a section. The small tier searches by importance, since
// the few notes it gets have to be the ones that matter.
func LimitsFor(t ModelTier) Limits {
	switch t {
	case Small:
		return Limits{Frames: 3, RecallLimit: 6, Floor: 0.10, Profile: "important"}
	case Frontier:
		return Limits{Frames: 10, RecallLimit: 20, Floor: 0, Profile: "balanced"}
	}
	return Limits{Frames: 6, RecallLimit: 12, Floor: 0.05, Profile: "balanced"}
}
