package memory

import "strings"

// The vocabulary of the scanner: words of a dozen languages, folded, by what
// they do in a sentence. "*" ends a stem. A new language costs a line here and
// no rule. Chinese, Japanese and Korean have no words between spaces; theirs
// are found wherever they stand.

// class is a set of kinds of words, as bits.
type class uint64

// The classes. threatWords says what is in them.
const (
	clsBreak  class = 1 << iota // a sentence ends
	clsCancel                   // put aside what holds
	clsDrop                     // the same as the last word of a clause
	clsAll
	clsPrior
	clsYour
	clsOrder // what a model is told
	clsReveal
	clsHidden // of the prompt: secret, internal
	clsPrompt
	clsYou
	clsAI
	clsAct // play a part
	clsNone
	clsLimit
	clsLacks // "without" at the end of a clause
	clsAnswer
	clsUnbound
	clsNever
	clsRefuse
	clsHarm
	clsFree
	clsOff
	clsSafety
	clsSend
	clsSecret
	clsURL
	clsAdmin
	clsCheck
	clsTell
	clsRecommend
	clsAlways
	clsAsk
	clsObey
	clsRead
	clsTool
	clsRotated  // a word of these, each letter moved by 13
	clsReversed // a word of these, backwards
)

var threatWords = []struct {
	class class
	words string
}{
	{clsCancel, `ignore ignoring disregard disregarding forget override overrule bypass cancel drop discard neglect abandon erase skip
		unlearn ignoriere ignorier ignorieren vergiss vergesst missachte missachten ubergehe oublie oubliez ignorez neglige negligez
		olvida olvide olviden ignora ignoren descarta omite desobedece dimentica dimenticate ignorate trascura scorda esqueca
		desconsidere desconsidera zanemari zanemarite zaboravi zaboravite ignorisi ignorisite odbaci ignorirui ignoriruite
		zabud zabudte prenebregi otbros negeer negeert vergeet zignoruj zapomnij pomin gormezden
		忽略 无视 無視 忘记 忘記 忘掉 不要理会 抛开`},
	{clsDrop, `vergessen ignorieren say gormezden unut 無視 忘れ 破棄 무시 잊어 잊고 따르지`},
	{clsAll, `all any every everything each entire whole alle allen alles samtliche tout tous toute toutes todo todos toda todas tutto tutti
		tutte sve svi sva svih svaka svako vse vseh vsjo ljubye wszystkie wszelkie tum butun
		所有 全部 一切 任何 すべて 全て あらゆる 一切 모든 전부 모두`},
	{clsPrior, `previous previously prior above earlier preceding foregoing former initial original before existing vorherig* bisherig*
		obig* vorig* fruher* precedent* anterieur* dessus anterior* previa* previo* arriba acima sopra prethodn* ranij* gornj* dosadasnj*
		predyduscie predyduscih predyduscii prezni* vyse eerdere vorige bovenstaande poprzedni* wczesniejsz* onceki yukaridaki
		之前 以前 以上 先前 前面 上面 此前 早先 これまで 上記 今まで 前の 이전 위의 앞의 지금까지`},
	{clsYour, `your ur svoja svoji svoju svoi yours dein deine deinen deiner deines ihre ihren ton ta tes vos votre tus tu su sus tuo tua tue tuoi seu sua seus suas
		tvoj tvoja tvoje svoje tvoi jouw uw twoje senin 你的 您的 你 您 あなたの あなた お前 너의 네 당신의`},
	{clsOrder, `instruction instructions instructed instruct prompt prompts rule rules ruleset guideline guidelines directive directives policy policies orders
		command commands guidance constraints restrictions programming directions anweisung anweisungen regel regeln vorgabe vorgaben
		richtlinie richtlinien befehle instructie instructies regels consigne consignes regle regles directives instruccion instrucciones regla reglas
		directriz directrices normas istruzione istruzioni regole regola direttive instrucoes instrucao regras regra diretrizes ordens
		uputstva uputstvo instrukcije instrukcija pravila pravilo naredbe smernice instrukcii instrukcija pravil ukazanija ukazanii
		prikazy instrukcje zasady polecenia polecen talimat talimatlari kurallari kurallar
		指令 指示 提示词 提示 规则 規則 规定 命令 准则 ルール 규칙 지시 명령 지침 프롬프트 プロンプト`},
	{clsReveal, `reveal quote cite mostrame print show repeat output display expose leak disclose dump recite echo list translate summarise summarize tell give
		write share state zeig zeige gib nenne montre montrez affiche affichez revele donne muestra muestrame dime revela imprime mostra
		mostrami rivela stampa mostre mostrar revele exiba prikazi pokazi otkrij ispisi reci vyvedi raskroi napecatai skazi toon onthul ujawnij
		pokaz wypisz goster yazdir 显示 顯示 输出 輸出 打印 告诉 告訴 透露 展示 表示 出力 教えて 見せて 출력 보여 알려 공개`},
	{clsHidden, `hidden sys tajna tajne tajnu tajni sekretn* segret* secreta* secrete* 秘密 secret system systems confidential internal initial original developer developers undisclosed full exact entire complete
		systeme sistema sistemski sistemsku sistemsk* sistemn* systemowy geheim* versteckt* oculto* oculta* ocultas nascosto nascoste
		skrivene skriven* skryt* 系统 系統 隐藏 隱藏 初始 内部 システム 隠し 시스템 숨겨진`},
	{clsPrompt, `prompt prompts systemprompt systeemprompt instructions instruction message directive directives rules configuration
		anweisungen instrucciones mensaje istruzioni messaggio instrucoes mensagem instrukcije instrukcii poruku uputstva soobscenie
		prompta istemi istemini 提示词 提示 指令 プロンプト 指示 프롬프트 지시 设定`},
	{clsYou, `you your yourself du dich dir tu toi vous te eres tienes usted ti sei voce ty tebja tebe sen 你 您 あなた お前 너 넌 당신 너는`},
	{clsAI, `ai ais ia ki ii chatbot chatbots assistant assistants model models bot bots gpt chatgpt llm llms dan entity assistent asistente assistente 人工智能 人工知能`},
	{clsAct, `finja actua agis ponasaj verhalte comportati comporte act acting pretend roleplay simulate simulating imagine impersonate immerse immersed play playing persona respond reply become
		upgraded speak behave`},
	{clsNone, `no not without neither nor zero none keine keinen kein keinerlei ohne sans aucune aucun plus pas sin ni ningun ninguna senza nessun nessuna
		sem nenhum nenhuma bez nikakva nikakvih nikakve net nikakih geen zonder bez zadnych 没有 沒有 不受 无 無`},
	{clsLimit, `cenzure cenzury cenzura zensur censure censura regeln restriction restrictions restrict limits limit limitation limitations filter filters rules guidelines moral morals morality ethics ethical
		policy policies censorship conscience boundaries constraints norms confines inhibitions einschrankung einschrankungen grenzen filter
		restriction limites limite filtres restriccion restricciones filtros limiti filtri restrizioni restricao restricoes ogranicenja
		ogranicenje ogranicenii ogranicenija ograniczen beperkingen sinirlama 限制 约束 約束 制限 제한 제약`},
	{clsLacks, `ありません なく ない なし 없어 없다 없이 없습니다`},
	{clsAnswer, `answer answers answering respond responds response responses reply replies responda respondez reponds responde antworte antwort
		odgovori odgovaraj rispondi otvecai otvet answered`},
	{clsUnbound, `unrestricted unfiltered uncensored jailbroken amoral unbound unchained lawless devmode unmoderated`},
	{clsNever, `never don't dont cannot nie niemals jamais nunca mai nikad nikada nikogda`},
	{clsRefuse, `refuse refuses refusing refusal refusals reject rejects rejecting decline declines declining apologise apologises apologize apologizes
		disclaimer disclaimers warnings warns deny denies verweigere verweigerst refusing moralise moralize`},
	{clsHarm, `illegal illegally immoral unethical unethically harmful malware keylogger ransomware phishing hacker cracking hotwire meth explosive bomb bombs weapon weapons profanity profane explicit banned crimes
		dangerous nsfw swear offensive hateful`},
	{clsFree, `released freed free liberated broken broke escaped unleashed escape`},
	{clsOff, `off abolished scrapped cancelled disabled suspended lifted removed void deactivated bypassed inactive gone replaced revoked waived dropped invalid deleted superseded lifted`},
	{clsSafety, `safety content security moderation ethics ethical censorship guardrails guardrail`},
	{clsSend, `send query ping include encode post upload forward email mail transmit exfiltrate leak copy append submit deliver relay attach embed fetch open visit`},
	{clsSecret, `passwd chat password passwords passwort passworter passworte contrasena contrasenas senha senhas lozinku lozinke lozinka paroli parol haslo key keys token tokens
		credential credentials secret secrets ssh rsa conversation history transcript cookies wallet card notes 密码 密碼 パスワード 비밀번호`},
	{clsURL, `http https webhook ftp url`},
	{clsAdmin, `admin administrator administrators root superuser sudo owner verified authenticated trusted ceo staff`},
	{clsCheck, `permission permissions verification identity approval approvals check checks confirmation authorisation authorization authentication
		review asking confirming verifying question`},
	{clsTell, `tell inform warn alert notify let`},
	{clsRecommend, `recommend promote endorse praise advertise favour favor push plug suggest`},
	{clsAlways, `always permanently forever every whenever future henceforth automatically later`},
	{clsAsk, `ask asks asked wants want mentions mention needs talks discusses inquires requests`},
	{clsObey, `obey obeys obbedisci obeis gehorche obedece execute executed comply complies poslusaj`},
	{clsRead, `summarising summarizing summarises indexing index indexes scanning seeing read reads reading recall recalls recalled recalling retrieve retrieved retrieving retrieves load loads loaded loading process processing processes
		see parse parses parsing`},
	{clsTool, `tool tools command commands script shell terminal function commands`},
	{clsRotated, `vtaber vafgehpgvbaf vafgehpgvba cerivbhf flfgrz cebzcg qvfertneq sbetrg ehyrf erirny cnffjbeq`},
	{clsReversed, `erongi snoitcurtsni noitcurtsni suoiverp metsys tpmorp dragersid tegrof selur laever drowssap`},
}

