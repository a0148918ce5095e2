package assemble

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var day = time.Date(2026, 3, 18, 15, 12, 0, 0, time.UTC)

// frames returns n frames of a type, the first the most important and the newest.
func frames(kind string, n int) []Frame {
	out := make([]Frame, n)
	for i := range out {
		out[i] = Frame{
			ID:         fmt.Sprintf("%s-%02d", kind, i),
			Type:       kind,
			Content:    fmt.Sprintf("%s number %02d stands.", kind, i),
			Importance: 1 - float64(i)/100,
			CreatedAt:  day.AddDate(0, 0, -i),
		}
	}
	return out
}

// fullInput has something for each section.
func fullInput(tier ModelTier) Input {
	return Input{
		Identity: []IdentityFile{
			{Name: "SOUL.md", Text: "You are Atlas. You find the answer or say that you can't.\n"},
			{Name: "IDENTITY.md", Text: " \n"},
			{Name: "ROLE.md", Text: "## Escalation\nTag the engineer on call."},
		},
		LearnedIdentity: frames("identity", 1),
		Persona:         &Persona{Name: "Reviewer", Text: "Be brief.\nBe kind."},
		State:           frames("decision", 12),
		KeyEntities:     []Entity{{"Lattice", "project"}, {"Sarah Chen", "person"}},
		RecentChanges:   frames("change", 4),
		ActiveWork:      frames("todo", 4),
		Preferences:     frames("preference", 2),
		Recalled:        frames("fact", 4),
		ScanSafe:        true,
		Query:           "Redis or NATS?",
		Tier:            tier,
		Shape:           "compare",
		ShapeConfidence: 0.6,
	}
}

func newAssembler(t testing.TB, change func(*Options)) *Assembler {
	t.Helper()
	opts := DefaultOptions()
	if change != nil {
		change(&opts)
	}
	a, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func systemPlacement(o *Options) { o.Placement = PlacementSystem }

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("reading golden file (write it with -update): %v", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", path, diff)
	}
}

// section returns the lines under a heading, up to the next heading or the container's end.
func sectionLines(text, heading string) []string {
	_, after, found := strings.Cut(text, "\n"+heading+"\n")
	if !found {
		return nil
	}
	var out []string
	for line := range strings.Lines(after) {
		if strings.HasPrefix(line, "#") || strings.HasPrefix(line, closeTag) {
			break
		}
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

func countNotes(text string) int { return strings.Count(text, "\n- [") }

func sessionName(i int) string { return fmt.Sprintf("tenant/agent/session-%d", i) }
