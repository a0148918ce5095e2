package memory

import "regexp"

// maxCatchUp is the length, in bytes, up to which a text can be a catch-up
// question.
const maxCatchUp = 200

// catchUp matches, in folded text, how people ask to go on from last time.
var catchUp = regexp.MustCompile(`\bwhere (?:exactly )?(?:were|are|did|had|have) (?:we|i) ?(?:stop(?:ped)?|(?:leave|left)(?: it| things)? off|leave it|got|get to|end(?:ed)?(?: up)?|finish(?:ed)?)?\b|` +
	`\bwhere we (?:were|are|stopped|left(?: it| things)? off|ended)\b|` +
	`\bwhat (?:did|were|have|had|was) (?:we|i|the last thing (?:that )?(?:we|i)) (?:last |just |previously |been )*(?:talk(?:ed|ing)? about|discuss(?:ed|ing)?|speak(?:ing)? about|spoke about|work(?:ed|ing)? on|do|did|done|doing|decided?)\b|` +
	`\bwhat (?:we|i) (?:(?:were|was|had|have|last|just|previously|been) )*(?:talk(?:ed|ing)? about|discuss(?:ed|ing)?|spoke about|work(?:ed|ing)? on|did|done|doing|decided)\b|` +
	`\b(?:catch me up|fill me in|(?:bring|get) me up to speed|what did i miss)\b|` +
	`\b(?:recap|summari[sz]e|sum up) (?:of )?(?:our|the) (?:last|previous) (?:conversation|discussion|session|chat|time)s?\b|` +
	`\b(?:gde|gdje) smo (?:ono |to )?(?:stali|zastali|ostali|bili)\b|\bdokle smo (?:ono )?(?:dosli|stigli)\b|` +
	`\b(?:o cemu|sta) smo (?:(?:zadnji put|zadnje|poslednji put|poslednje|prosli put|ono) )*(?:pricali|razgovarali|radili|odlucili)\b`)

// catchUpHints are parts of which every match holds one; looking for them
// first spares most queries the pattern.
var catchUpHints = []string{
	"were we", "were i", "are we", "are i", "did we", "did i", "had we", "had i", "have we", "have i",
	"was we", "was i", "where we", "what we", "what i", "last thing", "me up", "me in", "recap", "sum", " smo",
}

// smallTalk are words, stemmed, that may stand around a catch-up question.
var smallTalk = wordSet("again remind conversation session chat discussion meeting earlier last week weekend morning evening night "+
	"continue carry pick resume monday tuesday wednesday thursday friday saturday sunday before together prosli prosle put nedelje juce danas podseti hajde ajde nastavi nastavimo", stem)

// catchesUp reports whether a text asks where a conversation was left and
// names no topic by which to search.
func catchesUp(text string) bool {
	if len(text) > maxCatchUp {
		return false
	}
	folded := fold(text)
	if !containsAny(folded, catchUpHints) {
		return false
	}
	at := catchUp.FindStringIndex(folded)
	if at == nil {
		return false
	}
	for _, word := range queryTokens(folded[:at[0]] + " " + folded[at[1]:]) {
		if !weakWords[word] && !smallTalk[word] {
			return false
		}
	}

	return true
}
