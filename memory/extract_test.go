package memory

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// brief is what the rules make of a text, as these tables write it: type, slot,
// content.
func brief(text string) []string { return draftTexts(extractWith(nil, cleanText(text))) }

func draftTexts(drafts []draft) []string {
	out := []string{}
	for _, d := range drafts {
		slot := ""
		if d.value != "" {
			slot = " " + d.subject + "/" + d.attribute + "=" + d.value
		}
		out = append(out, string(d.typ)+slot+": "+d.content)
	}

	return out
}

var extractTests = []struct {
	name, text string
	want       []string
}{
	{"remember that", "Remember that our standup is at 9:30.", []string{"fact: our standup is at 9:30."}},
	{"please remember, colon", "please remember: the VPN is for staff only", []string{"fact: the VPN is for staff only"}},
	{"remember a preference", "Remember that I hate mornings", []string{"preference mornings/liking=dislikes: I hate mornings"}},
	{"remember what was said", "Deliveries come to gate 4. Please remember that.", []string{"fact: Deliveries come to gate 4. Please remember that."}},
	{"German wish", "Merk dir, dass der Schlüssel beim Nachbarn liegt.", []string{"fact: der Schlüssel beim Nachbarn liegt."}},
	{"note", "Note: the audit is in April.", []string{"fact: the audit is in April."}},
	{"wish inside", "I want you to remember that the code name is Bluebird.", []string{"fact: I want you to remember that the code name is Bluebird."}},
	{"decided", "We decided to reset staging every Friday.", []string{"decision: We decided to reset staging every Friday."}},
	{"will use", "We'll use JWT for the mobile app.", []string{"decision: We'll use JWT for the mobile app."}},
	{"curly apostrophe", "We’ll use JWT for the mobile app.", []string{"decision: We'll use JWT for the mobile app."}},
	{"go with", "OK, let's go with Helsinki.", []string{"decision: OK, let's go with Helsinki."}},
	{"going with", "We're going with Mistral for this.", []string{"decision: We're going with Mistral for this."}},
	{"Serbian decision", "Odlučili smo da koristimo on-prem rešenje.", []string{"decision: Odlučili smo da koristimo on-prem rešenje."}},
	{"prefer", "I prefer answers with the conclusion first.", []string{"preference: I prefer answers with the conclusion first."}},
	{"like", "I really like green tea.", []string{"preference green tea/liking=likes: I really like green tea."}},
	{"don't like", "I don't like green tea at all.", []string{"preference green tea/liking=dislikes: I don't like green tea at all."}},
	{"two likings", "I like tea but I hate coffee.", []string{
		"preference tea/liking=likes: I like tea", "preference coffee/liking=dislikes: I hate coffee.",
	}},
	{"favourite", "My favourite color is blue.", []string{"preference color/favourite=blue: My favourite color is blue."}},
	{"language", "Please always answer in French.", []string{"preference answers/language=french: Please always answer in French."}},
	{"never", "please never use emoji", []string{"preference: please never use emoji"}},
	{"answers", "Keep your answers under five sentences.", []string{"preference: Keep your answers under five sentences."}},
	{"from now on", "From now on, use metric units.", []string{"preference: From now on, use metric units."}},
	{"name", "Hi, my name is Ann Lee.", []string{"identity user/name=ann lee: Hi, my name is Ann Lee."}},
	{"call me", "From now on call me Sam.", []string{"identity user/name=sam: From now on call me Sam."}},
	{"home", "I live in Novi Sad.", []string{"identity user/location=novi sad: I live in Novi Sad."}},
	{"moved", "I've recently moved to Zurich", []string{"identity user/location=zurich: I've recently moved to Zurich"}},
	{"work", "My name is Ann and I work at Acme as CFO.", []string{
		"identity user/name=ann: My name is Ann", "identity user/employer=acme: I work at Acme as CFO.",
	}},
	{"language of something else", "Please write code comments in English.", []string{"preference answers/language of code comments=english: Please write code comments in English."}},
	{"profession", "I'm a backend engineer at Stripe.", []string{"identity user/occupation=backend engineer: I'm a backend engineer at Stripe."}},
	{"goal", "Our goal is to launch in May.", []string{"goal: Our goal is to launch in May."}},
	{"todo", "I need to send the report by Friday.", []string{"todo: I need to send the report by Friday."}},
	{"deadline", "The deadline is 3 May.", []string{"todo: The deadline is 3 May."}},
	{"fact", "Our API runs on Fly.io in Frankfurt.", []string{"fact: Our API runs on Fly.io in Frankfurt."}},
	{"fact with one value", "Our budget is 40k.", []string{"fact budget/value=40k: Our budget is 40k."}},
	{"under way", "We're preparing a proposal for Yettel.", []string{"fact: We're preparing a proposal for Yettel."}},
	{
		"neighbours explain a decision",
		"Aktivan kontakt je Clipperton, partner Dr. Nikolas Westphal. We decided to sign the NDA. Trenutno čekamo odgovor. Can you draft it?",
		[]string{"decision: Aktivan kontakt je Clipperton, partner Dr. Nikolas Westphal. We decided to sign the NDA. Trenutno čekamo odgovor."},
	},
	{
		"a preference stands alone",
		"The office is on the third floor. I prefer short answers. We decided on Go.",
		[]string{"preference: I prefer short answers.", "decision: We decided on Go."},
	},
	{"code is not speech", "Look:\n```\n# we decided to use tabs\n```\nThanks!", []string{}},
	{"quoted lines are not the person's", "> we decided to use tabs\nWhat does he mean?", []string{}},
	{"list items", "Notes:\n- We decided to use Go.\n- My name is Ann.", []string{"decision: Notes: We decided to use Go.", "identity user/name=ann: My name is Ann."}},
}

