// Package metrics is the registry and the names of everything that Understudy
// exposes to Prometheus. It keeps label values bounded: agents and models that
// the configuration does not name are counted as "other". It measures nothing
// itself.
package metrics

import (
	"maps"
	"net/http"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Other stands for every label value that the configuration does not name.
const Other = "other"

// Config names what may become a label value.
type Config struct {
	Version string
	Agents  []string
	Models  []string
}

// Metrics holds one process's collectors in a registry of its own.
type Metrics struct {
	registry       *prometheus.Registry
	kept, anew     atomic.Int64 // prompts of conversations under way
	agents, models map[string]bool

	Requests        *prometheus.CounterVec   // endpoint, tier, shape, outcome
	Decisions       *prometheus.CounterVec   // tier, model, reason
	Cost            *prometheus.CounterVec   // agent, model; USD
	Baseline        *prometheus.CounterVec   // agent; USD
	Saved           *prometheus.CounterVec   // agent, component; USD, positive parts
	Overspent       *prometheus.CounterVec   // agent, component; USD, negative parts made positive
	Unpriced        prometheus.Counter       // answers whose cost is unknown
	Disputed        prometheus.Counter       // answers whose reported cost is not that of the price list
	Tokens          *prometheus.CounterVec   // type
	Overhead        *prometheus.HistogramVec // phase; seconds
	Upstream        prometheus.Histogram     // seconds until the answer ended
	FirstToken      prometheus.Histogram     // seconds until its first byte
	Recalls         *prometheus.CounterVec   // result
	Index           *prometheus.CounterVec   // result; hit: answered in RAM
	Learned         *prometheus.CounterVec   // type, result
	FailOpen        *prometheus.CounterVec   // step, reason
	Briefings       *prometheus.CounterVec   // result
	Fallbacks       *prometheus.CounterVec   // reason
	UpstreamState   *prometheus.GaugeVec     // model; 1 in use, 0 left alone after a failure
	InFlight        prometheus.Gauge
	SessionSwitches *prometheus.CounterVec // direction, reason
}

// New builds the collectors and registers them, with Go's and the process's own.
func New(cfg Config) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(), agents: set(cfg.Agents), models: set(cfg.Models),

		Requests:        counters("requests_total", "Requests answered, by endpoint, prompt tier, task shape and outcome.", "endpoint", "tier", "shape", "outcome"),
		Decisions:       counters("route_decisions_total", "Routing decisions, by prompt tier, chosen model and reason.", "tier", "model", "reason"),
		Cost:            counters("cost_usd_total", "What answers cost, in USD.", "agent", "model"),
		Baseline:        counters("baseline_usd_total", "What the same answers would have cost without Understudy, in USD.", "agent"),
		Saved:           counters("saved_usd_total", "What was saved against the baseline, in USD, by component. Subtract overspent_usd_total for the net.", "agent", "component"),
		Overspent:       counters("overspent_usd_total", "What was spent on top of the baseline, in USD, by component.", "agent", "component"),
		Unpriced:        prometheus.NewCounter(opts("unpriced_requests_total", "Answers without a known price or usage; they are in no USD metric.")),
		Disputed:        prometheus.NewCounter(opts("disputed_costs_total", "Answers whose cost, as the upstream reports it, differs from the price list by more than 5 %.")),
		Tokens:          counters("tokens_total", "Tokens as the upstream counted them, and our estimate of what we injected.", "type"),
		Overhead:        histograms("overhead_seconds", "Time that Understudy itself took, by phase.", prometheus.ExponentialBuckets(10e-6, 2.5, 12), "phase"),
		Upstream:        prometheus.NewHistogram(histogram("upstream_seconds", "Time from sending the request upstream to the end of the answer.", prometheus.ExponentialBuckets(0.005, 2, 16))),
		FirstToken:      prometheus.NewHistogram(histogram("time_to_first_token_seconds", "Time from receiving a request to the first byte of the answer's body.", prometheus.ExponentialBuckets(0.001, 2, 17))),
		Recalls:         counters("memory_recalls_total", "Memory recalls, by result.", "result"),
		Index:           counters("memory_index_total", "Recalls by where they were searched: hit in RAM, miss in the file while the index was loaded or too large.", "result"),
		Learned:         counters("learned_total", "Memories learned, by type and result.", "type", "result"),
		FailOpen:        counters("failopen_total", "Smart steps that failed, after which the request went on without them.", "step", "reason"),
		Briefings:       counters("briefings_total", "Briefings of workers before they begin, by what became of them.", "result"),
		Fallbacks:       counters("fallbacks_total", "Requests sent to another model after a failure, by what the first one did.", "reason"),
		UpstreamState:   prometheus.NewGaugeVec(prometheus.GaugeOpts(opts("upstream_state", "1: the model's last answer was fine; 0: it failed and is left alone for a while.")), []string{"model"}),
		InFlight:        prometheus.NewGauge(prometheus.GaugeOpts(opts("in_flight", "Requests being served."))),
		SessionSwitches: counters("session_switches_total", "Changes of a session's model, by direction and reason.", "direction", "reason"),
	}
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts(opts("build_info", "Always 1; the labels say what runs.")), []string{"version", "go"})
	build.WithLabelValues(cfg.Version, runtime.Version()).Set(1)
	m.registry.MustRegister(
		m.Requests, m.Decisions, m.Cost, m.Baseline, m.Saved, m.Overspent, m.Unpriced, m.Disputed, m.Tokens, m.Overhead, m.Upstream,
		m.FirstToken, m.Recalls, m.Index, m.Learned, m.FailOpen, m.Briefings, m.Fallbacks, m.UpstreamState, m.InFlight, m.SessionSwitches, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	m.Gauge("prompt_prefix_kept_ratio", "Share of the prompts of conversations under way in which what was added before went out again byte for byte.", m.keptRatio)
	m.prime()
	return m
}

