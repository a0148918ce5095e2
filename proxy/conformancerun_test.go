package proxy_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/understudy-ai/understudy/ledger"
	"github.com/understudy-ai/understudy/llmtest"
	"github.com/understudy-ai/understudy/proxy"
	"github.com/understudy-ai/understudy/routing"
)

// runningCase is a case with everything that it needs running.
type runningCase struct {
	*stack
	file      *caseFile
	raw       *llmtest.Raw
	simulated string // base URL of the simulated upstream
	rounds    []round

	mu      sync.Mutex
	asked   map[string]int // requests answered by each upstream part
	visible []byte         // body of the newest answer
}

// round is one request of the client and what came of it.
type round struct {
	turn    turn
	status  int
	header  http.Header
	body    []byte
	cut     error // why the body ended early
	sent    []llmtest.RawRequest
	visible []byte // of the upstream's newest answer
}

// outbound is the newest request body that went upstream.
func (r *round) outbound() []byte {
	if len(r.sent) == 0 {
		return nil
	}
	return r.sent[len(r.sent)-1].Data
}

func (r *round) models() (models []string) {
	for _, sent := range r.sent {
		models = append(models, gjson.GetBytes(sent.Data, "model").String())
	}
	return models
}

func startCase(t *testing.T, f *caseFile) *runningCase {
	t.Helper()
	c := &runningCase{file: f, asked: make(map[string]int)}
	var err error
	if c.raw, err = llmtest.StartRaw(c.answer); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.raw.Close(); err != nil {
			t.Error(err)
		}
	})
	c.stack = newStack(t, func(cfg *proxy.Config) {
		c.simulated = cfg.Upstreams["default"].BaseURL
		setUpstream(cfg, func(u *proxy.UpstreamConfig) { u.BaseURL = c.raw.URL() })
		for _, words := range f.config {
			if err := configure(cfg, words); err != nil {
				t.Fatalf("config %q: %v", words, err)
			}
		}
	})
	if slices.ContainsFunc(f.config, func(words []string) bool { return words[0] == "check" }) {
		c.server.CheckModels(t.Context())
	}
	return c
}

func setUpstream(cfg *proxy.Config, edit func(*proxy.UpstreamConfig)) {
	u := cfg.Upstreams["default"]
	edit(&u)
	cfg.Upstreams["default"] = u
}

// switches are the words of a config part, with how many words follow each.
var switches = map[string]int{
	"off":        1, // routing, memory or assembly
	"window":     2, // MODEL TOKENS
	"max-output": 2, // MODEL TOKENS
	"supports":   2, // MODEL ABILITY,ABILITY; "-" for none
	"price":      4, // MODEL INPUT OUTPUT CACHE-READ, in USD per million tokens
	"unpriced":   1, // MODEL
	"id":         2, // MODEL ID: what the upstream calls it
	"limit":      2, // first_byte, idle or connect, and a duration
	"body-limit": 1, // BYTES
	"tenants":    1, // by-authorization
	"caller":     2, // KEY TENANT: only callers with a listed key
	"key":        1, // the upstream's own
	"refused":    0, // nothing listens at the upstream's address
	"check":      0, // ask the upstream for its models first, as at the start
}

func configure(cfg *proxy.Config, words []string) error {
	word, args := words[0], words[1:]
	if n, ok := switches[word]; !ok || n != len(args) {
		return fmt.Errorf("unknown switch, or not its %d words", n)
	}
	switch word {
	case "off":
		return turnOff(cfg, args[0])
	case "window", "max-output", "supports", "price", "unpriced", "id":
		i := slices.IndexFunc(cfg.Catalogue.All(), func(m *routing.Model) bool { return m.Name == args[0] })
		if i < 0 {
			return fmt.Errorf("no such model")
		}
		return configureModel(cfg.Catalogue.All()[i], word, args[1:]) // nobody reads it yet
	case "limit":
		return setLimit(cfg, args[0], args[1])
	case "body-limit":
		n, err := strconv.Atoi(args[0])
		cfg.Limits.BodyBytes = n
		return err
	case "tenants":
		cfg.Auth.Mode = proxy.AuthPassthrough
	case "caller":
		cfg.Auth.Mode = proxy.AuthKeys
		cfg.Auth.Keys = append(cfg.Auth.Keys, keyFor(args[0], proxy.Caller{Tenant: args[1]}))
	case "key":
		setUpstream(cfg, func(u *proxy.UpstreamConfig) { u.Key = secretText(args[0]) })
	case "check": // once it runs
	case "refused":
		setUpstream(cfg, func(u *proxy.UpstreamConfig) { u.BaseURL = "http://127.0.0.1:1/v1" })
	default:
		return fmt.Errorf("the switch does nothing")
	}
	return nil
}

func turnOff(cfg *proxy.Config, part string) error {
	switch part {
	case "routing":
		cfg.Router = nil
	case "memory":
		cfg.Memory = nil
	case "assembly":
		cfg.Assembly = nil
	default:
		return fmt.Errorf("no such part")
	}
	return nil
}

func configureModel(m *routing.Model, word string, args []string) (err error) {
	switch word {
	case "window":
		m.Context, err = strconv.Atoi(args[0])
	case "max-output":
		m.MaxOutput, err = strconv.Atoi(args[0])
	case "supports":
		m.Supports = []string{}
		if args[0] != "-" {
			m.Supports = strings.Split(args[0], ",")
		}
	case "unpriced":
		m.Price = nil
	case "id":
		m.ID = args[0]
	case "price":
		var usd [3]float64
		for i := range usd {
			if usd[i], err = strconv.ParseFloat(args[i], 64); err != nil {
				return err
			}
		}
		m.Price = &ledger.Price{Input: usd[0], Output: usd[1], CacheRead: &usd[2]}
	}
	return err
}

