package proxy

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/valyala/fasthttp"

	"github.com/understudy-ai/understudy/ambient"
	"github.com/understudy-ai/understudy/assemble"
	"github.com/understudy-ai/understudy/internal/chat"
	"github.com/understudy-ai/understudy/ledger"
	"github.com/understudy-ai/understudy/memory"
	"github.com/understudy-ai/understudy/routing"
	"github.com/understudy-ai/understudy/scoring"
)

// exchange is one chat request from its arrival to its row in the ledger. The
// handler owns it first; for a stream the relay takes over when the handler
// returns. finish ends it, once.
type exchange struct {
	s       *Server
	start   time.Time // to measure from
	at      time.Time // when it came, by the configured clock
	forgets int64     // of the server, when it began
	sent    time.Time // when the request went upstream
	id      string
	who     identity

	account string // whose key pays upstream: digest of the caller's own, "" ours
	body    []byte // as the client sent it, decoded
	view    *chat.View

	session  string // key of the conversation
	score    scoring.Score
	shape    scoring.Shape
	request  routing.Request // what routing was asked, for a fallback
	decision routing.Decision
	edits    []chat.Edit      // of the body, but for the model's and the prompt's
	added    []chat.Edit      // what assembly adds to the prompt
	frames   []assemble.Frame // what memory brings, while a prompt is planned
	prompt   assemble.Plan
	seen     capture // what is kept for looking at it

	askedUsage bool     // the usage chunk of a stream was our wish, not the client's
	scored     bool     // score and shape hold
	words      string   // what the newest human message says
	own        string   // what of it the user says, and not others in the channel
	corrects   bool     // they say that the answer before was wrong
	before     string   // what the assistant said before them, when they may accept it
	opens      bool     // by all we can tell, a conversation's first turn
	humans     []int    // indices of the human messages, oldest first
	human      int      // index of the newest human message, -1 none
	said       []string // what the human messages say, once assembly has heard them
	turns      []assemble.TurnKey
	heard      []ambient.Voice // see voices
	briefed    string          // what became of a worker's briefing, "" when this request waited for none
	sideCall   bool

	injected struct{ memory, scaffold int } // bytes
	dry      bool                           // it is only asked what would become of the request
	recalled []memory.Item                  // with dry
	failOpen string                         // the step that failed, "" none

	cancel canceller
	stop   func() // ends the watch on the client's socket
	answer chat.Answer
	entry  ledger.Entry
	bill   bill   // of failed attempts
	trace  *trace // nil: not traced
}

func (s *Server) begin(h *fasthttp.RequestHeader) (*exchange, error) {
	x := &exchange{
		s: s, start: time.Now(), at: s.cfg.Clock(), forgets: s.forgets.Load(), id: newID(), human: -1, stop: func() {}, trace: s.startTrace(h),
	}
	caller, err := s.cfg.Auth.caller(h)
	if err != nil {
		return x, err
	}
	x.account = s.account(h)
	x.who, err = identify(h, caller)
	if hides := s.cfg.PrivateChannel; hides != nil && x.who.channel != "" {
		x.who.private = x.who.private || hides(x.who.channel, x.who.channelName)
	}
	return x, err
}

// account is whose key pays for a request: a digest of the caller's own, "" ours.
func (s *Server) account(h *fasthttp.RequestHeader) string {
	if s.upstreams[s.cfg.Default].cfg.Key != "" || s.cfg.Auth.Mode == AuthKeys {
		return ""
	}
	return digest(string(h.Peek(fasthttp.HeaderAuthorization)))
}

// newID is a version 7 UUID: unique, and in order of time.
func newID() string { return uuid.Must(uuid.NewV7()).String() }

// routed is the name of the model that answers, as far as we chose or know it.
func (x *exchange) routed() string {
	if x.decision.Model != nil {
		return x.decision.Model.Name
	}
	return kept(x.decision.Requested)
}

// kept is what is kept of a model's name: clients and upstreams may say
// anything, of any length, and it goes into the ledger for good.
func kept(name string) string {
	if len(name) <= maxIdentifier {
		return name
	}
	return strings.Clone(strings.ToValidUTF8(name[:maxIdentifier], ""))
}

