package eval

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// WriteTable writes the console's view: scenarios by conditions, then the
// comparisons.
func (res *Results) WriteTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "scenario\tmemories\tprimed")
	for _, c := range res.Plan.Conditions {
		fmt.Fprintf(t, "\t%s", c.Code)
	}
	for _, d := range res.deltas() {
		fmt.Fprintf(t, "\t%s", d.title)
	}
	fmt.Fprintln(t, "\t")
	for i := range res.Scenarios {
		o := &res.Scenarios[i]
		fmt.Fprintf(t, "%s\t%d\t%s", o.Scenario, o.Memories, yesNo(!o.PrimingFailed))
		for _, c := range res.Plan.Conditions {
			fmt.Fprintf(t, "\t%s", cellText(o, c.Code, res.Measure))
		}
		for _, d := range res.deltas() {
			fmt.Fprintf(t, "\t%s", d.of(o.Scenario))
		}
		fmt.Fprintln(t, "\t")
	}
	fmt.Fprintf(t, "mean\t\t")
	for _, s := range res.Conditions {
		fmt.Fprintf(t, "\t%s", estimateText(s.Score))
	}
	for _, d := range res.deltas() {
		fmt.Fprintf(t, "\t%+.3f", d.mean)
	}
	fmt.Fprintln(t, "\t")
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nBy %s, %d seeds.\n", measureText(res.Measure), res.Seeds)
	for i := range res.Closures {
		fmt.Fprintf(w, "%s: %s\n", res.Closures[i].Name, res.Closures[i].sentence())
	}
	_, err := fmt.Fprintf(w, "cost $%.4f, %d answers unpriced, %v\n", res.CostUSD, res.Unpriced, res.Took.Round(time.Second))
	return err
}

func cellText(o *Outcome, code, measure string) string {
	if v, ok := o.cell(code, measure); ok {
		return fmt.Sprintf("%.3f", v)
	}
	return "-"
}

func estimateText(e *Estimate) string {
	if e == nil {
		return "-"
	}
	return fmt.Sprintf("%.3f", e.Mean)
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "NO"
}

func measureText(measure string) string {
	if measure == measureJudges {
		return "judges' marks (0 to 1)"
	}
	return "the share of facts that an answer gets right"
}

// WriteMarkdown writes EVAL-RESULTS.md.
func (res *Results) WriteMarkdown(out io.Writer) error {
	w := &strings.Builder{}
	fmt.Fprintf(w, "# Evaluation results\n\n")
	if res.Simulated {
		fmt.Fprintf(w, "**Simulated:** scripted models answered. These figures prove the harness and say nothing about any model.\n\n")
	}
	fmt.Fprintf(w, "**Run date:** %s  \n**Version:** %s  \n**Duration:** %v  \n**Model probe:** %s  \n**Gold:** %s  \n**Measured by:** %s\n\n",
		res.Started.Format(time.RFC3339), res.Version, res.Took.Round(time.Second), res.probeText(), res.Gold, measureText(res.Measure))
	if res.Stopped != "" {
		fmt.Fprintf(w, "**Stopped early:** %s\n\n", res.Stopped)
	}
	res.writeSummary(w)
	res.writePriming(w)
	res.writeScores(w)
	res.writeClosures(w)
	res.writeConditions(w)
	res.writeSamples(w)
	res.writeObservations(w)
	_, err := io.WriteString(out, w.String())
	return err
}

