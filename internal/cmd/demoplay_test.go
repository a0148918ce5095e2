package cmd

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite golden files")

const teamChannel = "../../examples/team-channel"

// TestTeamChannel plays the example's week and holds the prompt of its last
// message to the files beside it: what is in it, in which order, and that a
// review finds nothing critical.
func TestTeamChannel(t *testing.T) {
	noLeaks(t)
	tests := []struct {
		placement, golden string
		want              []string // sections, in order
	}{
		{"epoch", "prompt.md", []string{
			"# Identity\n", "## Soul\n", "You are Rook", "## Role\n", "# Knowledge Context\n", "# Working Memory\n", "## Today (Wednesday, October 14)\n- [morning] ",
			"## Yesterday (Tuesday, October 13)\n", "## This Week\n- [Monday, October 12] ", "# Participants\n- [person] **Mira Okafor** — ", "# State\n", "# Active work\n",
			"# Conversation Context\n- [platform] slack\n- [workspace] Tidemark\n- [channel] engineering\n", "\n--- 28 messages before", "# Working Memory\n## Since 14:30\n",
			"# Other Channels\n- [architecture, 15:04] Sanjay Rao: ", "3 messages from 2 people", "# Current Status\n- [time] Wednesday, 2026-10-14 15:12 CEST\n",
			"## Active\n- [worker] Add the H3 side", "## Recently completed\n", "\n[Mira Okafor]: Rook, where",
		}},
		{"system", "prompt-system.md", []string{
			"# Identity\n", "## Role\n", "# Knowledge Context\n", "# Working Memory\n", "## Today (Wednesday, October 14)\n- [morning] ", "## Since 14:30\n",
			"## Yesterday (Tuesday, October 13)\n", "## This Week\n", "# Other Channels\n", "# Participants\n", "# State\n", "# Active work\n",
			"# Conversation Context\n", "# Current Status\n", "## Active\n", "## Recently completed\n", "\n--- 28 messages before", "\n[Mira Okafor]: Rook, where",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.placement, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			var got bytes.Buffer
			if code := Main([]string{"demo", "-play", teamChannel, "-placement", tt.placement}, IO{Out: &got, Err: t.Output()}); code != 0 {
				t.Fatalf("demo -play exits with %d", code)
			}
			golden := filepath.Join(teamChannel, tt.golden)
			if *update {
				if err := os.WriteFile(golden, got.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("the prompt is another (-want +got); -update rewrites it:\n%s", diff)
			}
			checkOrder(t, got.String(), tt.want)
			for _, private := range []string{"18 percent", "12 percent", "understand nothing", "etween us"} {
				if strings.Contains(got.String(), private) {
					t.Errorf("%q was said to others, and is in the prompt", private)
				}
			}
			system, _, _ := strings.Cut(got.String(), "\n--- ")
			o := IO{In: strings.NewReader(system), Out: t.Output(), Clock: func() time.Time { return time.Date(2026, 10, 14, 13, 12, 0, 0, time.UTC) }}
			if err := runReview(t.Context(), nil, o); err != nil {
				t.Errorf("review: %v", err)
			}
		})
	}
}

// checkOrder wants texts in a prompt, one after the other.
func checkOrder(t *testing.T, prompt string, want []string) {
	t.Helper()
	for _, text := range want {
		_, rest, found := strings.Cut(prompt, text)
		if !found {
			t.Errorf("%q is not in the prompt, or stands before its place", text)
			continue
		}
		prompt = rest
	}
}
