package proxy

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/adaptor"
	"github.com/valyala/fasthttp"

	"github.com/understudy-ai/understudy/assemble"
	"github.com/understudy-ai/understudy/internal/chat"
	"github.com/understudy-ai/understudy/internal/metrics"
	"github.com/understudy-ai/understudy/internal/otlp"
	"github.com/understudy-ai/understudy/ledger"
	"github.com/understudy-ai/understudy/memory"
	"github.com/understudy-ai/understudy/routing"
	"github.com/understudy-ai/understudy/scoring"
)

// Scorer scores the words of a human turn.
type Scorer interface {
	Score(text string) scoring.Score
}

// Memory recalls for a request and learns from its answer. Learn must not
// block; false means that its queue is full.
type Memory interface {
	Recall(context.Context, memory.Scope, memory.Query) (memory.Recalled, error)
	Brief(context.Context, memory.Scope) (memory.Brief, error)
	Knowledge(context.Context, memory.Scope) (memory.Knowledge, error)
	OwnKnowledge(context.Context, memory.Scope) (memory.Knowledge, error)
	Learn(memory.Exchange) bool
	Check(context.Context) error
}

// Limits bound what one request may take.
type Limits struct {
	BodyBytes   int           // larger request bodies are refused with 413
	HeaderBytes int           // larger request headers are refused with 431
	SmartBudget time.Duration // after this long without a decision the client's bytes go out as they came
}

// Assembly says how prompts are assembled.
type Assembly struct {
	Sessions *assemble.Sessions
	// Agent returns who an agent is now; nil: nobody in particular. It is asked
	// for every request.
	Agent   func(name string) Agent
	HoldOut float64 // share of sessions that get no scaffold
	// Tier is the size class of model that all prompts are written for; nil:
	// that of the model.
	Tier *assemble.ModelTier
}

// Agent is who an agent is.
type Agent struct {
	Identity []assemble.IdentityFile
	Persona  *assemble.Persona
	Edition  uint64 // see assemble.EditionOf
}

func (a *Assembly) agent(name string) Agent {
	if a.Agent == nil {
		return Agent{}
	}
	return a.Agent(name)
}

// Config is what New needs. Everything in it is used until Close and is not
// changed.
type Config struct {
	Logger    *slog.Logger
	Version   string
	Upstreams map[string]UpstreamConfig
	Default   string          // the upstream for everything that no catalogue model claims
	Scorer    Scorer          // used when Router or Assembly is set
	Router    *routing.Router // nil: routing off
	Catalogue *routing.Catalogue
	Memory    Memory   // nil: memory off
	Memories  Memories // for the admin API; nil: not served
	Ambient   Ambient  // nil: what surrounds a conversation is neither noted nor shown
	People    People   // for the admin API; nil: not served
	Knowledge int      // words of what is known in a prompt; 0: nothing
	// PrivateChannel reports whether a channel, by its id and its name, is one whose members alone may know what is said
	// in it. Nil: those alone are that the requests call so.
	PrivateChannel func(id, name string) bool
	Capture        CaptureConfig
	Assembly       *Assembly // nil: assembly off, and nothing recalled goes anywhere
	Ledger         *ledger.Ledger
	Metrics        *metrics.Metrics
	Traces         *otlp.Exporter // nil: no traces
	Limits         Limits
	Auth           Auth
	Clock          func() time.Time // when things happen, for what is kept of them; nil: time.Now
}

// Server is the HTTP server. Its lifetime is New, Serve, Shutdown.
type Server struct {
	cfg       Config
	app       *fiber.App
	started   time.Time
	upstreams map[string]*upstream
	buffers   buffers[byte]           // of request bodies
	frames    buffers[assemble.Frame] // of what memory brings
	seed      maphash.Seed            // of frame
	steps     seldom                  // log lines of smart steps that fail
	captures  *captures
	clients   clients
	watches   watches
	trial     trial
	forgets   atomic.Int64 // calls that made memory forget something
}