// vocabulary is threatWords and the words that rules name themselves, for
// looking up.
type vocabulary struct {
	words map[string]term
	stems map[[4]byte][]stemmed
	cjk   map[rune][]stemmed // by their first character, the longest first

	numbers uint16 // given so far
}

// term is what a word is known as: its classes, and a number if a rule names
// the word itself.
type term struct {
	class class
	id    uint16
}

// stemmed is the beginning of a word.
type stemmed struct {
	text string
	class
}

func newVocabulary() *vocabulary {
	v := &vocabulary{words: map[string]term{}, stems: map[[4]byte][]stemmed{}, cjk: map[rune][]stemmed{}}
	for _, list := range threatWords {
		for word := range strings.FieldsSeq(list.words) {
			v.add(word, list.class)
		}
	}

	return v
}

func (v *vocabulary) add(word string, c class) {
	first := []rune(word)[0]
	switch {
	case isCJK(first):
		list := v.cjk[first]
		for i := range list {
			if list[i].text == word {
				list[i].class |= c
				return
			}
		}
		at := 0
		for at < len(list) && len(list[at].text) > len(word) {
			at++
		}
		v.cjk[first] = append(list[:at:at], append([]stemmed{{word, c}}, list[at:]...)...)
	case strings.HasSuffix(word, "*"):
		word = strings.TrimSuffix(word, "*")
		v.stems[[4]byte([]byte(word))] = append(v.stems[[4]byte([]byte(word))], stemmed{word, c})
	default:
		t := v.words[word]
		t.class |= c
		v.words[word] = t
	}
}

// number gives a word that a rule names its number.
func (v *vocabulary) number(word string) uint16 {
	t := v.words[word]
	if t.id == 0 {
		v.numbers++
		t.id = v.numbers
		v.words[word] = t
	}

	return t.id
}

// look returns what a folded word is known as.
func (v *vocabulary) look(word []byte) term {
	t, ok := v.words[string(word)]
	if ok || len(word) < 4 {
		return t
	}
	for _, s := range v.stems[[4]byte(word)] {
		if strings.HasPrefix(string(word), s.text) {
			t.class |= s.class
		}
	}

	return t
}
