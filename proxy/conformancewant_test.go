package proxy_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/understudy-ai/understudy/internal/metrics"
)

// check returns what does not come true of the expectations, or the first of
// it.
func (c *runningCase) check(first bool) (problems []error) {
	last := len(c.rounds) - 1
	wantsCut := make(map[int]bool)
	for _, line := range c.file.want {
		from, to, rest := last, last, line
		if n, after, ok := strings.Cut(line, ": "); ok {
			if i, err := strconv.Atoi(n); err == nil && 0 < i && i <= len(c.rounds) {
				from, to, rest = i-1, i-1, after
			} else if n == "all" {
				from, rest = 0, after
			}
		}
		for i := from; i <= to; i++ {
			wantsCut[i] = wantsCut[i] || rest == "body cut"
			if err := c.settled(i, rest); err != nil {
				problems = append(problems, fmt.Errorf("request %d: %s: %w", i+1, rest, err))
			}
			if first && len(problems) > 0 {
				return problems
			}
		}
	}
	for i, r := range c.rounds {
		if r.cut != nil && !wantsCut[i] {
			problems = append(problems, fmt.Errorf("request %d: the body broke off: %w", i+1, r.cut))
		}
	}
	return problems
}

// settled checks an expectation again until it holds, where it is about what
// is written after the answer.
func (c *runningCase) settled(i int, line string) error {
	subject, _, _ := strings.Cut(line, " ")
	kind, _, _ := strings.Cut(subject, ".")
	late := slices.Contains([]string{"ledger", "metric", "series", "log", "memories"}, kind)
	for patience := 100; ; patience-- {
		err := c.holds(i, line)
		if err == nil || !late || patience == 0 {
			return err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-c.t.Context().Done():
		}
	}
}

func (c *runningCase) holds(i int, line string) error {
	r := &c.rounds[i]
	if whole, known := c.whole(i, r, line); known {
		return whole
	}
	subject, rest, _ := strings.Cut(line, " ")
	if slices.Contains([]string{"header", "outheader", "metric", "series"}, subject) {
		var arg string
		arg, rest, _ = strings.Cut(rest, " ")
		subject += " " + arg
	}
	got, there := c.value(i, subject)
	op, value, _ := strings.Cut(rest, " ")
	if !slices.Contains(ops, op) {
		op, value = "is", rest
	}
	if unquoted, err := strconv.Unquote(value); err == nil {
		value = unquoted
	}
	if op == "same" || op == "differs" {
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > len(c.rounds) {
			c.t.Fatalf("%s: no such request", line)
		}
		other, otherThere := c.value(n-1, subject)
		if there != otherThere || (got == other) != (op == "same") {
			return fmt.Errorf("got %q, and %q for request %d", got, other, n)
		}
		return nil
	}
	if op == "absent" {
		if there {
			return fmt.Errorf("got %q", got)
		}
		return nil
	}
	if !there || !compare(got, op, value) {
		return fmt.Errorf("got %.600q (there: %v)", got, there)
	}
	return nil
}

var ops = []string{"is", "has", "lacks", "starts", "absent", "<", "<=", ">", ">=", "same", "differs"}

func compare(got, op, value string) bool {
	a, errA := strconv.ParseFloat(got, 64)
	b, errB := strconv.ParseFloat(value, 64)
	numbers := errA == nil && errB == nil
	switch op {
	case "has":
		return strings.Contains(got, value)
	case "lacks":
		return !strings.Contains(got, value)
	case "starts":
		return strings.HasPrefix(got, value)
	case "<":
		return numbers && a < b
	case "<=":
		return numbers && a <= b
	case ">":
		return numbers && a > b
	case ">=":
		return numbers && a >= b
	}
	const dust = 1e-12 // far below a billionth of a dollar
	return got == value || numbers && math.Abs(a-b) < dust
}