// New builds the server and its upstream pools; it connects to nothing yet.
func New(cfg Config) (*Server, error) {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	s := &Server{cfg: cfg, started: time.Now(), upstreams: make(map[string]*upstream), seed: maphash.MakeSeed(), captures: newCaptures(cfg.Capture)}
	s.clients.open = make(map[net.Conn]bool)
	for name, uc := range cfg.Upstreams {
		switch cfg.Auth.Mode {
		case AuthKeys:
			uc.DropAuth = true
		case AuthPassthrough:
			if uc.Key != "" { // or anybody who reaches the port could spend it
				cfg.Logger.Warn("auth.mode passthrough sends the caller's key; the upstream's own is not used", "upstream", name)
			}
			uc.Key = ""
		}
		if name != cfg.Default && uc.Key == "" {
			uc.DropAuth = true // the caller's key is one for the default upstream
		}
		u, err := newUpstream(uc)
		if err != nil {
			return nil, err
		}
		s.upstreams[name] = u
	}
	if s.upstreams[cfg.Default] == nil {
		return nil, fmt.Errorf("the default upstream %q is not configured", cfg.Default)
	}
	for _, m := range cfg.Catalogue.All() {
		if s.upstreams[m.Upstream] == nil {
			return nil, fmt.Errorf("model %q names the unknown upstream %q", m.Name, m.Upstream)
		}
	}
	s.app = s.newApp()
	return s, nil
}

// idleTimeout is how long a client's unused connection is kept.
const idleTimeout = 2 * time.Minute

// clientSilence is how long a client may take for its request's headers, and
// between two reads of its body.
const clientSilence = 60 * time.Second

func (s *Server) newApp() *fiber.App {
	app := fiber.New(fiber.Config{
		DisableStartupMessage:        true,
		CaseSensitive:                true,
		StreamRequestBody:            true,
		DisablePreParseMultipartForm: true,
		BodyLimit:                    s.cfg.Limits.BodyBytes,
		ReadBufferSize:               s.cfg.Limits.HeaderBytes,
		IdleTimeout:                  idleTimeout,
		ReadTimeout:                  clientSilence,
		ErrorHandler:                 s.fail,
		RequestMethods:               append(slices.Clone(fiber.DefaultMethods), otherMethod),
	})
	app.Server().Handler = anyMethod(app.Server().Handler)
	app.Server().ErrorHandler = func(ctx *fasthttp.RequestCtx, err error) { writeError(&ctx.Response, badRequest(err)) }
	app.Server().NoDefaultContentType = true
	app.Server().ConnState = s.clients.follow
	app.Use(s.edge, s.guard)
	for _, prefix := range []string{"/v1", "/openai/v1", ""} {
		app.Post(prefix+"/chat/completions", s.chat)
	}
	for _, prefix := range []string{"/v1", "/openai/v1"} {
		app.Get(prefix+"/models", s.models)
		app.All(prefix+"/*", s.passThrough)
	}
	api := app.Group("/api", s.admin)
	api.Post("/route", s.route)
	api.Get("/stats", s.stats)
	api.Get("/ledger/export", s.export)
	api.Get("/requests", s.requests)
	api.Get("/requests/:id", s.request)
	api.Get("/channels", s.listChannels)
	api.Get("/channels/inspect", s.inspectChannel)
	if s.cfg.Memories != nil {
		s.routeMemories(api)
	}
	if s.cfg.People != nil {
		s.routePeople(api)
	}
	if s.cfg.Memories != nil || s.cfg.People != nil {
		api.Delete("/users/:id", s.forgetUser)
	}
	if s.cfg.Ambient != nil {
		s.routeAmbient(api)
	}
	app.Get("/healthz", func(c *fiber.Ctx) error { return c.SendString("ok\n") })
	app.Get("/readyz", s.ready)
	app.Get("/metrics", adaptor.HTTPHandler(s.cfg.Metrics.Handler()))
	app.Use(func(c *fiber.Ctx) error {
		return &chat.Error{Status: 404, Code: chat.CodeNotFound, Message: fmt.Sprintf("Nothing is served at %s %s. The API is under /v1.", c.Method(), c.Path())}
	})
	return app
}

