package scoring

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func newLearned(t testing.TB) *Scorer {
	t.Helper()
	s, err := New(DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What the fitting code read and made of some prompts, it wrote to a file: the scorer has to find and make the same.
func TestWeightsParity(t *testing.T) {
	file, err := os.Open("testdata/weights.golden.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	x, err := NewExtractor()
	if err != nil {
		t.Fatal(err)
	}
	s, n := newLearned(t), 0
	for lines := bufio.NewScanner(file); lines.Scan(); n++ {
		var want struct {
			Prompt string
			Named  map[string]float64
			Slots  []uint32
			Score  float64
		}
		if err := json.Unmarshal(lines.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		f := x.Features(want.Prompt)
		named := map[string]float64{}
		for i, name := range FeatureNames() {
			if f.Named[i] != 0 {
				named[name] = f.Named[i]
			}
		}
		if diff := cmp.Diff(want.Named, named); diff != "" {
			t.Errorf("features of %q (-fitted on +found):\n%s", want.Prompt, diff)
		}
		if diff := cmp.Diff(want.Slots, f.Slots); diff != "" {
			t.Errorf("slots of %q (-fitted on +found):\n%s", want.Prompt, diff)
		}
		if got := s.Score(want.Prompt).Value; math.Abs(got-want.Score) > 1e-6 {
			t.Errorf("Score(%q) = %v, want %v as fitted", want.Prompt, got, want.Score)
		}
	}
	if n < 10 {
		t.Errorf("compared %d prompts", n)
	}
}

func TestExplainSums(t *testing.T) {
	for name, s := range map[string]*Scorer{"learned": newLearned(t), "keyword": newScorer(t)} {
		for _, text := range []string{"hi", hardDesign, "Докажи теорему", strings.Repeat("Read this. ", 1000) + "\n\nSummarise it"} {
			e, sum := s.Explain(text), 0.0
			for _, c := range e.Parts {
				sum += c.Adds
			}
			if math.Abs(sum-e.Value) > 1e-9 {
				t.Errorf("%s: the parts of %.40q sum to %v, the score is %v", name, text, sum, e.Value)
			}
			if diff := cmp.Diff(s.Score(text), e.Score); diff != "" {
				t.Errorf("%s: Explain(%.40q) differs from Score (-score +explained):\n%s", name, text, diff)
			}
		}
	}
}
