package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/understudy-ai/understudy/eval"
	"github.com/understudy-ai/understudy/llmtest"
)

// The scripted models have a known gap: .9 against .3, and .6 with help. A
// harness that finds anything but half of it closed is wrong about itself.
func TestEvalSimulated(t *testing.T) {
	temp, out := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", temp)
	code := Main([]string{"eval", "-simulated", "-out", out, "-concurrency", "2"}, IO{Out: io.Discard, Err: testWriter{t}})
	if code != 0 {
		t.Fatalf("exit code %d", code)
	}
	var res eval.Results
	readJSON(t, filepath.Join(out, "results.json"), &res)
	if n := len(res.Scenarios); n != 6 {
		t.Errorf("%d scenarios, want 6", n)
	}
	c := res.Closures[0]
	if c.Closed == nil || math.Abs(c.Closed.Mean-0.5) > 1e-9 || c.Passed == nil || !*c.Passed || !c.Effect.Shown {
		t.Errorf("closure = %+v, want half of the gap, shown and passed", c)
	}
	if top := res.Closures[1]; math.Abs(top.Effect.Mean) > 1e-9 || top.Effect.Shown {
		t.Errorf("the strong model gains %+v from an assembled prompt, want nothing", top.Effect)
	}
	for _, o := range res.Scenarios {
		if o.PrimingFailed {
			t.Errorf("%s: priming failed: %v", o.Scenario, o.Verified)
		}
	}
	if res.CostUSD <= 0 || res.Unpriced != 0 {
		t.Errorf("cost %v, %d unpriced; every scripted model has a price", res.CostUSD, res.Unpriced)
	}
	wantFiles(t, out, "EVAL-RESULTS.md", "results.json")
	wantFiles(t, temp)
}

