package ambient

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strconv"
	"strings"
	"time"
)

// This file is the section Working Memory: what happened today, yesterday and this week.

const (
	// How the budget is shared between today, yesterday and the week, in percent. What one leaves goes to the others.
	todayShare, yesterdayShare, weekShare = 60, 20, 20

	groupTokens = 12 // of a heading, and of what is said to be left out
	keepNewest  = 3  // events that are told however little they weigh
)

// workingMemory adds the section to a view.
func (s *Store) workingMemory(ctx context.Context, v *View, scope Scope, m *Moment) error {
	now := m.At.In(s.zone(scope.agent))
	today := now.Format(time.DateOnly)
	var all heard
	for _, a := range scope.mayRead() {
		h := hall{scope.tenant, scope.agent, a}
		got, err := s.heardIn(ctx, h, today)
		if err != nil {
			return err
		}
		s.tendLater(h, &got, m.At)
		all.tail = joined(all.tail, got.tail)
		all.paragraphs = joined(all.paragraphs, got.paragraphs)
		all.days = joined(all.days, got.days)
	}
	if len(all.tail)+len(all.paragraphs)+len(all.days) == 0 {
		return nil
	}
	all.tail = sorted(all.tail, func(a, b tailLine) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.seq, b.seq)) })
	all.paragraphs = sorted(all.paragraphs, func(a, b digest) int { return a.firstAt.Compare(b.firstAt) })
	all.days = sorted(all.days, func(a, b digest) int { return strings.Compare(a.day, b.day) })
	p := page{now: now, opening: m.Opening, tokens: s.cfg.Tokens, heard: all}
	v.Working = p.groups(s.cfg.WorkingTokens)
	return nil
}

// joined is both lists in one, without copying where one is empty: what is in RAM belongs to all who read it.
func joined[T any](a, b []T) []T {
	switch {
	case len(a) == 0:
		return b
	case len(b) == 0:
		return a
	}
	return slices.Concat(a, b)
}

// sorted is a list in order, itself when it is.
func sorted[T any](list []T, compare func(a, b T) int) []T {
	if !slices.IsSortedFunc(list, compare) {
		list = slices.Clone(list)
		slices.SortStableFunc(list, compare)
	}
	return list
}

