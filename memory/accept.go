package memory

import (
	"strings"
	"unicode/utf8"
)

const (
	// maxAcceptance is the length, in bytes, up to which a message may be just
	// an acceptance; a longer one says itself what it is about.
	maxAcceptance = 120

	// maxProposal bounds where a proposal is looked for: the end of an answer.
	maxProposal = 4 << 10
)

// extractAfter is extract of a message that follows an answer of the
// assistant's: "yes, let's do that" makes a decision of what it proposed.
func extractAfter(before, text string) []draft {
	return extractAfterWith(statementModel, before, text)
}

func extractAfterWith(model *teller, before, text string) []draft {
	if d := accepted(before, text); d.typ != "" {
		return []draft{d}
	}

	return extractWith(model, text)
}

// accepted returns what a short message, which no rule knows a statement in,
// agrees to.
func accepted(before, text string) draft {
	if before == "" || len(text) > maxAcceptance {
		return draft{}
	}
	firm, yes := accepts(text)
	if !firm && !yes || len(extractWith(nil, text)) > 0 {
		return draft{}
	}

	return proposal(before, text, firm)
}

// yeses accept a question, agreements any proposal; folded. What holds one of
// reserves accepts nothing.
var (
	yeses = []string{
		"yes", "yep", "yeah", "sure", "ok", "okay", "great", "perfect", "please do", "da", "ja", "oui", "si", "sim", "moze", "vazi", "naravno", "gern",
	}
	agreements = []string{
		"agreed", "deal", "let's do", "lets do", "do it", "do that", "go ahead", "sounds good", "good idea", "works for me", "fine by me", "it is",
		"i agree", "we agree", "go with", "slazem se", "dogovoreno", "tako cemo", "hajde tako", "d'accord", "einverstanden", "machen wir", "de acuerdo",
	}
	reserves = []string{
		"?", " but ", "not ", "n't", "maybe", "let me think", "however", "instead", "first", "no,", "nope", "later", "ali ", "mozda", "aber ", "mais ", "pero ",
		"thanks", "thank you", "hvala",
	}
)

// accepts reports whether a short message agrees to whatever was proposed, and
// whether it says yes to a question.
func accepts(text string) (firm, yes bool) {
	text = oneLine(fold(text))
	if containsAny(text, reserves) {
		return false, false
	}
	for _, word := range yeses {
		rest, found := strings.CutPrefix(text, word)
		yes = yes || found && (rest == "" || !isLetter(rest[0]) && rest[0] < utf8.RuneSelf)
	}

	return containsAny(text, agreements), yes
}

// asked is a proposal in the form of a question, offered one as a statement;
// the last group is what is proposed.
var (
	asked = compile(`(?i)\b(?:(?:shall|should) (we|i)|(?:would you like|do you want) (me|us) to|(?:hoćemo li da|da li da|želiš li da)()) (.{3,200})[?]$`)

	offered = compile(`(?i)(?:^|\P{L})(?:(?:i(?:'d| would)? (?:suggest|recommend|propose|advise)|my (?:suggestion|recommendation|proposal) is|(?:i'd|i would) (?:pick|choose|go with|use)|` +
		`we (?:could|should|can)|predlažem|ich schlage vor|je propose|propongo)(?: that| to| da| que)?|let's) (.{3,200})$`)

	// ownWork is what an assistant offers to do: no decision of the user's.
	ownWork = compile(`(?i)^(?:show|explain|write|rewrite|draft|continue|elaborate|go|help|give|provide|generate|create|make|fix|add|list|look|see|start|begin|dive|` +
		`explore|proceed|try|test|check|walk|summari[sz]e|translate|compare|discuss|talk|review|expand|break|refine|adjust|update|run|send|proširim|objasnim|napišem|nastavim)\b`)

	// lasting is what an assistant may be asked to do from then on.
	lasting = compile(`(?i)\b(?:from now on|in (?:the )?future|always|going forward|every time|ubuduće|uvek)\b`)
)

// proposal finds the last proposal of an answer that a message may accept: by
// a plain yes one that asks, else any.
func proposal(answer, acceptance string, firm bool) draft {
	if len(answer) > maxProposal {
		answer = answer[len(answer)-maxProposal:]
	}
	list := sentences(straight(cleanText(stripInjected(answer))))
	for i := len(list) - 1; i >= 0; i-- {
		what, typ := proposed(list[i], firm)
		if typ == "" || named(acceptance) != "" && !strings.Contains(fold(what), named(acceptance)) {
			continue
		}
		d := draft{typ: typ, content: cut("Agreed: " + strings.TrimRight(what, "?.! ") + ".")}
		if typ == Preference {
			instruction(&d, nil)
		}

		return d
	}

	return draft{}
}

// proposed returns what a sentence proposes, and the type of memory that makes.
func proposed(sentence string, firm bool) (string, Type) {
	who, what := "we", ""
	if m := asked.FindStringSubmatch(sentence); m != nil {
		who, what = strings.ToLower(m[1]+m[2]), m[4]
	} else if m := offered.FindStringSubmatch(sentence); m != nil && firm {
		what = m[1]
	}
	own := who == "i" || who == "me"
	switch {
	case what == "" || !telling(what):
		return "", ""
	case lasting.MatchString(what):
		return what, Preference
	case ownWork.MatchString(what) || own && !strings.HasPrefix(fold(what), "use "):
		return "", ""
	default:
		return what, Decision
	}
}

// telling reports whether a proposal says by itself what it is about.
func telling(what string) bool {
	for _, word := range tokens(what) {
		if !weakWords[word] && word != "way" {
			return true
		}
	}

	return false
}

// named returns the option that an acceptance picks by name, folded, or "".
func named(acceptance string) string {
	folded := fold(acceptance)
	i := strings.Index(folded, "option ")
	if i < 0 {
		return ""
	}

	return strings.TrimRight(strings.Join(strings.Fields(folded[i:])[:min(2, len(strings.Fields(folded[i:])))], " "), ".,!")
}
