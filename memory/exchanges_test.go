package memory

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// said is a line of testdata/exchanges.jsonl: what a person wrote, what the
// assistant had said before, and what is to be learned from it.
type said struct {
	Before string `json:"before"`
	Text   string `json:"text"`
	Want   []struct {
		Type Type   `json:"type"`
		Has  string `json:"has"`
	} `json:"want"`
}

func exchanges(tb testing.TB) []said {
	tb.Helper()
	f, err := os.Open("testdata/exchanges.jsonl")
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	var out []said
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var s said
		if err = json.Unmarshal(lines.Bytes(), &s); err != nil {
			tb.Fatal(err)
		}
		out = append(out, s)
	}

	return out
}

// TestLearningRates learns from labelled exchanges. What is learned counts as
// right when it is of the type that is wanted and holds its words.
func TestLearningRates(t *testing.T) {
	var learned, right, wanted [2]int
	for i, s := range exchanges(t) {
		half := i % 2
		wanted[half] += len(s.Want)
		for _, d := range alone(extractAfter(s.Before, cleanText(s.Text))) {
			learned[half]++
			ok := false
			for _, w := range s.Want {
				ok = ok || w.Type == d.typ && strings.Contains(d.content, w.Has)
			}
			if ok {
				right[half]++
			} else {
				t.Logf("%q: learned %s %q", s.Text, d.typ, d.content)
			}
		}
		for _, w := range s.Want {
			found := false
			for _, d := range alone(extractAfter(s.Before, cleanText(s.Text))) {
				found = found || w.Type == d.typ && strings.Contains(d.content, w.Has)
			}
			if !found {
				t.Logf("%q: missed %s %q", s.Text, w.Type, w.Has)
			}
		}
	}
	for half := range 2 {
		precision := float64(right[half]) / float64(learned[half])
		recall := float64(right[half]) / float64(wanted[half])
		t.Logf("half %d: precision %.3f (%d of %d), recall %.3f (%d of %d)", half, precision, right[half], learned[half], recall, right[half], wanted[half])
		if precision < 0.95 || recall < 0.7 {
			t.Errorf("half %d: want a precision of at least 0.95 and a recall of at least 0.7", half)
		}
	}
}
