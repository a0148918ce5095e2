package memory

import (
	"cmp"
	"regexp"
	"slices"
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

	// also, where set, are words of which a match holds one, too: the times
	// that make an event or a to-do of a statement are rarer than its verbs.
	also string

	find finder

	// fill, where set, is given the match's groups and may refuse by clearing
	// the type.
	fill func(d *draft, groups []string)
}

// rules in order of trust; the first that matches wins.
var rules = []rule{
	// Identity.
	{Identity, "name ime zovem hei appelle llamo chiamo chamo nom nombre nome", "", clause(`(?i:my name is|my name's|ime mi je|moje ime je|zovem se|ich heiße|mein name ist|je m'appelle|mon nom est|me llamo|mi nombre es|mi chiamo|me chamo|meu nome é) ` +
		`(?i:spelled |spelt |written )?(\p{L}[\p{L}'-]+(?: \p{Lu}[\p{L}'-]+){0,2})`), slot("user", "name")},
	{Identity, "call called calls go zovi", "", clause(`(?i:(?:you can |just )?call me|i'm called|i am called|i go by|(?:everyone|everybody|people|friends|my friends) calls? me|zovi me) (\p{Lu}[\p{L}'-]+(?: \p{Lu}[\p{L}'-]+)?)(?:[.,!]|$)`), slot("user", "name")},
	{Identity, "m am sam bin suis soy sono", "", clause(`(?i:i'm|i am|ja sam|ich bin|je suis|soy|sono) (\p{Lu}\p{Ll}+(?: \p{Lu}\p{Ll}+)?), (?i:nice|pleased|glad|drago|an? |the |from |iz |aus |de |und |i |\p{L}+ (?:iz|u|aus|at|from|na) )`), slot("user", "name")},
	{Identity, "live reside based living", "", clause(`(?i:i ` + adverb + `(?:live|reside)|i'm ` + adverb + `(?:based|living)|i am ` + adverb + `(?:based|living)) in ` + name), slot("user", "location")},
	{Identity, "moved relocated ivimo ivim selio selila preselio preselila wohne lebe habite vivo abito moro", "", clause(`(?i:(?:i|we)(?:'ve| have)? ` + adverb + `(?:moved|relocated) (?:from (?:the )?\p{L}+(?: \p{Lu}\p{L}+)? )?to|(?:opet |ponovo |sada )?(?:živim|živimo) u|(?:pre)?seli(?:o|la) sam se u|ich (?:wohne|lebe) (?:\S+ ){0,3}in|j'habite [àa]|vivo (?:en|a)|abito a|moro em) ` + name), slot("user", "location")},
	{Identity, "radim", "ne", clause(`(?i:ne radim (?:više )?(?:u|za)|više ne radim (?:u|za)) ` + name), noLonger("user", "employer")},
	{Identity, "ivim", "ne", clause(`(?i:ne živim (?:više )?u|više ne živim u) ` + name), noLonger("user", "location")},
	{Identity, "work working", "", clause(`(?i:i (?:no longer|don't|do not|stopped) work(?:ing)? (?:at|for)) ` + name), noLonger("user", "employer")},
	{Identity, "work working radim joined job role position arbeite travaille trabajo lavoro", "", clause(`(?i:i(?:'m| am)? ` + adverb + `work(?:ing)? (?:remotely |full-time |part-time |from home )?(?:at|for)|radim (?:\p{L}+ ){0,3}(?:u|za)(?: firm[iu])?|i ` + adverb +
		`joined|i ` + adverb + `(?:started|start) (?:working|a (?:new )?job) (?:at|for)|i(?:'ve)? (?:got|have|took|landed|found) (?:a |my )?(?:new )?(?:job|role|position) (?:at|with)|i work in [\p{L} ]{3,25} (?:at|for)|ich arbeite (?:bei|für)(?: der| dem)?|je travaille (?:chez|pour)|trabajo (?:en|para)|lavoro (?:per|da|in)) ` + name), slot("user", "employer")},
	{Identity, "work", "", clause(`(?i:i ` + adverb + `work (?:at|for|in) (?:an?|the) (?:[\p{L}-]+ ){0,3}(?:company|startup|agency|bank|bakery|school|hospital|university|shop|store|firm|restaurant|office|factory|studio|lab|library|hotel|clinic|ngo|farm|museum|theatre|government|ministry)\b)`), nil},
	{Identity, "work working radim", "", clause(`(?i:i ` + adverb + `work as|i'm working as|i am working as|radim kao) ((?i:an? |the )?[\p{L}][\p{L} -]{2,40})`), slot("user", "occupation")},
	{Identity, professions + " cto ceo cfo coo vp head lead director owner intern", "", clause(`(?i:i'm|i am) (?i:an? |the )((?:[\p{L}-]+ ){0,3}(?i:` + strings.ReplaceAll(professions, " ", "|") + `|CTO|CEO|CFO|COO|VP|head of|lead of|director|owner of|intern at))\b`), slot("user", "occupation")},
	{Identity, "m am sam bin suis", "hi hello hey zdravo hallo bonjour i und et", anywhere(`^(?:(?i:(?:hi|hello|hey|zdravo|ćao|hallo|bonjour)(?: there| all| everyone)?[,!.]? (?:i'm|i am|ja sam|ich bin|je suis)) (\p{Lu}\p{Ll}+(?: \p{Lu}\p{Ll}+)?)[.!]?$|(?i:ja sam|ich bin|je suis) (\p{Lu}\p{Ll}+) (?:i|und ich|et je?)\b)`), slotPerson},
	{Identity, professions + " cto ceo cfo coo vp lead director", "been", clause(`(?i:i've been|i have been) (?i:an? |the )((?:[\p{L}-]+ ){0,3}(?i:` + strings.ReplaceAll(professions, " ", "|") + `|CTO|CEO|CFO|COO|VP|lead|director))(?i: (?:for|since|at|of|in)\b)`), slot("user", "occupation")},
	{Identity, "live", "near outside longer anymore", clause(`(?i:i ` + adverb + `live (?:near|outside|close to|just outside)) ` + name), slot("user", "location")},
	{Identity, "live", "longer don moved", clause(`(?i:i (?:no longer|don't|do not) live in) ` + name), noLonger("user", "location")},
	{Identity, "quit left resigned fired laid", "at from job by off", clause(`(?i:i(?:'ve| have| was| got)? ` + adverb + `(?:quit|left|resigned from|fired from|laid off (?:from|by))(?: (?:my )?(?:job|position|role) (?:at|with))?) ` + name + `[.!]?$`), leftEmployer},
	{Identity, "own run", "i", clause(`(?i:i ` + adverb + `(?:own|run) (?:an?|my own) (?:small |little |family )?(?:[\p{L}-]+ ){0,2}(?:shop|store|bakery|company|business|startup|agency|restaurant|cafe|café|studio|farm|school|salon|bar|hotel|practice|firm|blog|podcast)\b)`), nil},
	{Identity, "radim", "", clause(`(?i:(?:od (?:\p{L}+ ){1,3})?radim (?:remote |od kuće |na daljinu )?(?:iz|u|za)) (\p{Lu}[\p{L}\d&'.-]*(?: \p{Lu}[\p{L}\d&'.-]*){0,3})`), nil},
	{Identity, "lived", "since for", clause(`(?i:i(?:'ve| have) ` + adverb + `lived in) ` + name + `(?i: (?:since|for)\b)`), slot("user", "location")},
	{Identity, "started start", "at with", clause(`(?i:i(?:'m| am)? ` + adverb + `(?:started|start|starting) (?:at|with)) ` + name), slot("user", "employer")},
	{Identity, "m am", "", clause(`(?i:i'm|i am) ([1-9]\d)[.!]?$`), slot("user", "age")},
	{Identity, "reach email contact mail", "me", clause(`(?i:(?:you can |please )?(?:reach|e-?mail|contact|mail) me (?:at|on|under)) (\S+@\S+\.\p{L}+)`), slot("user", "email")},
	{Identity, "developer programer lekar doktor profesor nastavnik nastavnica student studentkinja advokat dizajner dizajnerka novinar novinarka voza kuvar programerka lekarka profesorka in pravnik arhitekta", "sam", clause(`(?i:(?:ja )?sam (?:\p{L}+ ){0,2}(?:developer|programerk?a?|lekark?a?|doktork?a?|profesork?a?|nastavni[kc]a?|student(?:kinja)?|advokat|dizajnerk?a?|novinark?a?|vozač|kuvar|inženjerk?a?|pravnik|arhitekta)(?:\P{L}|$))`), nil},
	{Fact, relatives, "birthday", clause(`(?i:my (?:older |younger )?(?:` + strings.ReplaceAll(relatives, " ", "|") + `)'s birthday is .{2,})`), nil},
	{Fact, relatives, "plays works studies teaches goes turns is", clause(`(?i:my (?:older |younger |little )?(?:` + strings.ReplaceAll(relatives, " ", "|") + `) (?:plays|works (?:as|at|for|in)|studies|teaches|goes to|turns \d|is \d+\b|is (?:an? )?(?:` + strings.ReplaceAll(professions, " ", "|") + `)\b) ?.{2,})`), refuseTrouble},
	{Identity, "old godina godine", "", clause(`(?i:(?:i'm|i am) (\d{1,2}) years? old\b|imam (\d{1,2}) godin)`), slot("user", "age")},
	{Identity, relatives, "", clause(`(?i:my ((?:older |younger |eldest |youngest )?(?:` + strings.ReplaceAll(relatives, " ", "|") + `))(?:'s name is| is called| is named)) (\p{Lu}[\p{L}'-]+)`), slotNamed},
	{Identity, relatives + " daughters sons kids children child cats dogs brothers sisters siblings twins kid sibling", "", clause(`(?i:i(?:'ve got| have) (?:an?|one|two|three|four|five|six|\d) (?:[\p{L}-]+ )?` +
		`(?:daughters?|sons?|kids?|children|child|cats?|dogs?|brothers?|sisters?|siblings?|twins|wife|husband)\b)`), nil},
	{Identity, "imam imamo", "", clause(`(?i:imam(?:o)? (?:jednog|jednu|jedno|dva|dve|tri|četiri|pet|\d) (?:\p{L}+ )?(?:sin|sina|sinova|ćerk\p{L}+|kćer\p{L}*|dece|deteta|dete|psa|pasa|mačk\p{L}+|brata|braće|sestr\p{L}+))(?:\P{L}|$)`), nil},
	{Fact, relatives, "is has works lives goes studies plays loves likes speaks", clause(`(?i:my (?:older |younger )?(?:` + strings.ReplaceAll(relatives, " ", "|") + `)),? \p{Lu}\p{Ll}+,? (?i:is|has|works|lives|goes|studies|plays|loves|likes|speaks) .{3,}`), refuseTrouble},
	{Identity, "birthday born speak", "", clause(`(?i:my birthday is|i was born (?:on|in)) .{2,}|(?i:i ` + adverb + `speak (?:fluent |native )?)\p{Lu}`), nil},
	{Identity, "from come iz", "", clause(`(?i:i'm (?:originally )?from|i am (?:originally )?from|ja sam iz|i (?:originally )?come from) ` + name), slot("user", "origin")},
	{Identity, "email phone timezone zone pronouns address nationality nickname job profession employer company hometown tongue language username handle", "", clause(`(?i:my ((?:work |home |private )?(?:email(?: address)?|phone(?: number)?|time ?zone|pronouns|address|nationality|nickname|job|profession|employer|company|hometown|mother tongue|native language|(?:github |gitlab )?(?:username|handle))) (?:is|are)) (.{2,})`), slotMine},
	{Identity, "study studying studied teach", "", clause(`(?i:i ` + adverb + `(?:study|teach)|i'm ` + adverb + `studying|i studied) [\p{L} ]{3,40} (?i:at|in) (?:the )?\p{Lu}`), nil},
	{Identity, "handed blind colorblind colourblind deaf dyslexic diabetic retired married single divorced mother father parent", "", clause(`(?i:(?:i'm|i am) (?:an? )?(?:left-handed|right-handed|colou?r-?blind|deaf|dyslexic|diabetic|retired|married|single|divorced|(?:single |new )?(?:mother|father|parent))(?: of .+)?)(?:[.,!]|$)`), nil},

	// Standing instructions and preferences.
	{Preference, "always never now forward future ubudu", "", clause(`(?i:please )?(?i:(?:i (?:want|need|would like|expect) you|(?:make sure|be sure|remember|try)(?: that)?(?: you)?)(?: to)? (?:always|never) \w+|(?:always|never|from now on|going forward|in (?:the )?future|za ubuduće|ubuduće),? ` +
		`(?:please )?(?:always |never )?(?:don't |do not )?(?:` + actions + `|` + serbianActions + `))(?:\P{L}|$)`), instruction},
	{Preference, "answers replies responses stop ever", "", anywhere(`^(?i:(?:please )?stop (?:calling|adding|using|writing|saying|starting|ending|repeating|apologi[sz]ing) .{2,}|no [\p{L} -]{3,40}(?:,? please)?,? (?:ever|in (?:your|my) (?:answers|replies))\b|(?:please )?(?:keep|make|write|format) (?:your |all |all your |the )?(?:answers|replies|responses)\b)`), instruction},
	{Preference, "answer answers reply replies response responses message messages", "", anywhere(`^(?i:(?:please )?(?:don't|do not|never|stop|avoid|always) .{2,80}\b(?:in|with|from) (?:your|all|every|any) (?:answers?|replies|reply|responses?|messages?)\b)`), instruction},
	{Preference, "now forward future general rule", "", anywhere(`^(?i:(?:please )?` + actions + ` .{2,80}\b(?:from now on|going forward|in (?:the )?future|in general|as a rule)\.?$)`), instruction},
	{Preference, "reviews emails answers replies summaries reports meetings commits docs documents presentations", "in for", anywhere(`^(?i:(?:in|for) (?:all |my |our |your )?(?:\p{L}+ )?(?:reviews|emails|answers|replies|summaries|reports|meetings|commits|docs|documents|presentations),? (?:please |always )*` + actions + `\b)`), instruction},
	{Preference, "best better well", "me", anywhere(`^(?i:[\p{L}' -]{3,60} works? (?:best|better|well) for me\b)`), refuseVague},
	{Preference, "eat drink more", "i", clause(`(?i:i (?:can't|cannot|don't|do not|never) (?:eat|drink) .{3,}|i'm more of an? .{3,}(?:person|learner|type)\b)`), refuseVague},
	{Preference, "when whenever time", "", clause(`(?i:(?:when|whenever|every time|each time) (?:i|you|we) [^,]{3,80}, (?:please |always |never |just )*(?:don't |do not )?` + actions + `\b)`), refuseOnce},
	{Preference, "unless", "", anywhere(`^(?i:(?:[^,]{3,60}, )?(?:please )?` + actions + ` .{2,80} unless (?:i|asked|told|otherwise)\b)`), instruction},
	{Preference, "address", "", anywhere(`^(?i:(?:please )?address me \p{L}+)`), instruction},
	{Preference, "odgovor odgovori odgovore odgovara nemoj nemojte odgovaraj antworte ponds responde rispondi responda pi koristi", "", clause(`(?i:(?:odgovaraj|piši|koristi)(?: mi)? (?:uvek|samo|ubuduće|isključivo)|(?:uvek|samo)(?: mi)? (?:odgovaraj|piši|koristi)|nemoj(?:te)?(?: više)? da (?:koristiš|pišeš|mi pišeš|dodaješ)|(?:hoću|želim) da (?:mi )?(?:tvoji )?odgovor|antworte(?: mir)?(?: bitte)? (?:immer|nur|stets)|réponds(?:-moi)? (?:toujours|uniquement)|responde(?:me)? siempre|rispondi sempre|responda sempre)(?:\P{L}|$)`), instruction},
	{Preference, "hate love like dislike", "", clause(`(?i:i ` + adverb + `(?:hate|love|like|dislike) it when .{4,})`), nil},
	{Preference, "always preference", "want need is", clause(`(?i:i always (?:want|need) .{4,}|my (?:strong |clear )?preference is .{3,})`), nil},
	{Preference, "write keep format", "comments messages names emails docs documentation tests summaries reports", anywhere(`^(?i:(?:please )?(?:write|keep|format) (?:all |your |the |my )?(?:code comments|comments|commit messages|variable names|emails|docs|documentation|tests|summaries|reports) (?:in|short|brief)\b)`), instruction},
	{Preference, "like love enjoy adore hate dislike stand", "", clause(`(?i:i ` + adverb + `(do not |don't |never |no longer )?` + adverb + `(like|love|enjoy|adore|hate|dislike|can't stand|cannot stand)) (.{2,})`), liking},
	{Preference, "fan", "", clause(`(?i:(?:i'm|i am) (not |no )?(?:really )?(?:a |an )?(?:big |huge |great )?(fan) of) (.{2,})`), liking},
	{Preference, "prefer favor favour volim rather preferiram", "", clause(`(?i:i(?:'d| would)? ` + adverb + `(?:prefer|favou?r)|preferiram|i(?:'d| would) rather (?:have|use|get|see|read|work)|više volim) (?i:(?:it (?:when|if) |that |if )?)(.{3,})`), refuseVague},
	{Preference, "volim obo mrzim", "", clause(`(?i:(?:ja )?(?:stvarno |baš |jako |više |opet |ponovo |sada |ipak )?(ne )?(volim|obožavam|mrzim)) (.{2,})`), liking},
	{Preference, "bevorzuge mag liebe hasse pr aime adore prefiero gusta gustan encanta encantan teste odio preferisco piace prefiro gosto", "", clause(`(?i:ich (?:bevorzuge|mag|liebe|hasse)|je (?:préfère|déteste|n'aime pas)|j'(?:aime|adore)|prefiero|(?:no )?me (?:gustan?|encantan?)|odio|preferisco|(?:non )?mi piace|prefiro|(?:não )?gosto de) (.{3,})`), refuseVague},
	{Preference, "jedem pijem alergi svi", "", clause(`(?i:ne (?:jedem|pijem) .{3,}|alergič(?:an|na) sam na .{3,}|(?:ne )?sviđa(?:ju)? mi se .{3,})`), nil},
	{Preference, "favorite favourite", "", clause(`(?i:my favou?rite (\p{L}[\p{L} ]{2,30}) is) `), slotOf("favourite")},
	{Preference, "m am", "", clause(`(?i:(?:i'm|i am) (?:an? )?(?:strict )?(?:vegetarian|vegan|allergic to .+))`), nil},
	{Preference, "want need", "answers replies messages responses texts emails code mails", clause(`(?i:i (?:don't|do not|never) (?:want|need) (?:any |to see )?.{2,60} in (?:your|my|the) (?:answers|replies|messages|responses|texts|e-?mails|mails|code)\b)`), instruction},
	{Preference, "usually normally typically generally mostly", "work wake get eat drink run cook commute sleep write read code start go train take study", clause(`(?i:i (?:usually|normally|typically|generally|mostly) (?:work|wake up|get up|eat|drink|run|cook|commute|sleep|write|read|code|start work|go to|train|take the|study) .{3,})`), refuseTrouble},
	{Preference, "person owl bird learner thinker", "m am", clause(`(?i:(?:i'm|i am) (?:really |definitely |more of )?an? (?:[\p{L}-]+ ){0,2}(?:person|owl|bird|learner|thinker)[.!]?)$`), nil},
	{Preference, "use", "everything all most", clause(`(?i:i ` + adverb + `use \S.{1,40} for (?:everything|all my|most (?:of my )?)\b)`), refuseVague},
	{Preference, "always never", "", anywhere(`^(?i:(?:please )?(?:always|never) (?:double-check|verify|review|confirm|leave|remove|delete|commit|push|deploy|merge|create|open|wrap|indent|capitali[sz]e|abbreviate|shorten|attach|link|label|tag|name|sort|group|split|number|greet|treat|consider|recommend|refer|compare|count|read|rewrite|change|make|order|book|pay|contact) .{3,})`), instruction},
	{Preference, "everything whenever time", "you", anywhere(`^(?i:(?:please )?` + actions + ` .{2,80}\b(?:in everything you|for everything you|whenever you|every time you|each time you)\b)`), instruction},
	{Preference, "into", "m am", clause(`(?i:(?:i'm|i am) (?:really |very |so )?into) (.{3,})`), refuseVague},
	{Preference, "gave given quit stopped avoid", "i", clause(`(?i:i(?:'ve| have)? ` + adverb + `(?:gave up|given up|quit|stopped (?:eating|drinking|smoking)|avoid(?: eating| drinking)?) (?:alcohol|coffee|sugar|meat|smoking|gluten|dairy|caffeine|milk|wheat|social media|nuts|fish|bread)\b)`), nil},
	{Preference, "if", "paste send ask share show upload give", clause(`(?i:if (?:i|we) (?:paste|send|ask|share|show|upload|give)(?: you)? [^,]{2,80}, (?:please |always |never |just )*(?:don't |do not )?` + actions + `\b)`), instruction},
	{Preference, "pi odgovaraj govori pri", "", clause(`(?i:(?:piši|odgovaraj|govori|pričaj)(?: mi)? (?:kratko|ukratko|opširno|jednostavno|neformalno|formalno|latinicom|ćirilicom|bez|na srpskom|na hrvatskom|na engleskom|na ti)(?:\P{L}|$))`), instruction},

	// Decisions.
	{Decision, "decided agreed chose chosen settled opted picked selected went made", "", anywhere(`(?i:\b(?:we|i|the team|our team|everyone|the board|management)(?:'ve| have| has)?(?: finally| just| all| already| now| both)* (?:decided|agreed (?:with (?:\S+ ){1,3})?(?:on|to|that|da)|chose|chosen|settled on|(?:finally |eventually |had a vote and )?went with \p{L}|made up (?:my mind|our minds)|opted (?:for|to)|picked|selected)\b)`), nil},
	{Decision, "ll will shall let won", "", anywhere(`(?i:\b(?:we'll|we will|we shall) (?:use|go with|stick with|stick to|adopt|keep using|standardi[sz]e on)\b|\bi(?:'ll| will) go with\b|\blet's (?:go (?:with|sa)|stick with|settle on)\b|\bwe won't (?:be using|use|support|ship|build|deploy|hire)\b)`), nil},
	{Decision, "going sticking proceeding moving longer", "", anywhere(`(?i:\b(?:we're|we are|i'm|i am) (?:going|sticking|proceeding|moving ahead) with (?:\S)|(?:^|[,:;] |\P{L})going with (?-i:\p{Lu})|\b(?:we're|we are) not going to (?:use|support|ship|build|deploy|hire)\b|\b(?:we're|we are) no longer (?:using|supporting|shipping)\b)`), nil},
	{Decision, "dropping ending discontinuing retiring adopting deprecating abandoning replacing ended approved", "", anywhere(`(?i:\b(?:we're|we are) (?:dropping|ending|discontinuing|retiring|adopting|deprecating|abandoning|replacing) \S|\bwe ended up (?:choosing|picking|going with|using)\b|\b(?:the board|management|the team|the client|the customer|our boss) (?:has )?approved )`), nil},
	{Decision, "let", "after instead then permanently", anywhere(`(?i:\blet's (?:use|take|do|keep|switch to|move to|stay with|go back to|drop|skip|ship|build|buy|rent|hire) .{2,60}\b(?:after all|instead|for good|permanently)\b)`), nil},
	{Decision, "switched migrated dropped ditched abandoned replaced adopted moved", "we", anywhere(`(?i:\bwe(?:'ve| have)?(?: just| now| already| finally| recently)* (?:(?:switched|migrated|moved)(?: everything| over| all of it)? (?:from \S+(?: \S+)? )?to \p{L}|(?:dropped|ditched|abandoned|adopted) \p{L}|replaced \S+(?: \S+)? (?:with|by)))`), refuseTrouble},
	{Decision, "using keeping anymore", "we re are not longer aren don", anywhere(`(?i:\b(?:we're not|we aren't|we are not|we don't|we do not|we no longer) (?:using|use|support|supporting|need|do) .{2,60}\b(?:any ?more|any longer)\b|\b(?:we're|we are) (?:keeping|staying (?:with|on)|going back to|getting rid of) \S)`), nil},
	{Decision, "go went going take", "we with", anywhere(`(?i:(?:^|[,:;] |\b(?:so|ok|okay|fine|then),? )we(?:'ll)? (?:go|went) with (?:the )?\p{L}|\bwe'll take (?:the|option|number|both|it\b))`), nil},
	{Decision, "going ll", "build buy hire rent host rewrite launch ship release open outsource", anywhere(`(?i:\b(?:we're|we are) going to (?:build|buy|hire|rent|host|rewrite|launch|ship|release|open|outsource) \S|\bwe'll (?:build|buy|hire|rent|host|rewrite|launch|ship|release|open|outsource) (?:it|the|a|an|our|\p{Lu}))`), nil},
	{Decision, "moved pushed postponed rescheduled shifted", "we to", anywhere(`(?i:\bwe(?:'ve| have)?(?: just| now| already)* (?:moved|pushed|postponed|rescheduled|shifted) (?:the|our) (?:[\p{L}-]+ ){0,3}[\p{L}-]+ (?:to|until) (?:\d|` + dates + `))`), refuseTrouble},
	{Decision, "ipak idemo prelazimo ostajemo biramo uzimamo koristimo koristiti pre prestajemo smo odustali odustajemo decided", "", anywhere(`(?i:(?:^|[,;:.] |\P{L}(?:i|a|ali|pa|ok|btw) )(?:mi )?(?:ipak (?:ćemo|idemo|ostajemo|uzimamo|biramo) .{2,}|(?:prelazimo|prešli smo|ostajemo|odustali smo|odustajemo) (?:na|od|pri|sa|kod) .{2,}|(?:idemo|idem) (?:sa|s|na) \p{Lu}|(?:više ne|ne) koristimo .{2,}|(?:ćemo|smo) (?:decided|agreed) .{2,}|smo (?:decided|agreed) .{2,}))`), nil},
	{Decision, "odluka odlu dogovor", "", anywhere(`^(?i:(?:dogovor|odluka)(?: je)?(?: da|:| :).{4,}|odlučeno je .{4,})`), nil},
	{Decision, "switching migrating moving decision settled choice final decided", "", anywhere(`(?i:\b(?:we're|we are) (?:switching|migrating|moving) (?:from \S+ )?to\b|^(?:final |our )?(?:decision|choice) ?:|^(?:ok,? |okay,? )?it(?:'s| is) (?:settled|decided|final) ?:|^(?:the|our) final (?:choice|decision) is\b|\b(?:the )?decision was (?:made )?(?:to|that)\b)`), nil},
	{Decision, "odlu dogovorili izabrali entschieden beschlossen cid decidido decidimos choisi deciso scelto", "", anywhere(`(?i:(?:^|\P{L})(?:odlučili smo|smo odlučili|odlučio sam|odlučila sam|dogovorili smo|smo (?:se )?dogovorili|izabrali smo|haben uns .{2,60} entschieden|(?:wir haben|ich habe) (?:beschlossen|entschieden)|(?:nous avons|on a|j'ai) (?:décidé|choisi)|(?:hemos|he) decidido|decidimos|abbiamo (?:deciso|scelto)))`), nil},
	{Decision, "hard strict firm tvrdo", "", anywhere(`(?i:\b(?:hard|strict|firm) (?:constraint|requirement|limit)\b|\btvrdo ograničenje\b)`), nil},

	// Goals and to-dos.
	{Goal, "goal aim objective target plan", "", clause(`(?i:(?:our|my) (?:main |primary |ultimate |overall |next |current )?(?:goal|aim|objective|target) (?:(?:this|next) \p{L}+ )?(?:is|for .{2,40} is)\b|` +
		`the (?:goal|aim|objective|target) of (?:the|our|this) (?:project|team|product|company|quarter|year|sprint|thesis|business|campaign) is\b|we aim (?:for|at) \d|(?:our|my) plan is to .{4,}|the plan is to .{3,80} (?:by|before|on|in) ` + dates + `)`), nil},
	{Goal, "hope hoping want plan planning saving trying learning training", "retire learn buy open start build run become move finish for someday write speak lose marathon", clause(`(?i:(?:i|we)(?:'m| am|'re| are)? (?:really |still |also )?(?:(?:hope|hoping|plan|planning|intend) to (?:retire|learn|buy|open|start|build|run|become|move|finish|write|grow|hire)\b|want to (?:learn|become|retire|run a|lose|open a|buy a (?:house|flat|car|boat|home)|learn to)\b|saving (?:up )?for|training for|trying to (?:learn|quit|lose|get (?:fit|better)|save|become|read more)\b|learning (?:\p{Lu}|the (?:piano|guitar|violin)|to (?:swim|drive|cook|sail|dance|ski|play))).*)`), refuseTrouble},
	{Goal, "cilj", "je mi", clause(`(?i:cilj mi je \P{L}?.{3,}|(?:želim|hoću) da (?:naučim|postanem|kupim (?:kuću|stan|auto)|otvorim|istrčim|smršam) ?.{2,})`), nil},
	{Goal, "cilj planiram planiramo ziel objectif objetivo", "", clause(`(?i:(?:naš )?cilj nam je|naš cilj je|moj cilj je|planiramo? da|(?:unser|mein) ziel ist|(?:notre|mon) objectif est|(?:nuestro|mi) objetivo es)(?:\P{L})`), nil},
	{Goal, "want plan planning hope hoping intend aim aiming trying", "by before until in this next on", clause(`(?i:(?:i|we)(?:'m| am|'re| are)? (?:still |also |really |currently )?(?:want|plan|planning|hope|hoping|intend|aim|aiming|trying) to .{3,120}?\b(?:by|before|until|in|this|next|on)(?: the)? (?:` + dates + `|year|month|week|quarter|spring|summer|autumn|winter))`), nil},
	{Todo, "need have must", "by before until on tomorrow tonight today this next", clause(`(?i:(?:i|we) (?:still |also |really )?(?:need to|have to|must) .{2,120}?\b(?:(?:by|before|until|on) ` + dates + `|tomorrow|tonight|today|this (?:week|month|afternoon|evening)|next (?:week|month)))`), nil},
	{Todo, "still", "need have", clause(`(?i:(?:i|we) still (?:need|have) to (?:call|write|send|buy|pay|book|finish|prepare|renew|return|sign|fill|order|update|review|test|fix|clean|ask|register|cancel|pack|submit|talk|read) .{3,})`), refuseTrouble},
	{Todo, "have need must", "call pay book renew return cancel send sign", clause(`(?i:i (?:have to|need to|must) (?:call|pay|book|renew|return|cancel|sign) (?:the|my|a|an|our) (?:bank|rent|bill|doctor|dentist|insurance|passport|landlord|lawyer|accountant|flight|hotel|tickets?|invoice|taxes|contract|lease|subscription|library)\b)`), nil},
	{Todo, "need have must", "by before until", anywhere(`^(?i:(?:by|before|until) ` + dates + `[^,]{0,20},? (?:i|we) (?:still )?(?:need to|have to|must) .{3,})`), nil},
	{Todo, "todo do", "", anywhere(`^(?i:(?:todo|to-do) ?:)`), nil},
	{Todo, "remind forget podseti", "", anywhere(`^(?i:(?:please )?(?:remind me (?:to|about|that)|don't let me forget (?:to|that|about)|podseti me da) )`), nil},
	{Todo, "deadline due rok", "", anywhere(`(?i:\bdeadline (?:is|for .{2,60} is|(?:nam |mi )?je|:)|\b(?:is|are) due (?:on |by |in )?` + dates + `|(?:^|\P{L})rok (?:za .{2,40} )?je\b)`), refuseProgram},
	{Todo, "moram moramo treba muss ssen", "", clause(`(?i:(?:moramo?|treba) (?:da )?.{3,100} (?:(?:sutra|danas|prekosutra|večeras|sledeće nedelje|u (?:ponedeljak|utorak|sredu|četvrtak|petak|subotu|nedelju))(?:\P{L}|$)|do (?:ponedeljka|utorka|srede|četvrtka|petka|subote|nedelje|sutra|kraja|\d))|(?:ich|wir) (?:muss|müssen) .{0,80}\bbis )`), nil},

	// Corrections, of whatever was said.
	{Fact, "not meant correction ispravka", "", anywhere(`^(?i:(?:no|nope|actually|sorry|wait|well)[,.:]? (?:it's|it is|that's|they're|(?:the|my|our) [\p{L} ]{2,30} (?:is|are)) [^,]{2,80}, (?:and )?not [^,]{1,60}|(?:correction|ispravka) ?: .{3,}|(?:sorry, |no, )?i meant [^,]{2,80}, not .{1,60}|i said .{1,40},? but (?:i )?meant .{2,})|^(?:[Ii]t's|[Ii]t is|[Tt]hat's) not [\p{Lu}\d][^,]{1,40}, (?:it's|it is|but) .{2,}`), corrects},

	// Events: what happens or happened at a time.
	{Event, "flying travelling traveling going moving getting meeting visiting leaving starting speaking presenting hosting", "on in next this from tomorrow tonight", clause(`(?i:(?:i'm|i am|we're|we are|i'll be|we'll be) ` + adverb + `(?:flying|travell?ing|going|moving|getting married|meeting|visiting|leaving|starting|speaking|presenting|hosting)\b.{0,100}?\b(?:(?:on|in|next|this|from)(?: the)? ` + dates + `|tomorrow|tonight|next (?:week|month|year)))`), nil},
	{Event, "appointment interview exam surgery flight meeting wedding checkup presentation viewing lesson", "on in at next this from tomorrow tonight", anywhere(`^(?i:(?:tomorrow|tonight|(?:next|this|on) (?:week|month|\p{L}+day|weekend)(?: (?:morning|afternoon|evening))?),? (?:i|we)(?:'ve got| have| have got) (?:an? |my |our )(?:[\p{L}'-]+ ){0,2}` + appointments + `|(?:i|we)(?:'ve got| have| have got) (?:an? |my |our )(?:[\p{L}'-]+ ){0,2}` + appointments + `.{0,60}\b(?:(?:on|in|at|next|this|from) (?:the )?` + dates + `\b|tomorrow|tonight|next (?:week|month)))`), nil},
	{Event, "exam interview flight wedding surgery trip appointment graduation defence defense presentation vacation holiday baby lease move birthday contract", "on in next this tomorrow today yesterday last", clause(`(?i:(?:my|our) (?:next |final |first )?(?:exam|interview|flight|wedding|surgery|trip|appointment|graduation|thesis defen[cs]e|defen[cs]e|presentation|vacation|holiday|baby) (?:is|was|starts|begins|leaves|will be)(?: due| born| scheduled)? ?(?:for |(?:on|in|at) (?:the )?` + dates + `|(?:on|in|next|this|last) \p{L}+|tomorrow|today|yesterday).*)`), refuseTrouble},
	{Event, "got was been", "promoted engaged married hired accepted pregnant divorced elected", clause(`(?i:(?:i|we)(?:'ve| have)? (?:just |finally )*(?:got|was|were|been|got myself) (?:promoted|engaged|married|hired|accepted|elected|divorced)\b.*)`), refuseTrouble},
	{Event, happened, "yesterday today last this on in ago", clause(`(?i:(?:i|we) (?:just |finally |both |all )*(?:` + strings.ReplaceAll(happened, " ", "|") + `)\b.{3,160}?\b(?:yesterday|today|last (?:night|week|month|year|\p{L}+day|spring|summer|autumn|winter)|this (?:morning|afternoon|week|month)|(?:on|in) ` + dates + `|ago))`), refuseTrouble},
	{Event, relatives + " parents kids", "on in next this", clause(`(?i:my (?:older |younger )?(?:` + strings.ReplaceAll(relatives, " ", "|") + `|parents|kids) .{3,80}?\b(?:on|in|next|this)(?: the)? ` + dates + `(?:\P{L}|$))`), refuseTrouble},
	{Event, happened + " opened flying travelling traveling moving getting meeting visiting leaving starting speaking presenting hosting", "yesterday tomorrow tonight last next this on in", clause(`(?i:(?:yesterday|tomorrow|tonight|this morning|(?:last|next) (?:night|week|month|year|weekend|\p{L}+day|spring|summer|autumn|winter)|(?:on|in) ` + dates + `[^,]{0,10}),? (?:i|we)(?:'m|'re|'ll| am| are| will)? (?:just |finally |both |all |be )*(?:` + strings.ReplaceAll(happened, " ", "|") + `|opened|flying|travell?ing|moving|getting|meeting|visiting|leaving|starting|speaking|presenting|hosting)\b.{2,})`), refuseTrouble},
	{Event, "selim selimo ju jutros sutra pro slede danas", "", clause(`(?i:(?:juče|jutros|sutra|prošle (?:nedelje|godine)|prošlog meseca|sledeće nedelje|danas) (?:smo|sam|ćemo|ću|idem|idemo|letim|letimo|putujem|putujemo) .{4,}|selim(?:o)? se .{4,})`), nil},

	// Facts.
	{Fact, "costs charges", "", anywhere(`^(\p{Lu}[\p{L}\d'-]*(?: \p{Lu}[\p{L}\d'-]*){0,2}|(?i:our) (?:[\p{L}\d'-]+ ){0,3}[\p{L}\d'-]+) (?i:(?:now |currently )?(?:costs|charges)) (?i:us |about |around |only )*(?:[€$£]? ?\d)`), refuseExercise},
	{Fact, "our the", "opens closes begins starts ends expires renews changes leaves requires belongs", anywhere(`^(?i:(?:our|the) (?:(?:office|shop|store|fiscal|company|client|customer|landlord|contract|lease|licence|license|school|gym|library|warehouse|team|support|guest|wifi|wi-fi|monthly|weekly|daily|annual|password|certificate|domain|trial|subscription|boss|board|bank|landlady|restaurant|clinic)(?: [\p{L}'-]+){0,4}) (?:opens|closes|begins|starts|ends|expires|renews|changes|requires|belongs to|is open|is closed|are rotated|is rotated) (.{3,}))`), refuseState},
	{Fact, "client customer boss board", "wants want", anywhere(`^(?i:(?:our|the) (?:client|customer|boss|board)s? wants? (?:the|a|an|all|every|everything|it in) .{3,})`), nil},
	{Fact, "our my", "designer manager accountant lawyer lead developer boss landlord assistant dentist doctor teacher supplier contact engineer coach", anywhere(`^(\p{Lu}\p{Ll}+(?: \p{Lu}\p{Ll}+)?) (?i:is|was) (?i:our|my) (?i:(?:new |main |former )?(?:[\p{L}-]+ ){0,2}(?:designer|manager|accountant|lawyer|lead|developer|boss|landlord|assistant|dentist|doctor|teacher|supplier|contact|engineer|coach))\b`), refuseOpener},
	{Fact, "runs leads manages owns heads maintains handles", "the our", anywhere(`^(\p{Lu}\p{Ll}+(?: \p{Lu}\p{Ll}+)?) (?i:runs|leads|manages|owns|heads|maintains|handles) (?i:the|our) (?i:[\p{L}-]+ ?){1,3}(?:\.|$|,| and )`), refuseOpener},
	{Fact, "approved signed reviewed checked paid confirmed go", "by on every", anywhere(`^(?i:(?:all |our |the )?(?:refunds|invoices|holidays|orders|expenses|contracts|payments|releases|purchases|changes|salaries|reports) (?:have to be|must be|need to be|are|go out|are paid) (?:(?:approved|signed|reviewed|checked|paid|confirmed|sent)(?: off)? (?:by|on)|on the) .{2,})`), refuseExercise},
	{Fact, "rotated updated checked deployed cleaned restarted synced published backed released refreshed", "every each once twice daily weekly nightly monthly", anywhere(`^(?i:(?:the|our|all) (?:[\p{L}\d'-]+ ){1,5}?(?:is|are|gets?) (?:rotated|updated|checked|deployed|cleaned|restarted|synced|published|backed up|released|refreshed) (?:every|each|once|twice|daily|weekly|nightly|monthly)\b)`), refuseExercise},
	{Fact, "gb tb mb", "", anywhere(`^(?i:(?:the|our|my) (?:[\p{L}\d'-]+ ){1,4}?(?:is|has|are|have) (?:about |around |only |over )?\d[\d.,]* ?(?:gb|tb|mb)\b)`), refuseExercise},
	{Fact, "laptop computer phone car bike camera machine keyboard monitor router printer tablet pc", "my", clause(`(?i:my (?:work |new |old |home )?(?:laptop|computer|phone|car|bike|camera|machine|keyboard|monitor|router|printer|tablet|pc) (?:is|has|runs|je|ima) (?:(?:an? )?\p{Lu}|\d))`), refuseTrouble},
	{Fact, "work", "home remotely part nights weekends shifts", clause(`(?i:i ` + adverb + `work (?:from home|remotely|part-time|nights|night shifts|weekends|in shifts)\b)`), nil},
	{Fact, "write code program", "days mostly mainly", clause(`(?i:i ` + adverb + `(?:mostly |mainly )?(?:write|code|program) .{2,40}(?:these days|most of the time)|i (?:mostly|mainly) (?:write|code|program) .{2,})`), refuseVague},
	{Fact, "from starting as", "ll will m am re are", anywhere(`^(?i:(?:from|starting|as of) (?:next )?` + dates + `[^,]{0,12},? (?:i|we)(?:'ll| will|'m| am|'re| are)\b)`), refuseTrouble},
	{Fact, "there", "team office company department", anywhere(`^(?i:there (?:are|'re) (?:about |around )?(?:\d+|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|fifty) (?:\p{L}+ ){0,2}(?:people|engineers|developers|designers|of us|employees|nurses|teachers) (?:on|in|at) (?:my|our|the) (?:team|office|company|department))`), nil},
	{Fact, "moj moja mu ena sin sestra brat mama tata majka otac drugarica erka", "se ima radi ide ivi je", clause(`(?i:(?:moj|moja) (?:muž|žena|sin|ćerka|kćerka|kći|brat|sestra|mama|tata|majka|otac|šef|šefica|momak|devojka|dečko|pas|mačka) (?:\p{Lu}\p{L}+ )?(?:se zove|ima|živi|radi|ide|studira|je) .{2,})`), refuseTrouble},
	{Fact, "our", "", clause(`(?i:our (deadline|budget|launch date|release date|company|product name|domain|main database|cloud provider|default \w+) is) `), slotOf("value")},
	{Fact, places, "", clause(`(?i:(?:our|my) (?:new )?((?:head |main |home )?(?:` + strings.ReplaceAll(places, " ", "|") + `)) (?:(?:is|are)(?: now| currently)?(?: located| based| situated)?|(?:has |have )?(?:just )?(?:moved|relocated)(?: from (?:the )?\p{Lu}\p{L}+)?) (?:in|to|at)) ` + name), slotPlace},
	{Fact, "our", "", clause(`(?i:our [\p{L}\d][\p{L}\d _-]{1,40}? (?:(?:mostly|mainly) )?(?:runs? on|uses?|lives? (?:in|on)|is (?:hosted|written|deployed) (?:in|on|with)|takes?|costs?|starts?|ships?|supports?|serves?|handles?|has|have|are|is) (.{3,}))`), refuseState},
	{Fact, "architecture stack infrastructure model path pricing finding findings deployment scope timeline", "", anywhere(`^(?i:(?:[\p{L}-]+ ){0,3}(?:architecture|stack|infrastructure|data model|migration path|pricing|findings?|deployment|scope|timeline)(?: (?:for|of|in) [\p{L}\d' -]{2,40})? ?: .{12,})`), nil},
	{Fact, "budget headcount policy deadline", "capped limited set fixed says requires forbids", anywhere(`^(?i:(?:the |our )?(?:budget|headcount|deadline) is (?:capped at|limited to|set to|fixed at) .{2,}|(?:our |the )?company policy (?:says|requires|forbids) .{4,})`), nil},
	{Fact, "port localhost", "", anywhere(`^(?i:(?:the |our |my )?([\p{L}\d][\p{L}\d ._-]{1,40}?)(?: (?:backend|service|daemon|process))? (?:(?:runs?|is|are|listens?|lives?) (?:on|at) |(?:on|at) )?(?:the )?(?:port |localhost:)(\d{2,5})(?:[.,]|$))`), slotPort},
	{Fact, "preparing drafting building developing launching working", "", anywhere(`^(?i:(?:so |and |currently |right now |today )?,?(?:we're|we are) (?:preparing|drafting|building|developing|launching|working on) (.{6,}))`), refuseVague},
	{Fact, "use", "we", clause(`[Ww]e (?:currently |now |all |mostly )?use (?:\p{Lu}.{2,}|.{2,40} for .{3,})`), nil},
	{Fact, "sell offer produce manufacture operate export deploy host store run", "", clause(`(?i:we (?:sell|offer|produce|manufacture|operate|export|deploy (?:to|on|via|with|every)|host (?:on|in|at|our|everything)|store (?:our|all)|run (?:our|on|everything|all)) .{3,})`), nil},
	{Fact, "lives sits stored kept located documented", "", clause(`(?i:the (?:[\p{L}\d'-]+ ){1,5}?(?:for (?:[\p{L}\d'-]+ ){1,3}?)?(?:lives|sits|is stored|is kept|is located|is documented|are stored|are kept) (?:in|on|at|under) (.{3,}))`), refuseState},
	{Fact, "engineers developers employees people customers clients users servers nodes offices teams designers products plans stores branches members", "", clause(`(?i:we have (?:about |around |over |nearly )?(?:\d[\d,.]*k?|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|fifty|a dozen) (?:[\p{L}-]+ )?(?:engineers|developers|employees|people|customers|clients|users|servers|nodes|offices|teams|designers|products|plans|stores|branches|members)\b)`), nil},
	{Fact, "called named", "", clause(`(?i:the (?:[\p{L}\d'-]+ ){1,4}?(?:is|are) (?:called|named)) ["“']?(?:\p{Lu}|[\p{L}]+[\d-])`), refuseStory},
	{Fact, "name codename budget limit quota price address url port version owner contact lead", "", clause(`(?i:the) (?:[\p{L}\d'-]+ ){0,4}(?i:code ?name|name|budget|limit|quota|price|address|url|port|version|owner|contact|lead)(?: for [\p{L}\d -]{2,40}?)? is (?:\p{Lu}|[\d€$£]|at |https?:)`), nil},
	{Fact, "server servers cluster database app site office team company project product meeting standup backup store warehouse", "", clause(`(?i:the (?:[\p{L}\d-]+ ){0,2}(?:servers?|cluster|database|app|site|office|team|company|project|product|meeting|standup|backup|store|warehouse) (?:has|have|runs? (?:on|at|in)|lives? (?:in|on)|is (?:hosted|written|deployed|located|based) (?:in|on|with|at)|starts at|takes place) (.{3,}))`), refuseState},
	{Fact, "na", "je su ima", clause(`(?i:(?:naš|naša|naše|naši) [\p{L}\d-]+(?: [\p{L}\d-]+){0,3}? (?:je|su|ima) .{2,})`), nil},
	{Fact, "koristimo radimo bud pripremamo razvijamo gradimo", "", clause(`(?i:koristimo \S.{2,}|radimo na .{4,}|(?:pripremamo|razvijamo|gradimo) .{4,}|budžet(?: za .{2,40}?)? je .{2,})`), nil},
}

