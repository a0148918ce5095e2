package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/understudy-ai/understudy/assemble"
	"github.com/understudy-ai/understudy/internal/journal"
	"github.com/understudy-ai/understudy/proxy"
)

// promptsFile is where the data folder keeps what conversations were told.
const promptsFile = "prompts.db"

// openAssembly makes what assembles prompts, with what conversations were told
// before a restart.
func (a *app) openAssembly(ctx context.Context) (*proxy.Assembly, error) {
	c := a.cfg.Assemble
	assembler, err := assemble.New(assemble.Options{
		MaxSystemChars: c.MaxSystemChars, ConfidenceThreshold: c.ConfidenceThreshold, Placement: c.Placement,
	})
	if err != nil {
		return nil, fmt.Errorf("configuring assembly: %w", err)
	}
	var override *assemble.ModelTier
	if c.TierOverride != "" {
		tier, err := assemble.ParseModelTier(c.TierOverride)
		if err != nil {
			return nil, fmt.Errorf("configuring assembly: %w", err)
		}
		override = &tier
	}
	options := assemble.DefaultSessionOptions()
	options.Clock = a.clock
	sessions, err := assemble.NewSessions(assembler, options)
	if err != nil {
		return nil, fmt.Errorf("configuring assembly: %w", err)
	}
	agents := map[string]*agentTexts{}
	for name, agent := range a.cfg.Agents {
		if agents[name], err = newAgentTexts(agent, a.logger); err != nil {
			return nil, fmt.Errorf("agent %q: %w", name, err)
		}
	}
	a.prompts, err = journal.Open(ctx, journal.Config{
		Path: filepath.Join(a.cfg.DataDir, promptsFile), Logger: a.logger, Snapshot: sessions.Snapshot,
	}, sessions.Restore)
	if err != nil {
		return nil, err
	}
	sessions.Keep(a.prompts)
	a.metrics.Gauge("prompt_sessions", "Conversations whose additions are kept to be sent again.", func() float64 { return float64(sessions.Len()) })
	a.metrics.Gauge("prompt_journal_bytes", "Bytes of kept additions that wait to be written.", func() float64 { return float64(a.prompts.Waiting()) })
	a.metrics.Counter("prompt_journal_lost_total", "Kept additions that were not written, because the file could not be and the buffer was full.", func() float64 { return float64(a.prompts.Lost()) })
	return &proxy.Assembly{
		Sessions: sessions, HoldOut: c.HoldOut, Tier: override,
		Agent: func(name string) proxy.Agent {
			if texts := agents[name]; texts != nil {
				return texts.now()
			}
			return proxy.Agent{}
		},
	}, nil
}

// dropPrompts takes what conversations were told from the data folder, which
// no server may hold meanwhile.
func dropPrompts(ctx context.Context, dataDir string, match func(assemble.Conversation, []string) bool) (err error) {
	path := filepath.Join(dataDir, promptsFile)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	assembler, err := assemble.New(assemble.DefaultOptions())
	if err != nil {
		return err
	}
	sessions, err := assemble.NewSessions(assembler, assemble.DefaultSessionOptions())
	if err != nil {
		return err
	}
	prompts, err := journal.Open(ctx, journal.Config{Path: path, Snapshot: sessions.Snapshot}, sessions.Restore)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, prompts.Close()) }()
	if err := prompts.Check(); err != nil { // what can't be read can't be searched
		return err
	}
	sessions.Keep(prompts)
	_, err = sessions.Drop(ctx, match)
	return err
}
