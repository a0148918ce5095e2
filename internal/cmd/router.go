package cmd

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/understudy-ai/understudy/internal/config"
	"github.com/understudy-ai/understudy/internal/journal"
	"github.com/understudy-ai/understudy/routing"
)

// sessionsFile is where the data folder keeps what routing knows of
// conversations.
const sessionsFile = "sessions.db"

// openRouter makes the router, with the conversations of before a restart.
func (a *app) openRouter(ctx context.Context) (*routing.Router, error) {
	rc := routingConfig(a.cfg, a.catalogue)
	rc.Clock = a.clock
	rc.ObserveSwitch = func(direction, reason string) { a.metrics.SessionSwitches.WithLabelValues(direction, reason).Inc() }
	router, err := routing.New(rc)
	if err != nil {
		return nil, fmt.Errorf("configuring routing: %w", err)
	}
	a.sessions, err = journal.Open(ctx, journal.Config{
		Path: filepath.Join(a.cfg.DataDir, sessionsFile), Logger: a.logger, Snapshot: router.Snapshot,
	}, router.Restore)
	if err != nil {
		return nil, err
	}
	router.Keep(a.sessions)
	a.metrics.Gauge("routing_sessions", "Conversations that routing remembers.", func() float64 { return float64(router.Sessions()) })
	a.metrics.Gauge("routing_journal_bytes", "Bytes of remembered conversations that wait to be written.", func() float64 { return float64(a.sessions.Waiting()) })
	a.metrics.Counter("routing_journal_lost_total", "Changes of remembered conversations that were not written, because the file could not be and the buffer was full.", func() float64 { return float64(a.sessions.Lost()) })
	return router, nil
}

// routingConfig is all but the clock and the observer.
func routingConfig(cfg config.Config, catalogue *routing.Catalogue) routing.Config {
	r := cfg.Routing
	rc := routing.Config{
		Catalogue: catalogue, Explicit: routing.Explicit(r.ExplicitModels), Profile: r.Profile, Profiles: map[string]routing.Profile{},
		AgentProfiles: map[string]string{}, ProcessTypes: r.ProcessTypes, TaskOverrides: r.TaskOverrides, Fallbacks: r.Fallbacks, PromptRouted: r.PromptRouting.ProcessTypes,
		Session: routing.SessionConfig{
			Idle: r.Session.Idle, CacheTTL: r.Session.CacheTTL, Horizon: r.Session.Horizon,
			DownAfter: r.Session.DownAfter, MinGain: r.Session.MinGainUSD, Max: r.Session.MaxSessions,
		},
	}
	for name, p := range r.Profiles {
		rc.Profiles[name] = routing.Profile(p)
	}
	for name, agent := range cfg.Agents {
		rc.AgentProfiles[name] = agent.Profile
	}
	return rc
}
