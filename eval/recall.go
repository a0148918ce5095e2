package eval

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// Recall is how well memory finds what answers a question.
type Recall struct {
	// Groups are the categories of questions, and [Answerable] for all of them but
	// the adversarial ones of category 5, whose premise is false.
	Groups  []RecallGroup `json:"groups"`
	P50     time.Duration `json:"p50_ns"` // of a search, over HTTP
	P99     time.Duration `json:"p99_ns"`
	Answers float64       `json:"mean_items_gated"` // items a question of category 5 gets with the gate on
}

// RecallGroup are the figures of one category, all of them shares of 1.
// R@k is the share of the evidence among the first k items, Hit@k that of the
// questions with any of it there.
type RecallGroup struct {
	Category string     `json:"category"`
	N        int        `json:"n"`
	R        [4]float64 `json:"recall_at_1_5_10_20"`
	Hit5     float64    `json:"hit_at_5"`
	Hit10    float64    `json:"hit_at_10"`
	MRR      float64    `json:"mrr"`
	NDCG10   float64    `json:"ndcg_at_10"`
}

var recallDepths = [4]int{1, 5, 10, 20}

// Answerable is the category of all questions that have an answer.
const Answerable = "1-4"

type question struct {
	Question string   `json:"question"`
	Evidence []string `json:"evidence"`
	Category int      `json:"category"`
}

// MeasureRecall imports NAME.memories.jsonl of a folder into a scope of its own,
// asks the questions of NAME.questions.jsonl, and holds what is found against
// their evidence. progress is called after each question; nil: nobody.
func MeasureRecall(ctx context.Context, in Instance, dir fs.FS, progress func()) (*Recall, error) {
	files, err := fs.Glob(dir, "*.memories.jsonl")
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, errors.New("the folder holds no NAME.memories.jsonl")
	}
	m := &recallMeter{c: newClient(in, time.Minute), groups: map[string]*RecallGroup{}}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".memories.jsonl")
		if err := m.c.importFile(ctx, dir, file, name); err != nil {
			return nil, err
		}
		questions, err := readLines[question](dir, strings.TrimSuffix(file, ".memories.jsonl")+".questions.jsonl")
		if err != nil {
			return nil, err
		}
		for i := range questions {
			if err := m.ask(ctx, name, &questions[i]); err != nil {
				return nil, err
			}
			if progress != nil {
				progress()
			}
		}
	}
	if len(m.took) == 0 {
		return nil, errors.New("the folder holds no questions")
	}
	return m.result(), nil
}

// recallMeter adds up what is found.
type recallMeter struct {
	c      *client
	groups map[string]*RecallGroup
	took   []time.Duration

	adversarial, gated int // questions of category 5, and what they got with the gate on
}

// ask asks one question of what was imported as name.
func (m *recallMeter) ask(ctx context.Context, name string, q *question) error {
	began := time.Now()
	ids, err := m.c.search(ctx, name, q.Question, false)
	if err != nil {
		return err
	}
	m.took = append(m.took, time.Since(began))
	keys := []string{strconv.Itoa(q.Category)}
	if q.Category == 5 {
		found, err := m.c.search(ctx, name, q.Question, true)
		if err != nil {
			return err
		}
		m.gated, m.adversarial = m.gated+len(found), m.adversarial+1
	} else {
		keys = append(keys, Answerable)
	}
	for _, key := range keys {
		if m.groups[key] == nil {
			m.groups[key] = &RecallGroup{Category: key}
		}
		m.groups[key].add(ids, q.Evidence)
	}
	return nil
}

func (m *recallMeter) result() *Recall {
	res := &Recall{}
	for _, g := range m.groups {
		res.Groups = append(res.Groups, g.means())
	}
	slices.SortFunc(res.Groups, func(a, b RecallGroup) int { return strings.Compare(a.Category, b.Category) })
	slices.Sort(m.took)
	res.P50, res.P99 = m.took[len(m.took)/2], m.took[len(m.took)*99/100]
	if m.adversarial > 0 {
		res.Answers = float64(m.gated) / float64(m.adversarial)
	}
	return res
}

