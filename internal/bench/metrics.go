package bench

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// failOpens is how many smart steps Understudy has given up so far, by step and
// reason. Each one is work that a request was spared, so a cell that has many
// says little.
func (r *rig) failOpens(ctx context.Context) (map[string]int, error) {
	m, err := scrape(ctx, r.understudy().addr)
	return m.by("understudy_failopen_total", "step", "reason"), err
}

// since leaves of the counts what came after earlier ones.
func since(counts, earlier map[string]int) map[string]int {
	diff := make(map[string]int)
	for key, n := range counts {
		if n -= earlier[key]; n > 0 {
			diff[key] = n
		}
	}
	return diff
}

// series maps a sample of /metrics, name and labels, to its value.
type series map[string]float64

// by adds up the samples of a name by the values of labels.
func (s series) by(name string, labels ...string) map[string]int {
	sums := make(map[string]int)
	for key, v := range s {
		rest, ok := strings.CutPrefix(key, name+"{")
		if !ok {
			continue
		}
		var values []string
		for _, label := range labels {
			_, value, _ := strings.Cut(rest, label+`="`)
			value, _, _ = strings.Cut(value, `"`)
			values = append(values, value)
		}
		sums[strings.Join(values, " ")] += int(v)
	}
	return sums
}

func scrape(ctx context.Context, addr string) (series, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("reading Understudy's metrics: %w", err)
	}
	defer resp.Body.Close()
	return parseSeries(resp.Body)
}

func parseSeries(r io.Reader) (series, error) {
	s := make(series)
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		line := lines.Text()
		at := strings.LastIndexByte(line, ' ')
		if strings.HasPrefix(line, "#") || at < 0 {
			continue
		}
		v, err := strconv.ParseFloat(line[at+1:], 64)
		if err != nil {
			return nil, fmt.Errorf("reading metrics: %w", err)
		}
		s[line[:at]] = v
	}
	return s, lines.Err()
}
