package proxy_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/understudy-ai/understudy/proxy"
)

// TestScaffoldTrial holds half of the conversations out: stats tell of both
// arms how many answers there were, how long they were, how many were cut at
// their limit, and how many the human's next words corrected.
func TestScaffoldTrial(t *testing.T) {
	s := newStack(t, func(c *proxy.Config) { c.Assembly.HoldOut = 0.5 })
	arms := map[string]int{}
	for i := range 12 {
		session := fmt.Sprint("X-Session-Id: s", i)
		a := s.post(talk("auto", compares), session, "X-Tier: light")
		arm := s.row(a).ScaffoldArm
		sent := gjson.GetBytes(s.upstream.Last().Body, "messages").Raw
		if got := strings.Contains(sent, "List the trade-offs."); got != (arm == "applied") {
			t.Fatalf("arm %q, and the scaffold was sent: %v", arm, got)
		}
		if arms[arm]++; arms[arm] > 1 {
			continue
		}
		// Once an arm: an answer that is cut at its limit, and a correction,
		// which comes again, as when its answer is made anew.
		s.upstream.Misbehave(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"choices":[{"message":{"content":"Redis is"},"finish_reason":"length"}],"usage":{"prompt_tokens":9,"completion_tokens":3}}`)
		})
		if !s.row(s.post(talk("auto", compares), session, "X-Tier: light")).Truncated {
			t.Error("an answer that was cut isn't told of as such")
		}
		arms["again "+arm]++
		s.upstream.Misbehave(nil)
		for range 2 {
			again := s.row(s.post(talk("auto", compares, "NATS.", "No, compare the latency."), session, "X-Tier: light"))
			arms["again "+again.ScaffoldArm]++
		}
		s.post(talk("auto", compares, "NATS.", "No, compare the latency.", "Redis.", "Thanks!"), session, "X-Tier: light")
	}
	if arms["applied"] == 0 || arms["held_out"] == 0 {
		t.Fatalf("12 conversations are of the arms %v, want both", arms)
	}
	if err := s.ledger.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	scaffold := gjson.Get(s.send(http.MethodGet, "/api/stats", "").body, "total.scaffold")
	for _, arm := range []string{"applied", "held_out"} {
		got := scaffold.Get(arm)
		want := fmt.Sprint(arms[arm]+arms["again "+arm], " requests, 1 truncated, 1 corrected")
		if diff := cmp.Diff(want, fmt.Sprint(got.Get("requests"), " requests, ", got.Get("truncated"), " truncated, ", got.Get("corrected"), " corrected")); diff != "" || got.Get("output").Int() == 0 {
			t.Errorf("%s (-want +got):\n%s\n%s", arm, diff, scaffold)
		}
	}
}
