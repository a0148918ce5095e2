package memory

import (
	"slices"
	"strings"
)

// The rules of this file. A short statement, "I use vim", holds or doesn't: it
// is a slot of its own, (user, use vim), with the value yes or no, so that "I
// don't use vim anymore" takes its place. It is the same statement where all
// words agree but those that deny it and those that only say when. Half a
// denial, "I don't always use vim", denies nothing.

// What a stance's slot holds.
const holds, denied = "yes", "no"

// tongue is how a language denies. All words are folded.
type tongue struct {
	subjects map[string]string // by the first word of a sentence; nil where the verb says who speaks
	not      map[string]bool   // deny
	noise    map[string]bool   // say nothing, or only when
	half     map[string]bool   // after a denial, deny in part
	free     bool              // the order of words doesn't matter
}

func foldedSet(list string) map[string]bool { return wordSet(list, fold) }

var english = &tongue{
	subjects: map[string]string{"i": "user", "we": "we", "my": "my", "our": "our", "the": "the"},
	not:      foldedSet("not never"),
	noise:    foldedSet("now again anymore actually currently still also too really just already presently nowadays a an the any some finally officially sadly unfortunately"),
	half:     foldedSet("always only just really usually often every everyday all much many even necessarily exactly quite entirely both yet today"),
}

var german = &tongue{
	subjects: map[string]string{"ich": "user", "wir": "we", "mein": "my", "meine": "my", "unser": "our", "unsere": "our", "der": "the", "die": "the", "das": "the"},
	not:      foldedSet("nicht kein keine keinen keinem nie"),
	noise:    foldedSet("mehr wieder jetzt noch derzeit aktuell ein eine einen doch"),
	half:     foldedSet("immer nur oft viel alle ganz heute"),
}

var french = &tongue{
	subjects: map[string]string{"je": "user", "nous": "we", "mon": "my", "ma": "my", "notre": "our", "le": "the", "la": "the"},
	not:      foldedSet("plus pas jamais"),
	noise:    foldedSet("ne maintenant encore nouveau de du des le la les un une"),
	half:     foldedSet("toujours souvent tout seulement beaucoup que"),
}

// slavic knows its verbs in -m and -mo, and its denials.
var slavic = &tongue{
	not:   foldedSet("ne"),
	noise: foldedSet("ja mi sam smo opet ponovo sad sada trenutno ipak uopšte više"),
	half:  foldedSet("uvek samo baš često stalno sve danas još mnogo"),
	free:  true,
}

// romance is Spanish and Italian, whose words for these things don't clash.
var romance = &tongue{
	not:   foldedSet("no nunca non mai"),
	noise: foldedSet("yo io ya ahora más de nuevo otra vez todavía el la los las un una più di nuovo adesso ora ancora il lo gli"),
	half:  foldedSet("siempre solo mucho todo sempre molto tutto hoy oggi"),
}

// slavicWords give Serbian away.
var slavicWords = foldedSet("ne nisam nismo nije nemam nemamo sam smo")

// romanceWords give Spanish and Italian away.
var romanceWords = foldedSet("me mi no non ya soy sono tengo ho yo io")

// tongueOf returns the language of a statement and its subject.
func tongueOf(list []string) (*tongue, string) {
	for _, t := range []*tongue{english, german, french} {
		if subject, ok := t.subjects[list[0]]; ok {
			return t, subject
		}
	}
	for _, word := range list {
		if slavicWords[word] || len(word) > 3 && hasAnySuffix(word, "am", "em", "im") {
			return slavic, "user"
		}
	}
	if romanceWords[list[0]] || len(list[0]) > 3 && strings.HasSuffix(list[0], "o") {
		return romance, "user"
	}

	return nil, ""
}

// stance returns the slot of a statement, given as folded words, with whether it
// holds; "" if it can't be taken back.
func stance(list []string) (subject, attribute, value string) {
	t, subject := tongueOf(list)
	if t == nil {
		return "", "", ""
	}
	if t.subjects != nil {
		list = list[1:]
	}
	rest, no, ok := t.undeny(list)
	if !ok {
		return "", "", ""
	}
	switch {
	case subject != "user" && subject != "we":
		subject, rest = thing(t, subject, rest)
	case t == english:
		rest, no, ok = begun(rest, no)
	case t == slavic:
		rest, no = begunSlavic(rest, no)
	}
	if !ok || len(rest) == 0 {
		return "", "", ""
	}
	if attribute, value = status(rest); attribute != "" && subject == "user" {
		if no {
			value = gone + value
		}

		return subject, attribute, value
	}
	for i := range rest {
		rest[i] = singular(rest[i])
	}
	if t.free {
		slices.Sort(rest)
	}
	value = holds
	if no {
		value = denied
	}

	return subject, strings.Join(rest, " "), value
}

