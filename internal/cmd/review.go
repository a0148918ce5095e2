package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/understudy-ai/understudy/assemble"
	"github.com/understudy-ai/understudy/internal/config"
	"github.com/understudy-ai/understudy/internal/review"
	"github.com/understudy-ai/understudy/memory"
)

// maxPrompt bounds a prompt that is reviewed.
const maxPrompt = 8 << 20

// runReview looks for faults in a system prompt. Anything critical makes it
// fail.
func runReview(ctx context.Context, args []string, o IO) error {
	f := flags("review")
	cf := addConfigFlags(f)
	channel := f.String("channel", "", "`ID` of a channel: review what a running server sent there last (default: read the prompt from stdin)")
	tenant := f.String("tenant", "default", "`TENANT` of the channel")
	root := f.String("url", "", "`URL` of the server (default: the configured address)")
	asJSON := f.Bool("json", false, "write JSON")
	if err := parse(f, args, o); err != nil {
		return err
	}
	text, expected, err := "", []review.Expected(nil), error(nil)
	if *channel != "" {
		text, expected, err = promptOf(ctx, cf, o, *root, *tenant, *channel)
	} else {
		text, err = readPrompt(o.In)
	}
	if err != nil {
		return err
	}
	report := review.Prompt(text, review.Options{
		Now: o.now(), Tokens: assemble.EstimateTokens, Claims: claims, Expected: expected, Secret: func(line string) bool { return memory.Redact(line) != line || hidden(line) },
		Injection: func(line string, note bool) string {
			if v := memory.Scan(line); v.Action != memory.Allow && (note || !v.Guess()) {
				return v.Reason
			}
			return ""
		},
	})
	if *asJSON {
		err = json.NewEncoder(o.Out).Encode(report)
	} else {
		err = reportReview(o.Out, report)
	}
	if err == nil && report.Critical() {
		err = errors.New("the prompt has critical faults")
	}
	return err
}

// claims are what memory would hold for having one value at a time.
func claims(line string) (out []review.Claim) {
	for _, c := range memory.Claims(line) {
		if c.Attribute == "language" { // which the review reads more closely
			continue
		}
		of := fmt.Sprintf("the %s of %s", c.Attribute, c.Subject)
		if c.Attribute == "value" {
			of = "the " + c.Subject
		}
		out = append(out, review.Claim{Of: of, Value: c.Value, Not: c.Not, Own: c.Own})
	}
	return out
}

// hidden reports whether a line of the author's holds a secret that the server
// has redacted for showing it. In a note it was redacted before it was stored.
func hidden(line string) bool {
	return strings.Contains(line, "[redacted:") && !strings.HasPrefix(strings.TrimSpace(line), "- [")
}

func readPrompt(in io.Reader) (string, error) {
	text, err := io.ReadAll(io.LimitReader(in, maxPrompt+1))
	if err != nil {
		return "", fmt.Errorf("reading the prompt: %w", err)
	}
	if len(text) > maxPrompt {
		return "", fmt.Errorf("the prompt is larger than %d bytes", maxPrompt)
	}
	return strings.ToValidUTF8(string(text), "\uFFFD"), nil
}

// sent is a prompt that a server has sent, as it tells of it.
type sent struct {
	Agent          string `json:"agent"`
	SystemPrompt   string `json:"system_prompt"`
	CaptureEnabled bool   `json:"capture_enabled"`
	Debug          struct {
		Sections  []string              `json:"sections"`
		Truncated []assemble.Truncation `json:"truncated"`
	} `json:"debug"`
	Error struct{ Message string }
}