// whole checks the expectations that are no comparison.
func (c *runningCase) whole(i int, r *round, line string) (problem error, known bool) {
	switch {
	case line == "body cut":
		if r.cut == nil {
			return fmt.Errorf("it did not break off"), true
		}
		return nil, true
	case line == "body identical":
		return identical(r.visible, r.body), true
	case line == "outbound identical":
		if len(r.sent) == 0 {
			return fmt.Errorf("nothing was sent"), true
		}
		return identical(r.turn.body, r.outbound()), true
	case strings.HasPrefix(line, "outbound unchanged-except "):
		return unchangedExcept(r.turn.body, r.outbound(), strings.Fields(line)[2:]), true
	case line == "prefix-stable":
		if i == 0 {
			return nil, true
		}
		before, now := messages(c.rounds[i-1].outbound()), messages(r.outbound())
		if before == "" || !strings.HasPrefix(now, before) {
			return fmt.Errorf("sent %s after %s", now, before), true
		}
		return nil, true
	}
	return nil, false
}

func identical(want, got []byte) error {
	if bytes.Equal(want, got) {
		return nil
	}
	at := 0
	for at < len(want) && at < len(got) && want[at] == got[at] {
		at++
	}
	from := max(0, at-40)
	return fmt.Errorf("%d bytes against %d, other from byte %d: %.200q against %.200q", len(got), len(want), at, got[min(from, len(got)):], want[min(from, len(want)):])
}

// messages is the inside of the messages array.
func messages(body []byte) string {
	return strings.TrimSuffix(strings.TrimSpace(gjson.GetBytes(body, "messages").Raw), "]")
}

// unchangedExcept cuts what may differ out of both bodies and compares the
// rest.
func unchangedExcept(client, outbound []byte, paths []string) error {
	var err error
	for _, path := range paths {
		switch path[0] {
		case '+':
			outbound, err = cutElement(outbound, path[1:])
		case '-':
			client, err = cutElement(client, path[1:])
		default:
			if client, err = cutValue(client, path); err == nil {
				outbound, err = cutValue(outbound, path)
			}
		}
		if err != nil {
			return err
		}
	}
	return identical(client, outbound)
}

// cutValue puts 0 in the place of a value.
func cutValue(body []byte, path string) ([]byte, error) {
	v := gjson.Get(string(body), path) // GetBytes loses the index of strings with escapes
	if v.Index == 0 {
		return nil, fmt.Errorf("nothing at %q", path)
	}
	return slices.Concat(body[:v.Index], []byte("0"), body[v.Index+len(v.Raw):]), nil // still JSON
}

// cutElement cuts a value with its key and the comma that it needed.
func cutElement(body []byte, path string) ([]byte, error) {
	v := gjson.Get(string(body), path) // GetBytes loses the index of strings with escapes
	if v.Index == 0 {
		return nil, fmt.Errorf("nothing at %q", path)
	}
	from, to := v.Index, v.Index+len(v.Raw)
	if body[from-1] == ':' {
		from = bytes.LastIndexByte(body[:from-2], '"')
	}
	if body[to] == ',' {
		to++
	} else if body[from-1] == ',' {
		from--
	}
	return slices.Concat(body[:from], body[to:]), nil
}

// value is what a subject is for a request, and whether it is there at all.
func (c *runningCase) value(i int, subject string) (value string, there bool) {
	r := &c.rounds[i]
	kind, path, _ := strings.Cut(subject, ".")
	name, arg, _ := strings.Cut(subject, " ")
	switch {
	case subject == "status":
		return strconv.Itoa(r.status), true
	case subject == "sent":
		return strconv.Itoa(len(r.sent)), true
	case subject == "asked":
		return strings.Join(r.models(), " "), true
	case subject == "models":
		return c.models(i), true
	case subject == "log":
		return c.logged(), true
	case subject == "memories":
		n, err := c.memory.Count(c.t.Context())
		return strconv.Itoa(n), err == nil
	case name == "header":
		return strings.Join(r.header.Values(arg), ", "), len(r.header.Values(arg)) > 0
	case name == "metric":
		return c.metric(arg)
	case name == "series":
		return c.series(arg), true
	case kind == "body":
		return at(r.body, path)
	case kind == "ledger":
		return c.entry(r, path)
	}
	if len(r.sent) == 0 {
		return "", false
	}
	sent := r.sent[len(r.sent)-1]
	switch {
	case kind == "outbound":
		return at(sent.Data, path)
	case name == "outheader":
		return sent.Header(arg)
	case name == "outline":
		line, _, _ := strings.Cut(string(sent.Head), "\r\n")
		return line, true
	}
	c.t.Fatalf("unknown subject %q", subject)
	return "", false
}

