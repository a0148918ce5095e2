package memory

import (
	"regexp"
	"strings"
)

// The rules of this file. Each looks at one sentence of a person and says
// what, if anything, it states. All of them hold that
//   - a question states nothing;
//   - what stands in quotes is somebody else's;
//   - "I" and "my" count only where a clause begins, so that "she says I
//     like tea" and "my friend Jack doesn't like football" state nothing;
//   - a doubtful sentence states nothing.

const adverb = `(?:(?:really|just|absolutely|also|still|now|do|actually|generally|usually|always|strongly|much|currently|recently) )*`

// name is one to four capitalised words.
const name = `((?:the )?\p{Lu}[\p{L}\d&'.-]*(?: (?:of |de |and )?\p{Lu}[\p{L}\d&'.-]*){0,3})`

// rule turns a sentence that matches into a draft.
type rule struct {
	typ Type

	// words, of which each match holds one: parts of words that are all ASCII
	// letters. Looking them up spares most sentences the pattern.
	words string

	find finder

	// fill, where set, is given the match's groups and may refuse by clearing
	// the type.
	fill func(d *draft, groups []string)
}

// rules in order of trust; the first that matches wins.
var rules = []rule{
	// Identity.
	{Identity, "name ime zovem", clause(`(?i:my name is|my name's|ime mi je|zovem se) (\p{L}[\p{L}'-]+(?: \p{Lu}[\p{L}'-]+){0,2})`), slot("user", "name")},
	{Identity, "call called", clause(`(?i:(?:you can |just )?call me|i'm called|i am called) (\p{Lu}[\p{L}'-]+(?: \p{Lu}[\p{L}'-]+)?)(?:[.,!]|$)`), slot("user", "name")},
	{Identity, "live reside based living", clause(`(?i:i ` + adverb + `(?:live|reside)|i'm ` + adverb + `(?:based|living)|i am ` + adverb + `(?:based|living)) in ` + name), slot("user", "location")},
	{Identity, "moved relocated ivim", clause(`(?i:i(?:'ve| have)? ` + adverb + `(?:moved|relocated) to|živim u) ` + name), slot("user", "location")},
	{Identity, "work working radim joined", clause(`(?i:i(?:'m| am)? ` + adverb + `work(?:ing)? (?:at|for)|radim u|i ` + adverb + `joined) ` + name), slot("user", "employer")},
	{Identity, "work working radim", clause(`(?i:i ` + adverb + `work as|i'm working as|i am working as|radim kao) ((?i:an? |the )?[\p{L}][\p{L} -]{2,40})`), slot("user", "occupation")},
	{Identity, professions, clause(`(?i:i'm|i am) (?i:an? )((?:[\p{L}-]+ ){0,3}(?i:` + strings.ReplaceAll(professions, " ", "|") + `))\b`), slot("user", "occupation")},

	// Standing instructions and preferences.
	{Preference, "always never now forward future ubudu", clause(`(?i:please )?(?i:i (?:want|need|would like|expect) you to (?:always|never) \w+|(?:always|never|from now on|going forward|in (?:the )?future|za ubuduće),? ` +
		`(?:please )?(?:always |never )?(?:don't |do not )?` + actions + `)\b`), instruction},
	{Preference, "answers replies responses", anywhere(`^(?i:(?:please )?(?:keep|make|write|format) (?:your |all |all your |the )?(?:answers|replies|responses)\b)`), instruction},
	{Preference, "answer answers reply replies response responses message messages", anywhere(`^(?i:(?:please )?(?:don't|do not|never|stop|avoid|always) .{2,80}\b(?:in|with|from) (?:your|all|every|any) (?:answers?|replies|reply|responses?|messages?)\b)`), instruction},
	{Preference, "now forward future", anywhere(`^(?i:(?:please )?` + actions + ` .{2,80}\b(?:from now on|going forward|in (?:the )?future)\.?$)`), instruction},
	{Preference, "like love enjoy adore hate dislike stand", clause(`(?i:i ` + adverb + `(do not |don't |never |no longer )?` + adverb + `(like|love|enjoy|adore|hate|dislike|can't stand|cannot stand)) (.{2,})`), liking},
	{Preference, "prefer favor favour volim", clause(`(?i:i ` + adverb + `(?:prefer|favou?r)|više volim) (?i:(?:it when |that )?)(.{3,})`), refuseVague},
	{Preference, "favorite favourite", clause(`(?i:my favou?rite (\p{L}[\p{L} ]{2,30}) is) `), slotOf("favourite")},
	{Preference, "m am", clause(`(?i:(?:i'm|i am) (?:an? )?(?:strict )?(?:vegetarian|vegan|allergic to .+))`), nil},

	// Decisions.
	{Decision, "decided agreed chose chosen settled opted", anywhere(`(?i:\b(?:we|i)(?:'ve| have)?(?: finally| just| all| already| now| both)* (?:decided|agreed (?:on|to|that)|chose|chosen|settled on|opted (?:for|to))\b)`), nil},
	{Decision, "ll will shall let", anywhere(`(?i:\b(?:we'll|we will|we shall) (?:use|go with|stick with|stick to|adopt|keep using|standardi[sz]e on)\b|\bi(?:'ll| will) go with\b|\blet's (?:go with|stick with|settle on)\b)`), nil},
	{Decision, "going sticking proceeding moving", anywhere(`(?i:\b(?:we're|we are|i'm|i am) (?:going|sticking|proceeding|moving ahead) with (?:\S)|^going with )`), nil},
	{Decision, "switching migrating moving decision", anywhere(`(?i:\b(?:we're|we are) (?:switching|migrating|moving) (?:from \S+ )?to\b|^(?:final )?decision ?:)`), nil},
	{Decision, "odlu dogovorili izabrali", anywhere(`(?i:\b(?:odlučili smo|odlučio sam|odlučila sam|dogovorili smo|izabrali smo)\b)`), nil},
	{Decision, "hard strict firm tvrdo", anywhere(`(?i:\b(?:hard|strict|firm) (?:constraint|requirement|limit)\b|\btvrdo ograničenje\b)`), nil},

	// Goals and to-dos.
	{Goal, "goal aim objective target cilj", clause(`(?i:(?:our|my) (?:main |primary |ultimate |overall |next |current )?(?:goal|aim|objective|target) (?:is|for .{2,40} is)\b|(?:naš )?cilj nam je\b|naš cilj je\b)`), nil},
	{Todo, "by before until", clause(`(?i:(?:i|we) (?:still )?(?:need to|have to|must) .{2,120}\b(?:by|before|until) ` + dates + `)`), nil},
	{Todo, "todo do", anywhere(`^(?i:(?:todo|to-do) ?:)`), nil},
	{Todo, "deadline due rok", anywhere(`(?i:\bdeadline (?:is|for .{2,60} is|:)|\b(?:is|are) due (?:on |by |in )?` + dates + `|\brok je\b)`), nil},

	// Facts.
	{Fact, "our", clause(`(?i:our (deadline|budget|launch date|release date|company|product name|domain|main database|cloud provider|default \w+) is) `), slotOf("value")},
	{Fact, "our", clause(`(?i:our [\p{L}\d][\p{L}\d _-]{1,40}? (?:runs? on|uses?|lives? (?:in|on)|is (?:hosted|written|deployed) (?:in|on|with)|has|are|is) (.{3,}))`), refuseState},
	{Fact, "preparing drafting building developing launching working", anywhere(`^(?i:(?:so |and |currently |right now |today )?,?(?:we're|we are) (?:preparing|drafting|building|developing|launching|working on) (.{6,}))`), refuseVague},
}