// A proxy that does something else than its condition says ends the run.
func TestEvalCatchesSabotage(t *testing.T) {
	tests := []struct {
		name     string
		sabotage func(*eval.Setup)
	}{
		{"the assembler is on though off", func(s *eval.Setup) {
			if s.Condition != nil && s.Condition.Code == "B" {
				s.Condition = &eval.Condition{Code: "B", Model: scriptedWeak, Assembler: true, Memory: true}
			}
		}},
		{"the assembler is off though on", func(s *eval.Setup) {
			if s.Condition != nil && s.Condition.Code == "C" {
				s.Condition = &eval.Condition{Code: "C", Model: scriptedWeak}
			}
		}},
		{"a small model assembled for as a frontier one", func(s *eval.Setup) {
			if s.Condition != nil && s.Condition.Code == "C" {
				c := *s.Condition
				c.Tier = "frontier"
				s.Condition = &c
			}
		}},
		{"the scaffold is held out though on", func(s *eval.Setup) {
			if s.Condition != nil && s.Condition.Code == "C" {
				c := *s.Condition
				c.Scaffold = false
				s.Condition = &c
			}
		}},
		{"the memory is lost", func(s *eval.Setup) {
			if s.Condition != nil && s.Condition.Code == "C" {
				s.DataDir += "-empty"
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg, up := simulatedEval(t)
			defer up.Close()
			start := cfg.Start
			cfg.Start = func(ctx context.Context, s eval.Setup) (eval.Instance, error) {
				tt.sabotage(&s)
				return start(ctx, s)
			}
			if _, err := eval.Run(t.Context(), cfg); !errors.Is(err, eval.ErrClaim) {
				t.Errorf("error %v, want one that says that the condition was not what it claims", err)
			}
		})
	}
}

// What is done is not asked again, and a spent budget is no failure.
func TestEvalResumeAndBudget(t *testing.T) {
	cfg, up := simulatedEval(t)
	defer up.Close()
	whole, err := eval.Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	asked := len(up.Requests())
	cfg.Done = whole.Scenarios
	again, err := eval.Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if probes := len(up.Requests()) - asked; probes != len(whole.Probe) {
		t.Errorf("%d requests of a run that was done, want %d probes", probes, len(whole.Probe))
	}
	if again.CostUSD < whole.CostUSD {
		t.Errorf("a resumed run says that all of it cost $%v; its first part cost $%v", again.CostUSD, whole.CostUSD)
	}
	if again.Closures[0].Closed == nil || again.Closures[0].Closed.Mean != whole.Closures[0].Closed.Mean {
		t.Errorf("closure %+v, then %+v", whole.Closures[0].Closed, again.Closures[0].Closed)
	}
	cfg.Done, cfg.MaxUSD = nil, 1e-9
	spent, err := eval.Run(t.Context(), cfg)
	if err != nil || spent.Stopped == "" {
		t.Errorf("stopped %q, error %v; want the budget to end the run", spent.Stopped, err)
	}
	for _, p := range spent.Probe {
		if p.Used == "" {
			t.Errorf("probe %+v: a spent budget is taken for a dead model", p)
		}
	}
}

// A model that is not there is replaced or left out, and either is said.
func TestEvalProbe(t *testing.T) {
	cfg, up := simulatedEval(t)
	defer up.Close()
	cfg.Plan.Conditions = append(cfg.Plan.Conditions,
		eval.Condition{Code: "X", Model: "gone"},
		eval.Condition{Code: "Y", Model: "also-gone", Substitutes: []string{"gone", scriptedWeak}})
	var said []string
	cfg.OnProbe = func(p eval.Probe) { said = append(said, p.Sentence()) }
	res, err := eval.Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	runs := map[string]int{}
	for _, a := range res.Scenarios[0].Runs {
		runs[a.Condition]++
	}
	if runs["X"] != 0 || runs["Y"] != cfg.Seeds {
		t.Errorf("runs %v, want none of X and %d of Y", runs, cfg.Seeds)
	}
	if len(said) != 2 || !strings.HasPrefix(said[0], "gone is left out: ") || !strings.HasPrefix(said[1], "also-gone does not answer; scripted-weak stands in") {
		t.Errorf("said %q of the probes", said)
	}
	var report strings.Builder
	if err := res.WriteMarkdown(&report); err != nil {
		t.Fatal(err)
	}
	for _, want := range append(said, "X was skipped: gone does not answer", "**Model probe:** partial") {
		if !strings.Contains(report.String(), want) {
			t.Errorf("the report lacks %q", want)
		}
	}
}

// With an answer as the gold each is judged in both orders, the gold's own
// condition included: without its marks there is no gap.
func TestEvalGoldOfACondition(t *testing.T) {
	cfg, up := simulatedEval(t)
	defer up.Close()
	cfg.Gold = "condition:A"
	res, err := eval.Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if c := res.Closures[0]; c.Closed == nil || math.Abs(c.Closed.Mean-0.5) > 1e-9 {
		t.Errorf("closure %+v, want half of the gap", c)
	}
	answerFirst, referenceFirst := 0, 0
	for _, r := range up.Requests() {
		text := gjson.GetBytes(r.Body, "messages.1.content").String()
		switch answer, reference := strings.Index(text, "<<<ANSWER"), strings.Index(text, "<<<REFERENCE"); {
		case answer < 0 || reference < 0:
		case answer < reference:
			answerFirst++
		default:
			referenceFirst++
		}
	}
	if answers := len(res.Scenarios[0].Runs); answerFirst != answers || referenceFirst != answers {
		t.Errorf("%d judged with the answer first, %d with the reference first, want %d of each", answerFirst, referenceFirst, answers)
	}
}

// simulatedEval is one scenario of the simulated evaluation.
func simulatedEval(t *testing.T) (eval.Config, *llmtest.Upstream) {
	t.Helper()
	scenarios, err := eval.Scenarios("original")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := eval.ShippedPlan("simulated")
	if err != nil {
		t.Fatal(err)
	}
	up, err := startScripted(scenarios)
	if err != nil {
		t.Fatal(err)
	}
	return eval.Config{
		Plan: plan, Scenarios: scenarios[1:2], Seeds: 1, Gold: eval.GoldRubric, Temp: t.TempDir(), Timeout: time.Minute,
		Start: evalStarter(demoConfig("", up.URL()), IO{Err: testWriter{t}}),
	}, up
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func wantFiles(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if len(got) != len(want) {
		t.Errorf("%s holds %v, want %v", dir, got, want)
	}
}

// testWriter writes to a test's log.
type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Log(string(p))
	return len(p), nil
}
