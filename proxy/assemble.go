package proxy

import (
	"context"
	"slices"
	"strings"

	"github.com/understudy-ai/understudy/assemble"
	"github.com/understudy-ai/understudy/internal/chat"
	"github.com/understudy-ai/understudy/ledger"
	"github.com/understudy-ai/understudy/memory"
)

// This file is the smart step that writes what goes into the prompt.

// stepAssemble plans what to add to the prompt for the model chosen.
func (x *exchange) stepAssemble(ctx context.Context) error {
	a := x.s.cfg.Assembly
	if a == nil || x.who.context == "none" || x.human < 0 || x.sideCall {
		return nil
	}
	agent := a.agent(x.who.agent)
	in := assemble.Input{
		Identity: agent.Identity, Persona: agent.Persona, Edition: agent.Edition, ScanSafe: true, Query: x.words, Tier: x.modelTier(),
		Shape: string(x.shape.Type), ShapeConfidence: x.shape.Confidence, FormatFixed: x.view.FormatFixed,
		HeldOut: a.HoldOut > 0 && assemble.HeldOut(x.session, a.HoldOut),
	}
	if x.said == nil {
		x.hear()
	}
	var err error
	plan := a.Sessions.Plan
	if x.dry {
		plan = a.Sessions.Preview
	}
	x.prompt, err = plan(x.conversation(), x.turns, in, func(in *assemble.Input, opening bool) error {
		x.surround(ctx, in, opening)
		return x.recall(ctx, in, opening)
	})
	x.s.frames.put(x.frames) // no plan keeps them
	x.frames = nil
	if err != nil {
		return &stepError{"memory", err}
	}
	if !x.dry && len(x.humans) > 1 {
		x.s.cfg.Metrics.Prompt(!x.prompt.Began())
	}
	if x.outdated() {
		if x.dry {
			return nil
		}
		return x.s.drop(ctx, func(whose assemble.Conversation, _ []string) bool { return whose == x.conversation() })
	}
	if x.squeeze(in) {
		x.insert()
	}
	return nil
}

// squeeze makes the plan fit the model's window: memory goes first, then the
// scaffold. It is false when there is no room even for what is left, or
// nothing is left; then the request goes out as it came.
func (x *exchange) squeeze(in assemble.Input) bool {
	for _, withoutScaffold := range []bool{false, true} {
		if x.fits() {
			break
		}
		in.FormatFixed = in.FormatFixed || withoutScaffold
		var err error
		if x.prompt, err = x.s.cfg.Assembly.Sessions.Plan(assemble.Conversation{}, x.turns, in, nil); err != nil {
			return false
		}
	}
	return x.fits()
}

// outdated reports whether memory has been made to forget something since the
// request came: what it has recalled may be that, and must not be kept.
func (x *exchange) outdated() bool { return x.s.forgets.Load() != x.forgets }

// hear reads what the human said in the whole conversation.
func (x *exchange) hear() {
	x.said = make([]string, len(x.humans))
	x.turns = make([]assemble.TurnKey, len(x.humans))
	for i, at := range x.humans {
		x.said[i] = x.view.Text(at)
		x.turns[i] = assemble.KeyOf(at, x.said[i])
	}
}

// conversation says what is being added to, and whose it is. A request without
// memory must not show what others of its session were given.
func (x *exchange) conversation() assemble.Conversation {
	session := x.session
	if x.who.private && session != "" {
		session += " in " + x.who.channel // what its members were told stays there when the session goes on elsewhere
	}
	if x.who.memory == "off" {
		session += " without memory"
	}
	return assemble.Conversation{Tenant: x.who.tenant, Agent: x.who.agent, User: x.who.user, Session: session}
}