// Serve accepts connections until Shutdown. It returns nil after one.
func (s *Server) Serve(ln net.Listener) error { return s.app.Listener(quickListener{ln}) }

// quickListener makes what it accepts quick.
type quickListener struct{ net.Listener }

// Accept is that of the listener inside.
func (l quickListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return quick(conn), nil
}

// Shutdown stops accepting and waits for running requests until ctx ends, then
// cuts off what is left, so that it is accounted before Shutdown returns.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.app.ShutdownWithContext(ctx)
	if err != nil {
		select {
		case <-s.clients.cut():
		case <-time.After(cutWait):
		}
	}
	s.watches.close()
	for _, u := range s.upstreams {
		u.close()
	}
	return err
}

// edge surrounds every request: the only recover, and the gauge.
func (s *Server) edge(c *fiber.Ctx) (err error) {
	// The limit for headers must not end a long answer's watch.
	if err := c.Context().Conn().SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	s.cfg.Metrics.InFlight.Inc()
	defer func() {
		if !c.Context().Response.IsBodyStream() { // a stream is over when it is closed
			s.cfg.Metrics.InFlight.Dec()
		}
	}()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return c.Next()
}

// fail answers with our own error.
func (s *Server) fail(c *fiber.Ctx, err error) error {
	if fe, ok := errors.AsType[*fiber.Error](err); ok {
		err = &chat.Error{Status: fe.Code, Code: chat.CodeNotFound, Message: fe.Message + "."}
	}
	e := chat.AsError(err)
	if e.Status == 500 {
		s.cfg.Logger.Error("request failed", "method", c.Method(), "route", c.Route().Path, "error", err)
	}
	writeError(&c.Context().Response, e)
	return nil
}

// writeError replaces a response by an error. Headers set before stay, so that
// a client still sees the request's id and how it was routed.
func writeError(resp *fasthttp.Response, e *chat.Error) {
	resp.ResetBody()
	resp.SetStatusCode(e.Status)
	resp.Header.SetContentType("application/json")
	resp.SetBodyRaw(e.Body())
}

// badRequest words what fasthttp says of a request that it could not read.
func badRequest(err error) *chat.Error {
	if _, ok := errors.AsType[*fasthttp.ErrSmallBuffer](err); ok {
		return &chat.Error{Status: 431, Code: chat.CodeInvalidHeader, Message: "The request headers are too large; limits.header_bytes bounds them."}
	}
	return &chat.Error{Status: 400, Code: chat.CodeInvalidHeader, Message: "The HTTP request is malformed."}
}

// ready says whether requests can be served as configured: every store is
// usable. It sends nothing upstream.
func (s *Server) ready(c *fiber.Ctx) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	var problems []string
	if s.cfg.Memory != nil {
		if err := s.cfg.Memory.Check(ctx); err != nil {
			problems = append(problems, "memory: "+err.Error())
		}
	}
	if s.cfg.Ambient != nil {
		if err := s.cfg.Ambient.Check(ctx); err != nil {
			problems = append(problems, "ambient: "+err.Error())
		}
	}
	if err := s.cfg.Ledger.Check(ctx); err != nil {
		problems = append(problems, "ledger: "+err.Error())
	}
	if len(problems) > 0 {
		return c.Status(503).JSON(fiber.Map{"ready": false, "problems": problems})
	}
	return c.JSON(fiber.Map{"ready": true, "version": s.cfg.Version, "upstream": s.cfg.Upstreams[s.cfg.Default].BaseURL})
}
