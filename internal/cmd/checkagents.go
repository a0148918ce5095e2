package cmd

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/understudy-ai/understudy/internal/config"
)

// checkedAgent is one configured agent, as check reports it.
type checkedAgent struct {
	Name     string   `json:"name"`
	Preset   string   `json:"preset,omitempty"`
	Files    []string `json:"files"` // of its own
	Profile  string   `json:"profile"`
	Timezone string   `json:"timezone"`
}

// checkAgents reads the agents' files, as serve does.
func checkAgents(cfg config.Config) ([]checkedAgent, error) {
	agents := []checkedAgent{}
	for _, name := range slices.Sorted(maps.Keys(cfg.Agents)) {
		c := cfg.Agents[name]
		texts, err := newAgentTexts(c, slog.New(slog.DiscardHandler))
		if err != nil {
			return nil, fmt.Errorf("agent %q: %w", name, err)
		}
		agents = append(agents, checkedAgent{
			Name: name, Preset: c.Preset, Files: texts.own(),
			Profile: cmp.Or(c.Profile, cfg.Routing.Profile), Timezone: cmp.Or(c.Timezone, cfg.Memory.Timezone),
		})
	}
	return agents, nil
}

func reportAgents(agents []checkedAgent, w *tabwriter.Writer) {
	if len(agents) == 0 {
		return
	}
	fmt.Fprintln(w, "\nAGENT\tPRESET\tOWN FILES\tPROFILE\tTIMEZONE")
	for _, a := range agents {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", a.Name, cmp.Or(a.Preset, "-"), cmp.Or(strings.Join(a.Files, ","), "-"), a.Profile, a.Timezone)
	}
}