// undeny returns a statement's words without those that deny or say nothing,
// and whether it was denied; not ok where it was so in part or twice.
func (t *tongue) undeny(list []string) (rest []string, no, ok bool) {
	for i, word := range list {
		switch {
		case t.not[word]:
			if no {
				return nil, false, false
			}
			no = true
			if n := len(rest); t == english && n > 0 && (rest[n-1] == "do" || rest[n-1] == "does") {
				rest[n-1] = doing // Marks the verb's place for thing.
			}
		case no && t.half[word]:
			return nil, false, false
		case t == english && word == "no" && i > 0 && list[i-1] == "have":
			no = true
		case !t.noise[word]:
			rest = append(rest, word)
		}
	}

	if t == slavic && !no && slices.Contains(list, "vise") {
		return nil, false, false // more, or rather
	}

	return rest, no, true
}

// doing stands where "don't" and "doesn't" were.
const doing = ""

// begun reads what is said of oneself: "stopped using vim" denies that one uses
// it, "am using" is "use", and that one is something needs no verb.
func begun(rest []string, no bool) (_ []string, _, ok bool) {
	if len(rest) > 0 && rest[0] == doing {
		return rest[1:], no, true
	}
	if len(rest) > 1 && rest[0] == "have" && (rest[1] == "stopped" || rest[1] == "started") {
		rest = rest[1:]
	}
	if len(rest) < 2 {
		return rest, no, true
	}
	verb, is := unIng(rest[1])
	switch rest[0] {
	case "stopped":
		if !is || no {
			return nil, false, false
		}
		no = true
	case "started":
		if !is || no {
			return rest, no, !no
		}
	case "am", "are":
		if !is {
			return rest[1:], no, true
		}
	default:
		return rest, no, true
	}
	rest[1] = verb

	return rest[1:], no, true
}

// begunSlavic reads "prestao sam da pijem", I stopped drinking.
func begunSlavic(rest []string, no bool) ([]string, bool) {
	if len(rest) > 2 && rest[1] == "da" {
		switch rest[0] {
		case "prestao", "prestala":
			return rest[2:], true
		case "poceo", "pocela":
			return rest[2:], no
		}
	}

	return rest, no
}

// thing parts what is said of a thing into the thing and the rest: before the
// verb, which is known, or else the first word in -s after a noun.
func thing(t *tongue, whose string, list []string) (subject string, rest []string) {
	at := 1
	if t == english {
		at = slices.IndexFunc(list, func(word string) bool { return word == doing || copulas[word] })
		if at < 0 {
			at = slices.IndexFunc(list[min(1, len(list)):], func(word string) bool { return singular(word) != word }) + 1
		}
	}
	if at < 1 || at >= len(list) {
		return "", nil
	}
	subject, rest = strings.Join(list[:at], " "), list[at:]
	if rest[0] == doing {
		rest = rest[1:]
	}
	if whose == "my" {
		subject = "my " + subject
	}

	return subject, rest
}

var copulas = foldedSet("is are has have can")

// statuses are what somebody is one of at a time.
var statuses = map[string]string{
	"vegetarian": "diet", "vegan": "diet", "pescatarian": "diet", "vegetarijanac": "diet", "vegetarijanka": "diet", "veganka": "diet",
	"vegetarier": "diet", "vegetarierin": "diet", "veganer": "diet", "vegetarien": "diet", "vegetarienne": "diet", "vegetariano": "diet", "vegetariana": "diet",
	"single": "marital status", "married": "marital status", "divorced": "marital status", "widowed": "marital status", "engaged": "marital status",
	"left-handed": "handedness", "right-handed": "handedness",
}

// meats say in each language that one eats meat.
var meats = map[string]bool{
	"eat meat": true, "jedem meso": true, "esse fleisch": true, "mange viande": true, "como carne": true, "mangio carne": true,
}

// status returns what somebody is, of things that one is one of at a time.
func status(rest []string) (attribute, value string) {
	if meats[strings.Join(rest, " ")] {
		return "diet", "meat"
	}
	last := rest[len(rest)-1]
	if len(rest) == 1 || len(rest) == 2 && (rest[0] == "bin" || rest[0] == "suis" || rest[0] == "soy" || rest[0] == "sono") {
		return statuses[last], last
	}

	return "", ""
}

// unIng returns the verb of a form in -ing: using, use.
func unIng(word string) (string, bool) {
	verb, is := strings.CutSuffix(word, "ing")
	if !is || len(verb) < 2 || word == "during" || word == "evening" || word == "morning" {
		return word, false
	}
	if silent[verb] {
		return verb + "e", true
	}

	return undouble(verb), true
}

// silent are verbs that lose an e before -ing.
var silent = foldedSet(`us smok driv liv writ tak mak hav com giv danc bik hik cod vap practic shar explor manag translat hat lov leas charg
	cycl stor serv receiv believ schedul releas updat creat operat not produc prepar bak purchas subscrib involv advis chang typ`)

// singular takes the -s off a noun or verb.
func singular(word string) string {
	switch {
	case len(word) < 4 || !strings.HasSuffix(word, "s") || hasAnySuffix(word, "ss", "us", "is"):
		return word
	case strings.HasSuffix(word, "ies"):
		return word[:len(word)-3] + "y"
	case hasAnySuffix(word, "oes", "ches", "shes", "sses", "xes", "zzes"):
		return word[:len(word)-2]
	default:
		return word[:len(word)-1]
	}
}
