package eval

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Setup is the proxy that a step of a run needs.
type Setup struct {
	// DataDir holds the stores. IdentityDir holds the agent's identity files.
	DataDir, IdentityDir string
	// Condition says what is on; nil: nothing is (judges, probes).
	Condition *Condition
	// Models must be known to it, by their names at the upstream, with prices
	// where the plan gives some.
	Models map[string]Condition
	Prices map[string]Price
}

// Instance is a running proxy. Close writes what waits to the stores and
// returns when they are closed.
type Instance interface {
	URL() string // base URL, ending in /v1
	Close() error
}

// Starter starts a proxy on a free loopback port, with sign-in off.
type Starter func(context.Context, Setup) (Instance, error)

// Agent and User are whose memory a run fills.
const (
	Agent = "eval"
	User  = "marko"
)

// call is one chat request.
type call struct {
	model, session, memory string
	messages               []message
	seed                   int
	bypass                 bool
	maxTokens              int
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Applied is what the proxy says it did to a request.
type Applied struct {
	RequestID  string   `json:"request_id"`
	Model      string   `json:"model"` // that answered, as routed
	ModelTier  string   `json:"model_tier,omitempty"`
	PromptTier string   `json:"prompt_tier,omitempty"`
	Shape      string   `json:"shape,omitempty"`
	Scaffold   bool     `json:"scaffold"`
	HeldOut    bool     `json:"held_out"` // a scaffold was due and was kept back
	Frames     int      `json:"frames"`
	Memories   int      `json:"memories"`
	Sections   []string `json:"sections,omitempty"`
	// InjectedTokens are the upstream's tokens that were ours, estimated.
	InjectedTokens int64  `json:"injected_tokens"`
	FailOpen       string `json:"fail_open,omitempty"`
}

// reply is an answer with what it took.
type reply struct {
	text    string
	cost    *float64 // nil: not priced
	latency time.Duration
	applied Applied
	input   int64
	output  int64
}

// client talks to one instance.
type client struct {
	base string // ends in /v1
	http *http.Client
}

func newClient(in Instance, timeout time.Duration) *client {
	return &client{base: in.URL(), http: &http.Client{Timeout: timeout}}
}

// maxReply bounds what is read of any answer.
const maxReply = 8 << 20

// chat sends one request and reads its whole answer and its account.
func (c *client) chat(ctx context.Context, q call) (*reply, error) {
	body := map[string]any{"model": q.model, "messages": q.messages, "temperature": 0, "seed": q.seed}
	if q.maxTokens > 0 {
		body["max_tokens"] = q.maxTokens
	}
	header := http.Header{
		"X-Agent-Id": {Agent}, "X-User-Id": {User}, "X-User-Name": {"Marko"}, "X-Session-Id": {q.session}, "X-Memory": {q.memory}, "Content-Type": {"application/json"},
	}
	if q.bypass {
		header.Set("X-Bypass", "true")
	}
	began := time.Now()
	var answer struct {
		Choices []struct{ Message message } `json:"choices"`
		Usage   struct {
			Input  int64 `json:"prompt_tokens"`
			Output int64 `json:"completion_tokens"`
		} `json:"usage"`
	}
	got, err := c.json(ctx, http.MethodPost, c.base+"/chat/completions", header, body, &answer)
	if err != nil {
		return nil, fmt.Errorf("asking %s: %w", q.model, err)
	}
	r := &reply{latency: time.Since(began), input: answer.Usage.Input, output: answer.Usage.Output}
	if len(answer.Choices) > 0 {
		r.text = answer.Choices[0].Message.Content
	}
	if v := got.Get("X-Cost-Usd"); v != "" {
		var usd float64
		if err := json.Unmarshal([]byte(v), &usd); err == nil {
			r.cost = &usd
		}
	}
	r.applied.RequestID = got.Get("X-Request-Id")
	return r, nil
}

// maxWait is how long an account may take to show up: it is written some
// hundred milliseconds after the answer, unless the ledger has lost it.
const maxWait = time.Minute

// inspect asks the proxy what it did to a request. The account is written
// after the answer, so it may take a moment to show up.
func (c *client) inspect(ctx context.Context, id string) (Applied, error) {
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	var row struct {
		RoutedModel    string `json:"routed_model"`
		Tier           string `json:"tier"`
		Shape          string `json:"shape"`
		MemoriesUsed   int    `json:"memories_used"`
		FailOpen       string `json:"fail_open"`
		InjectedMemory int64  `json:"injected_memory_tokens"`
		InjectedForm   int64  `json:"injected_scaffold_tokens"`
		Debug          struct {
			ModelTier       string   `json:"model_tier"`
			ScaffoldApplied bool     `json:"scaffold_applied"`
			HeldOut         bool     `json:"held_out"`
			Sections        []string `json:"sections"`
			FramesUsed      int      `json:"frames_used"`
		} `json:"debug"`
	}
	wait := time.NewTicker(50 * time.Millisecond)
	defer wait.Stop()
	for {
		_, err := c.json(ctx, http.MethodGet, c.admin("/requests/"+url.PathEscape(id), nil), nil, nil, &row)
		if status, ok := errors.AsType[*statusError](err); !ok || status.code != http.StatusNotFound {
			if err != nil {
				return Applied{}, fmt.Errorf("inspecting request %s: %w", id, err)
			}
			break
		}
		select {
		case <-ctx.Done():
			return Applied{}, fmt.Errorf("inspecting request %s: %w", id, ctx.Err())
		case <-wait.C:
		}
	}
	return Applied{
		RequestID: id, Model: row.RoutedModel, ModelTier: row.Debug.ModelTier, PromptTier: row.Tier, Shape: row.Shape,
		Scaffold: row.Debug.ScaffoldApplied, HeldOut: row.Debug.HeldOut, Frames: row.Debug.FramesUsed, Memories: row.MemoriesUsed, Sections: row.Debug.Sections,
		InjectedTokens: row.InjectedMemory + row.InjectedForm, FailOpen: row.FailOpen,
	}, nil
}

// memories lists what is remembered of the user, all pages.
func (c *client) memories(ctx context.Context) ([]string, error) {
	var all []string
	cursor := ""
	for {
		var page struct {
			Items []struct {
				Content string `json:"content"`
			} `json:"items"`
			Next string `json:"next_cursor"`
		}
		q := url.Values{"agent": {Agent}, "user": {User}, "limit": {"200"}, "cursor": {cursor}}
		if _, err := c.json(ctx, http.MethodGet, c.admin("/memories", q), nil, nil, &page); err != nil {
			return nil, fmt.Errorf("listing memories: %w", err)
		}
		for _, item := range page.Items {
			all = append(all, item.Content)
		}
		if cursor = page.Next; cursor == "" {
			return all, nil
		}
	}
}

func (c *client) admin(path string, q url.Values) string {
	u := strings.TrimSuffix(c.base, "/v1") + "/api" + path
	if len(q) > 0 {
		u += "?" + q.Encode()
	}
	return u
}

// statusError is an answer that is none.
type statusError struct {
	code int
	body string
}

func (e *statusError) Error() string { return fmt.Sprintf("HTTP %d: %.300s", e.code, e.body) }

// json sends in, unless it is nil, and decodes the answer into out.
func (c *client) json(ctx context.Context, method, target string, header http.Header, in, out any) (http.Header, error) {
	var body io.Reader
	if raw, ok := in.([]byte); ok {
		body = bytes.NewReader(raw)
	} else if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil {
		return nil, err
	}
	if header != nil {
		req.Header = header
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxReply))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, &statusError{resp.StatusCode, string(data)}
	}
	if err := json.Unmarshal(data, out); err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	return resp.Header, nil
}
