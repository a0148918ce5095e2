package scoring

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestDetectShape(t *testing.T) {
	tests := []struct {
		name       string
		text       string
		confidence float64 // exact
		want       ShapeType
	}{
		{name: "empty", want: ShapeDraft, confidence: 0.1},
		{name: "nothing known", text: "Lunch moves to one o'clock", want: ShapeDraft, confidence: 0.1},
		{name: "Serbian", text: "Sumiraj naš deployment pristup za prva tri klijenta i obrazloži zašto smo tako odlučili.", want: ShapeDraft, confidence: 0.1},
		{name: "Serbian question", text: "Ko su aktivni investitori za našu rundu i u kojoj fazi smo sa njima?", want: ShapeDraft, confidence: 0.1},
		{name: "one keyword", text: "a survey of bees", want: ShapeResearch, confidence: 0.3},
		{name: "one strong phrase", text: "Should I use Postgres or SQLite?", want: ShapeDecide, confidence: 2.0 / 6},
		{name: "strong phrase and keyword", text: "Review my pull request for bugs", want: ShapeReview, confidence: 3.0 / 6},
		{
			name: "comparison over decision", want: ShapeCompare, confidence: 6.0 / 8,
			text: "Compare MECE vs BPMN for this 24-agent workflow. Which method should we use and why?",
		},
		{
			name: "plan", want: ShapePlanExecute, confidence: 11.0 / 13,
			text: "Create a plan to migrate a 10-person design firm from Waggle Solo to Waggle Teams. Break it down into concrete steps including any blockers.",
		},
		{
			name: "research", want: ShapeResearch, confidence: 2.0 / 6,
			text: "What is the KVARK license boundary in the Yettel proposal, and why is it non-negotiable?",
		},
		{name: "draft", text: "Draft a 150-word executive summary for the FloodTwin-WB proposal.", want: ShapeDraft, confidence: 5.0 / 7},
		{name: "tie to the more specific", text: "what is faster, A vs B", want: ShapeCompare, confidence: 0.3},
		{name: "best of", text: "what is the best of A vs B", want: ShapeCompare, confidence: 2.0 / 6},
		{name: "two active, no connector", text: "Write a poem. Should I rhyme?", want: ShapeDraft, confidence: 4.0 / 6},
		{name: "two active, chained", text: "Look into solar roofs, then write a memo", want: ShapeMixed, confidence: 0.95},
		{name: "three active", text: "Look into it, review my notes, write a memo", want: ShapeMixed, confidence: 0.95},
		{name: "mixed with a keyword of another", text: "Look into the strategy, then write a memo", want: ShapeMixed, confidence: 6.0 / 7},
		{name: "words inside words", text: "An overview of authority in replanning", want: ShapeDraft, confidence: 0.1},
		{name: "all phrases of one", text: strings.Join(mustKeywords("shape-review"), ". "), want: ShapeReview, confidence: 30.0 / 32},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := DetectShape(tt.text)
			if got.Type != tt.want || got.Confidence != tt.confidence {
				t.Errorf("DetectShape(%q) = %+v, want %v at %.3f", tt.text, got, tt.want, tt.confidence)
			}
			if len(got.Signals) > maxSignals || (len(got.Signals) == 0) != (got.Confidence == 0.1) {
				t.Errorf("DetectShape(%q).Signals = %q", tt.text, got.Signals)
			}
		})
	}
}

// TestShapeTable takes a table of requests by the shape that a reader gives them, and prints what they are taken for.
func TestShapeTable(t *testing.T) {
	file, err := os.Open("testdata/shapes.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	const none = ShapeType("none") // a draft for want of any signal
	all := append(slices.Clone(shapes[:]), ShapeMixed, none)
	counts, total := map[[2]ShapeType]int{}, 0
	for lines := bufio.NewScanner(file); lines.Scan(); {
		line, _, _ := strings.Cut(lines.Text(), " #")
		label, text, ok := strings.Cut(line, " ")
		if !ok || label == "#" {
			continue
		}
		label, want, miss := strings.Cut(label, ">")
		if !miss {
			want = label
		}
		got := DetectShape(text)
		taken := got.Type
		if label == string(none) && got.Confidence == 0.1 {
			taken = none
		}
		counts[[2]ShapeType{ShapeType(label), taken}]++
		total++
		if string(taken) != want {
			t.Errorf("DetectShape(%q) = %v (%.2f, %q), want %v", text, got.Type, got.Confidence, got.Signals, want)
		}
	}
	if total < 150 {
		t.Errorf("the table has %d requests, want at least 150", total)
	}
	var table strings.Builder
	for _, row := range all {
		fmt.Fprintf(&table, "\n%-13s", row)
		for _, column := range all {
			fmt.Fprintf(&table, "%5d", counts[[2]ShapeType{row, column}])
		}
	}
	t.Logf("%d requests; rows are labels, columns what they were taken for, in the same order:%s", total, table.String())
}

func mustKeywords(name string) []string {
	entries, err := keywords(name)
	if err != nil {
		return nil
	}
	return entries
}

func TestComplexity(t *testing.T) {
	tests := []struct {
		name string
		text string
		want Complexity
	}{
		{name: "nothing", text: "ok", want: Simple},
		{name: "one step", text: "Review my pull request for bugs", want: Simple},
		{name: "chained", text: "Open it and then close it", want: Moderate},
		{name: "list", text: "Do:\n1. this\n2. that", want: Moderate},
		{name: "much of one kind", text: "Create a plan to migrate. Break it down into concrete steps.", want: Moderate},
		{name: "mixed, chained, listed", text: "Look into this, then:\n1. write a memo\n2. leave", want: Complex},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := DetectShape(tt.text); got.Complexity != tt.want {
				t.Errorf("DetectShape(%q) = %+v, want %v", tt.text, got, tt.want)
			}
		})
	}
}

func BenchmarkDetectShape(b *testing.B) {
	text := strings.Repeat("Compare the two designs, then write a memo for the board.\n", 36)
	b.ReportAllocs()
	for b.Loop() {
		DetectShape(text)
	}
}
