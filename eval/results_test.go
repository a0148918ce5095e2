package eval

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// resultsOf are the results of conditions A, B, … whose answers have the given
// shares of the facts right, a row a scenario. A negative share is no answer.
func resultsOf(plan *Plan, shapes []string, shares ...[]float64) *Results {
	res := &Results{Plan: plan, Seeds: 1, Gold: GoldRubric}
	for i, row := range shares {
		o := Outcome{Scenario: fmt.Sprintf("s%d", i), Shape: shapes[i%len(shapes)]}
		for k, v := range row {
			a := Answer{Condition: string(rune('A' + k)), Text: "text", Facts: &Checked{Share: v}}
			if v < 0 {
				a = Answer{Condition: a.Condition, Failed: "HTTP 503"}
			}
			o.Runs = append(o.Runs, a)
		}
		res.Scenarios = append(res.Scenarios, o)
	}
	res.summarise()
	return res
}

// abc compares B with C under A.
var abc = Plan{
	Conditions: []Condition{{Code: "A"}, {Code: "B"}, {Code: "C"}},
	Closures:   []Closure{{Name: "help", Baseline: "B", With: "C", Top: "A", Target: 0.4, Except: []string{"draft"}}},
}

func TestComparedScenarios(t *testing.T) {
	res := resultsOf(&abc, []string{"research", "draft", "decide"},
		[]float64{0.75, 0.25, 0.5},
		[]float64{1, 0, 0}, // a draft
		[]float64{1, 0.5, 1},
		[]float64{0.5, -1, 1}) // no answer under B
	gap := 0.5
	want := []Row{{"s0", 0.25, &gap}, {"s2", 0.5, &gap}}
	if diff := cmp.Diff(want, res.Closures[0].Rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	res.Scenarios[0].Runs[0].Text = " "
	res.summarise()
	if n := res.Failures(); n != 1 {
		t.Errorf("%d failures, want 1", n)
	}
	var report strings.Builder
	if err := res.WriteMarkdown(&report); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| s0 | +0.250 | +0.500 |", "| s1 | - | - |", "B got no answer in s3", "1 answers under A hold no text"} {
		if !strings.Contains(report.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, &report)
		}
	}
}

// What the words say follows from the figures.
func TestSentence(t *testing.T) {
	same := func(row []float64) (rows [][]float64) {
		for range 6 {
			rows = append(rows, row)
		}
		return rows
	}
	noisyGap := [][]float64{{0.9, 0.1, 0.5}, {0.1, 0.5, 0.9}, {0.9, 0.1, 0.5}, {0.1, 0.5, 0.9}, {0.9, 0.1, 0.5}, {0.1, 0.5, 0.9}}
	tests := []struct {
		name   string
		shares [][]float64
		want   []string
		not    string
	}{
		{"half, shown", same([]float64{0.9, 0.3, 0.6}), []string{"an improvement", "closes 50.0 %", "target 40 %: pass"}, "means"},
		{"a loss", same([]float64{0.9, 0.3, 0.1}), []string{"a loss", "target 40 %: fail"}, "no effect"},
		{"nothing moved", same([]float64{0.9, 0.3, 0.3}), []string{"no effect shown (no scenario moved)", "fail"}, "0.000 could"},
		{"no gap", same([]float64{0.3, 0.3, 0.6}), []string{"no gap to close"}, "pass"},
		{"a gap that is not shown", noisyGap, []string{"an improvement", "not shown either", "pass by the means"}, ""},
		{"too few", same([]float64{0.9, 0.3, 0.6})[:5], []string{"no effect shown (5 scenarios can show none; it takes 6)", "pass by the means"}, "improvement"},
		{"none", nil, []string{"nothing to compare"}, "n ="},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			res := resultsOf(&abc, []string{"research"}, tt.shares...)
			got := res.Closures[0].sentence()
			for _, want := range tt.want {
				if !strings.Contains(got, want) {
					t.Errorf("sentence = %q, want %q in it", got, want)
				}
			}
			if tt.not != "" && strings.Contains(got, tt.not) {
				t.Errorf("sentence = %q, want no %q in it", got, tt.not)
			}
			if _, err := json.Marshal(res); err != nil {
				t.Errorf("the results can't be written: %v", err)
			}
		})
	}
}

func TestAcrossModels(t *testing.T) {
	plan := abc
	plan.Conditions = append(plan.Conditions, Condition{Code: "D"})
	plan.Closures = append(plan.Closures, Closure{Name: "other", Baseline: "B", With: "D", Top: "A"})
	var rows [][]float64
	for range 6 {
		rows = append(rows, []float64{0.9, 0.3, 0.6, 0.2})
	}
	var report strings.Builder
	if err := resultsOf(&plan, []string{"research"}, rows...).WriteMarkdown(&report); err != nil {
		t.Fatal(err)
	}
	if want := "positive in 1 of 2 weak models, and an effect of either sign is shown in 2: help +0.300 (shown), other -0.100 (shown)"; !strings.Contains(report.String(), want) {
		t.Errorf("the report lacks %q:\n%s", want, &report)
	}
}

// What judges say decides where they can be read; where none can, the facts do.
// Either is counted.
func TestUnreadableJudges(t *testing.T) {
	read := func(judge string, overall float64) Judgement { return Judgement{Judge: judge, Overall: overall} }
	unread := Judgement{Judge: "j", Unparsed: "no object"}
	tests := []struct {
		name     string
		judged   []Judgement
		measure  string
		score    float64
		unparsed int
		differ   *float64
	}{
		{"none", nil, measureFacts, 0.25, 0, nil},
		{"one, unreadable", []Judgement{unread}, measureFacts, 0.25, 1, nil},
		{"one of two", []Judgement{unread, read("k", 0.75)}, measureJudges, 0.75, 1, nil},
		{"two", []Judgement{read("j", 0.5), read("k", 1)}, measureJudges, 0.75, 0, new(0.5)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			res := &Results{Plan: &Plan{Conditions: []Condition{{Code: "A"}}}, Scenarios: []Outcome{{
				Scenario: "s", Runs: []Answer{{Condition: "A", Facts: &Checked{Share: 0.25}, Judged: tt.judged}},
			}}}
			res.summarise()
			s := res.Conditions[0]
			if res.Measure != tt.measure || s.Score.Mean != tt.score || s.Facts.Mean != 0.25 || s.Unparsed != tt.unparsed {
				t.Errorf("by %s %v, facts %v, %d unreadable; want %s %v, .25, %d", res.Measure, s.Score.Mean, s.Facts.Mean, s.Unparsed, tt.measure, tt.score, tt.unparsed)
			}
			if diff := cmp.Diff(tt.differ, s.Disagreement); diff != "" {
				t.Errorf("disagreement (-want +got):\n%s", diff)
			}
		})
	}
}