// relatives are those of whom people tell the name.
const relatives = "wife husband partner son daughter brother sister mother father mom dad dog cat girlfriend boyfriend boss manager"

// happened are verbs by which people tell what they did.
const happened = "had met launched shipped signed visited bought sold finished released hired ran attended lost won adopted started presented published celebrated graduated moved quit left"

// appointments are what people have at a time.
const appointments = `(?:appointment|interview|exam|surgery|flight|meeting|wedding|check-?up|presentation|viewing|lesson)\b`

// professions are what people say that they are.
const professions = `engineer developer programmer designer doctor nurse teacher student lawyer manager scientist analyst founder ` +
	`researcher writer consultant architect accountant illustrator journalist photographer translator musician chef pilot electrician ` +
	`mechanic plumber farmer artist editor economist biologist chemist physicist mathematician psychologist therapist dentist pharmacist ` +
	`veterinarian librarian salesman barista driver tester administrator freelancer professor lecturer policeman firefighter tailor baker`

// actions are verbs by which a standing instruction begins.
const actions = `(?:answer|reply|respond|write|use|say|speak|talk|call|address|include|add|put|show|give|keep|start|end|begin|format|` +
	`cite|explain|ask|assume|avoid|send|run|check|prefer|mention|suggest|propose|translate|test|provide|output|return|quote|round|sign|be|stop|` +
	`tell|list|point|focus|prioriti[sz]e|remind|summari[sz]e|highlight|spell|convert|skip)`

