// Package dashboard holds the dashboard and the alerts in deploy to what
// a running server exposes, with Prometheus' own parser. It is a module of its
// own, so that Prometheus is no dependency of the product.
package dashboard

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v4"
)

// expression is a query, and where it stands.
type expression struct{ where, query string }

// expressions lists every query of the dashboard and of the alerts.
func expressions(t *testing.T) []expression {
	t.Helper()
	var dashboard struct {
		Panels []struct {
			Title   string
			Type    string
			Targets []struct{ Expr string }
		}
		Templating struct{ List []struct{ Definition string } }
	}
	read(t, "grafana/understudy.json", json.Unmarshal, &dashboard)
	var all []expression
	for _, p := range dashboard.Panels {
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("panel %q asks nothing", p.Title)
		}
		for _, target := range p.Targets {
			all = append(all, expression{"panel " + p.Title, target.Expr})
		}
	}
	labelValues := regexp.MustCompile(`^label_values\((.*), (\w+)\)$`)
	for _, v := range dashboard.Templating.List {
		if m := labelValues.FindStringSubmatch(v.Definition); m != nil {
			all = append(all, expression{"variable " + m[2], "count by (" + m[2] + ") (" + m[1] + ")"})
		}
	}
	var alerts struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	read(t, "prometheus/alerts.yml", func(data []byte, to any) error { return yaml.Unmarshal(data, to) }, &alerts)
	for _, g := range alerts.Groups {
		for _, r := range g.Rules {
			all = append(all, expression{"alert " + r.Alert, r.Expr})
		}
	}
	return all
}

func read(t *testing.T, name string, unmarshal func([]byte, any) error, to any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../../deploy", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := unmarshal(data, to); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// grafana stands in for its variables.
var grafana = strings.NewReplacer("$__rate_interval", "5m", "$__range", "6h", "$agent", ".*")

// exposed asks a demo that has played its conversation what it exposes.
func exposed(t *testing.T) map[string]*dto.MetricFamily {
	t.Helper()
	exe := filepath.Join(t.TempDir(), "understudy")
	build := exec.Command("go", "build", "-o", exe, ".")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, out)
	}
	demo := exec.CommandContext(t.Context(), exe, "demo", "-keep")
	stderr, err := demo.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := demo.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = demo.Process.Signal(os.Interrupt)
		_ = demo.Wait()
	})
	at := regexp.MustCompile(`http://\S+/metrics`)
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		url := at.FindString(lines.Text())
		if url == "" {
			continue
		}
		resp, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		p := expfmt.NewTextParser(model.UTF8Validation)
		families, err := p.TextToMetricFamilies(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return families
	}
	t.Fatal("the demo ended before it served")
	return nil
}

// TestExpressions parses every query, and holds that a series answers each of
// its selectors and has the labels that it groups by.
func TestExpressions(t *testing.T) {
	families := exposed(t)
	p := parser.NewParser(parser.Options{})
	for _, e := range expressions(t) {
		t.Run(e.where, func(t *testing.T) {
			expr, err := p.ParseExpr(grafana.Replace(e.query))
			if err != nil {
				t.Fatalf("%s: %v", e.query, err)
			}
			parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
				switch n := node.(type) {
				case *parser.VectorSelector:
					if !answered(families, n) {
						t.Errorf("no series answers %s", n)
					}
				case *parser.AggregateExpr:
					for _, label := range n.Grouping {
						if label != "le" && !labelled(families, n, label) {
							t.Errorf("%s: nothing in it has the label %s", n, label)
						}
					}
				}
				return nil
			})
		})
	}
}

// of is the family of a selector's metric, which for a histogram has a shorter name.
func of(families map[string]*dto.MetricFamily, name string) *dto.MetricFamily {
	if f := families[name]; f != nil {
		return f
	}
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		if base, ok := strings.CutSuffix(name, suffix); ok && families[base].GetType() == dto.MetricType_HISTOGRAM {
			return families[base]
		}
	}
	return nil
}

