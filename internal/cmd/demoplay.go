package cmd

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tidwall/gjson"

	"github.com/understudy-ai/understudy/llmtest"
)

// player plays a script through the proxy, at the script's own times.
type player struct {
	script   *teamScript
	app      *app
	upstream *llmtest.Upstream
	now      atomic.Int64 // Unix milliseconds
	history  map[string][]map[string]string
}

// playScript plays a folder's script against the simulated upstream and returns
// the request that its last message became.
func playScript(ctx context.Context, dir string, set map[string]string, o IO) (_ []byte, err error) {
	s, err := readScript(dir, set)
	if err != nil {
		return nil, err
	}
	data, err := os.MkdirTemp("", "understudy-demo-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for the demo: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(data)) }()
	p := &player{script: s, history: map[string][]map[string]string{}}
	if err := p.start(ctx, data, o); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.app.close(), p.upstream.Close()) }()
	for i := range s.scenes {
		if err := p.play(ctx, &s.scenes[i]); err != nil {
			return nil, fmt.Errorf("scene at %s: %w", s.scenes[i].At, err)
		}
	}
	return p.upstream.Last().Body, nil
}

// start serves the script's configuration in front of a simulated upstream.
func (p *player) start(ctx context.Context, data string, o IO) (err error) {
	cfg := p.script.cfg
	var models []string
	for _, m := range cfg.Models {
		models = append(models, m.ID)
	}
	if p.upstream, err = llmtest.Start(models...); err != nil {
		return fmt.Errorf("starting the simulated upstream: %w", err)
	}
	up := cfg.Upstreams["default"]
	up.BaseURL, up.APIKeyEnv = p.upstream.URL(), ""
	cfg.Upstreams["default"] = up
	cfg.Listen, cfg.DataDir, cfg.Log.Level = "127.0.0.1:0", data, "warn"
	cfg.Limits.SmartBudget = 10 * time.Second // as in the other demo
	for name, agent := range cfg.Agents {
		if agent.IdentityDir != "" && !filepath.IsAbs(agent.IdentityDir) {
			agent.IdentityDir = filepath.Join(p.script.dir, agent.IdentityDir)
			cfg.Agents[name] = agent
		}
	}
	p.now.Store(p.script.scenes[0].at.UnixMilli())
	o.Clock = func() time.Time { return time.UnixMilli(p.now.Load()) }
	if p.app, err = startApp(ctx, cfg, o, newLogger(cfg.Log, o.Err)); err != nil {
		return errors.Join(err, p.upstream.Close())
	}
	return nil
}

// play plays one scene and waits until all that it leaves behind is noted.
func (p *player) play(ctx context.Context, s *scene) (err error) {
	p.now.Store(s.at.UnixMilli())
	if s.Call != "" {
		err = p.call(ctx, s)
	} else {
		err = p.say(ctx, s)
	}
	return errors.Join(err, p.app.memory.Sync(ctx), p.app.ambient.Sync(ctx), p.app.ledger.Sync(ctx))
}

// call calls the API.
func (p *player) call(ctx context.Context, s *scene) error {
	method, path, _ := strings.Cut(s.Call, " ")
	body := []byte(s.Body)
	if s.File != "" {
		var err error
		if body, err = os.ReadFile(filepath.Join(p.script.dir, s.File)); err != nil {
			return err
		}
	}
	_, err := p.send(ctx, method, strings.TrimSuffix(p.app.url(), "/v1")+path, body, http.Header{})
	return err
}

// say has somebody say something to the agent, as a framework sends it: the
// whole conversation, with who speaks where in the headers. Channels begin anew
// each day.
func (p *player) say(ctx context.Context, s *scene) error {
	h := http.Header{}
	h.Set("X-Agent-Id", p.script.team.Agent)
	session, text := s.Session, s.Say
	switch s.Run {
	case "":
		session = cmp.Or(s.Channel, s.From) + s.at.Format("-2006-01-02")
		h.Set("X-User-Id", s.From)
		h.Set("X-User-Name", p.script.team.People[s.From])
		h.Set("X-Platform", p.script.team.Platform)
		h.Set("X-Workspace", p.script.team.Workspace)
		if s.Channel != "" {
			text = "[" + p.script.team.People[s.From] + "]: " + text
			h.Set("X-Channel-Id", s.Channel)
			h.Set("X-Channel-Name", s.Channel)
		}
	case "cron":
		h.Set("X-Trigger", "cron")
	default:
		h.Set("X-Process-Type", s.Run)
	}
	if s.Context != "" {
		h.Set("X-Context-Mode", s.Context)
	}
	h.Set("X-Session-Id", session)
	p.history[session] = append(p.history[session], map[string]string{"role": "user", "content": text})
	if s.Hold {
		return nil
	}
	body, err := json.Marshal(map[string]any{"model": "auto", "messages": p.history[session]})
	if err != nil {
		return err
	}
	p.upstream.Misbehave(answer(s))
	reply, err := p.send(ctx, http.MethodPost, p.app.url()+"/chat/completions", body, h)
	p.history[session] = append(p.history[session], map[string]string{"role": "assistant", "content": gjson.GetBytes(reply, "choices.0.message.content").String()})
	return err
}

// answer is what the script lets the agent say. A run that goes on calls a tool.
func answer(s *scene) http.HandlerFunc {
	message := map[string]any{"role": "assistant", "content": cmp.Or(s.Answer, "Noted.")}
	reason := "stop"
	if s.Open {
		reason = "tool_calls"
		message["tool_calls"] = []map[string]any{{"id": "call_1", "type": "function", "function": map[string]string{"name": "shell", "arguments": "{}"}}}
	}
	return func(w http.ResponseWriter, r *http.Request) {
		var asked struct {
			Model string `json:"model"`
		}
		_ = json.NewDecoder(r.Body).Decode(&asked) // from memory
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{ // a client that left is no fault
			"id": "chatcmpl-simulated", "object": "chat.completion", "created": s.at.Unix(), "model": asked.Model,
			"usage":   map[string]int{"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
			"choices": []map[string]any{{"index": 0, "finish_reason": reason, "message": message}},
		})
	}
}

func (p *player) send(ctx context.Context, method, url string, body []byte, h http.Header) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	h.Set("Content-Type", "application/json")
	req.Header = h
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	reply, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= 300 {
		err = fmt.Errorf("HTTP %d: %s", resp.StatusCode, reply)
	}
	return reply, err
}

// showPrompt writes what a request tells the model beside the conversation: its
// system prompt, and its newest message.
func showPrompt(request []byte, out io.Writer) error {
	messages := gjson.GetBytes(request, "messages").Array()
	if len(messages) == 0 {
		return errors.New("the request has no messages")
	}
	first, last := messages[0], messages[len(messages)-1]
	if first.Get("role").String() == "system" {
		fmt.Fprintln(out, first.Get("content").String())
	}
	_, err := fmt.Fprintf(out, "\n--- %d messages before, then the newest:\n\n%s\n", len(messages)-2, last.Get("content").String())
	return err
}
