package metrics

import (
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// TestLint holds that every metric's name and help are what Prometheus asks for.
func TestLint(t *testing.T) {
	m := New(Config{Version: "v1"})
	m.Requests.WithLabelValues("chat", "light", "draft", "ok").Inc()
	m.Overhead.WithLabelValues("total").Observe(1)
	m.UpstreamState.WithLabelValues("m").Set(1)
	m.Gauge("queue", "Entries that wait.", func() float64 { return 7 })
	m.Counter("lost_total", "Entries lost.", func() float64 { return 3 })
	problems, err := testutil.GatherAndLint(m.Gatherer())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "understudy_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

func TestLabelsAreBounded(t *testing.T) {
	m := New(Config{Agents: []string{"atlas"}, Models: []string{"small"}})
	tests := []struct{ name, got, want string }{
		{"agent", m.Agent("atlas"), "atlas"},
		{"unknown agent", m.Agent("nobody"), Other},
		{"model", m.Model("small"), "small"},
		{"unknown model", m.Model(""), Other},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("%s = %q, want %q", tt.name, tt.got, tt.want)
		}
	}
}

func TestMoney(t *testing.T) {
	m := New(Config{})
	m.Money("a", "memory", 2)
	m.Money("a", "memory", -3)
	m.Money("a", "memory", 0)
	saved, overspent := testutil.ToFloat64(m.Saved.WithLabelValues("a", "memory")), testutil.ToFloat64(m.Overspent.WithLabelValues("a", "memory"))
	if saved != 2 || overspent != 3 {
		t.Errorf("saved %v, overspent %v, want 2 and 3: counters can't go down", saved, overspent)
	}
}

func TestPrompt(t *testing.T) {
	m := New(Config{})
	for i, want := range []float64{1, 0, 0.5, 2. / 3} {
		if got := m.keptRatio(); got != want {
			t.Errorf("after %d prompts %v are kept, want %v", i, got, want)
		}
		m.Prompt(i > 0)
	}
}

func TestHandler(t *testing.T) {
	m := New(Config{Version: "v1"})
	m.Gauge("queue", "Entries that wait.", func() float64 { return 7 })
	m.Counter("lost_total", "Entries lost.", func() float64 { return 3 })
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	body, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"understudy_queue 7\n", "understudy_lost_total 3\n", `version="v1"`, "go_goroutines "} {
		if !strings.Contains(string(body), want) {
			t.Errorf("the exposition lacks %q", want)
		}
	}
}