// tendLater asks the writer, once, for what time alone makes due: a paragraph when the first event that none holds is
// old, and the end of runs that nothing was heard of. Until it is done things are told as they are.
func (s *Store) tendLater(h hall, got *heard, now time.Time) {
	old := len(got.tail) > 0 && now.Sub(got.tail[0].at) >= paragraphAge
	silent := slices.ContainsFunc(got.runs, func(r run) bool { return r.open && now.Sub(r.last) > s.cfg.RunIdle })
	if !old && !silent {
		return
	}
	f := s.feeds.find(h, nil)
	if f == nil {
		return // let go meanwhile
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.asked {
		return
	}
	f.asked = s.writeRuns(s.soon, func(w *runWriting, ctx context.Context, tx *sql.Tx) error {
		if err := w.endSilent(ctx, tx, h, now); err != nil {
			return err
		}
		if err := w.record(ctx, tx, w.events); err != nil {
			return err
		}
		return w.paragraphIfDue(ctx, tx, h)
	})
}

// page is a Working Memory that is being written.
type page struct {
	heard
	now     time.Time // in the agent's zone
	opening bool
	tokens  func(string) int
}

// groups writes the section within a budget.
func (p *page) groups(budget int) []Group {
	yesterday := p.now.AddDate(0, 0, -1).Format(time.DateOnly)
	at, found := slices.BinarySearchFunc(p.days, yesterday, func(d digest, day string) int { return strings.Compare(d.day, day) })
	before, last := p.days[:at], []digest(nil)
	if found {
		last = p.days[at:]
	}
	week, name := p.week(before)

	tail, told := 0, 0
	for i := range p.tail {
		tail += p.tail[i].cost
	}
	for i := range p.paragraphs {
		told += p.paragraphs[i].cost
	}
	needs := []int{need(tail) + need(told), need(costOf(last)), need(costOf(week))}
	grants := share(budget, []int{todayShare, yesterdayShare, weekShare}, needs)
	since := min(need(tail), max(grants[0]/2, grants[0]-need(told), p.newest()))

	out := make([]Group, 0, 4)
	day, used := p.digests(p.todayName(), p.paragraphs, grants[0]-since, p.label)
	day.Live = !p.opening // to a running conversation a new paragraph is told with the newest turn
	out = appendGroup(out, day)
	out = appendGroup(out, p.since(grants[0]-used))
	if p.opening {
		day, _ = p.digests("Yesterday ("+dayName(yesterday)+")", last, grants[1], func(i int) string { return eventsOf(last[i]) })
		out = appendGroup(out, day)
		day, _ = p.digests(name, week, grants[2], func(i int) string { return dayName(week[i].day) })
		out = appendGroup(out, day)
	}
	return out
}

// newest is what it takes to tell the newest event that no paragraph holds.
func (p *page) newest() int {
	if len(p.tail) == 0 {
		return 0
	}
	return need(p.tail[len(p.tail)-1].cost)
}

// eventsOf says how many events a digest is of.
func eventsOf(d digest) string {
	if d.events == 1 {
		return "1 event"
	}
	return strconv.Itoa(d.events) + " events"
}

func appendGroup(out []Group, g Group) []Group {
	if len(g.Lines) == 0 {
		return out
	}
	return append(out, g)
}

// need is what a group's lines cost together with its heading.
func need(lines int) int {
	if lines == 0 {
		return 0
	}
	return lines + groupTokens
}

func costOf(list []digest) int {
	sum := 0
	for i := range list {
		sum += list[i].cost
	}
	return sum
}

// share divides a budget by percentages. What one doesn't need goes to the first that needs more.
func share(budget int, percent, needs []int) []int {
	out := make([]int, len(needs))
	left := budget
	for i := range needs {
		out[i] = min(needs[i], budget*percent[i]/100)
		left -= out[i]
	}
	for i := range needs {
		more := min(left, needs[i]-out[i])
		out[i] += more
		left -= more
	}
	return out
}

// label says when a paragraph's events were: in which part of the day, or from when to when where that says more.
func (p *page) label(i int) string {
	zone := p.now.Location()
	from, to := p.paragraphs[i].firstAt.In(zone), p.paragraphs[i].lastAt.In(zone)
	part := partOf(from)
	alone := part == partOf(to)
	for j, d := range p.paragraphs {
		alone = alone && (i == j || partOf(d.firstAt.In(zone)) != part)
	}
	switch {
	case alone:
		return part
	case hour(from) == hour(to):
		return hour(from)
	}
	return hour(from) + "-" + hour(to)
}

// hour is a time of the day.
func hour(t time.Time) string { return t.Format(timeOfDay) }

// partOf names the part of the day.
func partOf(t time.Time) string {
	switch h := t.Hour(); {
	case h < 5:
		return "night"
	case h < 12:
		return "morning"
	case h < 14:
		return "midday"
	case h < 18:
		return "afternoon"
	}
	return "evening"
}

// since is the events that no paragraph holds: the newest ones, and of the others those that weigh most.
func (p *page) since(budget int) Group {
	if len(p.tail) == 0 {
		return Group{}
	}
	budget -= groupTokens
	order := make([]int, len(p.tail))
	for i := range order {
		order[i] = len(order) - 1 - i
	}
	if len(order) > keepNewest {
		slices.SortStableFunc(order[keepNewest:], func(a, b int) int { return cmp.Compare(p.weight(b), p.weight(a)) })
	}
	shown := order[:0]
	for _, i := range order {
		if p.tail[i].cost <= budget {
			budget -= p.tail[i].cost
			shown = append(shown, i)
		}
	}
	slices.Sort(shown)
	g := Group{Heading: p.sinceWhen(), Live: true}
	for _, i := range shown {
		g.Lines = append(g.Lines, p.tail[i].Line)
	}
	if len(shown) < len(p.tail) {
		g.Total = len(p.tail)
	}
	return g
}

// weight is what an event counts now.
func (p *page) weight(i int) float64 { return weigh(p.tail[i].importance, p.now.Sub(p.tail[i].at)) }

// sinceWhen is the heading of the newest events.
func (p *page) sinceWhen() string {
	if len(p.paragraphs) == 0 {
		return p.todayName()
	}
	at := p.paragraphs[len(p.paragraphs)-1].lastAt
	if first := p.tail[0].at; first.Before(at) { // heard elsewhere, or late
		at = first
	}
	return "Since " + hour(at.In(p.now.Location()))
}

func (p *page) todayName() string { return "Today (" + p.now.Format("Monday, January 2") + ")" }

// week picks the days to tell of beside yesterday: those of this week, or in its first two days those of the last.
func (p *page) week(before []digest) (days []digest, name string) {
	monday := p.now.AddDate(0, 0, -(int(p.now.Weekday())+6)%7)
	name = "This Week"
	if p.now.AddDate(0, 0, -1).Format(time.DateOnly) <= monday.Format(time.DateOnly) {
		monday, name = monday.AddDate(0, 0, -7), "Last Week"
	}
	first, _ := slices.BinarySearchFunc(before, monday.Format(time.DateOnly), func(d digest, day string) int { return strings.Compare(d.day, day) })
	return before[first:], name
}

// digests tells of some, the newest when not even the beginning of each fits. Each gets an equal part of the budget, and
// what newer ones leave of theirs. used is what they take together.
func (p *page) digests(heading string, list []digest, budget int, label func(i int) string) (g Group, used int) {
	g.Heading, used = heading, groupTokens
	first, least := len(list), groupTokens
	for first > 0 && least+min(minDigest, list[first-1].cost) <= budget {
		first--
		least += min(minDigest, list[first].cost)
	}
	for i := len(list) - 1; i >= first; i-- {
		text, cost := list[i].text, list[i].cost
		if each := max(minDigest, (budget-used)/(i-first+1)); cost > each {
			text = fitTokens(text, each-lineTokens, p.tokens)
			cost = p.tokens(text) + lineTokens
		}
		used += cost
		g.Lines = append(g.Lines, Line{ID: list[i].id, Label: label(i), Text: text})
	}
	if len(g.Lines) == 0 {
		return g, 0
	}
	slices.Reverse(g.Lines)
	if len(g.Lines) < len(list) {
		g.Total = len(list)
	}
	return g, used
}

// minDigest is how many tokens a digest is told in at least, or it is left out.
const minDigest = 30

// dayName is a day as people say it: Tuesday, March 17.
func dayName(day string) string {
	t, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return day
	}
	return t.Format("Monday, January 2")
}

// fitTokens cuts a text to so many tokens, behind a statement if it can: what is most important comes first.
func fitTokens(text string, most int, tokens func(string) int) string {
	low, high := 0, len(text) // bytes that fit, and that don't
	for low+1 < high {
		if mid := (low + high) / 2; tokens(text[:mid])+1 <= most {
			low = mid
		} else {
			high = mid
		}
	}
	text = strings.ToValidUTF8(text[:low], "")
	for _, end := range []string{". ", "; ", " "} {
		if at := strings.LastIndex(text, end); at > len(text)/2 {
			text = text[:at]
			break
		}
	}
	return strings.TrimRight(text, " .,;:") + "…"
}
