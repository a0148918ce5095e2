package cmd

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudy-ai/understudy/eval"
)

// twoScenarios writes two small scenarios to a folder.
func twoScenarios(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"one", "two"} {
		text := "name: " + name + `
shape: research
language: en
priming: [{user: "We decided to use PostgreSQL for project ` + name + `. Please remember that."}, {user: "We decided to deploy ` + name + ` on Mondays."}]
query: "Which database does project ` + name + ` use?"
rubric: PostgreSQL
facts: [{name: database, any: [postgres]}]
`
		if err := os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A run that the budget has ended goes on where it stopped, and only as what it
// was; when all is done nothing but the results is left.
func TestEvalResumesARun(t *testing.T) {
	scenarios, out := twoScenarios(t), t.TempDir()
	partial := filepath.Join(out, "partial.jsonl")
	simulated := func(more ...string) (code int, talk string) {
		var errs bytes.Buffer
		code = Main(append([]string{"eval", "-simulated", "-out", out, "-scenarios", scenarios, "-seeds", "1"}, more...), IO{Out: io.Discard, Err: &errs})
		return code, errs.String()
	}
	var first, last eval.Results
	if code, talk := simulated("-max-usd", "0.005"); code != 0 || !strings.Contains(talk, "-resume") {
		t.Fatalf("exit code %d, %s", code, talk)
	}
	readJSON(t, filepath.Join(out, "results.json"), &first)
	if first.Stopped == "" || len(first.Scenarios) != 1 {
		t.Fatalf("stopped %q after %d scenarios, want the budget to end the run after one", first.Stopped, len(first.Scenarios))
	}
	if code, talk := simulated("-resume", "-gold", "condition:A"); code != 1 || !strings.Contains(talk, "other scenarios, conditions or settings") {
		t.Errorf("a run with another gold: exit code %d, %s", code, talk)
	}
	torn, err := os.OpenFile(partial, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = torn.WriteString(`{"run":"half of a li`)
		err = errors.Join(err, torn.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	code, talk := simulated("-resume")
	if code != 0 || !strings.HasPrefix(talk, "1 scenarios to go of 2") {
		t.Errorf("exit code %d, %s; want an estimate for what is left", code, talk)
	}
	readJSON(t, filepath.Join(out, "results.json"), &last)
	if len(last.Scenarios) != 2 || last.CostUSD <= first.Scenarios[0].CostUSD {
		t.Errorf("%d scenarios for $%v, of which the first cost $%v", len(last.Scenarios), last.CostUSD, first.Scenarios[0].CostUSD)
	}
	wantFiles(t, out, "EVAL-RESULTS.md", "results.json")
}

// A line after half of one is read.
func TestJournalAfterATornLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "partial.jsonl")
	if err := os.WriteFile(path, []byte(`{"run":"r","outco`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := appendJournal(path, journaled{"r", eval.Outcome{Scenario: "one"}}); err != nil {
		t.Fatal(err)
	}
	var e evalCall
	if err := e.readJournal(path, "r"); err != nil {
		t.Fatal(err)
	}
	if len(e.cfg.Done) != 1 || e.cfg.Done[0].Scenario != "one" {
		t.Errorf("read %+v, want the one that is whole", e.cfg.Done)
	}
}

// A budget means nothing where a price is not known.
func TestEvalBudgetNeedsPrices(t *testing.T) {
	var errs bytes.Buffer
	code := Main([]string{"eval", "-out", t.TempDir(), "-conditions", "memory", "-model", "nobody-knows", "-max-usd", "1"}, IO{Out: io.Discard, Err: &errs})
	if code != 1 || !strings.Contains(errs.String(), "-max-usd can't be kept") {
		t.Errorf("exit code %d, %s", code, &errs)
	}
}