// fits reports whether the model's window has room for what we would add, the
// answer and a tenth more, since tokens are estimated: a request that fits must
// not fail because of us.
func (x *exchange) fits() bool {
	m := x.billed()
	if m == nil || m.Context == 0 {
		return true
	}
	bytes := x.view.TextBytes + len(x.prompt.SystemBlock)
	for _, p := range x.prompt.Prefixes {
		bytes += len(p.Text)
	}
	answer := min(x.view.MaxOutput, m.OutputLimit(bytes/bytesPerToken))
	return bytes/bytesPerToken*11/10+answer <= m.Context
}

// insert turns the plan into edits and counts what it adds.
func (x *exchange) insert() {
	plan := &x.prompt
	total := 0
	add := func(e chat.Edit, ok bool) bool {
		if ok {
			x.added = append(x.added, e)
			total += len(e.New)
		}
		return ok
	}
	if lead := x.view.Leading(); plan.SystemBlock != "" {
		own, resent := x.resent(lead)
		if resent && !add(x.view.SetText(lead, joined(own, plan.SystemBlock))) || !resent && !add(x.view.AppendSystem(plan.SystemBlock)) {
			plan.SystemBlock = ""
		}
	}
	// What has no place for an addition goes without; the plan then tells so.
	plan.Prefixes = slices.DeleteFunc(plan.Prefixes, func(p assemble.Prefix) bool {
		at := x.humans[p.Turn]
		if own, resent := x.without(x.said[p.Turn]); resent {
			return !add(x.view.SetText(at, joined(p.Text, own)))
		}
		return !add(x.view.PrefixUser(at, p.Text))
	})
	if n := len(plan.Prefixes); n == 0 || plan.Prefixes[n-1].Turn != len(x.humans)-1 {
		plan.UserPrefix = ""
	}
	// What holds nothing but a scaffold is there for the scaffold.
	x.injected.scaffold = plan.ScaffoldBytes
	if plan.ScaffoldBytes == plan.TextBytes {
		x.injected.scaffold = total
	}
	x.injected.memory = max(0, total-x.injected.scaffold)
	x.entry.MemoriesUsed = plan.Memories
	switch {
	case plan.Scaffold != "":
		x.entry.ScaffoldArm = ledger.ArmApplied
	case plan.HeldOut:
		x.entry.ScaffoldArm = ledger.ArmHeldOut
	}
}

// reassemble writes the prompt anew for a model of another tier that takes the
// place of one that failed. What the conversation was answered with before
// stays as it is; what this request was the first to carry, no model has read.
func (x *exchange) reassemble(before assemble.ModelTier) {
	if x.turns == nil || x.modelTier() == before {
		return
	}
	x.s.cfg.Assembly.Sessions.Withdraw(&x.prompt)
	x.added, x.injected.memory, x.injected.scaffold, x.entry.MemoriesUsed, x.entry.ScaffoldArm = nil, 0, 0, 0, ""
	ctx, cancel := context.WithTimeout(context.Background(), x.s.cfg.Limits.SmartBudget)
	defer cancel()
	if x.guard(ctx, "assembly", x.stepAssemble) != nil {
		x.added = nil
	}
}

// resent reports whether a message holds additions of ours, or something that
// looks like them, and what it says without: a client may send back what it
// saw.
func (x *exchange) resent(message int) (own string, resent bool) {
	if message < 0 {
		return "", false
	}
	return x.without(x.view.Text(message))
}

// without takes our additions from a text.
func (x *exchange) without(text string) (own string, changed bool) {
	own = assemble.Strip(text)
	return own, len(own) != len(text)
}

func joined(first, second string) string {
	if first == "" || second == "" {
		return first + second
	}
	return first + assemble.Separator + second
}

// modelTier is the size class of model that the prompt is written for: that of
// the model that will read it, unless the operator wants another.
func (x *exchange) modelTier() assemble.ModelTier {
	if a := x.s.cfg.Assembly; a != nil && a.Tier != nil {
		return *a.Tier
	}
	if m := x.billed(); m != nil {
		return m.Tier
	}
	return assemble.TierForModel(x.decision.Requested)
}