const serbianActions = `(?:odgovaraj|odgovori|piši|koristi|navedi|budi|daj)`

// dates begin a point in time.
const dates = `(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may|june|july|august|september|` +
	`october|november|december|tomorrow|tonight|today|noon|midnight|(?:next|this) (?:week|month|year|quarter|spring|summer|autumn|fall|winter|\w+day)|the end|end of|q[1-4]\b|eod|eow|` +
	`spring|summer|autumn|winter|easter|christmas|\d{1,2}(?::\d\d| ?[ap]m|st|nd|rd|th|\.\d| \p{L}+)|20\d\d\b|the \d)`

func compile(pattern string) *regexp.Regexp { return regexp.MustCompile(pattern) }

// slot fills (subject, attribute) with the last group: a newer value replaces
// the old one.
func slot(subject, attribute string) func(*draft, []string) {
	return func(d *draft, groups []string) {
		d.subject, d.attribute = subject, attribute
		d.value = slotValue(fold(cmp.Or(groups[len(groups)-1], groups[min(1, len(groups)-1)])))
		if first, _, _ := strings.Cut(d.value, " "); notValues[first] {
			d.typ = ""
		}
	}
}

// noLonger says that (subject, attribute) hasn't the value of the last group
// any more.
func noLonger(subject, attribute string) func(*draft, []string) {
	return func(d *draft, groups []string) {
		slot(subject, attribute)(d, groups)
		d.value = gone + d.value
	}
}

