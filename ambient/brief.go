package ambient

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/understudy-ai/understudy/internal/background"
)

// Briefing says what workers are told before they begin.
type Briefing struct {
	// Timeout bounds what the making of a briefing takes of its request's time.
	Timeout time.Duration
	// Recall returns what memory knows of a task, best first, at most so many of each. Nil: nothing.
	Recall func(ctx context.Context, tenant, agent, user, task string, limit int) ([]Memory, error)
	// Similar returns a function that tells how much a text has to do with a task, in [0, 1]. Nil: nothing has.
	Similar func(task string) func(text string) float64
	// Relevance is the least similarity at which what happened is part of a briefing.
	Relevance float64
}

// Memory is something that memory knows of a task.
type Memory struct {
	ID       string
	Type     string // as memory calls it
	Content  string
	At       time.Time
	Score    float64 // in (0, 1]
	Personal bool    // it is the user's own
}

// What became of a briefing, for counting.
const (
	BriefedByModel = "model"   // the model wrote it
	BriefedByRules = "rules"   // it lists what was found, since there is no model
	NothingToBrief = "nothing" // there is nothing that bears on the task, or the model says so
	BriefingFailed = "failed"  // the worker begins without one
)

// outcomes are what the event of a briefing says of it. Read only.
var outcomes = map[string]string{
	BriefedByModel: "written by the model", BriefedByRules: "listed from what was found", NothingToBrief: "with nothing to tell", BriefingFailed: "not made in time or at all",
}

// hearBriefing notes that a worker was briefed, after its request: its own prompt needn't say so.
func (s *Store) hearBriefing(scope Scope, h *Heard) bool {
	if h.Briefed == "" {
		return true
	}
	return s.note(scope, Event{Type: System, Importance: 0.1, Session: h.Session, Summary: "Worker briefing, " + outcomes[h.Briefed], At: h.At})
}

// The selection of what goes into a briefing.
const (
	briefMemories = 12
	briefEvents   = 8
	briefLooks    = 300                // events of each kind that are looked at, the newest
	briefWindow   = 48 * time.Hour     // of events that have to do with the task
	briefResults  = 7 * 24 * time.Hour // of decisions and workers' results, whatever they are about
	briefRecent   = 7 * 24 * time.Hour // memories younger than that count for more

	decisionBoost = 1.3 // decisions and preferences shape a task
	recencyBoost  = 1.2

	briefWords = 300
	maxTask    = 4000 // bytes of it that the model is shown
)

// noBriefing is what the model says when nothing bears on the task.
const noBriefing = "NO_BRIEFING"

const briefingInstructions = "Somebody is about to work on the task below and has no memory of what came before. From the notes, tell them in 150 to 300 " +
	"words what they should know first: what has been decided or established about this, preferences and patterns to keep to, " +
	"what earlier workers did about it and how that ended, and constraints. Name people, numbers and dates as the notes have them; " +
	"leave out what doesn't bear on the task. If nothing in the notes does, answer " + noBriefing + " and no more. " + dataRule

// errForgotten says that the briefing may tell of something that was forgotten while it was made.
var errForgotten = errors.New("something was forgotten meanwhile")

// Brief makes the briefing of a worker's session from what is known of the task, m.Words, unless the session has one.
// From then on [Store.Surroundings] shows it, whenever the session's prompt is made from the beginning. It returns what became
// of it, "" when it was there already. This is the one thing here that takes its time, up to [Briefing].Timeout.
func (s *Store) Brief(ctx context.Context, scope Scope, m Moment) (string, error) {
	if m.Session == "" {
		return "", nil
	}
	key := briefKey{scope.tenant, scope.agent, scope.user, scope.Audience(), m.Session}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Briefing.Timeout)
	defer cancel()
	return s.briefings.once(ctx, key, func() (string, error) {
		switch _, found, err := s.briefing(ctx, key); {
		case err != nil:
			return BriefingFailed, err
		case found:
			return "", nil
		}
		wiped := s.wiped.Load()
		groups, result, err := s.makeBriefing(ctx, scope, &m)
		if err == nil && s.wiped.Load() != wiped {
			err = errForgotten
		}
		if err != nil {
			groups, result = nil, BriefingFailed
		}
		s.keepBriefing(key, groups, m.At)
		return result, err
	})
}