func setLimit(cfg *proxy.Config, name, value string) error {
	d, err := time.ParseDuration(value)
	setUpstream(cfg, func(u *proxy.UpstreamConfig) {
		switch name {
		case "first_byte":
			u.FirstByte = d
		case "idle":
			u.Idle = d
		case "connect":
			u.Connect = d
		default:
			err = fmt.Errorf("no such limit")
		}
	})
	return err
}

// answer is the upstream.
func (c *runningCase) answer(r llmtest.RawRequest) llmtest.Script {
	key := gjson.GetBytes(r.Data, "model").String()
	if c.file.upstreams[key] == nil {
		key = ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	answers := c.file.upstreams[key].answers
	a := answers[min(c.asked[key], len(answers)-1)]
	c.asked[key]++
	if a.simulated {
		a = simulate(c.simulated, r)
	}
	c.visible = a.visible
	return a.script
}

// simulate has the simulated upstream answer a request, and frames what it
// said.
func simulate(base string, r llmtest.RawRequest) upstreamAnswer {
	line, _, _ := strings.Cut(string(r.Head), "\r\n")
	method, rest, _ := strings.Cut(line, " ")
	path, _, _ := strings.Cut(rest, " ")
	w := &wire{}
	status, kind, body, err := roundTrip(method, strings.TrimSuffix(base, "/v1")+path, r.Data)
	switch {
	case err != nil:
		w.raw(fmt.Appendf(nil, "HTTP/1.1 500 Status\r\nContent-Length: %d\r\n\r\n%v", len(err.Error()), err))
	case strings.HasPrefix(kind, "text/event-stream"):
		w.raw([]byte("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"))
		for frame := range bytes.SplitAfterSeq(body, []byte("\n\n")) {
			if len(frame) > 0 {
				w.chunk(frame, true)
			}
		}
		w.chunk(nil, true)
	default:
		w.raw(fmt.Appendf(nil, "HTTP/1.1 %d Status\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", status, kind, len(body), body))
	}
	return w.end()
}

func roundTrip(method, url string, body []byte) (status int, kind string, got []byte, err error) {
	req, err := http.NewRequest(method, url, bytes.NewReader(body))
	if err != nil {
		return 0, "", nil, err
	}
	req.Close = true // so that no connection outlives the test
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", nil, err
	}
	defer resp.Body.Close()
	got, err = io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header.Get("Content-Type"), got, err
}

// play sends one of the client's requests and reads its answer.
func (c *runningCase) play(i int) {
	c.t.Helper()
	r := round{turn: c.file.turns[i]}
	before := len(c.raw.Requests())
	conn, resp := c.request(&r.turn)
	defer conn.Close()
	r.status, r.header = resp.StatusCode, resp.Header
	r.body, r.cut = io.ReadAll(resp.Body)
	resp.Body.Close()
	if err := c.memory.Sync(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
	c.mu.Lock()
	r.visible = c.visible
	c.mu.Unlock()
	r.sent = c.raw.Requests()[before:]
	c.rounds = append(c.rounds, r)
}

// request sends a request over a connection of its own and reads the head of
// the answer. What has not come after patience never comes.
func (s *stack) request(t *turn) (net.Conn, *http.Response) {
	s.t.Helper()
	conn := s.dial()
	if _, err := conn.Write(t.bytes()); err != nil {
		s.t.Fatal(err)
	}
	resp, err := http.ReadResponse(newReader(conn), &http.Request{Method: t.method})
	if err != nil {
		s.t.Fatalf("%s %s got no answer: %v", t.method, t.path, err)
	}
	return conn, resp
}

func newReader(r io.Reader) *bufio.Reader { return bufio.NewReaderSize(r, 256<<10) }

const patience = 30 * time.Second

func (s *stack) dial() net.Conn {
	s.t.Helper()
	dial := s.via
	if dial == nil {
		dial = s.dialTCP
	}
	conn, err := dial()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		s.t.Fatal(err)
	}
	return conn
}

func (s *stack) dialTCP() (net.Conn, error) {
	return net.Dial("tcp", strings.TrimPrefix(s.base, "http://"))
}

// bytes are the request as it goes over the wire.
func (t *turn) bytes() []byte {
	has := func(name string) bool {
		return slices.ContainsFunc(t.headers, func(h string) bool {
			key, _, _ := strings.Cut(h, ":")
			return strings.EqualFold(key, name)
		})
	}
	b := fmt.Appendf(nil, "%s %s HTTP/1.1\r\n", t.method, t.path)
	headers := t.headers
	if !has("Host") {
		headers = append([]string{"Host: localhost"}, headers...)
	}
	if !has("Content-Type") {
		headers = append(headers, "Content-Type: application/json")
	}
	chunked := has("Transfer-Encoding")
	if !chunked {
		headers = append(headers, fmt.Sprintf("Content-Length: %d", len(t.body)))
	}
	for _, h := range headers {
		b = append(b, h+"\r\n"...)
	}
	b = append(b, "\r\n"...)
	if !chunked {
		return append(b, t.body...)
	}
	for c := range slices.Chunk(t.body, max(7, len(t.body)/100)) {
		b = fmt.Appendf(b, "%x\r\n%s\r\n", len(c), c)
	}
	return append(b, "0\r\n\r\n"...)
}
