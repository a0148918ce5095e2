package memory

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxPlain bounds the words of a statement whose slot is looked for.
	maxPlain = 16

	// maxClaim bounds it in bytes.
	maxClaim = 200

	// maxMinded bounds the sentences of a message in which a change is looked
	// for that no rule knows; more are a document.
	maxMinded = 12
)

// The rules of this file. What a rule or the model has found is read once more
// for the slot that it fills, by its words alone: age, what a thing is worth
// (worth.go), or else that it holds at all (stance.go). A sentence that nobody
// has found is worth a memory if it changes what a slot holds, or if it is a
// definite claim and all that is said.

// claim fills the slot of a statement that a rule or the model found, if it has
// one: what a thing is worth, who somebody is, or that it holds at all.
func (d *draft) claim() {
	if d.typ == "" || d.value != "" || d.attribute != "" && d.attribute != "age" || d.corrects != "" {
		return
	}
	subject, attribute, value := claimed(d.content)
	once := d.typ == Event || d.typ == Todo || d.typ == Goal
	if once && (value == holds || value == denied && d.typ != Event) {
		return // It is of one time, and may be so again.
	}
	if value != "" {
		d.subject, d.attribute, d.value = subject, attribute, value
	}
}

// mind adds to what was found the statements that claim something of a thing,
// and those that are worth a memory only if they change one: "I stopped using
// vim".
func mind(list []string, used []bool, kept []draft) {
	if len(list) > maxMinded {
		return
	}
	for i, sentence := range list {
		if kept[i].typ != "" || used[i] || len(sentence) > maxClaim || question(sentence) {
			continue
		}
		first, _, _ := strings.Cut(strings.TrimRight(sentence, ".!"), " ")
		definite := len(list) <= 2 && definiteWords[fold(first)]
		changes := changing(sentence)
		if !definite && !changes {
			continue
		}
		subject, attribute, value := claimed(sentence)
		if value == "" {
			continue
		}
		d := draft{typ: Fact, content: cut(sentence), subject: subject, attribute: attribute, value: value, changes: true}
		if !strings.HasPrefix(value, gone) && definite {
			d.settle()
		}
		kept[i] = d
	}
}

// definiteWords begin the claims and habits that are kept without being a
// change: where they are all that is said.
var definiteWords = foldedSet(`my our the moj moja moje naš naša naše kirija i ne više ich je j'ai tengo ho imam napunio napunila non no ya fumo bebo bevo pušim pijem jedem koristim sviram treniram vozim učim igram`)

// habits are verbs of what people do again and again.
var habits = foldedSet(`smoke drink play use pijem jedem pušim koristim sviram treniram vozim učim igram rauche trinke spiele lerne fume bois fumo bebo toco bevo suono`)

// settle makes a memory of a claim that changes none, if it is a definite one.
func (d *draft) settle() {
	switch {
	case d.value == holds || d.value == denied:
		words := strings.Fields(d.attribute)
		if len(words) > 3 || vague.MatchString(strings.Join(words[1:], " ")) || !slices.ContainsFunc(words, func(word string) bool { return habits[word] }) {
			return
		}
		d.typ = Preference
	case d.subject == "user" || d.attribute == "name" || d.attribute == "age":
		d.typ = Identity
	}
	d.changes = exercise.MatchString(d.content)
}

// alone returns the drafts that are learned whatever is known.
func alone(drafts []draft) []draft {
	return slices.DeleteFunc(drafts, func(d draft) bool { return d.changes })
}

// claimed returns the slot that a statement fills, or "".
func claimed(text string) (subject, attribute, value string) {
	list, more := statedWords(text)
	if len(list) == 0 {
		return "", "", ""
	}
	for _, read := range [...]func(string, []string) (string, string, string){ageOf, worth, stanceOf} {
		if subject, attribute, value = read(text, list); value != "" {
			break
		}
	}
	switch {
	case more && value != denied && !strings.HasPrefix(value, gone):
		return "", "", "" // There is more to it than would be taken back with it.
	case value != "" && Redact(text) != text:
		return "", "", "" // A slot is in clear.
	}

	return subject, attribute, value
}

func stanceOf(_ string, list []string) (subject, attribute, value string) { return stance(list) }

// changeWords tell of a change, in any of the languages.
var changeWords = foldedSet(`now again anymore longer more stopped quit gave given started new current turned old raised increased lowered rose dropped fell up changed moved former not never no cannot
	više opet ponovo sad sada prestao prestala počeo počela napunio napunila ne nisam nismo nemam nemamo
	mehr wieder jetzt nicht kein keine keinen plus maintenant ya ahora más più adesso non nunca`)

