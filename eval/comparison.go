package eval

import (
	"fmt"
	"io"
	"strings"
)

// This file says in words and tables what comparisons show, and no more.

// sentence says what a comparison shows, and no more.
func (c *ClosureResult) sentence() string {
	e := c.Effect
	if e.N == 0 {
		return "nothing to compare"
	}
	s := fmt.Sprintf("%s − %s = %+.3f [%+.3f, %+.3f], p = %.3f, n = %d: ", c.With, c.Closure.Baseline, e.Mean, e.Low, e.High, e.P, e.N)
	switch {
	case !e.Shown:
		s += "no effect shown (" + e.blindness() + ")"
	case e.Mean > 0:
		s += "an improvement"
	default:
		s += "a loss"
	}
	switch {
	case c.Gap == nil:
		return s
	case c.Closed == nil:
		return s + fmt.Sprintf("; %s is no better than %s (%+.3f), so there is no gap to close", c.Top, c.Closure.Baseline, c.Gap.Mean)
	}
	s += fmt.Sprintf("; closes %.1f %% [%.1f, %.1f] of a gap of %.3f", 100*c.Closed.Mean, 100*c.Closed.Low, 100*c.Closed.High, c.Gap.Mean)
	if !c.Gap.Shown {
		s += ", which is not shown either (" + c.Gap.blindness() + ")"
	}
	if c.Passed != nil {
		s += fmt.Sprintf("; target %.0f %%: %s", 100*c.Target, c.verdict())
	}
	return s
}

// blindness says what an effect would have had to be to be seen.
func (e *Effect) blindness() string {
	switch {
	case e.Detectable == nil:
		return fmt.Sprintf("%d scenarios can show none; it takes %d", e.N, leastUnits)
	case *e.Detectable == 0:
		return "no scenario moved"
	}
	return fmt.Sprintf("one below %.3f could not be seen", *e.Detectable)
}

// verdict is on the means, as the target is; it says where they show nothing.
func (c *ClosureResult) verdict() string {
	switch {
	case !*c.Passed:
		return "fail"
	case !c.Effect.Shown || !c.Gap.Shown:
		return "pass by the means, which show no effect"
	}
	return "pass"
}

func (res *Results) writeClosures(w io.Writer) {
	fmt.Fprintf(w, "## Comparisons\n\nDifferences of scenario means, with 95 %% bootstrap intervals over scenarios and a paired permutation test.\n\n")
	for i := range res.Closures {
		fmt.Fprintf(w, "- **%s**: %s\n", res.Closures[i].Name, res.Closures[i].sentence())
	}
	fmt.Fprintln(w)
	res.writeDeltas(w)
	res.writePattern(w)
}

func (res *Results) writeDeltas(w io.Writer) {
	all := res.deltas()
	fmt.Fprint(w, "| scenario |")
	for _, d := range all {
		fmt.Fprintf(w, " %s |", d.title)
	}
	fmt.Fprintf(w, "\n|---|%s\n", strings.Repeat("---|", len(all)))
	for _, o := range res.Scenarios {
		fmt.Fprintf(w, "| %s |", o.Scenario)
		for _, d := range all {
			fmt.Fprintf(w, " %s |", d.of(o.Scenario))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
}

// writePattern says whether what helps one weak model helps the others, where
// there are others.
func (res *Results) writePattern(w io.Writer) {
	var gains, shown, of int
	var parts []string
	for i := range res.Closures {
		c := &res.Closures[i]
		if c.Top == "" || c.Effect.N == 0 {
			continue
		}
		of++
		if c.Effect.Mean > 0 {
			gains++
		}
		note := "not shown"
		if c.Effect.Shown {
			shown, note = shown+1, "shown"
		}
		parts = append(parts, fmt.Sprintf("%s %+.3f (%s)", c.Name, c.Effect.Mean, note))
	}
	if of < 2 {
		return
	}
	fmt.Fprintf(w, "## Across models\n\nThe mean gain is positive in %d of %d weak models, and an effect of either sign is shown in %d: %s.\n\n", gains, of, shown, listText(parts))
}

// delta is a difference between two conditions, by scenario.
type delta struct {
	title string
	mean  float64
	rows  map[string]float64
}

func (d *delta) of(scenario string) string {
	if v, ok := d.rows[scenario]; ok {
		return fmt.Sprintf("%+.3f", v)
	}
	return "-"
}

// deltas are the differences that the comparisons are made of: what help gives,
// and the gap that there is.
func (res *Results) deltas() []delta {
	var all []delta
	for i := range res.Closures {
		c := &res.Closures[i]
		effect := delta{c.With + " − " + c.Closure.Baseline, c.Effect.Mean, map[string]float64{}}
		gap := delta{c.Top + " − " + c.Closure.Baseline, 0, map[string]float64{}}
		for _, row := range c.Rows {
			effect.rows[row.Scenario] = row.Effect
			if row.Gap != nil {
				gap.rows[row.Scenario] = *row.Gap
			}
		}
		all = append(all, effect)
		if c.Gap != nil {
			gap.mean = c.Gap.Mean
			all = append(all, gap)
		}
	}
	return all
}
