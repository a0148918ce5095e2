package bench

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"
)

// TestRequests holds that bodies are valid chats of about their size, that
// their headers fit them, and that a session's next turn repeats the ones
// before.
func TestRequests(t *testing.T) {
	for _, c := range cells() {
		t.Run(c.name, func(t *testing.T) {
			w := c.workload("some-model")
			b := writer{w: w, worker: 3}
			sizes, sessions := 0, make(map[string]bool)
			var before string // the previous turn's messages
			const rounds = 8
			for i := range rounds {
				head, body, ok := strings.Cut(string(b.next()), "\r\n\r\n")
				if !ok || !gjson.Valid(body) {
					t.Fatalf("request %d: %.300s", i, head)
				}
				if want := "Content-Length: " + strconv.Itoa(len(body)); !strings.HasSuffix(head, want) {
					t.Errorf("header %q lacks %q", head, want)
				}
				_, session, _ := strings.Cut(head, "X-Session-Id: ")
				session, _, _ = strings.Cut(session, "\r\n")
				if sessions[session] == (i%w.turns == 0) {
					t.Errorf("request %d is in session %s", i, session)
				}
				sessions[session] = true
				messages := gjson.Get(body, "messages").Raw
				if i%w.turns > 0 && !strings.HasPrefix(messages, before) {
					t.Errorf("request %d does not repeat the turn before it", i)
				}
				before = strings.TrimSuffix(messages, "]")
				if gjson.Get(body, "messages.@reverse.0.role").String() != "user" || gjson.Get(body, "model").String() != "some-model" {
					t.Errorf("request %d has no turn or no model", i)
				}
				if got := gjson.Get(body, "stream").Bool(); got != c.stream {
					t.Errorf("stream = %v", got)
				}
				sizes += len(body)
			}
			if mean := sizes / rounds; mean < c.size*4/5 || mean > c.size*6/5 {
				t.Errorf("bodies have %d bytes on average, want about %d", mean, c.size)
			}
		})
	}
}

// TestRequestsRepeat holds that two runs send the same.
func TestRequestsRepeat(t *testing.T) {
	c := cells()[2]
	one, two := writer{w: c.workload("m"), worker: 1}, writer{w: c.workload("m"), worker: 1}
	other := writer{w: one.w, worker: 2}
	for range 5 {
		a := one.next()
		if diff := cmp.Diff(string(a), string(two.next())); diff != "" {
			t.Fatal(diff)
		}
		if bytes.Equal(a, other.next()) {
			t.Fatal("two workers send the same")
		}
	}
}

func TestParseSeries(t *testing.T) {
	s, err := parseSeries(strings.NewReader("# HELP a x\n# TYPE a counter\na{b=\"c d\",z=\"x\"} 2\na{b=\"e\",y=\"\",z=\"x\"} 3\na{z=\"x\",b=\"e\"} 1\nab 7\n"))
	if err != nil || s["ab"] != 7 {
		t.Errorf("parseSeries = %v, %v", s, err)
	}
	if diff := cmp.Diff(map[string]int{"c d x": 2, "e x": 4}, s.by("a", "b", "z")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]int{"e": 1}, since(map[string]int{"e": 3, "f": 1}, map[string]int{"e": 2, "f": 1})); diff != "" {
		t.Error(diff)
	}
	if _, err := parseSeries(strings.NewReader("a x\n")); err == nil {
		t.Error("no error for a sample without a number")
	}
}

func ExampleReport_WriteTable() {
	r := Report{Version: "dev", Go: "go1.26", CPUs: 2, Load: "0.10", Memories: 10_000, Requests: 1000, Rows: []Row{
		{Cell: "300B/1", Target: Direct, P50: 50, P99: 90},
		{Cell: "300B/1", Target: Understudy, P50: 250, P99: 600, AddedP50: 200, AddedP99: 500, AddedFirstP50: 199, AddedFirstP99: 498, CPU: 180, RSS: 41, FailOpen: map[string]int{"memory timeout": 2}},
		{Cell: "300B/1", Target: "nginx", P50: 100, P99: 200, AddedP50: 50, AddedP99: 110, AddedFirstP50: 49, AddedFirstP99: 108, CPU: 60, Ratio: 3, RSS: 5, Errors: 1},
	}}
	var b bytes.Buffer
	if err := r.WriteTable(&b); err != nil {
		fmt.Println(err)
	}
	fmt.Print(b.String())
	// Output:
	// Understudy dev (all features on), go1.26, 2 CPUs, load average before the run 0.10; 10000 memories; 1000 requests per target and cell. Times in µs; "added" is against direct.
	//
	// |   cell |     target | p50 | p99 | added p50 | added p99 | first byte p50 | p99 | CPU | Understudy's by it | RSS MB |              failed |
	// |    --: |        --: | --: | --: |       --: |       --: |            --: | --: | --: |                --: |    --: |                 --: |
	// | 300B/1 |     direct |  50 |  90 |           |           |                |     |     |                    |        |                   0 |
	// | 300B/1 | understudy | 250 | 600 |       200 |       500 |            199 | 498 | 180 |                    |     41 | 0, memory timeout 2 |
	// | 300B/1 |      nginx | 100 | 200 |        50 |       110 |             49 | 108 |  60 |               3.00 |      5 |                   1 |
}
