package eval

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/understudy-ai/understudy/scoring"
)

// Routing is how a scorer does on one file of labelled prompts: rows with a
// tier, or rows with what a weak and a strong model scored.
type Routing struct {
	File string      `json:"file"`
	N    int         `json:"n"`
	Tier *TierReport `json:"tiers,omitempty"`
	Pair *PairReport `json:"pairs,omitempty"`
}

// TierReport is how often the tier is right.
type TierReport struct {
	Accuracy float64 `json:"accuracy"`
	Majority float64 `json:"majority"` // share of the most frequent tier: what always saying it would get
	// Confusion counts by true tier, then by the scorer's.
	Confusion map[string]map[string]int `json:"confusion"`
	Languages []LanguageReport          `json:"languages"`
}

// LanguageReport is the accuracy in one language.
type LanguageReport struct {
	Language string  `json:"language"`
	N        int     `json:"n"`
	Accuracy float64 `json:"accuracy"`
}

// PairReport says how well an order of prompts finds those on which the strong
// model is worth its price. APGR is the area under the share of the gap
// recovered against the share of calls to the strong model; 0.5 is chance
// (RouteLLM, arXiv 2406.18665).
type PairReport struct {
	Weak       float64 `json:"weak"`
	Strong     float64 `json:"strong"`
	APGR       float64 `json:"apgr"`
	TierAPGR   float64 `json:"apgr_by_tier"`
	LengthAPGR float64 `json:"apgr_by_length"` // what any scorer must beat
}

type labelled struct {
	Prompt string   `json:"prompt"`
	Tier   string   `json:"tier"`
	Lang   string   `json:"lang"`
	Weak   *float64 `json:"weak"`
	Strong *float64 `json:"strong"`
}

// Scorer scores a prompt.
type Scorer interface {
	Score(text string) scoring.Score
}

// MeasureRouting scores the prompts of one file. progress is called after each
// prompt; nil: nobody.
func MeasureRouting(s Scorer, dir fs.FS, file string, progress func()) (*Routing, error) {
	rows, err := readLines[labelled](dir, file)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("%s holds no rows", file)
	}
	scores := make([]scoring.Score, len(rows))
	for i, r := range rows {
		scores[i] = s.Score(scoring.HumanText(r.Prompt))
		if progress != nil {
			progress()
		}
	}
	res := &Routing{File: file, N: len(rows)}
	switch {
	case rows[0].Tier != "":
		res.Tier, err = tierReport(rows, scores)
	case rows[0].Weak != nil && rows[0].Strong != nil:
		res.Pair, err = pairReport(rows, scores)
	default:
		err = errors.New("rows take prompt and tier, or prompt, weak and strong")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return res, nil
}

// tiers are the names of the tiers, cheapest first.
var tiers = [...]string{scoring.Light.String(), scoring.Standard.String(), scoring.Heavy.String()}

func tierReport(rows []labelled, scores []scoring.Score) (*TierReport, error) {
	t := &TierReport{Confusion: map[string]map[string]int{}}
	right, byTier := 0, map[string]int{}
	type count struct{ n, right int }
	languages := map[string]count{}
	for i, r := range rows {
		if !slices.Contains(tiers[:], r.Tier) {
			return nil, fmt.Errorf("row %d has the tier %q; there are %s", i+1, r.Tier, strings.Join(tiers[:], ", "))
		}
		got := scores[i].Tier.String()
		if t.Confusion[r.Tier] == nil {
			t.Confusion[r.Tier] = map[string]int{}
		}
		t.Confusion[r.Tier][got]++
		byTier[r.Tier]++
		c := languages[r.Lang]
		c.n++
		if got == r.Tier {
			right++
			c.right++
		}
		languages[r.Lang] = c
	}
	most := 0
	for _, n := range byTier {
		most = max(most, n)
	}
	t.Accuracy, t.Majority = float64(right)/float64(len(rows)), float64(most)/float64(len(rows))
	for name, c := range languages {
		t.Languages = append(t.Languages, LanguageReport{name, c.n, float64(c.right) / float64(c.n)})
	}
	slices.SortFunc(t.Languages, func(a, b LanguageReport) int {
		return cmp.Or(cmp.Compare(b.N, a.N), strings.Compare(a.Language, b.Language))
	})
	return t, nil
}

func pairReport(rows []labelled, scores []scoring.Score) (*PairReport, error) {
	p := &PairReport{}
	gains, score, tier, length := make([]float64, len(rows)), make([]float64, len(rows)), make([]float64, len(rows)), make([]float64, len(rows))
	for i, r := range rows {
		if r.Weak == nil || r.Strong == nil {
			return nil, fmt.Errorf("row %d lacks weak or strong", i+1)
		}
		p.Weak += *r.Weak / float64(len(rows))
		p.Strong += *r.Strong / float64(len(rows))
		gains[i] = *r.Strong - *r.Weak
		score[i], tier[i], length[i] = scores[i].Value, float64(scores[i].Tier), float64(len([]rune(r.Prompt)))
	}
	if p.Strong == p.Weak {
		return nil, errors.New("the strong model is no better than the weak one: there is no gap to recover")
	}
	p.APGR, p.TierAPGR, p.LengthAPGR = apgr(gains, score), apgr(gains, tier), apgr(gains, length)
	return p, nil
}

// apgr is the area under the recovered share of the gap when prompts go to the
// strong model in order of key, highest first; prompts of equal key go
// together.
func apgr(gains, key []float64) float64 {
	order := make([]int, len(gains))
	total := 0.0
	for i, g := range gains {
		order[i], total = i, total+g
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(key[b], key[a]) })
	area, x, y := 0.0, 0.0, 0.0
	for i := 0; i < len(order); {
		x0, y0, k := x, y, key[order[i]]
		for ; i < len(order) && key[order[i]] == k; i++ {
			x += 1 / float64(len(gains))
			y += gains[order[i]] / total
		}
		area += (x - x0) * (y + y0) / 2
	}
	return area
}

// WriteText writes the figures of a file.
func (r *Routing) WriteText(w io.Writer) error {
	if p := r.Pair; p != nil {
		_, err := fmt.Fprintf(w, "%s: n=%d, weak %.3f, strong %.3f; APGR %.3f by score, %.3f by tier, %.3f by length\n", r.File, r.N, p.Weak, p.Strong, p.APGR, p.TierAPGR, p.LengthAPGR)
		return err
	}
	fmt.Fprintf(w, "%s: n=%d, accuracy %.3f (always the most frequent tier: %.3f)\n", r.File, r.N, r.Tier.Accuracy, r.Tier.Majority)
	for _, want := range tiers {
		row := r.Tier.Confusion[want]
		n := row["light"] + row["standard"] + row["heavy"]
		if n == 0 {
			continue
		}
		fmt.Fprintf(w, "  %-8s n=%d", want, n)
		for _, got := range tiers {
			fmt.Fprintf(w, "  %s %.3f", got, float64(row[got])/float64(n))
		}
		fmt.Fprintln(w)
	}
	var parts []string
	for _, l := range r.Tier.Languages {
		parts = append(parts, fmt.Sprintf("%s %.2f (%d)", cmp.Or(l.Language, "?"), l.Accuracy, l.N))
	}
	_, err := fmt.Fprintf(w, "  by language: %s\n", strings.Join(parts, "  "))
	return err
}
