package eval

import (
	"strings"
	"testing"
	"testing/fstest"
)

func TestShippedSets(t *testing.T) {
	tests := []struct {
		set  string
		want int
	}{
		{"original", 6},
		{"own", 15},
		{"all", 21},
	}
	for _, tt := range tests {
		got, err := Scenarios(tt.set)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != tt.want {
			t.Errorf("Scenarios(%q) has %d, want %d", tt.set, len(got), tt.want)
		}
	}
	if _, err := Scenarios("none"); err == nil {
		t.Error("an unknown set is no error")
	}
}

// Every shape that a scenario may have is asked for, and both languages.
func TestOwnSetCovers(t *testing.T) {
	all, err := Scenarios("own")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, s := range all {
		seen[s.Shape], seen[s.Language] = true, true
		if len(s.Facts) == 0 {
			t.Errorf("%s has no facts", s.Name)
		}
	}
	for _, want := range []string{"research", "compare", "draft", "review", "decide", "plan-execute", "mixed", "en", "sr"} {
		if !seen[want] {
			t.Errorf("no scenario is %q", want)
		}
	}
}

// The facts of a rubric that states them hold in the rubric itself, so that
// no fact is one that only luck could meet.
func TestRubricsHoldTheirFacts(t *testing.T) {
	all, err := Scenarios("own")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if s.Name == "unanswerable" || s.Name == "incident-plan" {
			continue // their rubrics speak about the answer
		}
		if c := s.Check(s.Rubric); c.Share < 0.5 {
			t.Errorf("%s: the rubric holds %.0f %% of its facts; not %v", s.Name, 100*c.Share, c.Wrong)
		}
	}
}

// No answer gets a fact right by saying the question again.
func TestQuestionsHoldNoFacts(t *testing.T) {
	all, err := Scenarios("all")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		query := fold(s.Query)
		for _, f := range s.Facts {
			if len(f.Any) > 0 && f.holds(query) {
				t.Errorf("%s: the question itself holds %q", s.Name, f.Name)
			}
		}
	}
}

func TestShippedPlans(t *testing.T) {
	for _, name := range Plans {
		if _, err := ShippedPlan(name); err != nil {
			t.Errorf("ShippedPlan(%q): %v", name, err)
		}
	}
}

func TestCheck(t *testing.T) {
	s := Scenario{MaxWords: 5, Facts: []Fact{
		{Name: "city", Any: []string{"Lucerne", "Luzern"}},
		{Name: "not old", Never: []string{"is in Basel"}},
	}}
	tests := []struct {
		name, answer string
		want         float64
		long         bool
	}{
		{"right", "It is in **Lucerne**.", 1, false},
		{"other name", "LUZERN", 1, false},
		{"wrong", "The office is in Basel.", 0, false},
		{"neither", "I can't say.", 0.5, false},
		{"empty says nothing", "  ", 0, false},
		{"both, too long", "It was in Basel and moved to Lucerne later on.", 1, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := s.Check(tt.answer)
			if got.Share != tt.want || got.Long != tt.long {
				t.Errorf("Check(%q) = %+v, want share %v, long %v", tt.answer, got, tt.want, tt.long)
			}
		})
	}
	if none := (&Scenario{}).Check("text"); none != nil {
		t.Errorf("without facts Check = %+v, want nil", none)
	}
}

// A fact is met by words, not by what happens to be inside others.
func TestFactsAreWords(t *testing.T) {
	tests := []struct {
		fact, answer string
		want         float64
	}{
		{"ip", "It protects our IP.", 1},
		{"ip", "The ship has an equipment manual.", 0},
		{"$29", "It costs $29/month per user.", 1},
		{"$29", "It costs $290 a month.", 0},
		{"12", "12µs against 85µs", 1},
		{"12", "In 2012, about 12.5 percent, 112 or 120", 0},
		{"12", "A ship of 120, and 12.", 1},
		{"tv", "Bez TV-a.", 1},
		{"tv", "Tvoj tvrd stav.", 0},
		{"friday", "Never on Fridays", 1},
		{"suveren", "Naša suverenost", 1},
		{"15.9", "Rok je 15.9.2026.", 1},
		{"-- m", "Bye.\n— M.", 0},
		{"- m", "Bye.\n— M.", 1},
		{"- m", "- Move\n- Make", 0},
	}
	for _, tt := range tests {
		s := Scenario{Facts: []Fact{{Name: "f", Any: []string{tt.fact}}}}
		if got := s.Check(tt.answer).Share; got != tt.want {
			t.Errorf("%q in %q = %v, want %v", tt.fact, tt.answer, got, tt.want)
		}
	}
}

func TestBadFiles(t *testing.T) {
	tests := []struct {
		name, scenario, want string
	}{
		{"unknown key", "name: a\nqery: b\n", "qery"},
		{"no query", "name: a\npriming: [{user: x}]\nrubric: r\n", "query is missing"},
		{"nothing to judge by", "name: a\nquery: q\npriming: [{user: x}]\n", "neither rubric nor facts"},
		{"bad name", "name: A b\nquery: q\npriming: [{user: x}]\nrubric: r\n", "lower case"},
		{"empty fact", "name: a\nquery: q\npriming: [{user: x}]\nfacts: [{name: f}]\n", "neither any nor never"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ReadScenarios(fstest.MapFS{"x.yaml": {Data: []byte(tt.scenario)}})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
	if _, err := ReadScenarios(fstest.MapFS{}); err == nil {
		t.Error("an empty folder is no error")
	}
	two := fstest.MapFS{
		"a.yaml": {Data: []byte("name: a\nquery: q\npriming: [{user: x}]\nrubric: r\n")},
		"b.yaml": {Data: []byte("name: a\nquery: q\npriming: [{user: x}]\nrubric: r\n")},
	}
	if _, err := ReadScenarios(two); err == nil || !strings.Contains(err.Error(), "taken") {
		t.Errorf("two of one name: %v", err)
	}
}

func TestBadPlans(t *testing.T) {
	tests := []struct {
		name, plan, want string
	}{
		{"no priming", "conditions: [{code: A, model: m}]\n", "priming"},
		{"no conditions", "priming: m\n", "no conditions"},
		{"a code twice", "priming: m\nconditions: [{code: A, model: m}, {code: A, model: n}]\n", "taken"},
		{"memory without the assembler", "priming: m\nconditions: [{code: A, model: m, memory: true}]\n", "without the assembler"},
		{"unknown tier", "priming: m\nconditions: [{code: A, model: m, tier: huge}]\n", "huge"},
		{"unknown code", "priming: m\nconditions: [{code: A, model: m}]\nclosures: [{name: x, baseline: A, with: Z}]\n", `"Z"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ReadPlan(fstest.MapFS{"p.yaml": {Data: []byte(tt.plan)}}, "p.yaml")
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}
