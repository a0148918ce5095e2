package proxy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/understudy-ai/understudy/ambient"
	"github.com/understudy-ai/understudy/assemble"
	"github.com/understudy-ai/understudy/internal/chat"
	"github.com/understudy-ai/understudy/routing"
	"github.com/understudy-ai/understudy/scoring"
)

// outbound is what goes upstream for one request.
type outbound struct {
	body      []byte
	upstream  *upstream
	hideUsage bool // we asked for the usage chunk, the client did not
}

// errBudget ends a smart step that took too long.
var errBudget = errors.New("out of time")

// plan decides about a request and writes its outbound body. It fails only for
// what the caller can mend, with a *chat.Error; when a smart step fails, the
// client's own bytes go out.
func (x *exchange) plan() (*outbound, error) {
	s := x.s
	out := &outbound{body: x.body, upstream: s.upstreams[s.cfg.Default]}
	x.decision.Requested = x.view.Model()
	if m, ok := s.cfg.Catalogue.Find(x.decision.Requested); ok {
		out.upstream = s.upstreams[m.Upstream]
	}
	if x.who.bypass {
		x.decision.Reason = "bypass"
		return out, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.Limits.SmartBudget)
	defer cancel()
	err := x.smart(ctx)
	if e, ok := errors.AsType[*chat.Error](err); ok {
		return nil, e
	}
	if err == nil {
		err = x.splice(out, slices.Concat(x.modelEdits(), x.edits, x.added))
		x.failedIf("splice", err)
	}
	if err != nil {
		x.open()
		if x.splice(out, x.modelEdits()) != nil {
			out.body = x.body
		}
	}
	if m := x.decision.Model; m != nil {
		out.upstream = s.upstreams[m.Upstream]
	}
	out.hideUsage = x.askedUsage
	x.capture()
	return out, nil
}

// splice writes the outbound body: the client's own when there is nothing to
// edit.
func (x *exchange) splice(out *outbound, edits []chat.Edit) error {
	if len(edits) == 0 {
		out.body = x.body
		return nil
	}
	body, err := chat.AppendSplice(x.s.buffers.get(), x.body, edits)
	if err == nil {
		out.body = body
	}
	return err
}

// step is one of the smart steps.
type step struct {
	name string
	run  func(context.Context) error
}

// smart runs the steps of the pipeline, each under guard.
func (x *exchange) smart(ctx context.Context) error {
	s := x.s
	if s.cfg.Router == nil && s.cfg.Assembly == nil && s.cfg.Memory == nil {
		return nil
	}
	if x.view.Ambiguous() {
		err := errors.New("a key occurs twice")
		x.failedIf("parse", err)
		return err
	}
	steps := []step{{"scoring", x.stepScore}, {"routing", x.stepRoute}, {"assembly", x.stepAssemble}}
	if !x.view.HasMessages() { // no chat request as we know it: the upstream may know better
		steps = steps[:1]
		x.keepReal()
	}
	for _, step := range steps {
		if step.name == "assembly" {
			var cancel context.CancelFunc
			ctx, cancel = x.brief(ctx)
			defer cancel()
		}
		began := time.Now()
		err := x.guard(ctx, step.name, step.run)
		s.cfg.Metrics.Overhead.WithLabelValues(step.name).Observe(time.Since(began).Seconds())
		x.trace.phase(step.name, began, err)
		if err != nil {
			return err
		}
	}
	if e, ok := x.view.AskUsage(); ok && x.view.HasMessages() {
		x.edits, x.askedUsage = append(x.edits, e), true
	}
	return nil
}

// guard runs a step so that nothing it does can fail the request: panics
// become errors, time is bounded, and what went wrong is counted. An error for
// the caller, a *chat.Error, passes uncounted.
func (x *exchange) guard(ctx context.Context, step string, run func(context.Context) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked{p}
		}
		if _, ours := errors.AsType[*chat.Error](err); err != nil && !ours {
			x.failedIf(step, err)
		}
	}()
	err = run(ctx)
	if err == nil && ctx.Err() != nil {
		err = errBudget
	}
	return err
}

type panicked struct{ value any }

func (p panicked) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// failedIf notes that a step failed and the request goes on without it.
func (x *exchange) failedIf(step string, err error) {
	if err == nil {
		return
	}
	reason := "error"
	if _, ok := errors.AsType[panicked](err); ok {
		reason = "panic"
	} else if errors.Is(err, errBudget) || errors.Is(err, context.DeadlineExceeded) {
		reason = "timeout"
	}
	if stepErr, ok := errors.AsType[*stepError](err); ok {
		step = stepErr.step
	}
	x.failOpen = step
	x.injected.memory, x.injected.scaffold, x.entry.MemoriesUsed, x.entry.ScaffoldArm = 0, 0, 0, ""
	x.s.cfg.Metrics.FailOpen.WithLabelValues(step, reason).Inc()
	if x.s.steps.due(step + "/" + reason) {
		x.s.cfg.Logger.Warn("smart step failed, request goes on without it", "id", x.id, "step", step, "reason", reason, "error", err)
	}
}

// stepError names a step inside another one.
type stepError struct {
	step string
	err  error
}

func (e *stepError) Error() string { return e.step + ": " + e.err.Error() }
func (e *stepError) Unwrap() error { return e.err }

// open prepares a request that fails open: nothing is changed, but a name that
// no upstream knows becomes one that it does.
func (x *exchange) open() {
	x.edits, x.added, x.askedUsage = nil, nil, false
	x.decision.Model, x.decision.Reason = nil, "failopen"
	x.keepReal()
}

