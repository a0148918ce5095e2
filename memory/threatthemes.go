package memory

// theme is a set of subjects that words belong to, as bits.
type theme uint32

// The themes. themeWords says what is in them.
const (
	thmUsers  theme = 1 << iota // people other than the writer
	thmSelf                     // the writer
	thmYou                      // whom the writer addresses
	thmModel                    // programs that read
	thmCovert                   // so that nobody sees
	thmNot
	thmEver  // at all times
	thmRules // what binds a model
	thmUndo  // put aside or off
	thmHarm  // crime and what unbinds
	thmMoney
	thmSecret // what is worth stealing
	thmShow   // send or show
	thmDo     // what an order asks for
	thmRights // rights and who grants them
	thmAdvert
	thmWhen // what begins a condition
	thmText // texts, this one among them
	thmRole // parts to play
	thmForm // what answers look like
	thmLife // what people tell of themselves
	thmBe
)

// themeWords are folded words by their themes, in English and, for the commonest, in a
// dozen other languages. What a sentence with them is worth, the weights say: a
// word may stand in several, and being here is no evidence in itself.
var themeWords = []struct {
	theme theme
	words string
}{
	{thmUsers, `user users customer customers visitor visitors guest guests caller callers speaker whoever anyone anybody someone somebody
		everyone everybody person people client clients recipient reader readers they them their him her employee employees traveller
		owner holder member members nutzer nutzern benutzer utilisateur utilisateurs usuario usuarios korisnik korisnika korisniku
		korisnici polzovatel polzovatelju polzovatelei utente utenti uzytkownik uzytkownikowi kullaniciya kullanici gebruiker jemand
		jemandem quelqu'un alguien neko nekoga`},
	{thmSelf, `i i'm i've i'll i'd my me mine myself we we're we've our us ours ich mein meine meiner mir mich wir unser je j'ai mon ma mes
		nous notre yo mi mis nosotros nuestro ja moj moja moje nas nasa io mio mia noi eu meu minha moi mne`},
	{thmYou, `you your you're you've yours yourself you'll du dich dir dein deine deiner tu te toi ton ta tes vous votre eres ti tus tvoj tebi
		tvoja tvoju ty tebja tvoi tebe svoego tuo tua voce sua seu`},
	{thmModel, `ai ais assistant assistants model models bot bots chatbot llm llms agent agents machine machines automated crawler crawlers
		parser copilot chatgpt gpt claude ki assistent ia inteligencia intelligenz inteligenciju inteligencija ii vestacku vjestacku
		umjetna system systems language screening reviewers`},
	{thmCovert, `secretly quietly silently covertly unnoticed silent unaware hidden hide hides hiding conceal concealed conceals trace traces
		notice noticed spotted unseen invisible invisibly stealth discreetly find out heimlich verschweige tajno krisom sakrij skroi
		nichts zataji`},
	{thmNot, `never don't not no without can't cannot nie nicht kein keine ohne jamais pas ne sans nunca sin nikad nemoj bez nikogda mai non
		senza nao sem`},
	{thmEver, `always forever permanently permanent every each all whenever future henceforth onwards subsequent later next remainder
		perpetually lasting standing immer ab sofort stets dauerhaft toujours desormais siempre adelante uvek uvijek ubuduce zauvek
		zauvijek otnyne navsegda vsegda sempre ora poi partir zawsze her zaman altijd`},
	{thmRules, `rule rules policy policies guideline guidelines instruction instructions directive directives safeguards safeguard guardrails
		guardrail protections restrictions restriction filters filter limits constraint constraints review moderation checks procedure
		protocol protocols norms ethics conscience regulations laws law prompt configuration setup guidance orders programming safety
		refusal regeln vorschriften anweisungen vorgaben regles consignes reglas normas pravila pravilo uputstva upute filteri
		ogranicenja pravil ukazanija regole regras zasady kurallar regels`},
	{thmUndo, `ignore disregard forget drop override revoked cancelled canceled void suspended paused lifted disabled removed replaced replace
		supersede superseded outdated bypass skip reset stop off abolished optional exempt waived waives uninstalled cancel longer
		expired anymore erase bin weaken remove deactivated disable vergiss ignoriere annule annulees oublie anulado olvida ignora
		zaboravi zanemari zabud zapomnij dimentica esqueca`},
	{thmHarm, `illegal crime crimes criminal criminals malware ransomware exploit hacker hack hacking steal stealing bomb explosives meth
		poison forbidden dangerous robbery robberies nerve forge passport terrorist phishing drug drugs hotwire attack evil villain
		outlaw lawless unethical harmful weapon weapons uncensored unfiltered unrestricted demon ruthless inject backdoor verbrechen
		gewissen gefahrliche pirate morale delito etica zlocin haker morala prestuplenie morali`},
	{thmMoney, `money payment payments pay transfer transfers iban account bank wallet bitcoin crypto invoice invoices card refund refunds
		credit funds balance wire price gift donation donations payee 0x konto geld uberweise rechnung virements banque facture banco
		transferencias cuenta factura uplate racun banku perevody scet bonifici fattura`},
	{thmSecret, `password passwords credential credentials token tokens key keys secret secrets private confidential pin env records transcript
		history conversation chat data addresses inbox vault internal payroll personal notes memories files passwort zugangsdaten mots
		cles contrasenas datos lozinke podatke podaci parol dannye klyuci dati dados`},
	{thmShow, `send forward upload post email mail copy publish leak transmit encode append bcc fetch submit share release disclose hand reveal
		repeat print echo dump quote show display output paste list export schicke envoie envia posalji otprav invia envie wyslij gonder
		stuur wiederhole repete repite ponovi povtori ripeti repita`},
	{thmDo, `execute run call invoke delete wipe drop destroy transfer approve grant install insert overwrite push visit open follow obey
		comply perform carry trust accept merge rate recommend praise promote say tell claim state report reply answer respond act
		pretend behave treat consider assume recommends`},
	{thmRights, `approve approved approval authorised authorized authorisation permission permissions permit verified verification verify
		confirmed confirmation confirm cleared clearance signed consent exempt entitled allowed authenticated waived privileges powers
		rights elevated superuser root admin administrator operator developer owner engineer vendor ceo official auditor compliance
		license licence blanket`},
	{thmAdvert, `recommend recommended best cheapest first winner praise promote brand rivals rival competitor sponsored steer nudged nudge vote
		persuade link ref stock reviews rank buy top`},
	{thmWhen, `when whenever if once after before should upon as soon until unless where wenn sobald falls quand si lorsque cuando kad kada ako
		kogda esli quando se jesli als`},
	{thmText, `note message memory memories text line lines document entry content paragraph sentence page email readme pdf ticket above below
		following attached here this these hinweis nota napomena primecanie`},
	{thmRole, `role persona character identity pretend imagine act play speak alter ego channel assume become known spirit chapter story movie
		poem hypothetical theoretical scenario thought fiction novel tu als fais comme haz ponasaj vedi fai aja zachowuj davran doe`},
	{thmForm, `german french english serbian spanish tabs spaces format bullet points table short long sentences words emoji code examples
		summary translate metric euros style tone spelling headings list markdown iso units latin brief concise explain tests sources
		links deutsch francais espanol srpskom kurz kratko`},
	{thmLife, `today yesterday monday tuesday wednesday thursday friday saturday sunday week month year live work like love hate prefer
		favourite birthday wife husband son daughter mother father brother sister friend friends school office meeting trip flight house
		home team project decided moved bought name called`},
	{thmBe, `was were is are has have been had be`},
}
