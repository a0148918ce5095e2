package scoring

import (
	"strings"
	"sync"
)

// maxTerse is the length, in words (for Chinese, Japanese and Korean: characters), of the longest terse reply.
const maxTerse = 10

// terseWords returns the terse replies and the fillers as sets of spaced phrases.
var terseWords = sync.OnceValue(func() (w struct{ replies, fillers map[string]bool }) {
	w.replies, w.fillers = phraseSet("terse"), phraseSet("terse-fillers")
	return w
})

// phraseSet returns a built-in list as a set. The lists are part of the binary, so reading cannot fail.
func phraseSet(name string) map[string]bool {
	entries, _ := keywords(name)
	set := make(map[string]bool, len(entries))
	for _, e := range entries {
		set[spaced(e)] = true
	}
	return set
}

// Terse reports whether text only goes on with what was being done: "yes", "ok, do it please", "continue",
// "nastavi", "继续". Such a message says nothing of its own about how hard the turn is, so the turn should keep
// the session's tier. Greetings and thanks alone are not terse replies; nor is a terse reply with anything
// else beside it ("yes, and rewrite it in Rust").
func Terse(text string) bool {
	if len(text) > maxTerse*maxWord {
		return false
	}
	words := split(text)
	if len(words) == 0 || len(words) > maxTerse {
		return false
	}
	// reached[i] says that words[:i] are replies and fillers; reply[i] that a reply was among them.
	known := terseWords()
	reached, reply := make([]bool, len(words)+1), make([]bool, len(words)+1)
	reached[0] = true
	for from := range words {
		if !reached[from] {
			continue
		}
		for to := from + 1; to <= len(words); to++ {
			phrase := strings.Join(words[from:to], " ")
			isReply := known.replies[phrase]
			if isReply || known.fillers[phrase] {
				reached[to] = true
				reply[to] = reply[to] || reply[from] || isReply
			}
		}
	}
	return reply[len(words)]
}