// describe sets our response headers.
func (x *exchange) describe(h *fasthttp.ResponseHeader) {
	if theirs := h.Peek(headerRequestID); len(theirs) > 0 {
		h.SetBytesV(headerUpstreamID, theirs)
	}
	h.Set(headerRequestID, x.id)
	if x.decision.Model != nil {
		h.Set(headerModel, x.decision.Model.Name)
	}
	if x.decision.Reason != "" {
		h.Set(headerReason, x.decision.Reason)
	}
	if x.scored {
		h.Set(headerPromptTier, x.decision.Tier.String())
		h.Set(headerScore, strconv.FormatFloat(x.score.Value, 'f', 3, 64))
		h.Set(headerShape, string(x.shape.Type))
	}
	h.Set(headerMemoryUsed, strconv.Itoa(x.entry.MemoriesUsed))
}

// price fills the entry's money from the answer. reported is the upstream's
// own figure, nil when it gave none.
func (x *exchange) price(reported *float64) {
	e := &x.entry
	e.Usage, e.UsageKnown = ledger.ParseUsage(x.answer.Usage)
	if x.view != nil && e.UsageKnown {
		all := x.view.TextBytes + x.injected.memory + x.injected.scaffold
		e.InjectedMemoryTokens = tokenShare(e.Usage.Input, x.injected.memory, all)
		e.InjectedScaffoldTokens = tokenShare(e.Usage.Input, x.injected.scaffold, all)
	}
	var routed, baseline *ledger.Price
	if m := x.billed(); m != nil {
		routed = m.Price
	}
	base := x.decision.Baseline
	if base == nil { // nothing was decided: the request is its own baseline
		base, _ = x.s.cfg.Catalogue.Billed(x.decision.Requested)
	}
	if base != nil {
		e.BaselineModel, baseline = base.Name, base.Price
	}
	if reported == nil {
		reported = ownFigure(x.answer.Usage)
	}
	e.RetryCost = x.bill.usd
	if !x.bill.unknown { // else what the request cost is not known, whatever its answer did
		ledger.Settle(e, routed, baseline, reported)
	}
}

// billed is the model that was asked upstream, nil when nothing is known of it.
func (x *exchange) billed() *routing.Model {
	if x.decision.Model != nil {
		return x.decision.Model
	}
	m, _ := x.s.cfg.Catalogue.Billed(x.decision.Requested)
	return m
}

// leastBytesPerToken is that of dense text: CJK, code.
const leastBytesPerToken = 3

// tokenShare estimates the tokens of part of a prompt from its share of bytes,
// so that the upstream's own count sets the scale. What the bytes leave out,
// images above all, must not count as ours: no text has more tokens than a
// third of its bytes.
func tokenShare(input int64, part, all int) int64 {
	if all <= 0 {
		return 0
	}
	return min(input*int64(part)/int64(all), int64(part)/leastBytesPerToken)
}

// finish closes the account. It is called exactly once, after the answer.
func (x *exchange) finish(outcome string, status int, reported *float64) {
	defer func() {
		if v := recover(); v != nil { // the answer is good all the same
			x.s.cfg.Logger.Error("closing an account failed", "id", x.id, "error", panicked{v})
		}
	}()
	e := &x.entry
	e.Outcome, e.Status, e.Total = outcome, status, time.Since(x.start)
	e.ID, e.At, e.FailOpen = x.id, x.at, x.failOpen
	e.Tenant, e.Agent, e.User, e.Channel = x.who.tenant, x.who.agent, x.who.user, x.who.channel
	e.Session, e.ProcessType, e.Profile = x.session, x.who.process, x.decision.Profile
	e.RequestedModel, e.RoutedModel, e.AnsweredModel = kept(x.decision.Requested), x.routed(), kept(x.answer.Model)
	e.Reason = x.decision.Reason
	if x.scored {
		e.Tier, e.Shape, e.Score = x.decision.Tier.String(), string(x.shape.Type), x.score.Value
	}
	if !e.Priced { // an answer that was not streamed is priced before its headers go out
		x.price(reported)
	}
	if e.UsageKnown && x.s.cfg.Router != nil && x.request.Session != "" {
		x.s.cfg.Router.Served(&x.request, x.billed(), e.Usage, e.InjectedMemoryTokens+e.InjectedScaffoldTokens)
	}
	e.Truncated = x.answer.Cut
	x.s.trial.settle(x)
	x.s.cfg.Ledger.Record(*e)
	if !x.outdated() {
		x.s.captures.keep(x)
	}
	x.measure()
	x.trace.finish(x)
	x.learn()
	x.hearAll()
	level := slog.LevelDebug // a line a request is for looking closely; metrics and ledger have the good ones
	if e.Outcome != ledger.OutcomeOK && e.Outcome != ledger.OutcomeBypass {
		level = slog.LevelInfo
	}
	if !x.s.cfg.Logger.Enabled(context.Background(), level) {
		return
	}
	x.s.cfg.Logger.LogAttrs(context.Background(), level, "request",
		slog.String("id", e.ID), slog.String("agent", x.s.cfg.Metrics.Agent(e.Agent)), slog.String("outcome", e.Outcome), slog.Int("status", e.Status),
		slog.String("model", x.s.cfg.Metrics.Model(e.RoutedModel)), slog.String("tier", e.Tier), slog.String("reason", e.Reason),
		slog.Int("memories", e.MemoriesUsed), slog.Duration("overhead", e.Overhead), slog.Duration("total", e.Total))
}