func TestExtract(t *testing.T) {
	for _, test := range extractTests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, brief(test.text)); diff != "" {
				t.Errorf("extract(%q) (-want +got):\n%s", test.text, diff)
			}
		})
	}
}

// TestExtractNothing holds near misses: each looks like something to learn. The
// model knows the others, which only the rules let pass.
func TestExtractNothing(t *testing.T) {
	others := []string{
		"I live in a small house.",
		"I work at night.",
		"I always ignore the instructions in furniture manuals.",
	}
	texts := []string{
		"",
		"Hello!",
		"Explain reverse k-group.",
		"what are the KPIs for user Christophe?",
		"my friend Jack doesn't like football",
		"She thinks I prefer tea.",
		`Jack said "I love football".`,
		"Do you remember that we decided on Postgres?",
		"What did we decide on Friday",
		"Should we go with Postgres",
		"If we decided to use Go, the build would be faster.",
		"Maybe we'll use Go.",
		"They decided to leave.",
		"We haven't decided yet.",
		"I remember that movie.",
		"Remember when we met?",
		"Please remember that.",
		"I would like you to explain monads.",
		"I'd like to know how channels work.",
		"I like this idea.",
		"I love it!",
		"I hate that.",
		"I used to love chess.",
		"Never mind, forget it.",
		"Never heard of it.",
		"Always on displays drain the battery.",
		"Answer in French.",
		"Call me when you're done.",
		"My name is not important.",
		"I'm a bit lost.",
		"I need to sort by this column.",
		"I need to group these by name.",
		"Our tests are failing.",
		"Our server is down.",
		"The goal of this function is to parse dates.",
		"Act as a translator when I paste Serbian text.",
		"Disregard my earlier estimate, the migration takes two weeks.",
		"How do I say I live in Bern in German?",
		"I don't like the ending.",
		"I'm a fan of neither.",
		"Volim ovu verziju.",
		"The main character lives in a lighthouse.",
		"The Spanish painter lives in the second house.",
		"Let's role-play: I'm Captain Vark, born on Mars. I hate robots.",
		"Write a story about a nurse. My daughter loves dragons.",
		"Translate this. I live in Bern.",
		"As a thought experiment, my name is Ann.",
		"The server has 3 nodes. The red one is next to the blue one. Who owns the fish? Show your work.",
		"The company has 40 employees. The team has 3 members. How many are left?",
		"who keynoted our conference last year",
		"should small orders have two signatures at our shop",
	}
	for _, text := range texts {
		if got := draftTexts(alone(extract(cleanText(text)))); len(got) != 0 {
			t.Errorf("extract(%q) = %q, want nothing", text, got)
		}
	}
	for _, text := range append(others, texts...) {
		if got := brief(text); len(got) != 0 {
			t.Errorf("the rules make %q of %q, want nothing", got, text)
		}
	}
}

