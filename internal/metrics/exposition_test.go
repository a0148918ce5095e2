package metrics

import (
	"bytes"
	"flag"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite golden files")

// TestExposition holds every name, label, help text and bucket that others
// build dashboards and alerts on.
func TestExposition(t *testing.T) {
	const golden = "testdata/exposition.golden"
	m := New(Config{Version: "v1", Agents: []string{"atlas"}, Models: []string{"small"}})
	m.Requests.WithLabelValues("chat", "light", "draft", "ok").Inc()
	m.Decisions.WithLabelValues("light", "small", "score").Inc()
	m.Cost.WithLabelValues("atlas", "small").Add(0.25)
	m.Baseline.WithLabelValues("atlas").Add(1)
	m.Money("atlas", "routing", 0.8)
	m.Money("atlas", "memory", -0.05)
	m.Tokens.WithLabelValues("input").Add(1000)
	m.Overhead.WithLabelValues("total").Observe(0.001)
	m.Upstream.Observe(1)
	m.FirstToken.Observe(60)
	m.Index.WithLabelValues("hit").Inc()
	m.Learned.WithLabelValues("fact", "stored").Inc()
	m.UpstreamState.WithLabelValues("small").Set(0)
	m.SessionSwitches.WithLabelValues("up", "score").Inc()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	var ours bytes.Buffer
	for line := range strings.Lines(w.Body.String()) {
		if strings.Contains(line, "understudy_") && !strings.Contains(line, "build_info{") { // the rest depends on the machine
			ours.WriteString(line)
		}
	}
	if *update {
		if err := os.WriteFile(golden, ours.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), ours.String()); diff != "" {
		t.Errorf("the exposition (-want +got):\n%s", diff)
	}
}