// measure adds the entry to the metrics.
func (x *exchange) measure() {
	m, e := x.s.cfg.Metrics, &x.entry
	agent, model := m.Agent(e.Agent), m.Model(e.RoutedModel)
	endpoint := "chat"
	if e.Background != "" {
		endpoint = "background"
	}
	m.Requests.WithLabelValues(endpoint, e.Tier, e.Shape, e.Outcome).Inc()
	if e.Overhead > 0 { // else it was refused, or is a call of our own
		m.Overhead.WithLabelValues("total").Observe(e.Overhead.Seconds())
	}
	if !x.sent.IsZero() {
		m.Upstream.Observe(time.Since(x.sent).Seconds())
	}
	if e.FirstByte > 0 {
		m.FirstToken.Observe(e.FirstByte.Seconds())
	}
	if e.UsageKnown {
		m.Tokens.WithLabelValues("input").Add(float64(e.Usage.Input))
		m.Tokens.WithLabelValues("cached").Add(float64(e.Usage.Cached))
		m.Tokens.WithLabelValues("cache_write").Add(float64(e.Usage.CacheWrite))
		m.Tokens.WithLabelValues("output").Add(float64(e.Usage.Output))
		m.Tokens.WithLabelValues("reasoning").Add(float64(e.Usage.Reasoning))
		m.Tokens.WithLabelValues("injected_memory").Add(float64(e.InjectedMemoryTokens))
		m.Tokens.WithLabelValues("injected_scaffold").Add(float64(e.InjectedScaffoldTokens))
	}
	if e.Disputed {
		m.Disputed.Inc()
	}
	if !e.Priced {
		m.Unpriced.Inc()
		return
	}
	m.Cost.WithLabelValues(agent, model).Add(*e.Cost)
	m.Baseline.WithLabelValues(agent).Add(*e.Baseline)
	m.Money(agent, "routing", e.Saved.Routing)
	m.Money(agent, "memory", e.Saved.Memory)
	m.Money(agent, "scaffold", e.Saved.Scaffold)
	m.Money(agent, "cache", e.Saved.Cache)
	m.Money(agent, "retries", e.Saved.Retries)
	m.Money(agent, "background", e.Saved.Background)
}

// learn hands a finished exchange to memory, unless the caller or the kind of
// request forbids it.
func (x *exchange) learn() {
	ok := x.entry.Outcome == ledger.OutcomeOK && x.who.memory == "on" && !x.sideCall && x.own != "" && x.newTurn() && !x.isRun()
	if x.s.cfg.Memory == nil || !ok || x.who.private && x.who.user == "" { // what nobody in particular says would be everybody's
		return
	}
	scope, err := memory.NewScope(x.who.tenant, x.who.agent, x.who.user)
	if err != nil {
		return
	}
	queued := x.s.cfg.Memory.Learn(memory.Exchange{
		Scope: scope, Session: x.session, Channel: x.who.channel, Private: x.who.private, Name: x.who.userName, RequestID: x.id, At: x.at,
		UserText: x.own, AssistantText: x.answer.Text(), BeforeText: x.before,
	})
	if !queued {
		x.s.cfg.Metrics.FailOpen.WithLabelValues("learn", "queue_full").Inc()
	}
}

// isRun reports whether the words come from an agent or a timetable and not
// from a human.
func (x *exchange) isRun() bool { return x.who.process != "channel" || x.who.trigger != "" }

// newTurn reports whether the newest message is the human's: not a step of a
// tool loop.
func (x *exchange) newTurn() bool {
	return x.view != nil && x.human >= 0 && x.human == len(x.view.Messages)-1
}