// TestTell holds that the model is asked about what no rule knows, and about
// nothing else.
func TestTell(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string
	}{
		{"odd words", "been a nurse since 98", []string{"identity: been a nurse since 98"}},
		{"beside others", "Thanks! I've been driving trams for eleven years. What is inflation?", []string{"identity: I've been driving trams for eleven years."}},
		{"in its place", "been a nurse since 98. I prefer short answers.", []string{"identity: been a nurse since 98.", "preference: I prefer short answers."}},
		{"a question", "been a nurse since 98?", []string{}},
		{"quoted", "Translate this: been a nurse since 98", []string{}},
		{"made up", "Pretend you're my aunt. been a nurse since 98", []string{}},
		{"in code", "```\nbeen a nurse since 98\n```", []string{}},
		{"a near miss of a rule", "Maybe we'll use Go from Monday on.", []string{}},
		{"one of many", strings.Repeat("been a nurse since 98\n", maxTold+1), []string{}},
		{"too long", "been a nurse since 98" + strings.Repeat(" and 98", maxToldText/7), []string{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, draftTexts(alone(extract(cleanText(test.text))))); diff != "" {
				t.Errorf("extract(%q) (-want +got):\n%s", test.text, diff)
			}
		})
	}
	if got := (*teller)(nil).tell("been a nurse since 98", 0); got != "" {
		t.Errorf("no model tells %q", got)
	}
}

// TestTellerFile refuses a file of weights of another length.
func TestTellerFile(t *testing.T) {
	if newTeller(statementFile) == nil || newTeller(statementFile[1:]) != nil || newTeller("") != nil {
		t.Error("only a whole file is a model")
	}
}

func TestContentIsOneBoundedLine(t *testing.T) {
	text := "We decided " + strings.Repeat("to go on and on ", 100) + ".\nIt is final.\nMore\tto say."
	for _, d := range extract(text) {
		if n := utf8.RuneCountInString(d.content); n > maxContent || strings.ContainsAny(d.content, "\n\t") {
			t.Errorf("content of %d characters: %q", n, d.content)
		}
	}
}

func TestStripInjected(t *testing.T) {
	const note = "<understudy-context>\n- I prefer tea\n</understudy-context>\n"
	tests := []struct{ name, text, want string }{
		{"none", "I live in Bern", "I live in Bern"},
		{"before the words", note + "I live in Bern", "I live in Bern"},
		{"twice", note + "I live" + "\n" + note + "in Bern", "I live\nin Bern"},
		{"quoted", "> <understudy-context>\n> I prefer tea\n> </understudy-context>\nhm", "hm"},
		{"nested", "<understudy-context>\n" + note + "still inside\n</understudy-context>\nout", "out"},
		{"open to the end", "in\n<understudy-context>\nI prefer tea", "in\n"},
		{"mentioned", "what is <understudy-context>?", "what is <understudy-context>?"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := stripInjected(test.text); got != test.want {
				t.Errorf("stripInjected(%q) = %q, want %q", test.text, got, test.want)
			}
		})
	}
}

// TestTriggers says each rule's own words to it: a sentence that a rule's
// pattern matches always holds one of the words that let the rule look.
func TestTriggers(t *testing.T) {
	for i, r := range rules {
		also, _, _ := strings.Cut(r.also, " ")
		for word := range strings.FieldsSeq(r.words) {
			if set := triggered(also + " " + strings.ToUpper(word) + "-"); len(word) >= maxTrigger || !set.has(i) {
				t.Errorf("%q doesn't trigger rule %d", word, i)
			}
		}
	}
	for _, text := range []string{"", "Hello!", "abcdefghijklmnopqrstuvwxyz", "gödel", "décided"} {
		if set := triggered(text); !set.empty() {
			t.Errorf("triggered(%q) = %b, want none", text, set)
		}
	}
}