// keepReal keeps the model that the client named, by its upstream's own name,
// and puts the process type's default in the place of a virtual one.
func (x *exchange) keepReal() {
	if x.s.cfg.Router == nil {
		return
	}
	if m, ok := x.s.cfg.Catalogue.Find(x.decision.Requested); ok {
		x.decision.Model = m
		return
	}
	if _, virtual := routing.Virtual(x.decision.Requested); !virtual {
		return
	}
	if m, err := x.s.cfg.Router.Default(x.who.process); err == nil {
		x.decision.Model = m
	}
}

// modelEdits make the request one for the model chosen. Parameters that the
// new model refuses are fitted to it; a request that keeps its model keeps
// them all.
func (x *exchange) modelEdits() []chat.Edit {
	m, v := x.decision.Model, x.view
	if m == nil || m.ID == v.Model() || v.OddModel() {
		return nil
	}
	edits := []chat.Edit{v.SetModel(m.ID)}
	if !x.swapped() {
		return edits // the client's own choice, by its upstream's name
	}
	if routing.Reasoning(m.ID) && !routing.Reasoning(v.Model()) {
		edits = append(edits, v.ForReasoning()...)
	}
	if routing.RefusesThinking(m.ID) && !routing.RefusesThinking(v.Model()) {
		edits = append(edits, v.DropThinking()...)
	}
	if limit := m.OutputLimit(v.TextBytes / bytesPerToken); limit > 0 {
		edits = append(edits, v.LimitOutput(limit)...)
	}
	return edits
}

// maxProbe is the largest output limit of a request that only probes.
const maxProbe = 4

// stepScore finds the newest human words and scores them.
func (x *exchange) stepScore(context.Context) error {
	x.humans, x.words = x.view.Said(func(text string) string { return scoring.HumanText(assemble.Strip(excerpt(text))) })
	x.own = x.words
	if x.who.channel != "" { // where several may speak in one message
		x.words, x.own = ambient.Spoken(x.words, x.who.userName)
	}
	if n := len(x.humans); n > 0 {
		x.human = x.humans[n-1]
		if x.human > 0 && x.view.Messages[x.human-1].Role == chat.RoleAssistant {
			if len(x.words) <= maxReply {
				x.before = x.view.Text(x.human - 1)
			}
			x.corrects = scoring.Corrects(x.words, x.before)
		}
	}
	var guessed bool
	x.session, guessed = x.who.sessionKey(x.view, x.humans, x.account)
	x.opens = guessed && len(x.humans) == 1 && x.newTurn()
	x.sideCall = x.view.MaxOutput > 0 && x.view.MaxOutput <= maxProbe
	x.score = x.s.cfg.Scorer.Score(x.words)
	x.shape = scoring.DetectShape(x.words)
	x.decision.Tier, x.scored = x.score.Tier, true
	if x.s.cfg.Ambient != nil {
		x.voices() // while the body is there
	}
	return nil
}

// maxReply is the length, in bytes, up to which words may be no more than a yes
// to what was said before.
const maxReply = 120

// maxWords bounds the words of a turn that are looked at: whoever pastes a book
// says what to do with it before or after.
const maxWords = 64 << 10

// excerpt is the beginning and the end of a text that is longer than maxWords.
func excerpt(text string) string {
	if len(text) <= maxWords {
		return text
	}
	return strings.ToValidUTF8(text[:maxWords/2]+"\n\n"+text[len(text)-maxWords/2:], "")
}

// bytesPerToken makes a first estimate of a prompt's tokens; the account uses
// the upstream's own count.
const bytesPerToken = 4

// stepRoute chooses the model.
func (x *exchange) stepRoute(context.Context) error {
	s, v := x.s, x.view
	if s.cfg.Router == nil || v.OddModel() {
		return nil
	}
	turn := ""
	if x.human >= 0 {
		turn = digest(strconv.Itoa(x.human), x.words)
	}
	x.request = routing.Request{
		Session: x.session, Turn: turn, Frame: s.frame(v), Humans: len(x.humans), Opens: x.opens, Agent: x.who.agent, Account: x.account, Model: v.Model(), Profile: x.who.profile, KeyProfile: x.who.keyProfile,
		ProcessType: x.who.process, TaskType: x.who.task, Forced: x.who.forced, ForcedTier: x.who.tier,
		Score: x.score, Terse: scoring.Terse(x.words), SideCall: x.sideCall,
		Needs: v.Needs, InputTokens: v.TextBytes / bytesPerToken, MaxOutput: v.MaxOutput,
	}
	decide := s.cfg.Router.Decide
	if x.dry {
		decide = s.cfg.Router.Explain
	}
	d, err := decide(x.request)
	x.decide(d)
	x.sideCall, x.request.SideCall = d.SideCall, d.SideCall
	if e := d.Economy; e != nil {
		s.cfg.Logger.Debug("move reckoned", "id", x.id, "stay", e.Stay.Model, "move", e.Move.Model, "turns", e.Turns, "stay_warm", e.Stay.WarmTokens,
			"move_warm", e.Move.WarmTokens, "gain_usd", e.GainUSD, "need_usd", e.NeedUSD, "risk_usd", e.RiskUSD, "saved_usd", e.SavedUSD, "pays", e.Pays)
	}
	if err == nil && !x.dry {
		s.cfg.Metrics.Decisions.WithLabelValues(d.Tier.String(), s.cfg.Metrics.Model(x.routed()), d.Reason).Inc()
	}
	return err
}
