package cmd

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/understudy-ai/understudy/eval"
	"github.com/understudy-ai/understudy/internal/config"
)

// What stands in for a dead model runs under what the plan says of that one,
// whatever the configuration says of the other.
func TestEvalSubstituteKeepsTier(t *testing.T) {
	cfg, up := simulatedEval(t)
	defer up.Close()
	base := demoConfig("", up.URL())
	base.Assemble.HoldOut = 1
	base.Models = append(base.Models, config.Model{Name: scriptedWeak, ID: scriptedWeak, Upstream: "default", Tier: "frontier"})
	cfg.Start = evalStarter(base, IO{Err: testWriter{t}})
	cfg.Plan.Conditions = []eval.Condition{{Code: "C", Model: "gone", Tier: "small", Assembler: true, Scaffold: true, Memory: true, Substitutes: []string{scriptedWeak}}}
	cfg.Plan.Closures, cfg.Plan.Judges = nil, nil
	res, err := eval.Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if a := res.Scenarios[0].Runs[0].Applied; a.ModelTier != "small" || !a.Scaffold {
		t.Errorf("applied %+v, want a small model with its scaffold", a)
	}
}

// A model that fails has failed: what the configuration has stand in for it
// does not answer.
func TestEvalWithoutFallbacks(t *testing.T) {
	cfg, up := simulatedEval(t)
	defer up.Close()
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // what is short fails below
		if gjson.GetBytes(body, "model").String() == scriptedWeak && !strings.Contains(string(body), "Say hi.") {
			http.Error(w, "overloaded", http.StatusServiceUnavailable)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		forward(up.URL()).ServeHTTP(w, r)
	}))
	defer front.Close()
	base := demoConfig("", front.URL+"/v1")
	base.Models = append(base.Models, config.Model{Name: scriptedWeak, ID: scriptedWeak, Upstream: "default"},
		config.Model{Name: scriptedStrong, ID: scriptedStrong, Upstream: "default"})
	base.Routing.Fallbacks = map[string][]string{scriptedWeak: {scriptedStrong}}
	cfg.Start = evalStarter(base, IO{Err: testWriter{t}})
	res, err := eval.Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if n := res.Failures(); n != 2 {
		t.Errorf("%d failures, want those of B and C", n)
	}
}

// A store that holds something before the first turn ends the run.
func TestEvalCleanSlate(t *testing.T) {
	cfg, up := simulatedEval(t)
	defer up.Close()
	start := cfg.Start
	cfg.Start = func(ctx context.Context, s eval.Setup) (eval.Instance, error) {
		in, err := start(ctx, s)
		if err != nil || s.Condition == nil || s.Condition.Code != "priming" {
			return in, err
		}
		resp, err := http.Post(strings.TrimSuffix(in.URL(), "/v1")+"/api/memories", "application/json",
			strings.NewReader(`{"agent": "eval", "user": "marko", "type": "fact", "content": "We decided to use MECE."}`))
		if err == nil {
			resp.Body.Close()
		}
		return in, err
	}
	if _, err := eval.Run(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "the store is not empty") {
		t.Errorf("error %v, want one that says that the store is not empty", err)
	}
}

// What a model fails to answer is counted and left out, and the rest goes on.
func TestEvalGoesOnWithoutAnAnswer(t *testing.T) {
	tests := []struct {
		name, code   string
		failed, runs int
	}{
		{"a condition", "C", 1, 4},
		{"the priming", "priming", 1, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg, up := simulatedEval(t)
			defer up.Close()
			start := cfg.Start
			cfg.Start = func(ctx context.Context, s eval.Setup) (eval.Instance, error) {
				in, err := start(ctx, s)
				if err == nil && s.Condition != nil && s.Condition.Code == tt.code {
					in = deaf{in, httptest.NewServer(deafTo(in.URL()))}
				}
				return in, err
			}
			cfg.OnOutcome = func(o eval.Outcome) error {
				t.Errorf("%s is noted as finished", o.Scenario)
				return nil
			}
			res, err := eval.Run(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			if n, runs := res.Failures(), len(res.Scenarios[0].Runs); n != tt.failed || runs != tt.runs {
				t.Errorf("%d failures in %d runs, want %d in %d", n, runs, tt.failed, tt.runs)
			}
			if e := res.Closures[0].Effect; e.N != 0 {
				t.Errorf("effect %+v, want nothing to compare", e)
			}
		})
	}
}

// deaf is a proxy whose models don't answer.
type deaf struct {
	eval.Instance
	front *httptest.Server
}

func (d deaf) URL() string { return d.front.URL + "/v1" }

func (d deaf) Close() error {
	d.front.Close()
	return d.Instance.Close()
}

func deafTo(base string) http.Handler {
	rest := forward(base)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/chat/completions") {
			http.Error(w, "overloaded", http.StatusServiceUnavailable)
			return
		}
		rest.ServeHTTP(w, r)
	})
}

// forward hands requests on to a server of ours, given by its base URL.
func forward(base string) http.Handler {
	u, _ := url.Parse(strings.TrimSuffix(base, "/v1"))
	return httputil.NewSingleHostReverseProxy(u)
}