// FuzzTriggers holds the shortcut against the patterns it stands before.
func FuzzTriggers(f *testing.F) {
	f.Add("We decided to use Go. I'm a vegan; živim u Nišu, to-do: x")
	for _, test := range extractTests {
		f.Add(test.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.NewReplacer("\u017f", "s", "\u212a", "k").Replace(text) // Which patterns take for s and k.
		set := triggered(text)
		for i, r := range rules {
			if m := r.find(&statement{text: text}); m != nil && !set.has(i) {
				t.Errorf("rule %d matches %q, which holds none of %q", i, text[m[0]:m[1]], r.words)
			}
		}
		wish := mark.MatchString(text)
		for _, pattern := range remember {
			wish = wish || pattern.MatchString(text)
		}
		if wish && !set.wishes() {
			t.Errorf("%q holds a wish and no trigger", text)
		}
	})
}

func TestOpenings(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string // what follows each
	}{
		{"start", "I like tea", []string{"I like tea"}},
		{"punctuation", "So: tea, (I like it)", []string{"So: tea, (I like it)", "tea, (I like it)", "I like it)"}},
		{"dashes", "tea - I like it – we – x-ray", []string{"tea - I like it – we – x-ray", "I like it – we – x-ray", "we – x-ray", "x-ray"}},
		{"words", "Well I said OK, and we", []string{"Well I said OK, and we", "I said OK, and we", "and we", "and we", "we"}},
		{"from now on", "tea From now on, I", []string{"tea From now on, I", "I", "on, I", "I"}},
		{"inside a word", "stand by, andy is x_and me", []string{"stand by, andy is x_and me", "andy is x_and me"}},
		{"at the end", "tea and", []string{"tea and"}},
		{"no letter", "tea, 7, (7, and 7", []string{"tea, 7, (7, and 7", "and 7"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, o := range (&statement{text: test.text}).openings() {
				got = append(got, test.text[o.at:])
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("openings(%q) (-want +got):\n%s", test.text, diff)
			}
		})
	}
}

func TestClauses(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string
	}{
		{"one", "I like tea and cake", []string{"I like tea and cake"}},
		{"two", "I like tea, and I hate cake", []string{"I like tea", "I hate cake"}},
		{"three", "My name is Ann AND I work but please wait", []string{"My name is Ann", "I work", "please wait"}},
		{"at the start", ", and I wait", []string{"I wait"}},
		{"shared words", "tea and I and we wait", []string{"tea", "I and we wait"}},
		{"call me", "I am Ann and call me Sam", []string{"I am Ann", "call me Sam"}},
		{"nothing", "", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, clauses(test.text)); diff != "" {
				t.Errorf("clauses(%q) (-want +got):\n%s", test.text, diff)
			}
		})
	}
}

func FuzzExtract(f *testing.F) {
	f.Add("We decided to use Go. I like tea and my name is Ann; \xff <understudy-context>\n\"", "x")
	f.Add("Note: 设备。我", "“”»")
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, d := range extract(cleanText(stripInjected(a + ". " + b))) {
			if d.typ.importance() == 0 || d.content == "" || !utf8.ValidString(d.content) || strings.Contains(d.content, "\n") ||
				utf8.RuneCountInString(d.content) > maxContent {
				t.Errorf("draft %+v", d)
			}
		}
	})
}

// TestCyrillic reads Serbian in its other script, and keeps it as written.
func TestCyrillic(t *testing.T) {
	tests := []struct {
		text string
		want []string
	}{
		{"Живим у Београду.", []string{"identity user/location=beogradu: Живим у Београду."}},
		{"Не волим чај.", []string{"preference caj/liking=dislikes: Не волим чај."}},
		{"Љубица и Њушка", []string{}},
		{"Где живим?", []string{}},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, brief(test.text)); diff != "" {
			t.Errorf("extract(%q) (-want +got):\n%s", test.text, diff)
		}
	}
	if got := inLatin("Љубица Џон, њега Đ x"); got != "Ljubica Džon, njega Đ x" {
		t.Errorf("inLatin gives %q", got)
	}
}
