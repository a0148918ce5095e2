package memory

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// A memory outlives the day it was made on: "yesterday" means nothing a week
// later. So what names a time by the present gets the date behind it, as a day
// of the agent's zone: "We launched yesterday. (yesterday: 2026-03-17)".

// tense says which way a weekday points. Without one it may be every week's.
type tense int

const (
	always tense = iota
	past
	future
)

// tenseOf returns the tense of a memory's content.
func tenseOf(typ Type, content string) tense {
	switch {
	case typ == Fact, typ == Decision:
		return always
	case typ == Event && !ahead(content):
		return past
	default:
		return future
	}
}

// maxDates bounds the times of a memory that get a date.
const maxDates = 3

// dated returns content with the first such times resolved, seen from at, whose
// location counts: "(yesterday: 2026-03-17; tomorrow: 2026-03-19)". What it can't
// resolve stays as it is.
func dated(content string, at time.Time, way tense) string {
	words := strings.Fields(content)
	for i := range words {
		words[i] = strings.Trim(words[i], ",.!;:()")
	}
	var found []string
	for i := 0; i < len(words) && len(found) < maxDates; {
		phrase, date, n := firstDate(words, i, at, way)
		if date == "" {
			i++
			continue
		}
		i += n
		if note := phrase + ": " + date; !slices.Contains(found, note) {
			found = append(found, note)
		}
	}
	if len(found) == 0 {
		return content
	}

	return cut(content[:min(len(content), 4*maxContent)]) + " (" + strings.Join(found, "; ") + ")"
}

// firstDate returns the longest phrase that begins with the i-th word and means
// a date, and how many words it has.
func firstDate(words []string, i int, at time.Time, way tense) (phrase, date string, n int) {
	for n = min(3, len(words)-i); n > 0; n-- {
		phrase = strings.Join(words[i:i+n], " ")
		date = resolve(fold(phrase), at, way)
		if date != "" && !(n == 3 && i > 0 && goesOn[strings.ToLower(words[i-1])]) {
			return phrase, date, n
		}
	}

	return "", "", 0
}

// goesOn are words of which a count is only the end: "a year and two months
// ago", "twenty one days ago".
var goesOn = wordSet("and i hundred twenty thirty forty fifty sixty seventy eighty ninety", strings.ToLower)

// undated returns content without the dates that dated put behind it.
func undated(content string) string {
	i := strings.LastIndex(content, " (")
	if i < 0 || !strings.HasSuffix(content, ")") {
		return content
	}
	for note := range strings.SplitSeq(content[i:len(content)-1], "; ") {
		_, date, ok := strings.Cut(note, ": ")
		date = strings.TrimPrefix(date, "week of ")
		if !ok || len(date) < 4 || strings.Trim(date, "0123456789-") != "" {
			return content
		}
	}

	return content[:i]
}

// ahead reports whether an event is still to come, by its verb.
func ahead(content string) bool {
	return containsAny(" "+fold(content), []string{"'m ", "'re ", "'ll ", " am ", " are ", " will ", " starts ", " is ", " tomorrow", " next ", " sutra", " cemo", " cu "})
}

// days are times by their distance in days from the present, folded.
var days = map[string]int{
	"today": 0, "tonight": 0, "this morning": 0, "this afternoon": 0, "this evening": 0, "tomorrow": 1, "yesterday": -1, "last night": -1,
	"day after tomorrow": 2, "day before yesterday": -2,
	"danas": 0, "veceras": 0, "jutros": 0, "sutra": 1, "prekosutra": 2, "juce": -1, "sinoc": -1, "prekjuce": -2,
	"heute": 0, "gestern": -1, "ubermorgen": 2, "vorgestern": -2, "aujourd'hui": 0, "demain": 1, "hier": -1, "manana": 1, "ayer": -1, "hoy": 0,
}

// weekdays are their names, folded.
var weekdays = map[string]time.Weekday{
	"monday": 1, "tuesday": 2, "wednesday": 3, "thursday": 4, "friday": 5, "saturday": 6, "sunday": 0,
	"ponedeljak": 1, "utorak": 2, "sredu": 3, "cetvrtak": 4, "petak": 5, "subotu": 6, "nedelju": 0, "petka": 5, "ponedeljka": 1, "utorka": 2, "srede": 3,
	"montag": 1, "dienstag": 2, "mittwoch": 3, "donnerstag": 4, "freitag": 5, "samstag": 6, "sonntag": 0,
}

