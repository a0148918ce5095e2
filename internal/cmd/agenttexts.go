package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/understudy-ai/understudy/assemble"
	"github.com/understudy-ai/understudy/proxy"
)

const (
	// textsAge is how long an agent's files are taken to be as they were.
	textsAge = 2 * time.Second

	// maxText bounds an identity file: it goes into every prompt.
	maxText = 256 << 10
)

// agentTexts are an agent's identity files, read again when they change, and
// its persona.
type agentTexts struct {
	dir     string // "": no files
	speech  bool   // SPEECH.md belongs to them
	persona *assemble.Persona
	logger  *slog.Logger

	state  atomic.Pointer[textsState]
	reload sync.Mutex // held by who looks at the files
}

// textsState is what the files said, and by what that can be told.
type textsState struct {
	agent  proxy.Agent
	stamps []stamp
	looked time.Time
	failed bool // the last look did
}

// stamp is by what a file's change is noticed; zero for one that is missing.
type stamp struct {
	size     int64
	modified time.Time
}

// open reads the files for the first time. A folder that is missing is an
// error, a file is not.
func (t *agentTexts) open() error {
	state, err := t.read()
	if err != nil {
		return err
	}
	t.state.Store(state)
	return nil
}

// now returns the texts as the files are, give or take textsAge. Files that
// can't be read any more leave the texts as they were.
func (t *agentTexts) now() proxy.Agent {
	state := t.state.Load()
	if t.dir == "" || time.Since(state.looked) < textsAge || !t.reload.TryLock() {
		return state.agent
	}
	defer t.reload.Unlock()
	next := *state
	next.looked = time.Now()
	if stamps, err := t.look(); err != nil || !slices.Equal(stamps, state.stamps) {
		fresh, err := t.read()
		switch {
		case err == nil:
			next = *fresh
			t.logger.Info("identity files read again", "dir", t.dir)
		case !state.failed:
			t.logger.Error("identity files can't be read, the ones before are used", "error", err)
			next.failed = true
		}
	}
	t.state.Store(&next)
	return next.agent
}

func (t *agentTexts) names() []string {
	names := []string{"SOUL.md", "IDENTITY.md", "ROLE.md"}
	if t.speech {
		names = append(names, "SPEECH.md")
	}
	return names
}

func (t *agentTexts) look() ([]stamp, error) {
	var stamps []stamp
	for _, name := range t.names() {
		info, err := os.Stat(filepath.Join(t.dir, name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			stamps = append(stamps, stamp{})
		case err != nil:
			return nil, fmt.Errorf("reading identity file: %w", err)
		case info.Size() > maxText:
			return nil, fmt.Errorf("identity file %q is larger than %d bytes", filepath.Join(t.dir, name), maxText)
		default:
			stamps = append(stamps, stamp{info.Size(), info.ModTime()})
		}
	}
	return stamps, nil
}

func (t *agentTexts) read() (*textsState, error) {
	s := &textsState{agent: proxy.Agent{Persona: t.persona}, looked: time.Now()}
	if t.dir != "" {
		if _, err := os.Stat(t.dir); err != nil {
			return nil, fmt.Errorf("reading identity_dir: %w", err)
		}
		var err error
		if s.stamps, err = t.look(); err != nil {
			return nil, err
		}
		for i, name := range t.names() {
			if s.stamps[i] == (stamp{}) {
				continue
			}
			text, err := os.ReadFile(filepath.Join(t.dir, name))
			if err != nil {
				return nil, fmt.Errorf("reading identity file: %w", err)
			}
			s.agent.Identity = append(s.agent.Identity, assemble.IdentityFile{Name: name, Text: string(text)})
		}
	}
	s.agent.Edition = assemble.EditionOf(s.agent.Identity, s.agent.Persona)
	return s, nil
}
