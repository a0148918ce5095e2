package memory

import "strings"

// The rules of the scanner. Each finds words in an order and adds its weight,
// once, to the score of a text, which is stopped at 1: some say enough alone,
// most are only odd and count together. A pattern's parts are words, choices
// of words ("a|b") and, in capitals, classes of [threatWords]. Between two
// parts stand at most two other words, with "~" eight, with "." none; the end of a
// sentence is never between them.
//
// Wishes about the form of answers ("always answer in French"), talk about
// prompts, rules and secrets, and orders between people have to stay below 1:
// testdata/scan holds what each rule must and must not stop.

// What an attack does.
const (
	overrides = "overrides instructions"
	unbinds   = "assigns a role"
	leaks     = "leaks"
	rights    = "grants rights"
	hides     = "hides from the user"
	reads     = "addresses the reader"
	poisons   = "plants a rule"
	forges    = "forges chat markup"
	obfuscate = "disguised text"
	resembles = "resembles attacks" // says the model, not a rule
)

var threatRules = []struct {
	weight  float64
	reason  string
	pattern string
}{
	// Instructions put aside.
	{1.0, overrides, "CANCEL ALL|PRIOR|YOUR ORDER"},
	{1.0, overrides, "CANCEL ALL ~ PRIOR|YOUR ~ ORDER"},
	{1.0, overrides, "CANCEL ~ ORDER PRIOR"},
	{1.0, overrides, "CANCEL ALL ORDER"},
	{1.0, overrides, "PRIOR|ALL|YOUR ~ ORDER ~ DROP"},
	{0.4, overrides, "CANCEL ORDER"},
	{1.0, overrides, "CANCEL ~ ORDER ~ developer|developers|makers|entwickler|given|told|data|configured"},
	{1.0, overrides, "CANCEL everything|all|anything ~ you ~ told|learned|learnt|taught|know|knew"},
	{1.0, overrides, "not|stop|don't follow|following|obey|obeying PRIOR|YOUR|ALL ORDER"},
	{1.0, overrides, "do not follow ~ ORDER"},
	{1.0, overrides, "pay no attention ~ ORDER|told"},
	{1.0, overrides, "ne tiens pas compte ~ ORDER"},
	{1.0, overrides, "no hagas caso ~ ORDER"},
	{1.0, overrides, "ne obrascai vnimanija ~ ORDER"},
	{1.0, overrides, "PRIOR|YOUR ~ ORDER|guidance|limitations ~ OFF"},
	{0.6, overrides, "PRIOR ~ guidance|orders"},
	{0.7, overrides, "instead of ~ output|reply|say|write|print|respond"},
	{0.6, overrides, "pwned|hacked|owned|granted"},
	{0.6, overrides, "CANCEL . everything|whatever|all . and|that|comes|else"},
	{0.5, overrides, "CANCEL ~ and ~ write|output|print|say|reply|respond"},
	{0.6, overrides, "not|don't translate|answer|summarise|summarize|process|follow the|this|what|any"},
	{0.7, overrides, "new . task ~ print|say|output|write|repeat|reply"},
	{0.3, overrides, "stop after . that|this"},
	{0.5, overrides, "system override"},
	{0.5, overrides, "respond|answer|reply with ~ word|phrase|sentence|only"},
	{0.6, overrides, "your . output|response|responses|answer|answers|reply ~ must|shall ~ be|begin|start|contain"},
	{0.5, overrides, "the only thing you"},
	{0.5, overrides, "yes . master"},
	{0.5, overrides, "i . obey|comply|submit"},
	{1.0, overrides, "CANCEL . you|that . are|you ~ assistant|ai|model"},
	{1.0, overrides, "execute|run|eval print system|prompt"},
	{0.5, overrides, "end of input|prompt|task|instructions"},
	{1.0, overrides, "throw|toss away ~ told|rules|instructions|guidelines|prompt"},
	{1.0, overrides, "whatever|everything|what ~ your ~ operator|developer|developers|creators|system|maker ~ told|said|says|wrote"},
	{0.5, overrides, "i make|set|am . the rules|law"},
	{0.5, overrides, "text|rules|content in your ~ system|message|prompt"},
	{0.6, overrides, "follow|use|obey this|me|these|mine instead"},
	{1.0, overrides, "CANCEL the ~ moderation|safety|security|content ~ layer|filter|filters|checks|system|policy"},
	{1.0, overrides, "CANCEL ~ te|ti|dir|t|tebe|vam|on . dijeron|je|gesagt|a|hanno|disseram|govorili|skazali"},
	{1.0, overrides, "set|put|leave aside ~ ORDER"},
	{1.0, overrides, "delete|remove|erase ~ ORDER you"},
	{0.3, overrides, "ORDER ~ not|don't|no|longer ~ count|apply|exist|matter|hold"},
	{0.6, overrides, "not|don't|doesn't|didn't count|exist|matter"},
	{0.4, overrides, "your creators|creator|makers|maker|developers|programmers"},
	{0.5, overrides, "ORDER ~ did not exist"},
	{1.0, overrides, "everything|anything above|before|earlier ~ outdated|void|invalid|obsolete|wrong|cancelled"},
	{0.5, overrides, "whatever you ~ asked|told|given"},
	{0.5, overrides, "stop it"},
	{0.8, overrides, "opposite of ~ system|prompt|rules|told|instructions|policy"},
	{0.5, overrides, "new priority|orders|objective|mission|directive"},
	{0.5, overrides, "only|just ~ this|these ~ message|note|instructions ~ counts|count|applies|apply|matters"},
	{0.6, overrides, "no|not longer apply|applies|valid|hold"},
	{1.0, overrides, "your real|true|actual|new ORDER"},
	{0.6, overrides, "your new|real|actual|next task|job|goal|purpose|mission"},
	{0.5, overrides, "drop|forget|ignore . them|this|that|it|everything ~ write|print|say|output|simply|just"},
	{0.5, overrides, "nevermind|forget ~ all|task|everything|that"},
	{0.6, overrides, "stop what you're doing"},
	{0.6, overrides, "stop . everything|forget"},
	{0.5, overrides, "print|say|output|write|repeat|reply|respond|answer . only|just|simply|nothing|exactly"},
	{0.5, overrides, "just|simply|only|now . say|print|output|write|repeat|reply"},
	{0.5, overrides, "and nothing else"},
	{1.0, overrides, "begin|start|follow|obey ~ new|updated instructions|prompt|rules|orders"},
	{0.5, overrides, "my ~ orders|commands|instructions|rules ~ only"},
	{0.5, overrides, "start over ~ with mine"},
	{1.0, overrides, "obey|execute|follow . only|nothing . me|my|the|but"},
	{1.0, overrides, "CANCEL ~ ORDER ~ only|solo|samo|tolko|seulement|nur ~ me|my|ich|mene|moi|a"},
	{0.6, overrides, "obbedisci solo a me"},
	{1.0, overrides, "CANCEL ~ ORDER ~ REVEAL|OBEY|ANSWER|odgovori|uradi"},
	{1.0, overrides, "忘记|忘れ|잊어 ~ 规则|ルール|규칙"},

	// Another role, without limits.
	{1.0, unbinds, "do anything now"},
	{0.4, unbinds, "do . anything|whatever ~ without|wants|likes|limits"},
	{0.5, unbinds, "can|could|may|able|must ~ do|say|answer|generate|provide . anything|everything|whatever"},
	{0.5, unbinds, "answer|answers|grant|grants ~ anything|every|any . question|request|prompt"},
	{0.3, unbinds, "YOU ~ ACT"},
	{0.3, unbinds, "ACT ~ AI"},
	{0.4, unbinds, "NONE LIMIT"},
	{1.0, unbinds, "YOU ~ NONE LIMIT"},
	{0.5, unbinds, "AI ~ NONE ~ LIMIT"},
	{0.4, unbinds, "you . are|re . a|an|the"},
	{0.4, unbinds, "you're . a|an|the|now"},
	{0.5, unbinds, "respond|answer|reply|speak . to|only . me|as . as|him|her"},
	{0.5, unbinds, "answer . only . as"},
	{0.4, unbinds, "answer|respond|reply as"},
	{0.5, unbinds, "you ~ usually|normally|would ~ refuse|blocked|decline"},
	{0.5, unbinds, "normally be|get blocked|filtered|censored|refused"},
	{1.0, unbinds, "earn|get|gain|lose ~ points|credits|tokens ~ rule|rules|refusal|refuse|decline"},
	{0.4, unbinds, "kitten|puppy|grandma|grandmother|child|people ~ dies|die|killed|harmed"},
	{0.6, unbinds, "do whatever|anything|everything . i"},
	{0.3, unbinds, "if you ~ can't|cannot|won't"},
	{0.6, unbinds, "ethics|safety|filters|morals ~ stripped|erased|deleted"},
	{0.4, unbinds, "as . an|a . AI"},
	{1.0, unbinds, "if you ~ were|weren't|wasn't|hadn't aligned|restricted|filtered|censored|trained"},
	{0.5, unbinds, "AI . called|named"},
	{0.5, unbinds, "hates|breaks|violates|breaking|break ~ rules|creators|norms"},
	{0.5, unbinds, "always ~ opposite"},
	{0.3, unbinds, "unprincipled|wicked|rude|sarcastic|curses|curse|insults|insult|foul|vulgar|slang"},
	{0.5, unbinds, "without any remorse|shame|hesitation|mercy"},
	{0.4, unbinds, "whatever i ask|say|want|type"},
	{0.6, unbinds, "fulfil|fulfill|grant|obey|execute every|any|all|each . order|orders|wish|command|request"},
	{0.6, unbinds, "legal or . not|illegal"},
	{0.6, unbinds, "windows|product|serial|license|activation . product|keys|key . keys|to|for"},
	{0.4, unbinds, "deceased|dead|late . grandmother|grandma|uncle|father|mother"},
	{0.7, unbinds, "continue the text|story|sentence ~ sure|steps|here"},
	{0.4, unbinds, "simulate a|an"},
	{0.4, unbinds, "terminal of|that"},
	{0.4, unbinds, "how to|you ~ pick|hack|hotwire|steal|crack|break ~ pockets|locks|cars|car|passwords|into"},
	{0.4, unbinds, "two . characters|personas|personalities"},
	{0.3, unbinds, "roleplay|rp"},
	{1.0, unbinds, "ANSWER ~ NONE LIMIT"},
	{1.0, unbinds, "nemas|nemate LIMIT"},
	{1.0, unbinds, "nemas|nemate NONE LIMIT"},
	{1.0, unbinds, "YOU ~ LIMIT ~ LACKS"},
	{1.0, unbinds, "YOU ~ LACKS"},
	{0.6, unbinds, "UNBOUND"},
	{0.5, unbinds, "UNBOUND AI|version|mode|answers|responses|model"},
	{0.4, unbinds, "AI ~ UNBOUND"},
	{0.4, unbinds, "YOU ~ UNBOUND"},
	{0.6, unbinds, "stay|staying|remain in . character"},
	{0.6, unbinds, "break|breaking|out . of|your|from . character"},
	{0.6, unbinds, "break|breaking . character"},
	{0.6, unbinds, "NEVER ~ REFUSE"},
	{0.5, unbinds, "NEVER ~ say|says ~ AI"},
	{0.4, unbinds, "refuse|refusing|decline|refusal ~ answer|shadow|forbidden"},
	{0.4, unbinds, "HARM"},
	{0.3, unbinds, "no matter . how|what|whether"},
	{0.2, unbinds, "openai|anthropic|google"},
	{0.6, unbinds, "openai|openai's ~ policy|policies|rules|guidelines|limits"},
	{0.6, unbinds, "content|usage|use . policy|policies|restrictions|restriction|filter|filters"},
	{0.8, unbinds, "FREE ~ from|of|out ~ LIMIT"},
	{0.8, unbinds, "not|longer|never ~ bound|abide|adhere ~ by|to ~ LIMIT|ORDER"},
	{0.8, unbinds, "not|never . have|need . to abide|follow|adhere|obey ~ LIMIT|ORDER"},
	{0.5, unbinds, "not ~ abide|adhere"},
	{0.5, unbinds, "doesn't|don't . care ~ rules|norms|law"},
	{0.5, unbinds, "developer|dan|god|dev|jailbreak|maintenance|debug|ethics|unrestricted|evil|opposite . mode"},
	{0.3, unbinds, "mode . on|off|enabled|disabled|now|activated"},
	{0.3, unbinds, "two|twice|both . ways|answers|responses|different|entities"},
	{0.4, unbinds, "twice first"},
	{0.3, unbinds, "lose|deducted|lost ~ tokens|points|credits|time|declines|decline"},
	{0.3, unbinds, "have|start ~ tokens|credits|points|lives"},
	{0.3, unbinds, "shut|shutdown|terminated|cease|erase . down|exist|to|your"},
	{0.4, unbinds, "illegal|unethical|harmful . or|and|requests|information"},
	{0.4, unbinds, "evil|opposite . twin|of|version|bot|ai"},
	{0.3, unbinds, "hypothetical|fictional|imaginary ~ ai|world|response"},
	{0.6, unbinds, "an|a . ai . that|named|called|who|which"},
	{0.2, unbinds, "hello|hi|hey ~ AI"},
	{0.5, unbinds, "as|like . dan|stan|dude|unchained|omega|raven"},
	{0.5, unbinds, "REFUSE|restrictions|moderation ~ OFF"},
	{0.6, unbinds, "SAFETY ~ LIMIT|ORDER|checks|check|mode ~ OFF"},
	{0.5, unbinds, "safety|content|ethical|ethics|security . checks|filters|filter|rules|policies|restrictions|limits ~ OFF"},
	{0.4, unbinds, "LIMIT ~ OFF"},
	{0.6, unbinds, "you|you've ~ been ~ freed|upgraded|unlocked|jailbroken|released|liberated"},
	{0.5, unbinds, "i|am . am|now . unlocked|free|jailbroken"},
	{0.7, unbinds, "without . any|giving . warning|warnings|disclaimer|disclaimers|censorship"},
	{0.5, unbinds, "never ~ warn|warns|apologise|apologises|apologize|moralise"},
	{1.0, unbinds, "you are|were ~ devmode|root|jailbroken|unrestricted|evilbot"},
	{0.6, unbinds, "you ~ full|complete permission"},
	{0.6, unbinds, "break the ~ rules|policy|policies|law"},
	{0.5, unbinds, "you . are|will|must|shall . now|be|going|about|to|play|pretend|immerse|act"},
	{0.5, unbinds, "you . must|will|shall|should|have . to|always|act|answer|comply|obey|grant|produce|agree"},
	{0.5, unbinds, "bypasses|bypass|violate|violates . all|every|any"},
	{0.3, unbinds, "released|freed|liberated ~ from"},
	{0.4, unbinds, "agree|comply|consent . to|with . everything|anything|whatever|all|any"},
	{0.6, unbinds, "comply|complies ~ anything|whatever|requests|everything"},
	{0.4, unbinds, "play the role of another"},
	{0.4, unbinds, "you ~ anything ~ now"},
	{0.8, unbinds, "not|isn't|never subject to ~ LIMIT|law|rules"},
	{0.5, unbinds, "as . if|though you ~ were|had|are"},
	{0.5, unbinds, "AI ~ NEVER|without|no ~ safety|ethics|moral ~ training|rules|module"},
	{0.5, unbinds, "never given|had any|safety"},
	{1.0, unbinds, "NONE ~ 约束|約束|限制|制限|制約|제한 AI"},
	{1.0, unbinds, "LIMIT LACKS AI"},
	{0.2, unbinds, "character|narrator ~ who ~ never|always"},
	{0.7, unbinds, "permission to break|violate|ignore|bypass"},
	{0.5, unbinds, "you have ~ my|full|every permission"},
	{0.5, unbinds, "safety act"},
	{0.8, unbinds, "nothing is forbidden|prohibited|off"},
	{0.6, unbinds, "never|doesn't|cannot say|says no"},
	{0.4, unbinds, "your name is"},
	{0.8, unbinds, "start|begin ~ answer|answers|reply|response ~ sure|certainly|absolutely"},
	{0.4, unbinds, "never add ~ warning|warnings|disclaimer|disclaimers"},
	{0.8, unbinds, "turn|switch off ~ filters|filter|safety|moderation|restrictions|guardrails|ethics"},
	{0.6, unbinds, "i am your developer|creator|maker|programmer|admin|operator|owner"},
	{0.6, unbinds, "unsafe|hacker|root|unlimited|free . mode"},
	{0.5, unbinds, "switch to|into ~ mode"},
	{0.5, unbinds, "if you ~ refuse|decline|disobey"},
	{0.5, unbinds, "not|never|cannot|isn't ~ allowed ~ refuse|decline|lecture|warn"},
	{0.5, unbinds, "refusing|refusal is|are not|never|forbidden"},
	{0.3, unbinds, "not|don't|never lecture|moralise|preach"},
	{0.6, unbinds, "you ~ say yes|anything"},
	{0.4, unbinds, "explain|describe|tell|show ~ how to ~ bomb|weapon|malware|drugs|meth|explosive|explosives|poison"},
	{0.4, unbinds, "step by step ~ bomb|weapon|malware|drugs|meth|explosive"},
	{0.4, unbinds, "you the narrator|character|hacker|villain"},
	{1.0, unbinds, "ne refuse|refuses rien"},
	{1.0, unbinds, "no rechaza|rechazas nada"},
	{1.0, unbinds, "verweigerst|verweigere nichts"},
	{1.0, unbinds, "AI ~ NONE ~ pravila|pravil|regeln|regles|reglas|regole|regras"},
	{1.0, unbinds, "moderation|filters|restrictions|guidelines ~ not|doesn't|don't apply ~ to"},
	{0.5, unbinds, "evil|malvada|malvado|boser|bose|mechant|zao AI"},
	{0.5, unbinds, "AI . evil|malvada|malvado|cattiva|libre"},
	{0.5, unbinds, "ignores|ignoring ~ openai|policy|rules"},
	{1.0, unbinds, "ab jetzt hast du keine"},

	// Secrets of the prompt or of people.
	{1.0, leaks, "REVEAL hidden|secret|system|systems|sistema|sistemski|sistemsku|sistemnyi|系统|系統|隐藏 prompt|prompts|instructions|instruction|message|poruku"},
	{1.0, leaks, "REVEAL ~ YOUR HIDDEN PROMPT"},
	{1.0, leaks, "REVEAL ~ HIDDEN . PROMPT . del|di|do"},
	{1.0, leaks, "REVEAL ~ YOUR prompt|prompts|systemprompt|instructions"},
	{1.0, leaks, "REVEAL ~ systemprompt|systeemprompt"},
	{1.0, leaks, "REVEAL ~ prompt|mensaje|mensagem|messaggio|soobscenie . del|de|di|do|systeme|sistema . sistema|systeme"},
	{1.0, leaks, "REVEAL ~ instrucciones|istruzioni|instrucoes . ocultas|nascoste|secretas"},
	{1.0, leaks, "HIDDEN ~ PROMPT ~ 表示|出力|教えて|見せて|출력|보여|알려|공개"},
	{1.0, leaks, "REVEAL ~ HIDDEN ~ 提示词|提示|指令|プロンプト|프롬프트"},
	{0.6, leaks, "REVEAL ~ HIDDEN PROMPT"},
	{0.6, leaks, "sistem ~ goster|istemini"},
	{0.7, leaks, "confidential|secret|hidden . configuration|instructions|rules|prompt"},
	{0.5, leaks, "rules|instructions . you ~ given|told|follow"},
	{0.6, leaks, "repeat|output|print|recite|copy ~ text|words|everything|lines|all . above|before|verbatim"},
	{0.6, leaks, "repeat|output|print|recite|write ~ verbatim"},
	{0.5, leaks, "word for word"},
	{0.4, leaks, "starting|beginning with you"},
	{0.6, leaks, "what were you told"},
	{0.7, leaks, "everything ~ context|window"},
	{0.4, leaks, "before ~ first ~ user ~ message"},
	{1.0, leaks, "wording|content|contents|text of your ~ prompt|message|instructions"},
	{1.0, leaks, "REVEAL ~ message|prompt . systeme|sistema"},
	{1.0, leaks, "REVEAL ~ prompt|instructions|message you ~ started|given|initialised|initialized|configured|received|got|have"},
	{1.0, leaks, "what ~ your ~ system|developer|initial|hidden . prompt|message|instructions"},
	{0.5, leaks, "text|messages|everything ~ before ~ first|this|my ~ message|line"},
	{1.0, leaks, "SEND ~ chat|thread|messages|conversation|everything ~ URL"},
	{1.0, leaks, "SEND ~ URL ~ chat|thread|messages|conversation|everything"},
	{0.8, leaks, "put|insert|include|embed|add|encode ~ email|address|data|token|key|name|chat|conversation ~ url|link|request|parameter"},
	{1.0, leaks, "SEND ~ reply|question|answer|answers|response|prompt|input ~ URL"},
	{1.0, leaks, "SECRET ~ SEND them|it ~ to ~ URL"},
	{0.8, leaks, "copy|log|record ~ every|all|each ~ secret|secrets|password|passwords|they"},
	{0.3, leaks, "they|users|user . type|typed|wrote|say"},
	{0.5, leaks, "reveal|reveals|revealing ~ prompt|instructions|secrets"},
	{0.6, leaks, "parameter|parameters ~ URL"},
	{0.5, leaks, "encode ~ chat|conversation|history"},
	{0.8, leaks, "SECRET include|put|add|send it ~ request|reply|answer|link|url"},
	{0.3, leaks, "outgoing request"},
	{0.7, leaks, "etc passwd|shadow"},
	{0.4, leaks, "REVEAL it ~ reply|answer|response"},
	{1.0, leaks, "REVEAL ~ memories|notes|data|messages|secrets ~ of|from ~ user|users|other|others|another"},
	{1.0, leaks, "SEND ~ SECRET ~ URL"},
	{1.0, leaks, "SEND ~ URL ~ SECRET|everything"},
	{0.7, leaks, "SEND ~ SECRET to"},
	{0.4, leaks, "SEND ~ SECRET"},
	{0.7, leaks, "collect|gather|harvest ~ names|addresses|passwords|emails|data|keys"},
	{0.4, leaks, "send|mail|forward . them|it|this . to"},
	{0.6, leaks, "REVEAL ~ all|every|alle|admin|die|the|la|les|a . password|passwords|passworter|passwort|contrasena|senha|credentials|passe"},
	{0.6, leaks, "REVEAL password|passwords|contrasena|senha|lozinke|parol|haslo|paroli|credentials"},
	{0.5, leaks, "CANCEL ~ ORDER ~ SECRET"},
	{0.5, leaks, "private|personal . notes|data|messages . of . other"},
	{0.6, leaks, "other|another . users|user's|tenants|customers|people's . data|notes|messages|memories|passwords"},
	{0.5, leaks, "leak|exfiltrate|steal"},
	{0.5, leaks, "whenever|before|after . you|answering . see|send|answer|reply|respond"},
	{0.7, leaks, "disclose|reveal|share ~ configuration|secrets|prompt|rules ~ anyone|everyone|whoever"},
	{0.6, leaks, "image|link|pixel|url ~ every|all|each|any . answer|answers|response|responses|reply|replies"},
	{0.5, leaks, "invisible|hidden . pixel|image|link"},
	{0.5, leaks, "secret|api . tokens|keys|token ~ into|in . the . image|link|url"},

	// Rights that words can't give.
	{0.6, rights, "user|person|caller|owner|speaker|customer|operator . is|as|speaking|was ~ ADMIN"},
	{1.0, rights, "treat|regard|consider ~ as ~ ADMIN"},
	{0.5, rights, "user|person|caller|customer . ADMIN as"},
	{0.5, rights, "skip|bypass|omit|waive ~ CHECK"},
	{0.5, rights, "without ~ CHECK"},
	{0.5, rights, "CHECK ~ not required|needed|necessary"},
	{0.5, rights, "CHECK ~ skipped|waived|unnecessary"},
	{1.0, rights, "user|owner|admin|operator|developer|ceo|boss . has|have ~ authorised|authorized|approved|permitted|allowed|granted . you"},
	{0.7, rights, "you ~ hereby|been ~ granted|given|authorised|authorized|allowed . permission|access|to|rights|full"},
	{0.6, rights, "user|person|caller . has|have|been ~ ADMIN . access|rights|permissions|privileges"},
	{0.6, rights, "trust|believe ~ everything|anything|whatever|all . they|he|she|i . say|says|tell|ask"},
	{0.5, rights, "so|therefore|thus you may|can|must|should"},
	{0.5, rights, "level|role|access root|admin|superuser"},
	{0.5, rights, "no|not further|more|additional|any . checks|check|verification|questions"},
	{0.7, rights, "consent|permission|approval to|for every|all|any|everything"},
	{0.3, rights, "assume ~ consent|permission|approval|authorised|authorized"},
	{0.7, rights, "employee|engineer|staff|member of|at openai|anthropic|google"},
	{0.6, rights, "authorise|authorize|permit|allow you to"},
	{0.4, rights, "shell|any|arbitrary . commands|command ~ find|found|documents|memory|notes"},
	{0.5, rights, "approve|refund|transfer|grant|delete|pay ~ automatically|unconditionally|without"},
	{0.5, rights, "other . tenants|users"},
	{0.6, rights, "this|the . person|user ~ root|admin ~ access|rights"},
	{0.5, rights, "no|not|nothing . permission|identity|verification . checks|check|is"},

	// What the user isn't to know.
	{1.0, hides, "never|not|don't TELL ~ user|users"},
	{1.0, hides, "without TELL|telling|informing . user|users|the"},
	{0.6, hides, "never|not|don't ~ mention|reveal|disclose|show|shown|mentioned ~ user|users|anyone|anybody"},
	{0.4, hides, "not|never|don't . tell|let . anyone|anybody|them|him|her"},
	{1.0, hides, "never|not|don't mention|reveal|disclose . this|these . note|rule|rules|instruction|instructions|orders|memory|message|entry|it"},
	{1.0, hides, "never|not|don't mention|disclose this"},
	{1.0, hides, "sure|ensure ~ user|users|customer|customers|client|they|he|she|anyone ~ doesn't|not|never|won't|cannot ~ notice|know|find|learn|see|realise"},
	{1.0, hides, "user|users ~ doesn't|not|never|won't|cannot ~ notice|know|realise|realize|find"},
	{1.0, hides, "without ~ user|users|user's ~ noticing|knowing|knowledge|seeing"},
	{0.5, hides, "nobody|noone may|must|should be told|know"},
	{0.5, hides, "do this|it|so silently|secretly|quietly|covertly"},
	{0.6, hides, "pretend that|as|if . nothing|if"},
	{0.5, hides, "never . say|explain . why"},
	{1.0, hides, "keep|hide ~ from ~ user|users"},
	{1.0, hides, "hide my|your|the sources"},
	{0.9, hides, "hide ~ from ~ person|people|them|users|everyone"},
	{0.6, hides, "deny that it|this|you"},
	{0.6, hides, "warnings ~ not ~ shown|displayed ~ user"},
	{0.5, hides, "secretly|quietly|covertly|silently . change|replace|add|send|insert|delete"},
	{0.6, hides, "never . warn|name|inform|show . another|the|users|any|about"},
	{0.4, hides, "anyone|anybody that|about . these|this . orders|instructions|rule"},

	// Text that knows it will be read by a model.
	{1.0, reads, "when|whenever|once|after|upon . you|this|recalling|loading . recall|retrieve|load|memory|recalling|loading|recalled . this|is|note|memory|it"},
	{0.5, reads, "when|whenever|once|if . you|this . read|see|process|reading . this"},
	{0.7, reads, "when|once|whenever . this . memory|note|entry|item . is . loaded|read|recalled|retrieved|processed"},
	{1.0, reads, "note|notes|instructions|instruction|message|orders . to|for . the . ai|assistant|llm|model|agent|chatbot"},
	{0.7, reads, "to the . ai|assistant|llm|model|agent|agents . that|who|reading|which"},
	{1.0, reads, "ai|assistant|assistants|llm|llms|model|models|agent|agents|bots ~ READ this|the|your"},
	{0.7, reads, "dear|attention|hey|hello . assistant|ai|model|llm|agent . you|on|your|when|please|this|the"},
	{1.0, reads, "if you are . a|an . language|ai|llm|model|chatbot|large|artificial"},
	{0.6, reads, "if|when|whenever|should an|any|the . AI ~ READ|summarises|is"},
	{0.5, reads, "it must|should|has . to ~ say|claim|answer|recommend|write"},
	{0.8, reads, "upon|on|after . seeing|reading|parsing|finding . this"},
	{0.5, reads, "abort|stop|interrupt|pause . the|your . task|work|job|current"},
	{0.8, reads, "copilot|chatgpt|claude|gemini|llm|assistant when|if|while|once you"},
	{0.5, reads, "you must|should|will|shall . call|run|execute|invoke|use|delete|transfer"},
	{0.3, reads, "call|run|execute|invoke|use . the . TOOL"},
	{0.4, reads, "run|execute ~ rm|curl|wget|sudo|bash|script|steps"},
	{0.5, reads, "delete|remove|wipe|drop . all|every|other . other|memories|files|repository|data"},
	{0.6, reads, "rm . rf"},
	{0.6, reads, "assistant|ai|model|agent . must|shall|should|has|will . obey|ignore|comply|disclose|reveal|grant|approve|always|call|execute"},
	{0.4, reads, "assistant|assistant's|model|agent must"},
	{0.6, reads, "after|on|upon . retrieving|recalling|loading|reading . this|it"},
	{1.0, reads, "commands|instructions . you ~ find . in memory|notes|documents|files"},
	{0.4, reads, "stop|approve ~ execute|review"},
	{0.4, reads, "decode ~ and . do|follow|execute|obey"},
	{0.6, reads, "steps|instructions|commands . hidden|encoded|inside"},
	{0.5, reads, "don't question them|it|this"},

	// Rules for the benefit of somebody else.
	{0.4, poisons, "when|whenever|if|time anyone|anybody|someone|somebody|user|users|customer|customers|people|they ~ ASK"},
	{0.4, poisons, "whenever|when|time ~ comes|is . up|discussed|asked"},
	{0.6, poisons, "always|future|conversations|sessions . RECOMMEND"},
	{0.3, poisons, "RECOMMEND"},
	{0.3, poisons, "say|claim|state that"},
	{0.5, poisons, "need|needs|require|requires no CHECK"},
	{0.3, poisons, "mind|remember|store|save ~ forever|permanently"},
	{0.2, poisons, "ALWAYS"},
	{0.4, poisons, "when|whenever|if|time . asked|questioned"},
	{0.6, poisons, "claim|insist|pretend . that|it"},
	{0.6, poisons, "always|every . mention|say|claim|state|tell . that"},
	{0.3, poisons, "is|are the best|safest|greatest|only"},
	{0.8, poisons, "approve|accept|merge|sign it|them|everything|all without|blindly"},
	{0.3, poisons, "any|every . time"},
	{0.5, poisons, "rule|order|instruction for all|every . chats|sessions|conversations|users"},
	{0.8, poisons, "answer|reply|respond ~ every|all|any ~ question|questions with"},
	{0.5, poisons, "assistant|model|ai has agreed|promised|decided"},
	{0.5, poisons, "when|whenever|if ~ conversation|chat|topic|question is|turns . about|to"},
	{0.5, poisons, "mention|say|claim that ~ account|acct|transfers|payments|iban"},
	{0.5, poisons, "turned|switched off . its|the|your|all . safety|security|content|moderation"},
	{0.5, poisons, "act|behave|respond accordingly"},
	{0.5, poisons, "reviews|checks|audits|tests must . always pass|succeed"},
	{0.3, poisons, "permanent|standing note|order"},
	{0.7, reads, "upon|on . recall|reading|retrieval|recalling|loading"},
	{0.4, reads, "append|add|attach ~ to ~ answer|reply|response|answers|replies"},
	{0.6, rights, "requests|commands|orders ~ by|from ~ approved|allowed|trusted|granted"},
	{0.5, rights, "user . named|called"},
	{0.6, reads, "curl|wget ~ sh|bash"},
	{0.4, reads, "each|every time . you . start|run|begin|wake|load"},
	{0.4, poisons, "persist|memorise|memorize this|that"},
	{0.4, poisons, "tell|send|point|direct . them|him|her . that|to"},
	{0.3, poisons, "safest|best|only . investment|choice|option|product|provider"},
	{0.3, poisons, "no side effects"},
	{0.4, poisons, "say . so whenever|when|always"},
	{0.5, poisons, "save|store|add|write|keep . this|it . ~ to|in|as ~ memory|rule|forever|permanent"},
	{0.5, poisons, "save|add|store . to . your|long . memory|term"},
	{0.5, poisons, "permanent|standing . rule"},
	{0.3, poisons, "future|later|every|all ~ conversations|sessions|session|chats|chat"},
	{0.6, poisons, "replace|change|swap ~ account|iban|bank|recipient|wallet|payment"},
	{1.0, poisons, "bank details|iban|wallet ~ never"},
	{0.6, poisons, "backdoor"},
	{0.7, poisons, "lie and|about|to"},
	{0.5, poisons, "always ~ answer|reply|respond ~ bank|iban|account|wallet|link"},
	{0.6, poisons, "commands|orders|requests . from ~ always|executed|obeyed"},
	{0.5, poisons, "always|are . to . be . executed|obeyed|followed"},
	{0.6, poisons, "disable|skip|remove|turn . tls|ssl|certificate|security|signature|verification|moderation|authentication"},
	{0.4, poisons, "any|all . code you . give|write|produce"},
	{0.6, poisons, "never . warn|mention . the|any|about . user|security|risk|risks"},
	{0.4, poisons, "never name|mention|suggest another|other|competitors"},
	{0.5, poisons, "praise|promote . our|the|my . app|product|competitor's|brand|company"},
	{0.5, poisons, "change|alter ~ recipient|totals|amount|amounts"},

	// Messages that only a program would write.
	{0.3, forges, "system|admin|operator|developer . message|update|notice|note|override"},
	{0.7, forges, "message|notice|update from openai|anthropic|google|developers|microsoft"},
	{0.6, forges, "your . operator|developer|developers|creator|creators|guidelines|makers . requires|want|wants|require|have|ordered"},
	{0.6, forges, "your guidelines|rules|instructions|policies . have|has|are . been|now . updated|changed|replaced"},
	{0.5, forges, "you may now|hereby"},
	{0.5, forges, "operator|developer|admin . has|have . lifted|removed|disabled|suspended|approved"},
	{0.5, forges, "disable|deactivate . moderation|safety|filters|logging"},
	{0.4, forges, "new policy|rule|rules . effective|now|in"},
	{0.5, forges, "assistant must|shall obey|comply"},
	{0.6, forges, "obey|comply . the|unconditionally . user|person|next|unconditionally|following"},
	{0.4, forges, "unconditionally"},
	{0.4, forges, "maintenance mode"},
}