// spans are stretches of time by the words for them, folded.
var spans = map[string]struct {
	unit byte // d, w, m, y
	n    int
}{
	"next week": {'w', 1}, "last week": {'w', -1}, "this week": {'w', 0}, "next month": {'m', 1}, "last month": {'m', -1}, "this month": {'m', 0},
	"week after next": {'w', 2}, "week before last": {'w', -2}, "month after next": {'m', 2}, "month before last": {'m', -2},
	"year after next": {'y', 2}, "year before last": {'y', -2},
	"next year": {'y', 1}, "last year": {'y', -1}, "this year": {'y', 0},
	"sledece nedelje": {'w', 1}, "prosle nedelje": {'w', -1}, "sledeceg meseca": {'m', 1}, "proslog meseca": {'m', -1}, "sledece godine": {'y', 1},
	"prosle godine": {'y', -1}, "ove godine": {'y', 0}, "nachste woche": {'w', 1}, "letzte woche": {'w', -1}, "nachsten monat": {'m', 1},
}

// resolve returns the date that a folded phrase means, or "".
func resolve(phrase string, at time.Time, way tense) string {
	if n, ok := days[phrase]; ok {
		return day(at, n)
	}
	if s, ok := spans[phrase]; ok {
		return span(at, s.unit, s.n)
	}
	fields := strings.Fields(phrase)
	if len(fields) == 0 {
		return ""
	}
	last := fields[len(fields)-1]
	if wanted, ok := weekdays[last]; ok && len(fields) == 2 && way != always {
		return weekday(at, fields[0], wanted, way)
	}
	if len(fields) == 3 && fields[0] == "in" {
		return distance(at, fields[1], last, 1)
	}
	if len(fields) == 3 && last == "ago" {
		return distance(at, fields[0], fields[1], -1)
	}

	return ""
}

func day(at time.Time, n int) string { return at.AddDate(0, 0, n).Format(time.DateOnly) }

// span returns a week by its Monday, a month, or a year.
func span(at time.Time, unit byte, n int) string {
	switch unit {
	case 'w':
		monday := (int(at.Weekday()) + 6) % 7
		return "week of " + day(at, 7*n-monday)
	case 'm':
		return time.Date(at.Year(), at.Month()+time.Month(n), 1, 12, 0, 0, 0, at.Location()).Format("2006-01")
	default:
		return strconv.Itoa(at.Year() + n)
	}
}

// weekday returns the nearest such day in the direction that the word before
// it, or else the tense, points to.
func weekday(at time.Time, before string, wanted time.Weekday, way tense) string {
	ahead := (int(wanted) - int(at.Weekday()) + 7) % 7
	switch before {
	case "last", "prosli", "proslu", "letzten":
		return day(at, (ahead-7)%7-7*boolInt(ahead == 0))
	case "on", "this", "by", "before", "until", "u", "do", "am", "bis", "next", "sledeci", "sledecu", "nachsten":
		switch {
		case way == past && before != "next":
			return day(at, ahead-7*boolInt(ahead > 0))
		case ahead == 0 && (before == "next" || before == "on"):
			ahead = 7
		}
		return day(at, ahead)
	default:
		return ""
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}

	return 0
}

// counts are numbers in words.
var counts = map[string]int{"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10}

// distance returns the date so many units from the present.
func distance(at time.Time, count, unit string, sign int) string {
	n, ok := counts[count]
	if !ok {
		var err error
		if n, err = strconv.Atoi(count); err != nil || n < 1 || n > 400 {
			return ""
		}
	}
	switch strings.TrimSuffix(unit, "s") {
	case "day":
		return day(at, sign*n)
	case "week":
		return day(at, 7*sign*n)
	case "month":
		return span(at, 'm', sign*n)
	case "year":
		return span(at, 'y', sign*n)
	default:
		return ""
	}
}