// answered reports whether a series matches all matchers.
func answered(families map[string]*dto.MetricFamily, v *parser.VectorSelector) bool {
	if v.Name == "up" { // Prometheus' own
		return true
	}
	for _, m := range of(families, v.Name).GetMetric() {
		value := map[string]string{"__name__": v.Name}
		for _, l := range m.GetLabel() {
			value[l.GetName()] = l.GetValue()
		}
		if all(v.LabelMatchers, value) {
			return true
		}
	}
	return false
}

func all(matchers []*labels.Matcher, value map[string]string) bool {
	for _, m := range matchers {
		if !m.Matches(value[m.Name]) {
			return false
		}
	}
	return true
}

// labelled reports whether every metric below a node has a label.
func labelled(families map[string]*dto.MetricFamily, node parser.Node, label string) bool {
	has := true
	parser.Inspect(node, func(n parser.Node, _ []parser.Node) error {
		v, ok := n.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		for _, m := range of(families, v.Name).GetMetric() {
			found := false
			for _, l := range m.GetLabel() {
				found = found || l.GetName() == label
			}
			has = has && found
		}
		return nil
	})
	return has
}

// TestMetricNames holds that the dashboard leaves out none of what it is for.
func TestMetricNames(t *testing.T) {
	var queries strings.Builder
	for _, e := range expressions(t) {
		queries.WriteString(e.query + "\n")
	}
	for _, name := range []string{
		"saved_usd_total", "overspent_usd_total", "cost_usd_total", "baseline_usd_total", "route_decisions_total", "overhead_seconds_bucket",
		"time_to_first_token_seconds_bucket", "tokens_total", "failopen_total", "upstream_state", "unpriced_requests_total",
	} {
		if !strings.Contains(queries.String(), "understudy_"+name) {
			t.Errorf("neither a panel nor an alert asks for understudy_%s", name)
		}
	}
}

// TestCompose holds that what the services mount is there, that every one of
// them can be reached from this machine alone, and that Prometheus scrapes one.
func TestCompose(t *testing.T) {
	var compose struct {
		Services map[string]struct{ Volumes, Ports []string }
	}
	read(t, "compose.yaml", func(data []byte, to any) error { return yaml.Unmarshal(data, to) }, &compose)
	for _, name := range []string{"understudy", "litellm", "prometheus", "grafana"} {
		if _, ok := compose.Services[name]; !ok {
			t.Errorf("no service %s", name)
		}
	}
	for name, s := range compose.Services {
		for _, v := range s.Volumes {
			from, _, _ := strings.Cut(v, ":")
			if _, err := os.Stat(filepath.Join("../../deploy", from)); strings.HasPrefix(from, ".") && err != nil {
				t.Errorf("%s mounts what is not there: %v", name, err)
			}
		}
		for _, p := range s.Ports {
			if !strings.HasPrefix(p, "127.0.0.1:") {
				t.Errorf("%s listens beyond this machine: %s", name, p)
			}
		}
	}
	var prometheus struct {
		Scrape []struct {
			Static []struct{ Targets []string } `yaml:"static_configs"`
		} `yaml:"scrape_configs"`
		Rules []string `yaml:"rule_files"`
	}
	read(t, "prometheus/prometheus.yml", func(data []byte, to any) error { return yaml.Unmarshal(data, to) }, &prometheus)
	for _, job := range prometheus.Scrape {
		for _, target := range job.Static[0].Targets {
			host, _, _ := strings.Cut(target, ":")
			if _, ok := compose.Services[host]; !ok {
				t.Errorf("Prometheus scrapes %s, which is no service", target)
			}
		}
	}
	for _, rules := range prometheus.Rules {
		if _, err := os.Stat(filepath.Join("../../deploy/prometheus", rules)); err != nil || len(prometheus.Scrape) == 0 {
			t.Errorf("%d jobs, rules: %v", len(prometheus.Scrape), err)
		}
	}
}