// recall completes an input from memory: what the words find and what is
// pinned, and with opening the brief of all that matters. What the conversation
// itself still says is not brought in again.
func (x *exchange) recall(ctx context.Context, in *assemble.Input, opening bool) error {
	s := x.s
	if s.cfg.Memory == nil || x.who.memory == "off" {
		return nil
	}
	scope, err := memory.NewScope(x.who.tenant, x.who.agent, x.who.user)
	if err != nil { // a name that can't be one, such as one with control characters
		s.cfg.Metrics.Recalls.WithLabelValues("no_scope").Inc()
		return nil
	}
	limits := assemble.LimitsFor(in.Tier)
	found, err := s.cfg.Memory.Recall(ctx, scope, memory.Query{Text: x.words, Limit: limits.RecallLimit, Floor: limits.Floor, Profile: limits.Profile})
	var brief memory.Brief
	if err == nil && opening {
		x.know(ctx, in, scope)
		brief, err = s.cfg.Memory.Brief(ctx, scope)
	}
	if err != nil {
		s.cfg.Metrics.Recalls.WithLabelValues("error").Inc()
		return err
	}
	if x.dry {
		x.recalled = slices.Concat(found.Items, found.Pinned)
	}
	result := "empty"
	if len(found.Pinned)+len(found.Items) > 0 {
		result = "found"
	}
	s.cfg.Metrics.Recalls.WithLabelValues(result).Inc()
	x.place(in, &found, &brief)
	return nil
}

// place sorts what memory knows into the sections of a prompt. A conversation's
// first turn shows all of them; later turns show of Recalled what is new. The
// frames lie in x.frames, side by side.
func (x *exchange) place(in *assemble.Input, found *memory.Recalled, brief *memory.Brief) {
	if x.frames == nil {
		x.frames = x.s.frames.get()
	}
	x.frames = slices.Grow(x.frames[:0], len(brief.State)+len(brief.Work)+len(brief.Changes)+len(found.Items)+len(found.Pinned))
	in.State, in.ActiveWork = x.addFrames(brief.State), x.addFrames(brief.Work)
	from := len(x.frames)
	for i := range brief.Changes {
		c := &brief.Changes[i]
		if !x.inSight(&c.Item) {
			f := frame(&c.Item)
			f.Was = c.Was
			x.frames = append(x.frames, f)
		}
	}
	in.RecentChanges = slices.Clip(x.frames[from:])
	for _, name := range brief.Entities {
		in.KeyEntities = append(in.KeyEntities, assemble.Entity{Name: name})
	}
	from = len(x.frames)
	x.addFrames(found.Items)
	pinned := x.addFrames(found.Pinned)
	in.Recalled = slices.Clip(x.frames[from:])
	n := 0 // Who the user is comes first.
	for n < len(pinned) && pinned[n].Type == string(memory.Identity) {
		n++
	}
	in.LearnedIdentity, in.Preferences = pinned[:n], pinned[n:]
}

// addFrames adds frames of the memories that the conversation doesn't say to
// x.frames, which has room for them, and returns them.
func (x *exchange) addFrames(items []memory.Item) []assemble.Frame {
	from := len(x.frames)
	for i := range items {
		if item := &items[i]; !x.inSight(item) {
			x.frames = append(x.frames, frame(item))
		}
	}
	return slices.Clip(x.frames[from:])
}

func frame(item *memory.Item) assemble.Frame {
	return assemble.Frame{
		ID: item.ID, Type: string(item.Type), Content: item.Content, Importance: item.Importance,
		CreatedAt: item.CreatedAt, Personal: item.User != "",
	}
}

// inSight reports whether the conversation still says what a memory says.
func (x *exchange) inSight(item *memory.Item) bool {
	for _, text := range x.said {
		if len(text) >= len(item.Content) && strings.Contains(text, item.Content) {
			return true
		}
	}
	return false
}