// prime makes series that are few and known exist from the start, at 0. A rate
// misses the first count of a series that begins with it, which for rare and
// costly events is the one that matters.
func (m *Metrics) prime() {
	for _, agent := range append(slices.Collect(maps.Keys(m.agents)), Other) {
		m.Baseline.WithLabelValues(agent)
		for model := range m.models {
			m.Cost.WithLabelValues(agent, model)
		}
		for _, component := range []string{"routing", "memory", "scaffold", "cache", "retries", "background"} {
			m.Saved.WithLabelValues(agent, component)
			m.Overspent.WithLabelValues(agent, component)
		}
	}
	for model := range m.models {
		m.UpstreamState.WithLabelValues(model).Set(1)
	}
	for _, t := range []string{"input", "cached", "cache_write", "output", "reasoning", "injected_memory", "injected_scaffold"} {
		m.Tokens.WithLabelValues(t)
	}
	for _, step := range []string{"parse", "scoring", "routing", "memory", "assembly", "splice"} {
		for _, reason := range []string{"error", "panic", "timeout"} {
			m.FailOpen.WithLabelValues(step, reason)
		}
	}
	m.FailOpen.WithLabelValues("learn", "queue_full")
	for _, reason := range []string{"error", "queue_full", "knowledge", "briefing"} {
		m.FailOpen.WithLabelValues("ambient", reason)
	}
	for _, result := range []string{"model", "rules", "nothing", "failed"} {
		m.Briefings.WithLabelValues(result)
	}
	for _, reason := range []string{"rate_limited", "overloaded", "timeout", "unreachable", "refused", "overflow"} {
		m.Fallbacks.WithLabelValues(reason)
	}
	for _, result := range []string{"found", "empty", "error"} {
		m.Recalls.WithLabelValues(result)
	}
	for _, outcome := range []string{"ok", "bypass", "client_cancelled", "stream_incomplete", "upstream_error", "unreachable", "timeout", "rejected"} {
		m.Requests.WithLabelValues("chat", "", "", outcome)
	}
}

// Gauge registers a gauge that is read when somebody asks, such as a queue's length.
func (m *Metrics) Gauge(name, help string, read func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts(opts(name, help)), read))
}

// Counter registers a counter that is read when somebody asks.
func (m *Metrics) Counter(name, help string, read func() float64) {
	m.registry.MustRegister(prometheus.NewCounterFunc(opts(name, help), read))
}

// Prompt counts a prompt of a conversation under way: kept, if what was added
// to it before went out again byte for byte.
func (m *Metrics) Prompt(kept bool) {
	if kept {
		m.kept.Add(1)
	} else {
		m.anew.Add(1)
	}
}

// keptRatio is 1 before there is anything to keep.
func (m *Metrics) keptRatio() float64 {
	kept, anew := m.kept.Load(), m.anew.Load()
	if kept+anew == 0 {
		return 1
	}
	return float64(kept) / float64(kept+anew)
}

// Agent returns the label value for an agent.
func (m *Metrics) Agent(name string) string { return bounded(m.agents, name) }

// Model returns the label value for a model.
func (m *Metrics) Model(name string) string { return bounded(m.models, name) }

// Money adds a signed amount of one component to saved or overspent.
func (m *Metrics) Money(agent, component string, usd float64) {
	switch {
	case usd > 0:
		m.Saved.WithLabelValues(agent, component).Add(usd)
	case usd < 0:
		m.Overspent.WithLabelValues(agent, component).Add(-usd)
	}
}

// Handler serves the exposition.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// Gatherer gives tests the values without HTTP.
func (m *Metrics) Gatherer() prometheus.Gatherer { return m.registry }

func bounded(known map[string]bool, name string) string {
	if known[name] {
		return name
	}
	return Other
}

func set(names []string) map[string]bool {
	s := make(map[string]bool, len(names))
	for _, n := range names {
		s[n] = true
	}
	return s
}

func opts(name, help string) prometheus.CounterOpts {
	return prometheus.CounterOpts{Namespace: "understudy", Name: name, Help: help}
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(opts(name, help), labels)
}

func histogram(name, help string, buckets []float64) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{Namespace: "understudy", Name: name, Help: help, Buckets: buckets}
}

func histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(histogram(name, help, buckets), labels)
}
