package chat

import "strings"

// Model is the model that the client named, "" when absent or not a string.
func (v *View) Model() string { return v.str(v.model) }

// OddModel reports a "model" that is there but no string: for the upstream to
// judge, and not for anybody to replace.
func (v *View) OddModel() bool { return v.model.Found() && v.Raw[v.model.Start] != '"' }

// User is the body's "user", else its "safety_identifier", else "". A value
// that is no string but says something is its JSON text: still somebody, and
// not to be taken for nobody.
func (v *View) User() string {
	for _, s := range []Span{v.user, v.safetyID} {
		u := v.str(s)
		if s.Found() && v.Raw[s.Start] != '"' && v.raw(s) != "null" {
			u = v.raw(s)
		}
		if u != "" {
			return u
		}
	}
	return ""
}

// SessionHint is the conversation's identity as far as the body names one:
// prompt_cache_key, else metadata.session_id, else metadata.user_id, else "".
func (v *View) SessionHint() string {
	for _, s := range []Span{v.cacheKey, v.metaSession, v.metaUser} {
		if hint := v.str(s); hint != "" {
			return hint
		}
	}
	return ""
}

// HasMessages reports an array "messages", be it empty: a chat request.
func (v *View) HasMessages() bool { return v.messages.Found() && v.Raw[v.messages.Start] == '[' }

// Ambiguous reports that a key which edits depend on occurs more than once.
// Such a body must go out as it came.
func (v *View) Ambiguous() bool { return v.repeated }

// Text returns the decoded text of message i: the string content, or its text
// parts joined by newlines. Other content gives "".
func (v *View) Text(i int) string {
	m := &v.Messages[i]
	switch m.Kind {
	case KindString:
		return v.str(m.Content)
	case KindParts:
		var texts []string
		for _, p := range v.parts[m.parts[0]:m.parts[1]] {
			if p.text.Found() {
				texts = append(texts, v.str(p.text))
			}
		}
		return strings.Join(texts, "\n")
	}
	return ""
}

// Name is what message i says that its author is called, "" when it doesn't.
func (v *View) Name(i int) string { return v.str(v.Messages[i].name) }

// Ahead returns how much of Text(i), in bytes, stands before what PrefixUser
// would put there: all text parts but the last, without the line break between.
func (v *View) Ahead(i int) int {
	m := &v.Messages[i]
	if m.Kind != KindParts {
		return 0
	}
	ahead, next := 0, 0
	for _, p := range v.parts[m.parts[0]:m.parts[1]] {
		if p.text.Found() {
			ahead, next = next, next+len(v.str(p.text))+len("\n")
		}
	}
	return max(0, ahead-len("\n"))
}

// Human reports whether message i was written by a person: a user message
// that does not merely carry tool results.
func (v *View) Human(i int) bool {
	m := &v.Messages[i]
	if m.Role != RoleUser {
		return false
	}
	if m.Kind != KindParts {
		return m.Kind == KindString
	}
	for _, p := range v.parts[m.parts[0]:m.parts[1]] {
		if !p.toolResult {
			return true
		}
	}
	return false
}

// Humans returns the indices of all human messages, oldest first.
func (v *View) Humans() []int {
	var at []int
	for i := range v.Messages {
		if v.Human(i) {
			at = append(at, i)
		}
	}
	return at
}

// Said returns the human messages up to the newest that says something, and what
// that says by words. What follows it was written by a program in the human's
// name: words finds nothing in its text. The first message always stays.
func (v *View) Said(words func(text string) string) (humans []int, said string) {
	humans = v.Humans()
	for n := len(humans); n > 0; n-- {
		text := v.Text(humans[n-1])
		if said = words(text); said != "" || text == "" || n == 1 {
			return humans[:n], said
		}
	}
	return humans, said
}

// Leading returns the index of the leading system or developer message, or -1.
func (v *View) Leading() int {
	if len(v.Messages) > 0 && (v.Messages[0].Role == RoleSystem || v.Messages[0].Role == RoleDeveloper) {
		return 0
	}
	return -1
}
