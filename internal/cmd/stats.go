package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/understudy-ai/understudy/ledger"
)

func runStats(ctx context.Context, args []string, o IO) (err error) {
	f := flags("stats")
	cf, sf := addConfigFlags(f), addSelectionFlags(f)
	by := f.String("by", "model", "group by `KEY`: day, agent, model, tier, profile or channel")
	asJSON := f.Bool("json", false, "write JSON, as GET /api/stats answers")
	if err := parse(f, args, o); err != nil {
		return err
	}
	r, err := openLedger(ctx, cf, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	q := ledger.StatsQuery{Tenant: sf.Tenant, Agent: sf.Agent, Since: sf.Since, Until: sf.Until, GroupBy: *by}
	groups, err := r.Stats(ctx, q)
	if errors.Is(err, ledger.ErrGroupBy) {
		return usageError{fmt.Errorf("-by: %w", err)}
	}
	if err != nil {
		return err
	}
	if *asJSON {
		enc := json.NewEncoder(o.Out)
		enc.SetIndent("", "  ")
		return enc.Encode(groups)
	}
	q.GroupBy = "day"
	days, err := r.Stats(ctx, q)
	if err != nil {
		return err
	}
	return reportStats(groups, days, *by, o.Out)
}

// reportStats writes a table of the groups, what the saving is made of, and
// a bar for each day.
func reportStats(groups, days ledger.Stats, by string, out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "%s\trequests\tinput\tcached\toutput\tcost $\tbaseline $\tsaved $\tsaved\tunpriced\tp50 ms\tp95 ms\tadded ms\t\n", by)
	for _, g := range groups.Groups {
		writeGroup(w, g.Key, &g.Totals)
	}
	t := &groups.Total
	writeGroup(w, "total", t)
	if err := w.Flush(); err != nil {
		return err
	}

	fmt.Fprintln(out, "\nSaved, net, by cause (of it overspent):")
	for _, c := range components(t) {
		fmt.Fprintf(out, "  %-11s %+.6f  (%.6f)\n", c.name, c.net, c.overspent)
	}
	fmt.Fprintf(out, "\ntiers: %s\noutcomes: %s\nmodel switches: %s\n", counts(t.Tiers), counts(t.Outcomes), counts(t.Switches))
	for _, arm := range []string{ledger.ArmApplied, ledger.ArmHeldOut} {
		if a := t.Scaffold[arm]; a.Requests > 0 {
			fmt.Fprintf(out, "scaffold %s: %d requests, %.0f tokens of answer each, %d cut at their limit, %d corrected, $%.6f\n",
				arm, a.Requests, float64(a.Output)/float64(a.Requests), a.Truncated, a.Corrected, a.CostUSD)
		}
	}
	if b := t.Background; b.Calls > 0 {
		fmt.Fprintf(out, "our own calls: %d, %d tokens, $%.6f\n", b.Calls, b.Tokens, b.CostUSD)
	}
	if t.Disputed > 0 {
		fmt.Fprintf(out, "%d bills differ from the price list by more than 5 %%\n", t.Disputed)
	}
	return writeBars(days, out)
}

func writeGroup(w io.Writer, key string, t *ledger.Totals) {
	saved := "" // Of nothing there is no share.
	if t.BaselineUSD > 0 {
		saved = fmt.Sprintf("%+.0f %%", 100*t.Saved.Total()/t.BaselineUSD)
	}
	fmt.Fprintf(w, "%s\t%d\t%d\t%.0f %%\t%d\t%.6f\t%.6f\t%+.6f\t%s\t%d\t%.1f\t%.1f\t%.2f\t\n", shown(key), t.Requests, t.Tokens.Input, 100*t.CacheHitShare,
		t.Tokens.Output, t.CostUSD, t.BaselineUSD, t.Saved.Total(), saved, t.Unpriced, t.Latency.Total.P50, t.Latency.Total.P95, t.Latency.Overhead.P50)
}

// shown is a key as a terminal may have it: what a client chose must not
// control it.
func shown(key string) string {
	if key == "" {
		return "-"
	}
	if q := strconv.Quote(key); q != `"`+key+`"` {
		key = q
	}
	return fmt.Sprintf("%.40s", key)
}

type component struct {
	name           string
	net, overspent float64
}

func components(t *ledger.Totals) []component {
	s, o := t.Saved, t.Overspent
	return []component{
		{"routing", s.Routing, o.Routing},
		{"cache", s.Cache, o.Cache},
		{"memory", s.Memory, o.Memory},
		{"scaffold", s.Scaffold, o.Scaffold},
		{"retries", s.Retries, o.Retries},
		{"background", s.Background, o.Background},
	}
}

// counts writes names with their counts, the most frequent first.
func counts(m map[string]int64) string {
	type count struct {
		name string
		n    int64
	}
	var all []count
	for name, n := range m {
		all = append(all, count{name, n})
	}
	slices.SortFunc(all, func(a, b count) int {
		if a.n != b.n {
			return int(b.n - a.n)
		}
		return strings.Compare(a.name, b.name)
	})
	var parts []string
	for _, c := range all {
		parts = append(parts, fmt.Sprintf("%s %d", shown(c.name), c.n))
	}
	if parts == nil {
		return "none"
	}
	return strings.Join(parts, ", ")
}

const (
	barDays  = 31 // The last ones that are drawn.
	barWidth = 40 // Characters for the dearest day.
)

// writeBars draws each day's baseline: what it cost (█) and what was saved (░),
// or what it cost beyond it (▓).
func writeBars(days ledger.Stats, out io.Writer) error {
	last := days.Groups[max(0, len(days.Groups)-barDays):]
	most := 0.0
	for _, d := range last {
		most = max(most, d.CostUSD, d.BaselineUSD)
	}
	if most == 0 {
		return nil
	}
	fmt.Fprintln(out, "\nBy day: █ cost, ░ saved, ▓ cost beyond the baseline")
	for _, d := range last {
		chars := func(usd float64) int { return int(math.Round(barWidth * usd / most)) }
		paid := chars(min(d.CostUSD, d.BaselineUSD))
		bar := strings.Repeat("█", paid) + strings.Repeat("░", max(0, chars(d.BaselineUSD)-paid)) + strings.Repeat("▓", max(0, chars(d.CostUSD)-paid))
		pad := strings.Repeat(" ", max(0, barWidth+1-strings.Count(bar, "")+1))
		if _, err := fmt.Fprintf(out, "  %s  %s%s %d requests, $%.6f of $%.6f\n", d.Key, bar, pad, d.Requests, d.CostUSD, d.BaselineUSD); err != nil {
			return err
		}
	}
	return nil
}