// changing reports whether a sentence may tell of a change.
func changing(sentence string) bool {
	for word := range strings.FieldsSeq(fold(sentence)) {
		if word = strings.Trim(word, `.,!;`); changeWords[word] || strings.HasSuffix(word, "n't") || word == "dont" {
			return true
		}
	}

	return false
}

// greetings begin a sentence without saying anything.
var greetings = foldedSet("well no ok okay actually update correction so and but oh hey btw fyi sorry also now yes hi hello e a ali pa inače evo und aber")

// phrases puts one word in place of several, and nothing in place of those that
// only say when.
var phrases = strings.NewReplacer(
	" no longer ", " not ", " no more ", " not ", " any more ", " ", " any longer ", " ", " after all ", " ", " these days ", " ", " at the moment ", " ",
	" right now ", " ", " at all ", " ", " from now on ", " ", " as of today ", " ", " as of now ", " ", " for good ", " ", " once again ", " ", " once more ", " ",
	" i used to ", " i not ", " we used to ", " we not ", " gave up ", " stopped ", " given up ", " stopped ", " quit ", " stopped ",
	" went back to ", " started ", " am back to ", " started ", " got back to ", " started ", " began ", " started ",
	" i'm ", " i am ", " we're ", " we are ", " i've ", " i have ", " we've ", " we have ", " i'd ", " i would ", " cannot ", " can not ", " can't ", " can not ",
	" was raised to ", " is ", " was increased to ", " is ", " was lowered to ", " is ", " was changed to ", " is ", " has changed to ", " is ", " changed to ", " is ", " went up to ", " is ", " went down to ", " is ", " increased to ", " is ", " rose to ", " is ", " dropped to ", " is ", " fell to ", " is ",
	" moved to floor ", " is on floor ", " has is ", " is ",
	" dont ", " do not ", " doesnt ", " does not ", " isnt ", " is not ",
	" nisam ", " ne sam ", " nismo ", " ne smo ", " nije ", " ne je ", " nemam ", " ne imam ", " nemamo ", " ne imamo ",
	" j'", " je ", " n'", " ne ", " d'", " ", " c'est ", " ce est ",
)

// statedWords returns the words of a sentence that says one thing, folded and
// spelt out, and whether more was said behind a comma or "because"; none where
// it says several things.
func statedWords(text string) (list []string, more bool) {
	if len(text) > maxClaim {
		return nil, false
	}
	padded := strings.Builder{}
	padded.Grow(len(text) + len(text)/4)
	padded.WriteByte(' ')
	ended := false
	for word := range strings.FieldsSeq(straight(text)) {
		if ended {
			return nil, false
		}
		if word != "A" || padded.Len() == 1 { // A server is one, server A is called so.
			word = cmp.Or(fold(word), " ")
		}
		last := word[len(word)-1]
		ended = last == '!' || last == ';' || last == '.' && len(word) > len("no.x")
		word = strings.TrimRight(word, ".,!;")
		switch {
		case word == "":
			continue
		case strings.ContainsAny(word, `"?:()[]{}<>`) && !strings.Contains(word, "://"):
			return nil, false
		case padded.Len() == 1 && greetings[word] && (last == ',' || word == "and" || word == "but" || word == "so"):
			continue
		case word == "because" || word == "since" || word == "jer" || word == "weil":
			more = true
		}
		if more {
			break
		}
		if base, is := strings.CutSuffix(word, "n't"); is && base != "ca" && base != "wo" && base != "" {
			word = base + " not"
		}
		padded.WriteString(word)
		padded.WriteByte(' ')
		more = last == ','
	}
	plain := phrases.Replace(phrases.Replace(padded.String())) // Neighbours share a space.
	list = strings.Fields(plain)
	if len(list) > maxPlain {
		return nil, false
	}

	return list, more
}

// capitalised reports whether text has a folded word with a capital.
func capitalised(text, word string) bool {
	for w := range strings.FieldsSeq(text) {
		if r, _ := utf8.DecodeRuneInString(w); unicode.IsUpper(r) && strings.TrimRight(fold(w), ".,!;") == word {
			return true
		}
	}

	return false
}

// sameClaim reports whether two statements of one slot say the same.
func sameClaim(a, b string) bool {
	subject, attribute, value := claimed(a)
	otherSubject, otherAttribute, other := claimed(b)

	return value != "" && value == other && subject == otherSubject && attribute == otherAttribute
}