func (s *Store) makeBriefing(ctx context.Context, scope Scope, m *Moment) ([]Group, string, error) {
	memories, err := s.relevant(ctx, scope, m)
	if err != nil {
		return nil, "", err
	}
	events, err := s.related(ctx, scope, m)
	if err != nil {
		return nil, "", err
	}
	groups := s.rawBriefing(scope.agent, memories, events)
	switch {
	case len(groups) == 0:
		return nil, NothingToBrief, nil
	case s.cfg.Background.Ask == nil:
		return groups, BriefedByRules, nil
	}
	text, err := s.ask(ctx, Question{
		Purpose: "briefing", Tenant: scope.tenant, Agent: scope.agent, User: scope.user, Instructions: briefingInstructions,
		Text: tagged("task", []string{data(clip(m.Words, maxTask))}) + tagged("memories", notesOf(&groups[0], "Relevant Knowledge")) +
			tagged("events", notesOf(&groups[len(groups)-1], "Related Activity")),
	}, briefWords)
	switch {
	case errors.Is(err, background.ErrBudget):
		return groups, BriefedByRules, nil
	case err != nil:
		return nil, "", err
	case strings.Contains(text, noBriefing):
		return nil, NothingToBrief, nil
	}
	return []Group{madeGroup("briefing", text)}, BriefedByModel, nil
}

// notesOf is the lines of a group, if it is the one that is meant.
func notesOf(g *Group, heading string) (out []string) {
	if g.Heading != heading {
		return nil
	}
	for _, l := range g.Lines {
		out = append(out, "["+l.Label+"] "+data(l.Text))
	}
	return out
}

// rawBriefing lists what was found.
func (s *Store) rawBriefing(agent string, memories []Memory, events []Event) (groups []Group) {
	zone := s.zone(agent)
	if len(memories) > 0 {
		g := Group{Heading: "Relevant Knowledge"}
		for _, mem := range memories {
			g.Lines = append(g.Lines, Line{ID: mem.ID, Memory: true, Personal: mem.Personal, Label: mem.Type + ", " + mem.At.In(zone).Format(time.DateOnly), Text: mem.Content})
		}
		groups = append(groups, g)
	}
	if len(events) > 0 {
		g := Group{Heading: "Related Activity"}
		for _, e := range events {
			text := e.Summary
			if e.Name != "" {
				text = e.Name + ": " + text
			}
			g.Lines = append(g.Lines, Line{ID: "e/" + e.ID, Label: e.At.In(zone).Format(dayAndTime) + ", " + e.Type.label(), Text: text})
		}
		groups = append(groups, g)
	}
	return groups
}

// relevant is what memory knows of the task, best first: without observations, decisions and preferences and what is
// young before others.
func (s *Store) relevant(ctx context.Context, scope Scope, m *Moment) ([]Memory, error) {
	if s.cfg.Briefing.Recall == nil {
		return nil, nil
	}
	found, err := s.cfg.Briefing.Recall(ctx, scope.tenant, scope.agent, scope.user, m.Words, 2*briefMemories)
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(mem Memory) bool { return mem.Type == "observation" || strings.Contains(m.Words, mem.Content) })
	for i := range found {
		mem := &found[i]
		if mem.Type == "decision" || mem.Type == "preference" {
			mem.Score *= decisionBoost
		}
		if m.At.Sub(mem.At) <= briefRecent {
			mem.Score *= recencyBoost
		}
	}
	slices.SortStableFunc(found, func(a, b Memory) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID)) })
	return found[:min(len(found), briefMemories)], nil
}

// related is what happened that a worker on the task should know, oldest first: of the last two days what has to do with it,
// of the last week every decision and every worker's result; of those the ones that have to do with it most, then the newest.
func (s *Store) related(ctx context.Context, scope Scope, m *Moment) ([]Event, error) {
	found, err := s.Recent(ctx, scope, m.At.Add(-briefWindow), briefLooks)
	if err != nil {
		return nil, err
	}
	results, err := s.Recent(ctx, scope, m.At.Add(-briefResults), briefLooks, Decision, DecisionRevised, WorkerCompleted)
	if err != nil {
		return nil, err
	}
	similar := func(string) float64 { return 0 }
	if s.cfg.Briefing.Similar != nil {
		similar = s.cfg.Briefing.Similar(m.Words)
	}
	type rated struct {
		Event
		score float64
	}
	var all []rated
	for i := range results {
		all = append(all, rated{results[i], similar(results[i].Summary)})
	}
	for i := range found {
		isResult := slices.ContainsFunc(results, func(e Event) bool { return e.ID == found[i].ID })
		if score := similar(found[i].Summary); !isResult && found[i].Type != System && score >= s.cfg.Briefing.Relevance {
			all = append(all, rated{found[i], score})
		}
	}
	all = slices.DeleteFunc(all, func(e rated) bool { return e.Session == m.Session })
	for i := range all {
		if all[i].score < s.cfg.Briefing.Relevance {
			all[i].score = 0 // all that are about something else are alike
		}
	}
	slices.SortStableFunc(all, func(a, b rated) int { return cmp.Or(cmp.Compare(b.score, a.score), b.At.Compare(a.At)) })
	all = all[:min(len(all), briefEvents)]
	slices.SortStableFunc(all, func(a, b rated) int { return a.At.Compare(b.At) })
	out := make([]Event, len(all))
	for i := range all {
		out[i] = all[i].Event
	}
	return out, nil
}