// gone begins a value that a slot has no more.
const gone = "not "

// slotPerson fills the user's name, unless the word tells where somebody is
// from or how they feel.
func slotPerson(d *draft, groups []string) {
	slot("user", "name")(d, []string{groups[1] + groups[2]})
	if notNames[d.value] {
		d.typ = ""
	}
}

// notNames are words in capitals after "I'm" that name nobody.
var notNames = wordSet(`german austrian swiss serbian croatian bosnian slovenian french english british irish scottish american canadian
	australian italian spanish portuguese russian ukrainian polish czech slovak hungarian romanian bulgarian greek turkish dutch belgian swedish
	norwegian danish finnish chinese japanese korean indian brazilian mexican european asian african catholic orthodox muslim jewish christian
	sorry new done sure happy ok okay fine good back here srbin hrvat nemac bosanac deutscher osterreicher`, strings.ToLower)

// leftEmployer says that the user's employer isn't the last group any more, if
// that names one rather than a place or person.
func leftEmployer(d *draft, groups []string) {
	if lower := strings.ToLower(groups[0]); strings.Contains(lower, "left") && !strings.Contains(lower, "job") {
		d.typ = "" // "I left Berlin."
		return
	}
	noLonger("user", "employer")(d, groups)
}

// notPeople are words that begin a sentence about nobody by name.
var notPeople = wordSet(`she he it this that they who there what here everyone everybody nobody someone somebody one mine his her their which
	food`, strings.ToLower)