// professions are what people say that they are.
const professions = `engineer developer programmer designer doctor nurse teacher student lawyer manager scientist analyst founder ` +
	`researcher writer consultant architect accountant`

// actions are verbs by which a standing instruction begins.
const actions = `(?:answer|reply|respond|write|use|say|speak|talk|call|address|include|add|put|show|give|keep|start|end|begin|format|` +
	`cite|explain|ask|assume|avoid|send|run|check|prefer|mention|suggest|propose|translate|test|provide|output|return|quote|round|sign|be|stop)`

// dates begin a point in time.
const dates = `(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march|april|may|june|july|august|september|` +
	`october|november|december|tomorrow|tonight|today|noon|midnight|(?:next|this) (?:week|month|year|quarter|spring|summer|autumn|fall|winter|\w+day)|the end|end of|q[1-4]\b|eod|eow|` +
	`\d{1,2}(?::\d\d| ?[ap]m|st|nd|rd|th|\.\d| \p{L}+)|20\d\d\b|the \d)`

func compile(pattern string) *regexp.Regexp { return regexp.MustCompile(pattern) }

// slot fills (subject, attribute) with the last group: a newer value replaces
// the old one.
func slot(subject, attribute string) func(*draft, []string) {
	return func(d *draft, groups []string) {
		d.subject, d.attribute = subject, attribute
		d.value = strings.TrimRight(fold(groups[len(groups)-1]), " .,")
		if first, _, _ := strings.Cut(d.value, " "); notValues[first] {
			d.typ = ""
		}
	}
}

