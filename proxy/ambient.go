package proxy

import (
	"context"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/understudy-ai/understudy/ambient"
	"github.com/understudy-ai/understudy/assemble"
	"github.com/understudy-ai/understudy/internal/background"
	"github.com/understudy-ai/understudy/internal/chat"
	"github.com/understudy-ai/understudy/ledger"
	"github.com/understudy-ai/understudy/scoring"
)

// This file brings what surrounds a conversation into its prompt, and takes
// note of what passes.

// Ambient knows what surrounds conversations. Hear must not block; false means
// that its queue is full.
type Ambient interface {
	Surroundings(context.Context, ambient.Scope, ambient.Moment) (ambient.View, error)
	Hear(ambient.Scope, ambient.Heard) bool
	// Brief may take its time, within a limit of its own.
	Brief(context.Context, ambient.Scope, ambient.Moment) (string, error)
	Background() background.Report
	// Knowledge is what a model made of what memory knows of one scope.
	Knowledge(ctx context.Context, tenant, agent, user string, version uint64) []ambient.Group
	EraseMade(ctx context.Context, tenant, agent string, gone ambient.Forgotten) (others []string, err error)
	Check(context.Context) error
	Record(context.Context, []ambient.Posted) ([]ambient.Result, error)
	Events(ctx context.Context, tenant, agent string, f ambient.Filter) (ambient.Page, error)
}

// routeAmbient serves the part of the admin API that is about what surrounds
// conversations.
func (s *Server) routeAmbient(api fiber.Router) {
	api.Post("/events", s.addEvents)
	api.Get("/events", s.listEvents)
	api.Get("/background", s.background)
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
	m := x.moment(opening)
	view, err := x.s.cfg.Ambient.Surroundings(ctx, scope, m)
	if err != nil {
		x.s.cfg.Metrics.FailOpen.WithLabelValues("ambient", "error").Inc()
		return
	}
	in.Knowledge, in.Working, in.Channels = sheet(view.Knowledge), x.unsaid(sheet(view.Working)), sheet(view.Channels)
	in.Participants, in.Briefing = sheet(view.Participants), sheet(view.Briefing)
	in.Conversation, in.Status = sheet(view.Conversation), sheet(view.Status)
}

// lookedBack bounds the words, in bytes, in which a line is looked for.
const lookedBack = 16 << 10

// unsaid takes from what just happened the lines that the conversation itself
// still says in a person's words, as memories are that it says.
func (x *exchange) unsaid(all assemble.Sheet) assemble.Sheet {
	for i := range all {
		g := &all[i]
		if !g.Live {
			continue
		}
		before := len(g.Lines)
		g.Lines = slices.DeleteFunc(g.Lines, func(f assemble.Frame) bool { return x.saidLately(f.Content) })
		g.Total = max(0, g.Total-(before-len(g.Lines)))
	}
	return all
}

// saidLately reports whether one of the newest human messages says what a line
// does, with or without its speaker's name.
func (x *exchange) saidLately(line string) bool {
	_, words, named := strings.Cut(line, ": ")
	for i, left := len(x.said)-1, lookedBack; i >= 0 && left > 0; i-- {
		text := x.said[i][:min(len(x.said[i]), left)]
		left -= len(text)
		if strings.Contains(text, line) || named && strings.Contains(text, words) {
			return true
		}
	}
	return false
}

// moment is the request as far as its surroundings depend on it.
func (x *exchange) moment(opening bool) ambient.Moment {
	m := ambient.Moment{
		Session: x.session, Process: x.who.process, Mode: x.who.context, Opening: opening, Placed: x.who.placed, Words: x.words, Voices: x.voices(), At: x.at,
		Platform: x.who.platform, Workspace: x.who.workspace, ChannelName: x.who.channelName, UserName: x.who.userName, Model: x.routed(),
		New: x.unanswered(), Dry: x.dry,
	}
	if model := x.billed(); model != nil {
		m.Window = model.Context
	}
	return m
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
			switch {
			case l.Memory:
				lines[j].ID, lines[j].Personal = l.ID, l.Personal
			case l.ID != "":
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
		Session: x.session, Process: x.who.process, Placed: x.who.placed, Trigger: x.who.trigger, Platform: x.who.platform,
		ChannelName: x.who.channelName, UserName: x.who.userName, NewTurn: x.newTurn(), Model: x.entry.RoutedModel, Briefed: x.briefed, At: x.at,
	}
	if h.NewTurn {
		h.Words, h.Voices = x.words, x.heard
	}
	if h.Final = x.answer.Finished && !x.answer.Calls; h.Final && x.isRun() {
		h.Answer = x.answer.Text()
	}
	if x.entry.Outcome != ledger.OutcomeOK {
		h.Failed = x.entry.Outcome
	}
	if !x.s.cfg.Ambient.Hear(scope, h) {
		x.s.cfg.Metrics.FailOpen.WithLabelValues("ambient", "queue_full").Inc()
	}
}

// voices tells who said what since the last answer, as far as the request is one that asks for its surroundings.
func (x *exchange) voices() []ambient.Voice {
	if !x.who.placed || x.heard != nil || x.human < 0 {
		return x.heard
	}
	first := len(x.humans)
	for first > 0 && !x.answered(first-1) {
		first--
	}
	messages := make([]ambient.Message, 0, len(x.humans)-first)
	for _, at := range x.humans[first:] {
		messages = append(messages, ambient.Message{Name: x.view.Name(at), Text: scoring.HumanText(assemble.Strip(excerpt(x.view.Text(at))))})
	}
	x.heard = ambient.Voices(messages, x.who.userName)
	return x.heard
}

// answered reports whether the assistant spoke after a human message.
func (x *exchange) answered(human int) bool {
	end := x.human
	if human+1 < len(x.humans) {
		end = x.humans[human+1]
	}
	for _, m := range x.view.Messages[x.humans[human]:end] {
		if m.Role == chat.RoleAssistant {
			return true
		}
	}
	return false
}

// unanswered reports whether the assistant has said nothing yet.
func (x *exchange) unanswered() bool {
	return !slices.ContainsFunc(x.view.Messages, func(m chat.Message) bool { return m.Role == chat.RoleAssistant })
}
