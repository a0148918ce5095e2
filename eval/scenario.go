package eval

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// Scenario is one history with one question.
type Scenario struct {
	Name     string `yaml:"name" json:"name"`         // lower case, digits, dashes; unique
	Shape    string `yaml:"shape" json:"shape"`       // the task shape that a person would give it
	Language string `yaml:"language" json:"language"` // of the question: en, sr, …
	// Priming are the turns that came before, oldest first.
	Priming []Turn `yaml:"priming" json:"priming"`
	Query   string `yaml:"query" json:"query"`
	// Verify are texts that memory should hold after the priming.
	Verify []string `yaml:"verify" json:"verify"`
	// Rubric says what a good answer has, for a judge.
	Rubric string `yaml:"rubric" json:"rubric"`
	// Facts are what an answer can be checked for without a judge.
	Facts []Fact `yaml:"facts" json:"facts"`
	// MaxWords is the length beyond which an answer is too long, 0: none.
	MaxWords int `yaml:"max_words" json:"max_words,omitempty"`
}

// Turn is one message of a person.
type Turn struct {
	User    string `yaml:"user" json:"user"`
	Session string `yaml:"session" json:"session,omitempty"` // turns of one name are one conversation
}

// Fact is something that an answer gets right or wrong.
type Fact struct {
	Name string `yaml:"name" json:"name"`
	// Any holds when one of these texts is in the answer, whatever the case, as
	// words of its own or the beginning of a longer one.
	// A fact with only Never holds unless one of those is, anywhere.
	Any   []string `yaml:"any" json:"any,omitempty"`
	Never []string `yaml:"never" json:"never,omitempty"`
}

//go:embed scenarios/*/*.yaml
var shippedScenarios embed.FS

// Sets are the shipped sets of scenarios.
var Sets = []string{"original", "own"}

// Scenarios returns a shipped set, or all of them for "all".
func Scenarios(set string) ([]Scenario, error) {
	sets := Sets
	if set != "all" {
		if !slices.Contains(Sets, set) {
			return nil, fmt.Errorf("no suite of scenarios is called %q; there are %s, all", set, strings.Join(Sets, ", "))
		}
		sets = []string{set}
	}
	var all []Scenario
	for _, s := range sets {
		sub, err := fs.Sub(shippedScenarios, path.Join("scenarios", s))
		if err != nil {
			return nil, err
		}
		some, err := ReadScenarios(sub)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// ReadScenarios reads every .yaml file of a folder, in order of their names.
// All problems are reported at once.
func ReadScenarios(dir fs.FS) ([]Scenario, error) {
	files, err := fs.Glob(dir, "*.yaml")
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, errors.New("the folder holds no .yaml file with a scenario")
	}
	var all []Scenario
	var problems []error
	seen := map[string]bool{}
	for _, file := range files {
		var s Scenario
		err := readYAML(dir, file, &s)
		if err == nil {
			err = s.validate()
		}
		if err == nil && seen[s.Name] {
			err = fmt.Errorf("the name %q is taken by another file", s.Name)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("scenario %s: %w", file, err))
			continue
		}
		seen[s.Name] = true
		all = append(all, s)
	}
	return all, errors.Join(problems...)
}

// maxYAML bounds a file of the harness.
const maxYAML = 1 << 20

// readYAML decodes one file strictly.
func readYAML(dir fs.FS, file string, into any) error {
	data, err := fs.ReadFile(dir, file)
	if err != nil {
		return err
	}
	if len(data) > maxYAML {
		return fmt.Errorf("larger than %d bytes", maxYAML)
	}
	return yaml.Load(data, into, yaml.WithKnownFields())
}

func (s *Scenario) validate() error {
	var problems []error
	need := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	need(s.Name != "" && strings.Trim(s.Name, "abcdefghijklmnopqrstuvwxyz0123456789-") == "", "name is %q; it takes lower case letters, digits and dashes", s.Name)
	need(s.Query != "", "query is missing")
	need(len(s.Priming) > 0, "priming has no turn")
	need(s.Rubric != "" || len(s.Facts) > 0, "neither rubric nor facts: nothing could be judged")
	for i, t := range s.Priming {
		need(t.User != "", "priming[%d].user is empty", i)
	}
	for i, f := range s.Facts {
		need(len(f.Any)+len(f.Never) > 0, "facts[%d] has neither any nor never", i)
	}
	return errors.Join(problems...)
}

// Checked is what the facts of a scenario say of an answer.
type Checked struct {
	Share float64  `json:"share"` // of the facts that hold, 0 to 1
	Wrong []string `json:"wrong,omitempty"`
	Words int      `json:"words"`
	Long  bool     `json:"too_long,omitempty"`
}

// Check holds an answer against the facts; nil when there are none.
func (s *Scenario) Check(answer string) *Checked {
	if len(s.Facts) == 0 {
		return nil
	}
	text := fold(answer)
	c := &Checked{Words: len(strings.Fields(answer))}
	c.Long = s.MaxWords > 0 && c.Words > s.MaxWords
	right := 0
	for _, f := range s.Facts {
		if f.holds(text) && text != "" {
			right++
			continue
		}
		c.Wrong = append(c.Wrong, f.Name)
	}
	c.Share = float64(right) / float64(len(s.Facts))
	return c
}

func (f *Fact) holds(folded string) bool {
	says := func(s string) bool { return says(folded, fold(s)) }
	in := func(s string) bool { return strings.Contains(folded, fold(s)) }
	return (len(f.Any) == 0 || slices.ContainsFunc(f.Any, says)) && !slices.ContainsFunc(f.Never, in)
}

// says reports whether a text holds s where a word begins.
func says(text, s string) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], s)
		if i < 0 {
			return false
		}
		at += i
		if apart(text[:at], s, text[at+len(s):]) {
			return true
		}
		at += max(1, len(s))
	}
}

// stem is from how many letters on a text may be the beginning of a longer
// word: "friday" is in "Fridays", but "tv" is not in "tvoj".
const stem = 4

// apart reports whether s between two texts is no part of a longer word or
// number of theirs: "ip" in "ship", "$29" in "$290", "12" in "12.5".
func apart(before, s, after string) bool {
	first, _ := utf8.DecodeRuneInString(s)
	last, _ := utf8.DecodeLastRuneInString(s)
	previous, _ := utf8.DecodeLastRuneInString(before)
	next, size := utf8.DecodeRuneInString(after)
	if wordRune(first) && wordRune(previous) {
		return false
	}
	switch {
	case unicode.IsDigit(last):
		if next == '.' || next == ',' {
			next, _ = utf8.DecodeRuneInString(after[size:])
			return !unicode.IsDigit(next) || strings.ContainsAny(s, ".,")
		}
		return !unicode.IsDigit(next)
	case unicode.IsLetter(last):
		word := s[strings.LastIndexFunc(s, func(r rune) bool { return !wordRune(r) })+1:]
		return utf8.RuneCountInString(word) >= stem || !wordRune(next)
	}
	return true
}

func wordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// fold makes texts comparable: lower case, single spaces, and the dashes and
// quotes that models write in the place of plain ones.
func fold(s string) string {
	s = strings.NewReplacer("‑", "-", "–", "-", "—", "-", "’", "'", "“", `"`, "”", `"`, "*", "", "`", "").Replace(strings.ToLower(s))
	return strings.Join(strings.Fields(s), " ")
}