// notValues are first words after which "my name is" names nobody.
var notValues = wordSet("not no on in at my your same this that these what too also still already spelled", strings.ToLower)

// slotOf fills (group, attribute) with what follows the match.
func slotOf(attribute string) func(*draft, []string) {
	return func(d *draft, groups []string) {
		d.subject, d.attribute = fold(groups[1]), attribute
		_, after, _ := strings.Cut(d.content, groups[0])
		d.value = strings.TrimRight(fold(after), " .!")
	}
}

// attributeLiking is the attribute of what is liked or not.
const attributeLiking = "liking"

// liking fills (object, liking) with whether the speaker likes it, so that a
// change of heart replaces the old one.
func liking(d *draft, groups []string) {
	object := groups[3]
	if vague.MatchString(object) {
		d.typ = ""
		return
	}
	object = tail.ReplaceAllString(object, "")
	d.subject, d.attribute, d.value = subjectOf(object), attributeLiking, "likes"
	if d.subject == "" {
		d.typ = ""
		return
	}
	switch verb := strings.ToLower(groups[2]); verb {
	case "like", "love", "enjoy", "adore":
		if groups[1] != "" {
			d.value = "dislikes"
		}
	default:
		if groups[1] == "" {
			d.value = "dislikes"
		}
	}
}

// subjectOf spells an object so that "the Chinese food" and "chinese food" are
// one.
func subjectOf(object string) string {
	var out []string
	words(fold(object), func(word string) {
		if !stopWords[word] {
			out = append(out, word)
		}
	})

	return strings.Join(out, " ")
}

// tail is what follows the object of a liking.
var tail = compile(`(?i)(?:[,.;:!(]| (?:because|but|since|when|while|although|very much|a lot|so much|anymore|any more|now|at all|more than|over)\b).*$`)

var language = compile(`(?i)\b(?:answer|reply|respond|write|speak|talk)\b.{0,20}? (?:in|na) (english|french|german|serbian|croatian|bosnian|spanish|` +
	`italian|portuguese|dutch|polish|czech|russian|ukrainian|turkish|arabic|hindi|chinese|japanese|korean|greek|swedish|srpskom|engleskom)\b`)

// subjectAnswers is the subject of standing instructions.
const subjectAnswers = "answers"

// instruction marks how answers are to be; their language can only be one.
func instruction(d *draft, _ []string) {
	d.subject, d.attribute = subjectAnswers, "instruction"
	if m := language.FindStringSubmatch(d.content); m != nil {
		d.attribute, d.value = "language", strings.ToLower(m[1])
	}
}

// vague begins an object that means nothing outside its conversation.
var vague = compile(`(?i)^(?:(?:it|this|that|these|those|your|you|them|him|her|how|what|a fix|an? (?:bug|issue|error)|for)\b|` +
	`the (?:way|idea|first|second|third|last|previous|other|latter|former)\b|to (?:see|know|ask|hear|thank|understand)\b)`)

func refuseVague(d *draft, groups []string) {
	if vague.MatchString(groups[1]) {
		d.typ = ""
	}
}

// state begins a predicate that will be over soon, or says too little.
var state = compile(`(?i)^(?:not|no|still|already|now|currently|very|too|so|ok|okay|fine|great|good|bad|broken|down|slow|stuck|late|wrong|` +
	`missing|ready|done|gone|\p{L}+ing|a (?:mess|bit|problem|disaster)|what|how|why)\b`)

func refuseState(d *draft, groups []string) {
	if state.MatchString(groups[1]) {
		d.typ = ""
	}
}
