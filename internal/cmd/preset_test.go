package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/understudy-ai/understudy/internal/config"
	"github.com/understudy-ai/understudy/internal/preset"
)

// TestPresets sends a turn of an agent with each preset through the proxy: its
// texts go upstream, and a review finds nothing in them.
func TestPresets(t *testing.T) {
	noLeaks(t)
	own := t.TempDir()
	if err := os.WriteFile(filepath.Join(own, "ROLE.md"), []byte("## Role\n\nNever water the cactus."), 0o600); err != nil {
		t.Fatal(err)
	}
	a, upstream := start(t, func(c *config.Config) {
		for _, name := range preset.Names() {
			c.Agents[name] = config.Agent{Preset: name}
		}
		c.Agents["gardener"] = config.Agent{Preset: "main", IdentityDir: own}
	})
	defer closeApp(t, a)
	ask := func(agent string) string {
		t.Helper()
		post(t, a, `{"model":"auto","messages":[{"role":"user","content":"Hi there!"}]}`, "X-Agent-Id", agent, "X-Channel-Id", "of-"+agent)
		return gjson.GetBytes(upstream.Last().Body, "messages.0.content").String()
	}
	for _, name := range preset.Names() {
		prompt := ask(name)
		for _, file := range []string{"SOUL.md", "IDENTITY.md", "ROLE.md"} {
			text, err := preset.Text(name, file)
			if err != nil || !strings.Contains(prompt, strings.TrimSpace(text)) {
				t.Errorf("%s: %s is not in the prompt (%v):\n%s", name, file, err, prompt)
			}
		}
		var out strings.Builder
		err := runReview(t.Context(), []string{"-url", strings.TrimSuffix(a.url(), "/v1"), "-channel", "of-" + name}, IO{Out: &out})
		if err != nil || !strings.Contains(out.String(), "Nothing found.") {
			t.Errorf("%s: the review says %v\n%s", name, err, out.String())
		}
	}
	soul, err := preset.Text("main", "SOUL.md")
	if err != nil {
		t.Fatal(err)
	}
	prompt := ask("gardener")
	if !strings.Contains(prompt, "cactus") || !strings.Contains(prompt, strings.TrimSpace(soul)) || strings.Contains(prompt, "### Escalation") {
		t.Errorf("a role of its own doesn't take the place of the preset's, or more than that:\n%s", prompt)
	}
}