func (res *Results) probeText() string {
	state := "pass"
	var notes []string
	for _, p := range res.Probe {
		if p.Used == "" {
			state = "partial"
		}
		if p.Used != p.Model {
			notes = append(notes, p.Sentence())
		}
	}
	if len(notes) == 0 {
		return state
	}
	return state + " (" + strings.Join(notes, "; ") + ")"
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func (res *Results) writeSummary(w io.Writer) {
	primed := 0
	for _, o := range res.Scenarios {
		if !o.PrimingFailed {
			primed++
		}
	}
	fmt.Fprintf(w, "## Summary\n\n| metric | value |\n|---|---|\n| scenarios | %d |\n| scenarios with successful priming | %d / %d |\n| seeds per scenario | %d |\n",
		len(res.Scenarios), primed, len(res.Scenarios), res.Seeds)
	for i := range res.Closures {
		c := &res.Closures[i]
		if c.Passed != nil {
			fmt.Fprintf(w, "| target: %s closes ≥ %.0f %% of %s − %s | %s |\n", c.With, 100*c.Target, c.Top, c.Closure.Baseline, c.verdict())
		}
		if c.Closed != nil {
			fmt.Fprintf(w, "| gap closed: %s | %.1f %% |\n", c.Name, 100*c.Closed.Mean)
		} else {
			fmt.Fprintf(w, "| %s | %+.3f |\n", c.Name, c.Effect.Mean)
		}
		if c.Top == "" && len(c.Rows) > 0 {
			worst := slices.MinFunc(c.Rows, func(a, b Row) int { return cmp.Compare(a.Effect, b.Effect) })
			fmt.Fprintf(w, "| worst row of %s | %+.2fpp (%s) |\n", c.Name, 100*worst.Effect, worst.Scenario)
		}
	}
	fmt.Fprintf(w, "| cost | $%.4f, %d answers unpriced |\n\n", res.CostUSD, res.Unpriced)
}

func (res *Results) writePriming(w io.Writer) {
	fmt.Fprintf(w, "## Priming results\n\n| scenario | memories | matched | missed |\n|---|---|---|---|\n")
	for _, o := range res.Scenarios {
		var hit, miss []string
		for text, found := range o.Verified {
			if found {
				hit = append(hit, text)
			} else {
				miss = append(miss, text)
			}
		}
		slices.Sort(hit)
		slices.Sort(miss)
		fmt.Fprintf(w, "| %s | %d | %s | %s |\n", o.Scenario, o.Memories, listText(hit), listText(miss))
	}
	fmt.Fprintf(w, "\nSuccessful by language: %s.\n\n", res.primedByLanguage())
}

func (res *Results) primedByLanguage() string {
	all, primed := map[string]int{}, map[string]int{}
	for _, o := range res.Scenarios {
		all[o.Language]++
		if !o.PrimingFailed {
			primed[o.Language]++
		}
	}
	var parts []string
	for _, language := range slices.Sorted(maps.Keys(all)) {
		parts = append(parts, fmt.Sprintf("%s %d of %d", cmp.Or(language, "unknown"), primed[language], all[language]))
	}
	return listText(parts)
}

func listText(list []string) string {
	if len(list) == 0 {
		return "–"
	}
	return strings.Join(list, ", ")
}

func (res *Results) writeScores(w io.Writer) {
	fmt.Fprintf(w, "## Scores\n\n| scenario |")
	for _, c := range res.Plan.Conditions {
		fmt.Fprintf(w, " %s |", c.Code)
	}
	fmt.Fprintf(w, "\n|---|%s\n", strings.Repeat("---|", len(res.Plan.Conditions)))
	for i := range res.Scenarios {
		o := &res.Scenarios[i]
		fmt.Fprintf(w, "| %s |", o.Scenario)
		for _, c := range res.Plan.Conditions {
			fmt.Fprintf(w, " %s |", cellText(o, c.Code, res.Measure))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "| **mean** |")
	for _, s := range res.Conditions {
		if s.Score == nil {
			fmt.Fprint(w, " – |")
			continue
		}
		fmt.Fprintf(w, " %.3f [%.3f, %.3f] |", s.Score.Mean, s.Score.Low, s.Score.High)
	}
	fmt.Fprint(w, "\n\n")
}

func (res *Results) writeConditions(w io.Writer) {
	fmt.Fprintf(w, "## Conditions\n\n| code | model | assembler | memory | scaffold | runs | with scaffold | facts right | unreadable judgements | judges differ by | cost a run | median latency | output tokens |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	for i, s := range res.Conditions {
		c := res.Plan.Conditions[i]
		facts, differ, cost := "–", "–", "unpriced"
		if s.Facts != nil {
			facts = fmt.Sprintf("%.3f", s.Facts.Mean)
		}
		if s.Disagreement != nil {
			differ = fmt.Sprintf("%.3f", *s.Disagreement)
		}
		if s.MeanCostUSD != nil {
			cost = fmt.Sprintf("$%.6f", *s.MeanCostUSD)
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %d | %d | %s | %d | %s | %s | %v | %.0f |\n", s.Code, s.Model, onOff(c.Assembler), onOff(c.Memory), onOff(c.Scaffold),
			s.Runs, s.Scaffolds, facts, s.Unparsed, differ, cost, s.Latency.Round(time.Millisecond), s.MeanOutput)
	}
	fmt.Fprintln(w)
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}

// maxSample bounds an answer that is quoted.
const maxSample = 700

// writeSamples quotes, of each scenario, the best answer of the condition that
// the first comparison is about.
func (res *Results) writeSamples(w io.Writer) {
	if len(res.Closures) == 0 {
		return
	}
	code := res.Closures[0].With
	fmt.Fprintf(w, "## Best answers under %s\n\n", code)
	for i := range res.Scenarios {
		best, score := (*Answer)(nil), -1.0
		for _, a := range res.Scenarios[i].of(code) {
			if v, ok := a.score(res.Measure); ok && v > score {
				best, score = &a, v
			}
		}
		if best != nil {
			fmt.Fprintf(w, "**%s** (seed %d, %.3f): %s\n\n", res.Scenarios[i].Scenario, best.Seed, score, quote(best.Text))
		}
	}
}

func quote(s string) string {
	s = oneLine(s)
	if r := []rune(s); len(r) > maxSample {
		s = string(r[:maxSample]) + " …"
	}
	return strings.NewReplacer("<", "&lt;", "|", "\\|").Replace(s)
}

// writeObservations lists what a reader of the figures must know.
func (res *Results) writeObservations(w io.Writer) {
	fmt.Fprintf(w, "## Observations\n\n")
	for _, o := range res.Scenarios {
		if o.PrimingFailed {
			fmt.Fprintf(w, "- Priming failed in %s: %d memories, missing %s. Its rows measure that, too.\n", o.Scenario, o.Memories, missing(o))
		}
	}
	for i := range res.Closures {
		if c := &res.Closures[i]; c.Effect.N > 0 && !c.Effect.Shown {
			fmt.Fprintf(w, "- %s: no effect shown over %d scenarios (%s).\n", c.Name, c.Effect.N, c.Effect.blindness())
		}
	}
	for _, s := range res.Conditions {
		if s.Empty > 0 {
			fmt.Fprintf(w, "- %d answers under %s hold no text. They count as wrong.\n", s.Empty, s.Code)
		}
		if s.Skipped != "" {
			fmt.Fprintf(w, "- %s was skipped: %s does not answer.\n", s.Code, s.Model)
		}
		if s.Unparsed > 0 {
			fmt.Fprintf(w, "- %d judgements of %s could not be read and are left out.\n", s.Unparsed, s.Code)
		}
	}
	if code, ok := strings.CutPrefix(res.Gold, goldCondition); ok && res.Measure == measureJudges {
		fmt.Fprintf(w, "- %s is judged by its own first answer, as everything is: its marks are the top of the scale.\n", code)
	}
	for _, o := range res.Scenarios {
		if o.Failed != "" {
			fmt.Fprintf(w, "- Nothing was asked in %s: %s.\n", o.Scenario, oneLine(o.Failed))
		}
		for _, a := range o.Runs {
			if a.Failed != "" {
				fmt.Fprintf(w, "- %s got no answer in %s (seed %d), which is left out: %s.\n", a.Condition, o.Scenario, a.Seed, oneLine(a.Failed))
			}
		}
	}
	fmt.Fprintf(w, "- %d seeds of one scenario are one unit, not %d: the question is the same.\n", res.Seeds, res.Seeds)
}

func missing(o Outcome) string {
	var all []string
	for text, found := range o.Verified {
		if !found {
			all = append(all, text)
		}
	}
	slices.Sort(all)
	return listText(all)
}
