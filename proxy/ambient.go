package proxy

import (
	"context"

	"github.com/understudy-ai/understudy/ambient"
	"github.com/understudy-ai/understudy/assemble"
	"github.com/understudy-ai/understudy/ledger"
)

// This file brings what surrounds a conversation into its prompt, and takes
// note of what passes.

// Ambient knows what surrounds conversations. Hear must not block; false means
// that its queue is full.
type Ambient interface {
	Surroundings(context.Context, ambient.Scope, ambient.Moment) (ambient.View, error)
	Hear(ambient.Scope, ambient.Heard) bool
	Check(context.Context) error
}

// ambientScope is whose surroundings the request may see; false when it has
// none.
func (x *exchange) ambientScope() (ambient.Scope, bool) {
	if x.s.cfg.Ambient == nil || x.who.memory == "off" {
		return ambient.Scope{}, false
	}
	scope, err := ambient.NewScope(x.who.tenant, x.who.agent, x.who.user, x.who.channel, x.who.private)
	return scope, err == nil // a name that can't be one has no surroundings
}

// surround completes an input with what surrounds the conversation. It never
// fails the turn: a prompt without it is still a good one.
func (x *exchange) surround(ctx context.Context, in *assemble.Input, opening bool) {
	scope, ok := x.ambientScope()
	if !ok {
		return
	}
	view, err := x.s.cfg.Ambient.Surroundings(ctx, scope, ambient.Moment{
		Session: x.session, Process: x.who.process, Mode: x.who.context, Placed: x.who.placed, Opening: opening, Words: x.words, At: x.at,
	})
	if err != nil {
		x.s.cfg.Metrics.FailOpen.WithLabelValues("ambient", "error").Inc()
		return
	}
	in.Knowledge, in.Working, in.Channels = sheet(view.Knowledge), sheet(view.Working), sheet(view.Channels)
	in.Participants, in.Briefing = sheet(view.Participants), sheet(view.Briefing)
	in.Conversation, in.Status = sheet(view.Conversation), sheet(view.Status)
}

// sheet is the same groups for a prompt.
func sheet(groups []ambient.Group) assemble.Sheet {
	if len(groups) == 0 {
		return nil
	}
	out := make(assemble.Sheet, len(groups))
	for i := range groups {
		g := &groups[i]
		lines := make([]assemble.Frame, len(g.Lines))
		for j, l := range g.Lines {
			lines[j] = assemble.Frame{Type: l.Label, Content: l.Text}
			if l.ID != "" {
				lines[j].ID = assemble.Aside + l.ID
			}
		}
		out[i] = assemble.Group{Heading: g.Heading, Lines: lines, Total: g.Total, Live: g.Live}
	}
	return out
}

// hearAll lets the surroundings take note of a finished request.
func (x *exchange) hearAll() {
	scope, ok := x.ambientScope()
	if !ok || x.who.memory == "read" || x.who.bypass || x.sideCall || x.view == nil {
		return
	}
	h := ambient.Heard{
		Session: x.session, Process: x.who.process, Trigger: x.who.trigger, Platform: x.who.platform,
		ChannelName: x.who.channelName, UserName: x.who.userName, NewTurn: x.newTurn(), Model: x.entry.RoutedModel, At: x.at,
	}
	if h.NewTurn {
		h.Words = x.words
	}
	if x.entry.Outcome != ledger.OutcomeOK {
		h.Failed = x.entry.Outcome
	}
	if !x.s.cfg.Ambient.Hear(scope, h) {
		x.s.cfg.Metrics.FailOpen.WithLabelValues("ambient", "queue_full").Inc()
	}
}