// expected are the sections that a prompt should have: by the configuration of
// its agent, and those of which there was something that found no room.
func (s *sent) expected(cfg *config.Config) (out []review.Expected) {
	if agent := cfg.Agents[s.Agent]; cfg.Assemble.Enabled {
		if agent.IdentityDir != "" {
			out = append(out, review.Expected{
				Section: "Identity", Why: fmt.Sprintf("agents.%s.identity_dir is set", s.Agent),
				Fix: "its files may be blank; the request may have asked for no context, or GET /api/requests/ID says why it went out as it came",
			})
		}
		if agent.Persona.Name != "" {
			out = append(out, review.Expected{
				Section: "Persona", Why: fmt.Sprintf("agents.%s.persona is set", s.Agent),
				Fix: "the request may have asked for no context, or GET /api/requests/ID says why it went out as it came",
			})
		}
	}
	for _, t := range s.Debug.Truncated {
		if t.Shown == 0 && !slices.Contains(s.Debug.Sections, t.Section) {
			out = append(out, review.Expected{
				Section: t.Section, Why: fmt.Sprintf("%d notes of it were left out for want of room", t.Total),
				Fix: "assemble.max_system_chars, or shorter identity files",
			})
		}
	}
	return out
}

// promptOf asks a running server for the system prompt that it sent last in a
// channel.
func promptOf(ctx context.Context, cf *configFlags, o IO, root, tenant, channel string) (string, []review.Expected, error) {
	loaded, err := cf.load(o)
	if err != nil {
		return "", nil, err
	}
	var client http.Client
	if root == "" {
		if root, client.Transport, err = serverAt(loaded.Config.Listen); err != nil {
			return "", nil, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	query := url.Values{"channel_id": {channel}, "tenant": {tenant}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(root, "/")+"/api/channels/inspect?"+query.Encode(), nil)
	if err != nil {
		return "", nil, usageError{err}
	}
	authorize(req, loaded.Config.Auth, o)
	resp, err := client.Do(req)
	if err != nil {
		return "", nil, hintError{fmt.Errorf("asking the server: %w", err), "is it running? -url says where"}
	}
	defer resp.Body.Close()
	var answer sent
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxPrompt)).Decode(&answer); err != nil {
		return "", nil, fmt.Errorf("reading the server's answer (HTTP %d): %w", resp.StatusCode, err)
	}
	switch {
	case resp.StatusCode != http.StatusOK:
		return "", nil, fmt.Errorf("the server answers HTTP %d: %s", resp.StatusCode, answer.Error.Message)
	case !answer.CaptureEnabled:
		return "", nil, hintError{errors.New("the server keeps no prompts"), "set assemble.capture.enabled"}
	}
	return answer.SystemPrompt, answer.expected(&loaded.Config), nil
}

// authorize adds the admin key, where there is one.
func authorize(req *http.Request, auth config.Auth, o IO) {
	if auth.AdminKeyEnv == "" {
		return
	}
	if key := o.getenv(auth.AdminKeyEnv); key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
}

// reportReview writes what each layer takes, and the findings by level.
func reportReview(out io.Writer, r review.Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%d characters, about %d tokens\n", r.Chars, r.Tokens)
	for _, s := range r.Layers {
		fmt.Fprintf(&b, "  %-10s %6d tokens  %3d %%\n", s.Layer, s.Tokens, s.Percent)
	}
	titles := map[review.Level]string{
		review.Critical: "Critical", review.Efficiency: "Efficiency", review.Consistency: "Consistency", review.Suggestion: "Suggestions",
	}
	for _, level := range review.Levels() {
		first := true
		for _, f := range r.Findings {
			if f.Level != level {
				continue
			}
			if first {
				fmt.Fprintf(&b, "\n%s\n", titles[level])
				first = false
			}
			where := f.Layer
			if f.Section != "" {
				where += ", " + f.Section
			}
			fmt.Fprintf(&b, "- line %d (%s): %s\n  mend: %s\n", f.Line, where, f.Message, f.Fix)
		}
	}
	if len(r.Findings) == 0 {
		b.WriteString("\nNothing found.\n")
	}
	_, err := io.WriteString(out, b.String())
	return err
}