// refuseOpener refuses a statement about whom its first group doesn't name.
func refuseOpener(d *draft, groups []string) {
	if first, _, _ := strings.Cut(strings.ToLower(groups[1]), " "); notPeople[first] {
		d.typ = ""
	}
}

// sum is how an exercise speaks of prices.
var sum = compile(`(?i)^(?:an?|each|every|one|if|when|the) (?:\p{L}+ )?(?:costs?|charges)\b|\b(?:each|per (?:dozen|pound|kg))\b`)

func refuseExercise(d *draft, groups []string) {
	if first, _, _ := strings.Cut(strings.ToLower(groups[0]), " "); notPeople[first] || sum.MatchString(d.content) || exercise.MatchString(groups[0]) {
		d.typ = ""
	}
}

// story is where somebody is called something who isn't there.
var story = compile(`(?i)\b(?:story|novel|character|hero|heroine|game|film|movie|book|example|play|poem|function|variable|class|method|column|file)\b`)

func refuseStory(d *draft, groups []string) {
	if story.MatchString(groups[0]) {
		d.typ = ""
	}
}

// slotNamed fills (relative, name).
func slotNamed(d *draft, groups []string) {
	d.subject, d.attribute, d.value = fold(groups[1]), "name", fold(groups[2])
}

// slotPort fills (service, port).
func slotPort(d *draft, groups []string) {
	d.subject, d.attribute, d.value = fold(groups[1]), "port", groups[2]
}

