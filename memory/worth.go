package memory

import (
	"cmp"
	"slices"
	"strings"
)

// The rules of this file. What is said of one definite thing, "the API limit is
// 100 requests", is a slot by what is measured or named: (api, limit). The unit,
// and all that narrows the thing or the measure, is part of the slot, so that
// requests a minute and a day, the free plan and the pro plan, the lab and the
// kitchen stay apart.

// ageOf reads how old the speaker is.
func ageOf(_ string, list []string) (subject, attribute, value string) {
	list = slices.DeleteFunc(slices.Clone(list), func(word string) bool { return english.noise[word] || slavic.noise[word] || romance.noise[word] })
	if len(list) == 0 {
		return "", "", ""
	}
	if list[0] == "i" || list[0] == "je" || list[0] == "ich" {
		list = list[1:]
	}
	if len(list) < 2 || !isAge(list[1]) {
		return "", "", ""
	}
	rest := strings.Join(list[2:], " ")
	ok := false
	switch list[0] {
	case "turned":
		ok = rest == "" || rest == "years old" || endings[rest]
	case "am":
		ok = rest == "" || rest == "years old"
	case "imam":
		ok = strings.HasPrefix(rest, "godin")
	case "napunio", "napunila":
		ok = rest == "" || strings.HasPrefix(rest, "godin")
	case "ai", "ho", "tengo":
		ok = rest == "ans" || rest == "anni" || rest == "anos"
	case "bin":
		ok = rest == "jahre alt"
	}
	if !ok {
		return "", "", ""
	}

	return "user", "age", list[1]
}

// endings are when somebody turned an age.
var endings = map[string]bool{
	"today": true, "yesterday": true, "last week": true, "last month": true, "last year": true, "this week": true, "this month": true, "this year": true,
}

func isAge(word string) bool { return len(word) <= 3 && isNumber(word) && word[0] != '0' }

func isNumber(word string) bool {
	for i := range len(word) {
		if word[i] < '0' || word[i] > '9' {
			return false
		}
	}

	return word != ""
}

var (
	// titles are nouns of what is one name or address at a time.
	titles = foldedSet(`owner lead manager boss supervisor contact url codename version maintainer landlord dentist therapist doctor coach
		wife husband partner girlfriend boyfriend cto ceo cfo coo president treasurer principal`)

	// occasions are nouns of what is at one time.
	occasions = foldedSet("deadline launch release go-live demo kickoff standup retro")

	// inEnglish spells what is said of things in Serbian.
	inEnglish = map[string]string{
		"moj": "my", "moja": "my", "moje": "my", "nas": "our", "nasa": "our", "nase": "our", "je": "is", "ne": "not", "nov": "new",
		"novi": "new", "nova": "new", "stari": "old", "stara": "old", "sef": "boss", "sefica": "boss", "menadzer": "manager", "adresa": "address",
		"mejl": "email", "imejl": "email", "mail": "email", "telefon": "phone", "kirija": "rent", "budzet": "budget", "cena": "price", "rok": "deadline",
		"sada": "now", "sad": "now", "vise": "now", "opet": "now",
	}

	// mine are what a person has one of, by one name.
	mine = map[string]string{
		"email": "email", "e-mail": "email", "email address": "email", "phone": "phone", "phone number": "phone", "address": "address",
		"timezone": "timezone", "time zone": "timezone", "job": "job", "employer": "employer", "username": "username", "handle": "handle", "nickname": "nickname",
	}

	// renewed says of an attribute only that it is the one that holds, bygone that
	// it doesn't anymore.
	renewed = foldedSet("new current present latest actual")
	bygone  = foldedSet("old former previous ex")

	placeWords    = foldedSet(places)
	relativeWords = foldedSet(relatives)

	ordinals = map[string]string{
		"ground": "0", "first": "1", "second": "2", "third": "3", "fourth": "4", "fifth": "5", "sixth": "6", "seventh": "7", "eighth": "8",
		"ninth": "9", "tenth": "10", "top": "top",
	}
)

// worth reads what a definite thing is worth, where it is, or who has its part.
func worth(text string, list []string) (subject, attribute, value string) {
	list = definite(list)
	whose := english.subjects[list[0]]
	if len(list) < 4 || whose != "my" && whose != "our" && whose != "the" {
		return "", "", ""
	}
	verb := slices.IndexFunc(list, func(word string) bool {
		return word == "is" || word == "are" || word == "was" || word == "has" || word == "costs" || word == "cost" || word == "turned"
	})
	if verb < 2 || verb > 8 {
		return "", "", ""
	}
	rest, no, ok := english.undeny(list[verb+1:])
	if !ok || len(rest) == 0 {
		return "", "", ""
	}
	of, ended := fresh(list[1:verb])
	if len(of) == 0 || ended && no || list[verb] == "was" && !ended {
		return "", "", ""
	}
	switch list[verb] {
	case "costs", "cost":
		subject, attribute, value = measured(whose, append(slices.Clone(of), "price"), rest)
	case "has":
		subject, attribute, value = counted(whose, of, rest)
	case "turned":
		subject, attribute, value = ageOfMine(whose, of, rest)
	default:
		for _, read := range []func(string, []string, []string) (string, string, string){floorOf, whereOf, measured, ageOfMine} {
			if subject, attribute, value = read(whose, of, rest); value != "" {
				break
			}
		}
		if value == "" {
			subject, attribute, value = titled(text, whose, of, rest)
		}
	}
	if value != "" && (no || ended) {
		value = gone + value
	}

	return subject, attribute, value
}

