package ambient

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"
	"time"
)

// here adds who takes part, what goes on elsewhere, where the conversation takes place, and what time it is. What can't be
// read is left out.
func (s *Store) here(ctx context.Context, v *View, scope Scope, m *Moment) error {
	if !byPeople(m.Process) {
		m.Voices = nil
	}
	people, err := s.present(ctx, scope, m)
	s.participants(v, people, scope, m)
	s.conversation(v, len(people) > 1, scope, m)
	return errors.Join(err, s.status(ctx, v, scope, m), s.otherChannels(ctx, v, scope, m), s.showEarlier(ctx, v, scope, m))
}

// conversation adds where the conversation takes place, frozen, and with the turn how many people speak.
func (s *Store) conversation(v *View, several bool, scope Scope, m *Moment) {
	var where, now []Line
	add := func(label, text string) {
		if text != "" {
			where = append(where, Line{ID: label + "/" + text, Label: label, Text: text})
		}
	}
	if m.Opening {
		add("platform", s.place(m.Platform))
		add("workspace", s.place(m.Workspace))
	}
	if m.Opening && scope.channel != "" {
		name := cmp.Or(s.place(m.ChannelName), s.place(scope.channel), "a channel")
		if scope.private {
			name += " (private)"
		}
		add("channel", name)
	}
	if several {
		now = append(now, Line{ID: "people/several", Label: "people", Text: "several take part"})
	} else if scope.channel != "" {
		where = append(where, Line{ID: "people/one", Label: "people", Text: "one so far"})
	}
	if hint := s.coalesced(m, s.zone(scope.agent)); hint != "" {
		now = append(now, Line{Label: "messages", Text: hint})
	}
	if m.Opening && len(where) > 0 {
		v.Conversation = append(v.Conversation, Group{Lines: where})
	}
	if len(now) > 0 {
		v.Conversation = append(v.Conversation, Group{Lines: now, Live: true})
	}
}

// coalesced tells of several messages that came at once, "" when it was one.
func (s *Store) coalesced(m *Moment, zone *time.Location) string {
	if len(m.Voices) < 2 {
		return ""
	}
	var names []string
	known := map[string]bool{}
	for _, voice := range m.Voices {
		if key := strings.ToLower(voice.Name); !known[key] {
			known[key] = true
			names = append(names, voice.Name)
		}
	}
	who := "1 person"
	if len(names) > 1 {
		who = strconv.Itoa(len(names)) + " people"
	}
	const mentioned = 5
	shown := names[:min(len(names), mentioned)]
	for i, name := range shown {
		if shown[i] = "the user"; name != "" {
			shown[i] = cmp.Or(s.called(name), "somebody")
		}
	}
	list := strings.Join(shown, ", ")
	if len(names) > mentioned {
		list += " and others"
	}
	return strconv.Itoa(len(m.Voices)) + " messages from " + who + " (" + list + ") since the last answer, by " + m.At.In(zone).Format(timeOfDay)
}

// maxRuns bounds each list of runs.
const maxRuns = 5

// status adds the time and what runs, with the turn.
func (s *Store) status(ctx context.Context, v *View, scope Scope, m *Moment) error {
	zone := s.zone(scope.agent)
	lines := []Line{{Label: "time", Text: m.At.In(zone).Format("Monday, 2006-01-02 15:04 MST")}}
	if s.cfg.Version != "" {
		lines = append(lines, Line{ID: "version", Label: "version", Text: "Understudy " + s.cfg.Version})
	}
	if m.Model != "" {
		text := m.Model
		if m.Window > 0 {
			text += ", a window of " + strconv.Itoa(m.Window) + " tokens"
		}
		lines = append(lines, Line{ID: "model/" + text, Label: "model", Text: text})
	}
	v.Status = []Group{{Lines: lines, Live: true}}
	all, err := s.runs(ctx, scope, m.At)
	if err != nil {
		return err
	}
	var active, ended []run
	for _, r := range all {
		switch {
		case r.session == m.Session || r.task == "":
		case r.open && m.At.Sub(r.last) < s.cfg.RunIdle:
			active = append(active, r)
		case !r.open:
			ended = append(ended, r)
		}
	}
	v.addRuns("Active", active, func(r *run) string { return "under way since " + clockTime(r.started, m.At, zone) })
	v.addRuns("Recently completed", ended, func(r *run) string {
		text := "ended " + clockTime(r.last, m.At, zone)
		if r.failed != "" {
			text += " after an error"
		}
		return text
	})
	return nil
}

// addRuns adds a group of runs. state is told of each: it makes the line another one when it changes.
func (v *View) addRuns(heading string, runs []run, state func(*run) string) {
	if len(runs) == 0 {
		return
	}
	g := Group{Heading: heading, Live: true, Total: len(runs)}
	for i := range runs[:min(len(runs), maxRuns)] {
		r := &runs[i]
		how := state(r)
		g.Lines = append(g.Lines, Line{ID: "run/" + r.session + "/" + r.kind + "/" + how, Label: r.kind, Text: strings.TrimRight(r.task, ". ") + ", " + how})
	}
	v.Status = append(v.Status, g)
}
