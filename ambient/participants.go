package ambient

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
)

// People says what prompts tell of the people who take part in a conversation. The zero value tells nothing.
type People struct {
	Min        int           // from so many people on there is a section; 0: there is none
	Max        int           // of them at most
	Tokens     int           // of all their lines at most
	StaleAfter time.Duration // a profile is stale when its person was seen so much later than it was made
	Interval   time.Duration // how often stale profiles are looked for
	PerPass    int           // stale profiles that are made anew at each interval, at most
	Words      int           // of a profile at most
}

// participant is a person who takes part in a conversation.
type participant struct {
	human    Human // the identity that spoke last
	at       int64
	profiles []profile
	doings   string
}

// participants adds who takes part in a conversation, when there are enough of them.
func (s *Store) participants(v *View, people []participant, scope Scope, m *Moment) {
	if s.cfg.People.Min <= 0 || len(people) < s.cfg.People.Min {
		return
	}
	shown := people[:min(len(people), s.cfg.People.Max)]
	left := s.cfg.People.Tokens
	var lines []Line
	for i := range shown {
		line := shown[i].line(scope.mayRead(), s.cfg.Tokens, left/(len(shown)-i))
		if left -= s.cfg.Tokens(line.Text); left < 0 {
			break
		}
		lines = append(lines, line)
	}
	g := Group{Lines: lines, Total: len(people)}
	if !m.Opening { // those who were there when it opened have been shown
		g.Live, g.Total = true, 0
	}
	v.Participants = []Group{g}
}

// present lists who takes part as far as the scope may know it, whoever spoke last first.
func (s *Store) present(ctx context.Context, scope Scope, m *Moment) ([]participant, error) {
	r, err := s.room(ctx, scope, m.Session)
	if err != nil {
		return nil, err
	}
	defer r.mu.Unlock()
	var all []participant
	for i, voice := range m.Voices {
		if h, ok := speaker(scope, m.Platform, voice); ok {
			all = append(all, participant{human: h, at: m.At.UnixMilli() + int64(i)}) // who speaks last comes first
		}
	}
	since, readable := m.At.Add(-sessionIdle).UnixMilli(), scope.mayRead()
	for p, at := range r.there {
		if at > since && slices.Contains(readable, p.audience) {
			all = append(all, participant{human: r.humans[p.human], at: at})
		}
	}
	slices.SortFunc(all, func(a, b participant) int {
		return cmp.Or(cmp.Compare(b.at, a.at), strings.Compare(a.human.ID, b.human.ID))
	})
	var out []participant
	for _, p := range all {
		if p.human, p.profiles, err = r.person(ctx, s, p.human); err != nil {
			return nil, err
		}
		if p.human.called() != "" {
			out = join(out, p)
		}
	}
	if len(out) < s.cfg.People.Min {
		return out, nil
	}
	for i := range out[:min(len(out), s.cfg.People.Max)] {
		if out[i].doings, err = r.doingsOf(ctx, s, scope, &out[i].human, m.At); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// join adds a participant, unless the same person is there already. Of one who is there by name alone, too, that is left
// which tells more.
func join(people []participant, p participant) []participant {
	for i := range people {
		there := &people[i]
		if there.human.Person != p.human.Person && !there.human.sameName(&p.human) {
			continue
		}
		if there.human.ByName && !p.human.ByName {
			p.at = there.at
			*there = p
		}
		return people
	}
	return append(people, p)
}

// sameName reports whether one of two humans is known by name alone, and it is the other's.
func (h *Human) sameName(other *Human) bool {
	return h.ByName != other.ByName && h.Platform == other.Platform && strings.EqualFold(h.called(), other.called())
}

// line tells of the person what the audiences may be told, within so many tokens.
func (p *participant) line(readable []Audience, tokens func(string) int, limit int) Line {
	text := "**" + p.human.called() + "**"
	about := ""
	for _, audience := range slices.Backward(readable) { // the user's own first
		for _, known := range p.profiles {
			if known.audience == audience && known.text != "" {
				about = strings.TrimSpace(about + " " + known.text)
			}
		}
	}
	if about != "" {
		text += " — " + about
	}
	recent := ""
	if p.doings != "" {
		recent = " Recent: " + p.doings
	}
	// What a person is may take as much as is left by what they did, and at least half.
	text = fit(text, tokens, max(limit/2, limit-tokens(recent)))
	return Line{ID: "human/" + p.human.Person, Label: "person", Text: fit(text+recent, tokens, limit)}
}

// fit is the beginning of a text that has at most so many tokens, in whole words.
func fit(text string, tokens func(string) int, limit int) string {
	for tokens(text) > limit {
		i := strings.LastIndexByte(strings.TrimSuffix(text, "…"), ' ')
		if i < 0 {
			return text
		}
		text = strings.TrimRight(text[:i], " —") + "…"
	}
	return text
}