// definite spells "moja kirija je" and "I changed my rent to" as "my rent is".
func definite(list []string) []string {
	if to := slices.Index(list, "to"); to > 3 && strings.Join(list[:3], " ") == "i changed my" {
		return slices.Concat(list[2:to], []string{"is"}, list[to+1:])
	}
	first := inEnglish[list[0]]
	if first != "my" && first != "our" && !measures[first] || !slices.Contains(list, "je") {
		return list
	}
	out := make([]string, 0, len(list)+1)
	if first != "my" && first != "our" {
		out = append(out, "the")
	}
	for _, word := range list {
		out = append(out, cmp.Or(inEnglish[word], word))
	}
	if i := slices.Index(out, "not"); i >= 0 && i+1 < len(out) && out[i+1] == "is" {
		out[i], out[i+1] = out[i+1], out[i]
	}

	return out
}

// fresh leaves out of a thing's words which say that it is the one that holds,
// and reports those that say that it doesn't anymore.
func fresh(words []string) (of []string, ended bool) {
	for i, word := range words {
		switch {
		case renewed[word] && i == 0 || english.noise[word]:
		case bygone[word] && i == 0:
			ended = true
		default:
			of = append(of, word)
		}
	}

	return of, ended
}

// owner spells whose a thing is: a person's own is another than everybody's.
func owner(whose string, words []string) string {
	out := strings.Join(words, " ")
	if whose == "my" {
		out = strings.TrimSpace("my " + out)
	}

	return out
}

// floorOf reads "on floor 3" and "on the third floor".
func floorOf(whose string, of, rest []string) (subject, attribute, value string) {
	if len(rest) != 3 || rest[0] != "on" {
		return "", "", ""
	}
	level := rest[2]
	if rest[1] != "floor" && rest[1] != "level" {
		if level = rest[1]; rest[2] != "floor" && rest[2] != "level" {
			return "", "", ""
		}
	}
	if n := ordinals[level]; n != "" {
		level = n
	}
	for _, ending := range []string{"st", "nd", "rd", "th", "."} {
		if n, ok := strings.CutSuffix(level, ending); ok && isNumber(n) {
			level = n
		}
	}
	if !isNumber(level) && level != "top" {
		return "", "", ""
	}

	return owner(whose, of), "floor", level
}

// whereOf reads "on port 8080", and "in Basel" of what is in one place; the rules
// have read where something is, so this is about where it isn't.
func whereOf(_ string, of, rest []string) (subject, attribute, value string) {
	subject = strings.Join(of, " ")
	switch last := of[len(of)-1]; {
	case len(rest) == 3 && rest[0] == "on" && rest[1] == "port" && isNumber(rest[2]):
		return subject, "port", rest[2]
	case len(rest) > 1 && (rest[0] == "in" || rest[0] == "at") && placeWords[last]:
		return subject, "location", strings.Join(rest[1:], " ")
	default:
		return "", "", ""
	}
}

// ageOfMine reads how old somebody close is.
func ageOfMine(whose string, of, rest []string) (subject, attribute, value string) {
	if whose != "my" || !isAge(rest[0]) || len(rest) != 1 && (len(rest) != 3 || rest[2] != "old" || !strings.HasPrefix(rest[1], "year")) {
		return "", "", ""
	}
	if !slices.ContainsFunc(of, func(word string) bool { return relativeWords[word] }) {
		return "", "", ""
	}

	return strings.Join(of, " "), "age", rest[0]
}

// titled reads who or what somebody or something has one of.
func titled(text, whose string, of, rest []string) (subject, attribute, value string) {
	value = strings.Join(rest, " ")
	if whose == "my" {
		if known := attributeOfMine(of); mine[known[strings.LastIndexByte(known, ' ')+1:]] != "" && len(rest) <= 6 && !notValues[rest[0]] {
			return "user", known, value
		}
	}
	noun, thing := measureOf(of)
	if occasions[noun] && len(rest) <= 4 {
		return dateOf(text, whose, noun, thing, rest)
	}
	if !titles[noun] || len(rest) > 3 {
		return "", "", ""
	}
	if first := rest[0]; notNames[first] || !capitalised(text, first) && !strings.ContainsAny(first, "0123456789/") {
		return "", "", ""
	}
	if len(thing) == 0 {
		return noun, "name", value
	}
	if whose == "my" {
		thing = append([]string{"my"}, thing...)
	}

	return strings.Join(thing, " "), noun, value
}

// dateOf reads when something is that is at one time.
func dateOf(text, whose, noun string, thing, rest []string) (subject, attribute, value string) {
	attribute = "date"
	switch rest[0] {
	case "at":
		attribute = "time"
		fallthrough
	case "on", "by", "in":
		if rest = rest[1:]; len(rest) == 0 {
			return "", "", ""
		}
	}
	if !capitalised(text, rest[0]) && !strings.ContainsAny(rest[0], "0123456789") {
		return "", "", ""
	}

	return owner(whose, append(thing, noun)), attribute, strings.Join(rest, " ")
}

// attributeOfMine names what a person has one of by one name: "work email
// address" and "work e-mail" are one.
func attributeOfMine(of []string) string {
	kind := ""
	if len(of) > 1 && kinds[of[0]] {
		kind, of = of[0]+" ", of[1:]
	}
	name := strings.Join(of, " ")
	if known := mine[name]; known != "" {
		name = known
	}

	return kind + name
}

// kinds are what people have one of each of.
var kinds = foldedSet("work home private personal office business")