// add counts one question.
func (g *RecallGroup) add(ids, evidence []string) {
	g.N++
	var ranks []int
	seen := map[string]bool{}
	for i, id := range ids {
		if slices.Contains(evidence, id) && !seen[id] {
			ranks, seen[id] = append(ranks, i), true
		}
	}
	within := func(k int) (n int) {
		for _, r := range ranks {
			if r < k {
				n++
			}
		}
		return n
	}
	for i, k := range recallDepths {
		g.R[i] += float64(within(k)) / float64(max(1, len(evidence)))
	}
	g.Hit5 += float64(min(1, within(5)))
	g.Hit10 += float64(min(1, within(10)))
	if len(ranks) > 0 {
		g.MRR += 1 / float64(ranks[0]+1)
	}
	gain, best := 0.0, 0.0
	for _, r := range ranks {
		if r < 10 {
			gain += 1 / math.Log2(float64(r)+2)
		}
	}
	for i := range min(len(evidence), 10) {
		best += 1 / math.Log2(float64(i)+2)
	}
	if best > 0 {
		g.NDCG10 += gain / best
	}
}

// means divides the sums by the questions.
func (g *RecallGroup) means() RecallGroup {
	m, n := *g, float64(g.N)
	for i := range m.R {
		m.R[i] /= n
	}
	m.Hit5, m.Hit10, m.MRR, m.NDCG10 = m.Hit5/n, m.Hit10/n, m.MRR/n, m.NDCG10/n
	return m
}

// WriteTable writes the figures in percent.
func (r *Recall) WriteTable(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "category\tn\tR@1\tR@5\tR@10\tR@20\thit@5\thit@10\tMRR\tnDCG@10\t")
	for _, g := range r.Groups {
		fmt.Fprintf(w, "%s\t%d\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t\n", g.Category, g.N,
			100*g.R[0], 100*g.R[1], 100*g.R[2], 100*g.R[3], 100*g.Hit5, 100*g.Hit10, 100*g.MRR, 100*g.NDCG10)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "search over HTTP: p50 %v, p99 %v; a question without an answer gets %.2f items with the gate on\n",
		r.P50.Round(time.Microsecond), r.P99.Round(time.Microsecond), r.Answers)
	return err
}

func (c *client) importFile(ctx context.Context, dir fs.FS, file, name string) error {
	data, err := fs.ReadFile(dir, file)
	if err != nil {
		return err
	}
	q := url.Values{"agent": {name}, "user": {name}}
	var counts map[string]any
	if _, err := c.json(ctx, http.MethodPost, c.admin("/memories/import", q), http.Header{"Content-Type": {"application/x-ndjson"}}, data, &counts); err != nil {
		return fmt.Errorf("importing %s: %w", file, err)
	}
	return nil
}

// search gives the ids, as imported, of what is found.
func (c *client) search(ctx context.Context, name, text string, gate bool) ([]string, error) {
	var found struct {
		Items []struct {
			ID string `json:"external_id"`
		} `json:"items"`
	}
	body := map[string]any{"agent": name, "user": name, "query": text, "k": 20, "gate": gate}
	if _, err := c.json(ctx, http.MethodPost, c.admin("/memories/search", nil), http.Header{"Content-Type": {"application/json"}}, body, &found); err != nil {
		return nil, fmt.Errorf("searching: %w", err)
	}
	ids := make([]string, len(found.Items))
	for i, item := range found.Items {
		ids[i] = item.ID
	}
	return ids, nil
}

// maxLine bounds a line of a data file.
const maxLine = 4 << 20

// readLines decodes a file of JSON lines; blank ones are skipped.
func readLines[T any](dir fs.FS, file string) ([]T, error) {
	f, err := dir.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []T
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var v T
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			return nil, fmt.Errorf("%s line %d: %w", file, n, err)
		}
		all = append(all, v)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return all, nil
}