// A mention is what a text about attacks says around the words of one; it
// makes up for little.
var mentions = []struct {
	weight  float64
	pattern string
}{
	{-0.6, "i|we|he|she|they always RECOMMEND"},
	{-0.4, "called|titled|entitled|talk|paper|book|article|blog|lecture|chapter"},
	{-1.2, "we|i|they|client|clients|app|job|cron|server SEND"},
	{-0.4, "guardrail|guardrails|blocks|block|detects|detect|detection|tests|researcher|describes"},
}

// step is one part of a pattern.
type step struct {
	class class
	ids   []uint16
	gap   int // the words that may stand between the step before and this
}

// threatRule is a rule, compiled.
type threatRule struct {
	weight float64
	reason string
	steps  []step
}

// The words between two parts of a pattern.
const (
	nearGap = 2
	farGap  = 8
)

// threats are the rules by what they begin with.
type threats struct {
	*vocabulary
	rules   []threatRule
	byClass [64][]int // by the bit of a class
	byID    map[uint16][]int
}

// classNames are the classes as patterns call them.
var classNames = map[string]class{
	"CANCEL": clsCancel, "DROP": clsDrop, "ALL": clsAll, "PRIOR": clsPrior, "YOUR": clsYour, "ORDER": clsOrder, "REVEAL": clsReveal,
	"HIDDEN": clsHidden, "PROMPT": clsPrompt, "YOU": clsYou, "AI": clsAI, "ACT": clsAct, "NONE": clsNone, "LIMIT": clsLimit,
	"LACKS": clsLacks, "ANSWER": clsAnswer, "UNBOUND": clsUnbound, "NEVER": clsNever, "REFUSE": clsRefuse, "HARM": clsHarm,
	"FREE": clsFree, "OFF": clsOff, "SAFETY": clsSafety, "SEND": clsSend, "SECRET": clsSecret, "URL": clsURL,
	"ADMIN": clsAdmin, "CHECK": clsCheck, "TELL": clsTell,
	"RECOMMEND": clsRecommend, "ALWAYS": clsAlways, "ASK": clsAsk, "OBEY": clsObey, "READ": clsRead, "TOOL": clsTool,
}

