package proxy_test

import (
	"net/http"
	"strings"
	"testing"
)

func TestExport(t *testing.T) {
	s := newStack(t, nil)
	s.row(s.post(`{"model":"large","messages":[{"role":"user","content":"Hi there!"}]}`, "X-Agent-Id: atlas"))
	s.row(s.post(`{"model":"large","messages":[{"role":"user","content":"Hello!"}]}`))
	tests := []struct {
		name, query string
		status      int
		contains    string
		lines       int
	}{
		{"all", "", 200, `"routed_model":"small"`, 2},
		{"an agent's", "?agent=atlas", 200, `"agent":"atlas"`, 1},
		{"before they came", "?until=1h", 200, "", 0},
		{"CSV", "?format=csv&since=1h", 200, "id,at,tenant,", 3},
		{"another tenant's", "?tenant=other", 200, "", 0},
		{"no format", "?format=xml", 400, "format takes jsonl or csv", 1},
		{"no time", "?since=soon", 400, "is not a duration before now", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := s.in(t).send(http.MethodGet, "/api/ledger/export"+tt.query, "")
			if a.status != tt.status || !strings.Contains(a.body, tt.contains) || strings.Count(a.body, "\n") != tt.lines {
				t.Errorf("status %d, body %q; want %d and %d lines with %q", a.status, a.body, tt.status, tt.lines, tt.contains)
			}
		})
	}
	var inFlight float64
	for _, v := range s.eachSeries("understudy_in_flight") {
		inFlight = v
	}
	if inFlight != 0 {
		t.Errorf("%v requests in flight after they were answered", inFlight)
	}
}
