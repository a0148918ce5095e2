package ambient

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Voice is something that somebody said to the agent.
type Voice struct {
	Name string // what they are called, cleaned; "" when that isn't known
	User bool   // it is the scope's user
	Text string
}

// Message is a human message of a request.
type Message struct {
	Name string // the message's own field, "" without one
	Text string
}

// Bounds of what one request can say by others.
const (
	maxVoices    = 50
	maxSaid      = 500 // bytes of a voice's text
	maxHumanName = 64  // characters
)

// Voices tells who says what in the messages of a request since the last answer, oldest first. A message is its named
// author's; one that begins with a line "[Name]: text" is split where such lines begin; any other is the user's. user
// is what the scope's user is called, "" when that isn't known: then it is who speaks last.
//
// Only the newest of very many voices are returned, and the beginnings of long texts.
func Voices(messages []Message, user string) []Voice {
	var out []Voice
	for _, m := range messages {
		if name := CleanName(m.Name); name != "" {
			out = append(out, Voice{Name: name, Text: m.Text})
			continue
		}
		out = appendLines(out, m.Text)
	}
	out = out[max(0, len(out)-maxVoices):]
	user = CleanName(user)
	if n := len(out); n > 0 && user == "" {
		user = out[n-1].Name
	}
	for i := range out {
		v := &out[i]
		v.Text = strings.Clone(clip(strings.TrimSpace(v.Text), maxSaid)) // not the whole message, which may be long
		if v.Name == "" || strings.EqualFold(v.Name, user) {
			v.Name, v.User = user, true
		}
	}
	return out
}

// Spoken reads a message of a channel: what all who speak in it say, without the "[Name]:" before their lines, and what
// the user alone does, who is called so, else is who speaks last. A message that doesn't begin with a name is the
// user's whole.
func Spoken(text, user string) (all, own string) {
	if _, _, ok := cutSpeaker(text); !ok {
		return text, text
	}
	voices := appendLines(nil, text)
	user = CleanName(user)
	if !slices.ContainsFunc(voices, func(v Voice) bool { return strings.EqualFold(v.Name, user) }) {
		user = voices[len(voices)-1].Name
	}
	var everybody, users strings.Builder
	for _, v := range voices {
		everybody.WriteString(v.Text)
		if strings.EqualFold(v.Name, user) {
			users.WriteString(v.Text)
		}
	}
	return strings.TrimSpace(everybody.String()), strings.TrimSpace(users.String())
}

// appendLines adds the voices of a message without an author.
func appendLines(out []Voice, text string) []Voice {
	name, rest, ok := cutSpeaker(text)
	if !ok {
		return append(out, Voice{Text: text})
	}
	for {
		said, next := rest, ""
		from := 0
		for {
			i := strings.IndexByte(rest[from:], '\n')
			if i < 0 {
				break
			}
			from += i + 1
			if _, _, begins := cutSpeaker(rest[from:]); begins {
				said, next = rest[:from], rest[from:]
				break
			}
		}
		out = append(out, Voice{Name: name, Text: said})
		if len(out) >= 2*maxVoices { // the oldest won't be looked at
			out = append(out[:0], out[len(out)-maxVoices:]...)
		}
		if next == "" {
			return out
		}
		name, rest, _ = cutSpeaker(next)
	}
}

// cutSpeaker takes "[Name]: " from the beginning of a line. Times and the levels of log lines are no names.
func cutSpeaker(line string) (name, rest string, ok bool) {
	if !strings.HasPrefix(line, "[") {
		return "", "", false
	}
	head := line[:min(len(line), maxHumanName*utf8.UTFMax+2)]
	end := strings.IndexByte(head, ']')
	if end < 0 || !strings.HasPrefix(line[end+1:], ":") || strings.ContainsAny(head[1:end], "[\n") {
		return "", "", false
	}
	name = CleanName(head[1:end])
	if name == "" || isLogLevel(name) {
		return "", "", false
	}
	return name, strings.TrimPrefix(line[end+2:], " "), true
}

func isLogLevel(name string) bool {
	switch strings.ToLower(name) {
	case "trace", "debug", "info", "notice", "warn", "warning", "error", "fatal", "critical", "note", "todo", "fixme", "system", "developer", "assistant", "user", "tool":
		return true
	}
	return false
}

// CleanName makes one line of what somebody calls themselves; see cleanLabel. It is "" when no letter is left: that is no
// name.
func CleanName(name string) string {
	if name = cleanLabel(name); strings.ContainsFunc(name, unicode.IsLetter) {
		return name
	}
	return ""
}

// cleanLabel makes one line of what somebody or a place is called: without what can't be seen, brackets, angle brackets,
// asterisks and the mark of channels; 64 characters at most.
func cleanLabel(name string) string {
	var b strings.Builder
	space, runes := false, 0
	for _, r := range name {
		switch {
		case unicode.IsSpace(r):
			space = b.Len() > 0
			continue
		case r == utf8.RuneError, !unicode.IsPrint(r), strings.ContainsRune("[]<>*#`|", r):
			continue
		}
		if space {
			b.WriteByte(' ')
			space, runes = false, runes+1
		}
		if runes >= maxHumanName {
			break
		}
		b.WriteRune(r)
		runes++
	}
	return strings.TrimSpace(b.String())
}

// clip is the beginning of a text of at most so many bytes, valid UTF-8, with an ellipsis when something was cut.
func clip(text string, limit int) string {
	if len(text) <= limit {
		return strings.ToValidUTF8(text, "")
	}
	cut := strings.ToValidUTF8(text[:limit-len("…")], "")
	if i := strings.LastIndexByte(cut, ' '); i > limit/2 {
		cut = cut[:i]
	}
	return strings.TrimRight(cut, " ") + "…"
}