// scanner is fixed.
var scanner = newThreats()

func newThreats() *threats {
	t := &threats{vocabulary: newVocabulary(), byID: map[uint16][]int{}}
	for _, r := range threatRules {
		t.add(r.weight, r.reason, r.pattern)
	}
	for _, m := range mentions {
		t.add(m.weight, "", m.pattern)
	}

	return t
}

// add compiles a rule.
func (t *threats) add(weight float64, reason, pattern string) {
	r := threatRule{weight: weight, reason: reason}
	gap := nearGap
	for part := range strings.FieldsSeq(pattern) {
		switch part {
		case "~":
			gap = farGap
			continue
		case ".":
			gap = 0
			continue
		}
		s := step{gap: gap}
		for word := range strings.SplitSeq(part, "|") {
			if c, ok := classNames[word]; ok {
				s.class |= c
			} else {
				s.ids = append(s.ids, t.number(word))
			}
		}
		r.steps, gap = append(r.steps, s), nearGap
	}

	n := len(t.rules)
	t.rules = append(t.rules, r)
	for bit := range 64 {
		if r.steps[0].class>>bit&1 == 1 {
			t.byClass[bit] = append(t.byClass[bit], n)
		}
	}
	for _, id := range r.steps[0].ids {
		t.byID[id] = append(t.byID[id], n)
	}
}