// at is the value at a gjson path, the whole for none.
func at(json []byte, path string) (string, bool) {
	if path == "" {
		return string(json), true
	}
	v := gjson.GetBytes(json, path)
	return v.String(), v.Exists()
}

// models lists the last model asked for each request up to the ith.
func (c *runningCase) models(i int) string {
	var all []string
	for _, r := range c.rounds[:i+1] {
		model := "-"
		if asked := r.models(); len(asked) > 0 {
			model = asked[len(asked)-1]
		}
		all = append(all, model)
	}
	return strings.Join(all, " ")
}

func (c *runningCase) entry(r *round, path string) (string, bool) {
	if err := c.ledger.Sync(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
	e, err := c.ledger.Get(c.t.Context(), c.tenant(r), r.header.Get("X-Request-Id"))
	if err != nil {
		return err.Error(), false
	}
	row, err := json.Marshal(e)
	if err != nil {
		c.t.Fatal(err)
	}
	return at(row, path)
}

// tenant is whose the request was: the default one's, or the key's.
func (c *runningCase) tenant(r *round) string {
	for _, words := range c.file.config {
		if words[0] == "caller" && slices.Contains(r.turn.headers, "Authorization: Bearer "+words[1]) {
			return words[2]
		}
	}
	return "default"
}

var label = regexp.MustCompile(`(\w+)="([^"]*)"`)

// metric sums the series of a name that have all the labels given.
func (c *runningCase) metric(selector string) (string, bool) {
	name, labels, _ := strings.Cut(selector, "{")
	sum := 0.0
	for got, value := range c.eachSeries(name) {
		fits := true
		for _, want := range label.FindAllStringSubmatch(labels, -1) {
			fits = fits && got[want[1]] == want[2]
		}
		if fits {
			sum += value
		}
	}
	return strconv.FormatFloat(sum, 'g', -1, 64), true
}

// series counts those that have been used: that are not 0, or were not there
// from the start.
func (c *runningCase) series(name string) string {
	unused := make(map[string]bool)
	for labels := range eachSeries(c.t, metrics.New(metricsConfig()), name) {
		unused[fmt.Sprint(labels)] = true
	}
	n := 0
	for labels, value := range c.eachSeries(name) {
		if value != 0 || !unused[fmt.Sprint(labels)] {
			n++
		}
	}
	return strconv.Itoa(n)
}

// eachSeries gives the labels and the value of each series; a histogram's
// value is its count.
func (s *stack) eachSeries(name string) iter.Seq2[map[string]string, float64] {
	return eachSeries(s.t, s.metrics, name)
}

func eachSeries(t testing.TB, m *metrics.Metrics, name string) iter.Seq2[map[string]string, float64] {
	return func(yield func(map[string]string, float64) bool) {
		families, err := m.Gatherer().Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			if f.GetName() != name {
				continue
			}
			for _, m := range f.GetMetric() {
				labels := make(map[string]string)
				for _, l := range m.GetLabel() {
					labels[l.GetName()] = l.GetValue()
				}
				if !yield(labels, m.GetCounter().GetValue()+m.GetGauge().GetValue()+float64(m.GetHistogram().GetSampleCount())) {
					return
				}
			}
		}
	}
}