// places are what a household or a firm has one of, so that a new place of it
// ends the old one.
const places = "office headquarters hq warehouse studio lab house flat apartment home"

// slotPlace fills (what is there, location).
func slotPlace(d *draft, groups []string) {
	d.subject, d.attribute, d.value = fold(groups[1]), "location", strings.TrimRight(fold(groups[2]), " .,")
}

// slotMine fills (user, what is the user's).
func slotMine(d *draft, groups []string) {
	d.subject, d.attribute, d.value = "user", attributeOfMine(strings.Fields(fold(groups[1]))), slotValue(fold(groups[2]))
	if notValues[strings.ToLower(strings.Fields(groups[2])[0])] {
		d.typ = ""
	}
}

// notValues are first words after which "my name is" names nobody.
var notValues = wordSet("not no on in at my your same this that these what too also still already spelled", strings.ToLower)

// slotValue is a value without what only says that it is the one that holds.
func slotValue(value string) string {
	for {
		short := strings.TrimRight(value, " .,!")
		for _, word := range [...]string{" now", " again", " currently", " sada", " jetzt"} {
			short = strings.TrimPrefix(strings.TrimSuffix(short, word), word[1:]+" ")
		}
		if short == value {
			return value
		}
		value = short
	}
}

// slotOf fills (group, attribute) with what follows the match.
func slotOf(attribute string) func(*draft, []string) {
	return func(d *draft, groups []string) {
		d.subject, d.attribute = fold(groups[1]), attribute
		_, after, _ := strings.Cut(d.content, groups[0])
		d.value = slotValue(fold(after))
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
	case "like", "love", "enjoy", "adore", "fan", "volim", "obožavam":
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
var tail = compile(`(?i)(?:[,.;:!(]| (?:because|but|since|when|while|although|very much|a lot|so much|anymore|any more|again|now|at all|više|opet|sada|ponovo|more than|over)\b).*$`)

// language is what is to be written in a language; the first group may name
// something else than answers.
var language = compile(`(?i)\b(?:answer|reply|respond|write|speak|talk)((?: [\p{L}-]+){0,4}?) (?:in|na) (english|french|german|serbian|croatian|bosnian|spanish|` +
	`italian|portuguese|dutch|polish|czech|russian|ukrainian|turkish|arabic|hindi|chinese|japanese|korean|greek|swedish|srpskom|engleskom)\b`)

// answerWords, like stop words, say nothing of what is to be written.
var answerWords = wordSet("answers replies responses everything questions always back", strings.ToLower)

// subjectAnswers is the subject of standing instructions.
const subjectAnswers = "answers"

// thisOnly says that an order is for one answer.
var thisOnly = compile(`(?i)\b(?:for|in) this (?:question|answer|task|case|example|message|function|time|exercise|problem|one|code|file|email)\b`)

// instruction marks how answers are to be; their language can only be one.
func instruction(d *draft, _ []string) {
	if thisOnly.MatchString(d.content) {
		d.typ = ""
		return
	}
	d.subject, d.attribute = subjectAnswers, "instruction"
	if m := language.FindStringSubmatch(d.content); m != nil {
		d.attribute, d.value = "language", strings.ToLower(m[2])
		of := slices.DeleteFunc(strings.Fields(subjectOf(m[1])), func(word string) bool { return answerWords[word] })
		if len(of) > 0 {
			d.attribute += " of " + strings.Join(of, " ")
		}
	}
}

// vague begins an object that means nothing outside its conversation.
var vague = compile(`(?i)^(?:(?:it|this|that|these|those|your|you|them|him|her|neither|either|ovo|ov[uaei]|ovaj|taj|tu|kraj|početak|naslov|ovako|kad je ov\p{L}+|how|what|where|a fix|an? (?:bug|issue|error)|for)\b|` +
	`the (?:way|idea|first|second|third|last|previous|other|latter|former|(?:\p{L}+ )?(?:ending|title|tone|layout|font|version|result|answer|intro\w*|wording|draft|opening|story|poem))\b|to (?:see|know|ask|hear|thank|understand)\b)`)

func refuseVague(d *draft, groups []string) {
	if vague.MatchString(groups[len(groups)-1]) {
		d.typ = ""
	}
}

// state begins a predicate that will be over soon, or says too little.
var state = compile(`(?i)^(?:not|no|still|already|now|currently|very|too|so|ok|okay|fine|great|good|bad|broken|down|slow|stuck|late|wrong|` +
	`missing|ready|done|gone|\p{L}+ing|a (?:mess|bit|problem|disaster)|what|how|why)\b`)

// exercise is what somebody else has set, or a piece of a program.
var exercise = compile(`(?i)\bour (?:\w+ )?(?:assignment|homework|exercise|task|problem|question|teacher|professor|code|function|tests?|query|loop|array|list|input|output|error|example|case|step|equation|matrix|graph|tree|string|variable|formula|algorithm|solution|answer|proof|story|hero|essay|poem)\b|^the (?:\w+ )?(?:hero|heroine|character|protagonist|narrator|baker|painter|gardener|(?:\w+ )?fan|(?:\w+ )?enthusiast)\b|\bin the (?:first|second|third|fourth|fifth|\w+) house\b`)

func refuseState(d *draft, groups []string) {
	if state.MatchString(groups[len(groups)-1]) || exercise.MatchString(groups[0]) {
		d.typ = ""
	}
}

// instead is what a correction is in place of.
var instead = compile(`(?i),? (?:and )?not ([^,.!]{1,60})`)

// corrects notes what a correction takes the place of.
func corrects(d *draft, _ []string) {
	if m := instead.FindStringSubmatch(d.content); m != nil {
		d.corrects = m[1]
	}
}

// once begins a condition that holds only now.
var once = compile(`(?i)^(?:when|whenever) (?:you're|you are|you have|you've|i'm|we're) (?:done|finished|ready|time|back|read)\b|^when (?:i|you|we) (?:run|ran|tried|try|click|open|compile|execute|call) `)

// refuseOnce makes a standing instruction of what is to be done whenever
// something happens.
func refuseOnce(d *draft, groups []string) {
	if once.MatchString(groups[0]) {
		d.typ = ""
		return
	}
	instruction(d, groups)
}

// trouble is what people ask about rather than tell.
var trouble = compile(`(?i)\b(?:errors?|bugs?|exceptions?|crash\w*|problems?|issues?|trouble|fail\w*|questions?)\b`)

func refuseTrouble(d *draft, groups []string) {
	if trouble.MatchString(groups[0]) {
		d.typ = ""
	}
}

// exceeded is a deadline in a program.
var exceeded = compile(`(?i)deadline exceeded|context deadline`)

func refuseProgram(d *draft, _ []string) {
	if exceeded.MatchString(d.content) {
		d.typ = ""
	}
}
