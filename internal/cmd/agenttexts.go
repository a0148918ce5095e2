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
	"github.com/understudy-ai/understudy/internal/config"
	"github.com/understudy-ai/understudy/internal/preset"
	"github.com/understudy-ai/understudy/proxy"
)

const (
	// textsAge is how long an agent's files are taken to be as they were.
	textsAge = 2 * time.Second

	// maxText bounds an identity file: it goes into every prompt.
	maxText = 256 << 10
)

// agentTexts are an agent's identity files, read again when they change, those
// of its preset where it has none of its own, and its persona.
type agentTexts struct {
	dir     string // "": no files
	preset  string // "": none
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

// newAgentTexts returns an agent's texts as they are now.
func newAgentTexts(c config.Agent, logger *slog.Logger) (*agentTexts, error) {
	t := &agentTexts{dir: c.IdentityDir, preset: c.Preset, speech: c.Speech, logger: logger}
	if c.Persona.Name != "" {
		t.persona = &assemble.Persona{Name: c.Persona.Name, Text: c.Persona.Text}
	}
	return t, t.open()
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

const speechFile = "SPEECH.md"

func (t *agentTexts) names() []string {
	names := []string{"SOUL.md", "IDENTITY.md", "ROLE.md"}
	if t.speech {
		names = append(names, speechFile)
	}
	return names
}

// own are the names of the files that the agent has itself.
func (t *agentTexts) own() []string {
	names := []string{}
	for i, s := range t.state.Load().stamps {
		if s != (stamp{}) {
			names = append(names, t.names()[i])
		}
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
	}
	for i, name := range t.names() {
		text, err := "", error(nil)
		switch {
		case t.dir != "" && s.stamps[i] != (stamp{}):
			text, err = readText(filepath.Join(t.dir, name))
		case t.preset != "" && name != speechFile:
			text, err = preset.Text(t.preset, name)
		default:
			continue
		}
		if err != nil {
			return nil, err
		}
		s.agent.Identity = append(s.agent.Identity, assemble.IdentityFile{Name: name, Text: text})
	}
	s.agent.Edition = assemble.EditionOf(s.agent.Identity, s.agent.Persona)
	return s, nil
}

func readText(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("reading identity file: %w", err)
	}
	return string(text), nil
}
