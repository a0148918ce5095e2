package cmd

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/understudy-ai/understudy/internal/config"
)

// teamScript is what happens around an agent: a folder with config.yaml, team.json
// and the scenes in .jsonl files, in the order of their names.
type teamScript struct {
	dir    string
	cfg    config.Config
	team   team
	scenes []scene
}

// team is whose agent it is.
type team struct {
	Agent     string            `json:"agent"`
	Platform  string            `json:"platform"`
	Workspace string            `json:"workspace"` // of the platform
	People    map[string]string `json:"people"`    // what each user is called
}

// scene is one thing that happens: a message, a run of the agent, or a call of
// the API.
type scene struct {
	At string `json:"at"` // in the agent's zone
	at time.Time

	Channel string `json:"channel"` // "": a message to the agent alone
	From    string `json:"from"`    // who says it
	Say     string `json:"say"`     // the message, or the task of a run
	Answer  string `json:"answer"`  // the agent's; "": a word of it
	Hold    bool   `json:"hold"`    // the agent reads it with the channel's next message

	Run     string `json:"run"`     // worker, branch or cron
	Session string `json:"session"` // of the run
	Context string `json:"context"` // its X-Context-Mode
	Open    bool   `json:"open"`    // the run doesn't end

	Call string          `json:"call"` // method and path
	Body json.RawMessage `json:"body"` // what is sent
	File string          `json:"file"` // or the file of the folder that is
}

// readScript reads a folder. set are settings that go before its config.yaml.
func readScript(dir string, set map[string]string) (*teamScript, error) {
	s := &teamScript{dir: dir}
	loaded, err := config.Load(config.Options{Path: filepath.Join(dir, defaultFile), Flags: set})
	if err != nil {
		return nil, err
	}
	s.cfg = loaded.Config
	text, err := os.ReadFile(filepath.Join(dir, "team.json"))
	if err != nil {
		return nil, fmt.Errorf("reading the script's team: %w", err)
	}
	if err := json.Unmarshal(text, &s.team); err != nil {
		return nil, fmt.Errorf("reading the script's team: %w", err)
	}
	zone, err := time.LoadLocation(cmp.Or(s.cfg.Agents[s.team.Agent].Timezone, s.cfg.Memory.Timezone))
	if err != nil {
		return nil, fmt.Errorf("reading the script's zone: %w", err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "[0-9]*.jsonl"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no scenes in %q: %w", dir, cmp.Or(err, os.ErrNotExist))
	}
	for _, file := range files {
		if err := s.readScenes(file, zone); err != nil {
			return nil, fmt.Errorf("reading scenes in %q: %w", file, err)
		}
	}
	if !slices.IsSortedFunc(s.scenes, func(a, b scene) int { return a.at.Compare(b.at) }) {
		return nil, errors.New("the script's scenes are out of order")
	}
	return s, nil
}

func (s *teamScript) readScenes(path string, zone *time.Location) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	in := json.NewDecoder(f)
	in.DisallowUnknownFields()
	for {
		var sc scene
		if err := in.Decode(&sc); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		layout := "2006-01-02 15:04"
		if strings.Count(sc.At, ":") == 2 {
			layout += ":05"
		}
		if sc.at, err = time.ParseInLocation(layout, sc.At, zone); err != nil {
			return err
		}
		if sc.From != "" && s.team.People[sc.From] == "" {
			return fmt.Errorf("nobody is called %q", sc.From)
		}
		s.scenes = append(s.scenes, sc)
	}
}
