package cmd

import (
	"context"
	"path"
	"path/filepath"

	"github.com/understudy-ai/understudy/ambient"
	"github.com/understudy-ai/understudy/assemble"
	"github.com/understudy-ai/understudy/internal/config"
	"github.com/understudy-ai/understudy/memory"
)

// ambientFile is where the data folder keeps what surrounds conversations.
const ambientFile = "ambient.db"

// openAmbient opens the store of what surrounds conversations. What it keeps is
// redacted and scanned as memories are.
func (a *app) openAmbient(ctx context.Context) (err error) {
	if !a.cfg.Ambient.Enabled {
		return nil
	}
	how := surroundings(a.cfg)
	how.Logger, how.Clock, how.Version, how.Known, how.Held = a.logger, a.clock, Version(), a.known, a.held()
	how.Briefing.Recall, how.Briefing.Similar, how.Background.Ask = a.recallFor, a.similar, a.backgroundModel()
	a.ambient, err = ambient.Open(ctx, how)
	if err != nil {
		return err
	}
	a.metrics.Gauge("ambient_queue", "Notes of what surrounds conversations that wait to be written.", func() float64 { return float64(a.ambient.QueueLen()) })
	a.metrics.Counter("ambient_lost_total", "Notes given up because the queue was full or the file refused them.", func() float64 { return float64(a.ambient.Lost()) })
	a.metrics.Counter("ambient_set_aside_total", "Times that a text had to wait because the background's model failed on it.", func() float64 { return float64(a.ambient.SetAside()) })
	a.metrics.Gauge("ambient_up", "1: the file of what surrounds conversations can be used; 0: it can't, and notes wait.", func() float64 { return up(a.ambient.Check) })
	return nil
}

// surroundings is what a configuration says of the store of what surrounds
// conversations, whether a server runs or not.
func surroundings(cfg config.Config) ambient.Config {
	c := cfg.Ambient
	return ambient.Config{
		Path: filepath.Join(cfg.DataDir, ambientFile), Zone: zones(cfg), Tokens: assemble.EstimateTokens, People: people(c.Participants),
		Briefing:      ambient.Briefing{Timeout: c.Briefing.Timeout, Relevance: c.Briefing.Relevance},
		Background:    ambient.Background{CallsPerHour: c.Background.CallsPerHour, USDPerHour: c.Background.USDPerHour},
		WorkingTokens: c.WorkingTokens, EventsTTL: c.EventsTTL, CacheBytes: c.CacheBytes, RunIdle: c.RunIdle,
		Clean: func(text string) (string, bool) {
			text = memory.Redact(text)
			return text, memory.Scan(text).Action == memory.Allow
		},
	}
}

// privateChannel says by patterns which channels are private.
func privateChannel(patterns []string) func(id, name string) bool {
	return func(id, name string) bool {
		for _, pattern := range patterns {
			for _, known := range []string{id, name} {
				if hit, err := path.Match(pattern, known); hit || err != nil { // a pattern that is none was refused at the start
					return true
				}
			}
		}
		return false
	}
}

// hearNews tells the surroundings what memory has learned.
func (a *app) hearNews(n memory.News) {
	if a.ambient == nil {
		return
	}
	scope, err := ambient.NewScope(n.Tenant, n.Agent, n.User, n.Channel, n.Private)
	if err != nil {
		return // what can't be a scope has no surroundings
	}
	l := ambient.Learned{ID: n.ID, Type: string(n.Type), Content: n.Content, Was: n.Was, Session: n.Session, Name: n.Name, At: n.At}
	if !a.ambient.HearLearned(scope, l) {
		a.metrics.FailOpen.WithLabelValues("ambient", "queue_full").Inc()
	}
}
