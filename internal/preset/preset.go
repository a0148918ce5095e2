// Package preset holds identities for agents of which nobody has written one
// yet: how they are, who they are and what they do, as three Markdown files
// each, so that a new agent behaves well from its first minute.
//
// They name no company, no tool and no person. It knows nothing of how a text
// gets into a prompt.
package preset

import (
	"embed"
	"fmt"
)

//go:embed main community engineering
var files embed.FS

// Names returns the presets: main for the assistant of a team, community for
// who looks after one, engineering for a colleague who builds things.
func Names() []string { return []string{"main", "community", "engineering"} }

// Text returns the file SOUL.md, IDENTITY.md or ROLE.md of a preset. It errs on
// any other name.
func Text(preset, file string) (string, error) {
	text, err := files.ReadFile(preset + "/" + file)
	if err != nil {
		return "", fmt.Errorf("reading preset %q: %w", preset, err)
	}
	return string(text), nil
}
