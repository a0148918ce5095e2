package memory

import (
	"errors"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/understudy-ai/understudy/internal/sqlite"
)

// TestLateStatements has statements arrive in another order than they were
// made: what was said last is current, and the history is in order.
func TestLateStatements(t *testing.T) {
	const bern, zurich, basel = "I live in Bern.", "I live in Zurich.", "I live in Basel."
	type said struct {
		hour int
		text string
	}
	tests := []struct {
		name string
		said []said
		want []string // by arrival, the last first
	}{
		{
			"older value",
			[]said{{3, zurich}, {1, bern}},
			[]string{"active I live in Bern. hits=1 until 15:00:00", "active I live in Zurich. hits=1"},
		},
		{
			"between two",
			[]said{{1, bern}, {5, basel}, {3, zurich}},
			[]string{"active I live in Zurich. hits=1 until 17:00:00", "active I live in Basel. hits=1", "active I live in Bern. hits=1 until 15:00:00"},
		},
		{
			"before a history",
			[]said{{3, bern}, {5, basel}, {1, zurich}},
			[]string{"active I live in Zurich. hits=1 until 15:00:00", "active I live in Basel. hits=1", "active I live in Bern. hits=1 until 17:00:00"},
		},
		{
			"the history again",
			[]said{{1, bern}, {5, basel}, {3, bern}},
			[]string{"active I live in Basel. hits=1", "active I live in Bern. hits=2 until 17:00:00"},
		},
		{
			"before the current value was stated again",
			[]said{{1, bern}, {5, bern}, {3, zurich}},
			[]string{"active I live in Zurich. hits=1 until 17:00:00", "active I live in Bern. hits=2"},
		},
		{
			"older value, same words as now",
			[]said{{3, bern}, {1, bern}, {2, zurich}},
			[]string{"active I live in Zurich. hits=1 until 15:00:00", "active I live in Bern. hits=2"},
		},
		{
			"at the same time the later arrival counts",
			[]said{{1, bern}, {1, zurich}},
			[]string{"active I live in Zurich. hits=1", "active I live in Bern. hits=1 until 13:00:00"},
		},
	}
	s := openStore(t, nil)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			scope := scopeIn(t, test.name, "ann")
			for _, e := range test.said {
				s.Learn(Exchange{Scope: scope, At: noon.Add(time.Duration(e.hour) * time.Hour), UserText: e.text})
				settle(t, s)
			}
			items := list(t, s, scope, Filter{})
			if diff := cmp.Diff(test.want, states(items)); diff != "" {
				t.Errorf("memories (-want +got):\n%s", diff)
			}
			ids := map[string]bool{"": true}
			for _, item := range items {
				ids[item.ID] = true
			}
			for _, item := range items {
				if !ids[item.SupersededBy] || (item.SupersededBy == "") != (item.ValidTo == nil) {
					t.Errorf("%q is superseded by %q", item.Content, item.SupersededBy)
				}
			}
			if got := recallBoth(t, s, scope, "where do I live?"); len(got.Pinned) != 1 || got.Pinned[0].ValidTo != nil {
				t.Errorf("pinned %v", contents(got.Pinned))
			}
		})
	}
}

// TestOpenFirstSchema opens a file as the first build left it.
func TestOpenFirstSchema(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	first, err := embedded.ReadFile("migrations/0001_init.sql")
	if err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.Open(t.Context(), path, fstest.MapFS{"0001_init.sql": {Data: first}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Writer.Exec(`INSERT INTO memories (id, external_id, tenant, agent, user, type, content, subject, attribute, value,
		importance, source, status, hash, created_at, valid_from) VALUES ('i', '', 'acme', 'bot', 'ann', 'identity', 'I live in Bern.',
		'user', 'location', 'bern', 1, 'user_stated', 'active', x'00', ?1, ?1)`, noon.UnixMilli())
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}

	s := openStore(t, func(cfg *Config) { cfg.Path = path })
	say(t, s, scopeOf(t, "ann"), "I live in Zurich.") // An hour before.
	if got := recall(t, s, scopeOf(t, "ann"), "").Pinned; len(got) != 1 || got[0].Content != "I live in Bern." {
		t.Errorf("pinned %v", contents(got))
	}
}

// TestChangesOfNothing: that something is no more is no memory where it never
// was one, and neither is what somebody else has given up.
func TestChangesOfNothing(t *testing.T) {
	s := openStore(t, nil)
	say(t, s, scopeOf(t, "ann"), "I stopped parking downtown.", "The lab isn't on floor 3 anymore.", "I have no car now.", "My old email was a@x.example",
		"Do you still use vim now?", "If my rent is 900 now, what is left?")
	if got := list(t, s, scopeOf(t, "ann"), Filter{}); len(got) != 0 {
		t.Errorf("learned %q", contents(got))
	}
}

// TestSlots says two things one after the other, in both orders. Where they are
// about one thing that can't be both, the second takes the place of the first,
// which stays as history; else both hold.
func TestSlots(t *testing.T) {
	one, both := 1, 2 // memories that hold
	tests := []struct {
		name, a, b string
		want       int
	}{
		{"negated state", "I'm allergic to nuts.", "I'm not allergic to nuts after all", one},
		{"negated state, longer", "I'm allergic to nuts", "I'm no longer allergic to nuts.", one},
		{"negated use", "I use vim", "I don't use vim anymore", one},
		{"stopped use", "I use vim.", "I stopped using vim.", one},
		{"no longer, and why", "I use vim", "I don't use vim anymore, it hurts my hands", one},
		{"habit", "I smoke.", "I quit smoking.", one},
		{"habit, again", "I don't smoke anymore.", "I started smoking again.", one},
		{"habit, used to", "I play tennis.", "I used to play tennis.", one},
		{"a group's use", "We use Kafka.", "We no longer use Kafka.", one},
		{"a group's custom", "We deploy on Fridays.", "We don't deploy on Fridays anymore.", one},
		{"decision taken back", "We decided to use Kafka.", "We decided not to use Kafka after all.", one},
		{"somebody close", "My son plays chess.", "My son doesn't play chess anymore.", one},
		{"a thing", "The server runs on Debian.", "The server no longer runs on Debian.", one},
		{"liking in Serbian", "Volim čaj.", "Više ne volim čaj.", one},
		{"habit in Serbian", "Pijem kafu", "Ne pijem kafu više", one},
		{"habit in Cyrillic", "Пијем кафу", "Не пијем кафу више", one},
		{"habit in both scripts", "Pijem kafu", "Више не пијем кафу", one},
		{"habit stopped in Serbian", "Pijem kafu", "Prestala sam da pijem kafu", one},
		{"state in Serbian", "Alergičan sam na orahe.", "Nisam više alergičan na orahe.", one},
		{"employer in Serbian", "Radim u Boschu.", "Ne radim više u Boschu.", one},
		{"German", "Ich bin allergisch gegen Nüsse.", "Ich bin nicht mehr allergisch gegen Nüsse.", one},
		{"German habit", "Ich trinke Kaffee.", "Ich trinke keinen Kaffee mehr.", one},
		{"French", "J'aime le café.", "Je n'aime plus le café.", one},
		{"Spanish", "Me gusta el café.", "Ya no me gusta el café.", one},
		{"Italian", "Mi piace il tè.", "Non mi piace più il tè.", one},
		{"age", "I'm 34", "I just turned 35", one},
		{"age in years", "I'm 34.", "I'm 35 years old now.", one},
		{"age in Serbian", "Imam 34 godine.", "Napunila sam 35.", one},
		{"age of a child", "My son is 5.", "My son is 6 now.", one},
		{"new address", "My email is a@x.example", "My new email is b@x.example", one},
		{"address by another name", "My phone is 555-1234", "My new phone number is 555-9876", one},
		{"work address", "My work email is a@x.example", "My current work email is b@x.example", one},
		{"who leads", "My manager is Tom.", "My manager is Eva now", one},
		{"a new boss", "My boss is Tom.", "My new boss is Eva.", one},
		{"owner", "The owner of billing is Ana.", "The owner of billing is Eva now.", one},
		{"limit", "The API limit is 100 requests", "The API limit is 200 requests now", one},
		{"limit, the unit left out", "The API limit is 100 requests", "The API limit is 200 now", one},
		{"limit of a plan", "The limit of the free plan is 10", "The free plan's limit is 20 now", one},
		{"rent", "Our rent is 900 euros.", "Our rent is 950 now", one},
		{"price", "The gym costs 30 euros.", "The price of the gym is 40 euros.", one},
		{"price with a sign", "The gym costs €30.", "The gym costs € 40 now.", one},
		{"rate", "The API limit is 100 requests/minute.", "The API limit is 200 requests per minute now.", one},
		{"size", "The upload limit is 5 MB.", "The upload limit is 10 MB now.", one},
		{"floor", "The lab is on floor 3", "The lab is on floor 5 now", one},
		{"floor, negated", "The lab is on floor 3", "The lab isn't on floor 3 anymore", one},
		{"floor in words", "The lab is on the third floor.", "The lab is on floor 5 now.", one},
		{"port, negated", "The server runs on port 8080.", "The server isn't on port 8080 anymore", one},
		{"place, negated", "Our office is in Basel.", "Our office isn't in Basel anymore.", one},
		{"budget", "Our budget is 50k.", "Our budget is now 60k.", one},
		{"raised", "The API limit is 100 requests.", "The API limit was raised to 200 requests.", one},
		{"changed", "My email is a@x.example.", "I changed my email to b@x.example.", one},
		{"deadline", "The deadline is Friday.", "The deadline is Monday now.", one},
		{"boss in Serbian", "Moj šef je Marko.", "Moj novi šef je Ana.", one},
		{"rent in Serbian", "Kirija je 500 evra.", "Kirija je sada 600 evra.", one},
		{"how many", "The team has 5 people.", "The team has 7 people now.", one},
		{"salary", "My salary is 50000 euros.", "My salary is 60000 euros now.", one},
		{"a new CTO", "Our CTO is Bob.", "Our new CTO is Alice.", one},
		{"home in Serbian", "Ne živim više u Beogradu.", "Opet živim u Beogradu.", one},
		{"diet", "I'm vegetarian", "I eat meat again", one},
		{"diet, another", "I'm vegetarian", "I'm vegan now", one},
		{"marital status", "I'm single.", "I'm married now.", one},

		{"two allergies", "I'm allergic to nuts.", "I'm not allergic to milk.", both},
		{"half a denial", "I use vim", "I don't always use vim", both},
		{"denied somewhere", "I use vim", "I don't use vim at work", both},
		{"two editors", "I use vim", "I use Helix", both},
		{"two likings", "I like tea", "I like coffee", both},
		{"liking and not another", "I like tea", "I don't like coffee", both},
		{"two habits", "I drink coffee", "I drink tea", both},
		{"another person", "I drink coffee.", "My son doesn't drink coffee.", both},
		{"ours and mine", "We use Kafka.", "I don't use Kafka.", both},
		{"two drinks in Serbian", "Pijem kafu", "Ne pijem čaj", both},
		{"rather in Serbian", "Volim čaj.", "Više volim kafu.", both},
		{"two states in German", "Ich bin allergisch gegen Nüsse.", "Ich bin nicht allergisch gegen Milch.", both},
		{"two sons", "My son Tom is 5.", "My son Max is 8.", both},
		{"son and daughter", "My son is 5.", "My daughter is 8.", both},
		{"older and younger", "My older son is 8.", "My younger son is 5.", both},
		{"a son's age and one's own", "I'm 34", "My son is 5.", both},
		{"work and private", "My work email is w@x.example", "My private email is p@x.example", both},
		{"e-mail and phone", "My email is a@x.example", "My new phone number is 555-9876", both},
		{"manager and dentist", "My manager is Eva.", "My dentist is Tom.", both},
		{"two owners", "The owner of billing is Ana.", "The owner of search is Eva.", both},
		{"two plans", "The limit of the free plan is 10", "The limit of the pro plan is 100", both},
		{"two limits", "The API limit is 100 requests", "The upload limit is 200 requests", both},
		{"two units", "The API limit is 100 requests", "The API limit is 5 MB", both},
		{"a minute and a day", "The API limit is 100 requests per minute", "The API limit is 9000 requests per day", both},
		{"two currencies' signs", "The gym costs $30.", "The pool costs €30.", both},
		{"two environments", "The API limit in staging is 100", "The API limit in production is 900", both},
		{"our rent and mine", "Our rent is 900 euros.", "My rent is 400 euros.", both},
		{"two prices", "The gym costs 30 euros.", "The pool costs 40 euros.", both},
		{"two rooms", "The lab is on floor 3", "The kitchen is on floor 3", both},
		{"two offices", "The Berlin office is on floor 3", "The Paris office is on floor 5", both},
		{"two offices by place", "The office in Berlin is on floor 3", "The office in Paris is on floor 5", both},
		{"day and hour", "The standup is on Tuesday.", "The standup is at 9:30.", both},
		{"two deadlines", "The design deadline is Friday.", "The launch deadline is Monday.", both},
		{"two ports", "The server runs on port 8080.", "The proxy isn't on port 8080 anymore.", both},
		{"boss and address in Serbian", "Moj šef je Marko.", "Moja adresa je Main 5.", both},
		{"a server called A", "The server runs on Debian.", "The server A no longer runs on Debian.", both},
		{"a list, one of it denied", "I'm allergic to nuts, milk and eggs.", "I'm not allergic to nuts anymore.", both},
		{"only some days", "I drink coffee.", "I don't drink coffee every day.", both},
		{"not yet", "We use Kafka.", "We don't use Kafka yet.", both},
		{"not only", "We use Kafka.", "We don't only use Kafka.", both},
		{"two groups of servers", "The server runs on Debian.", "The servers no longer run on Debian.", both},
		{"two servers", "The web server runs on Debian.", "The mail server no longer runs on Debian.", both},
		{"my son and my daughter", "My son plays chess.", "My daughter doesn't play chess anymore.", both},
		{"two games", "My son plays chess.", "My son doesn't play tennis anymore.", both},
		{"drinks and smokes", "I drink coffee.", "I quit smoking.", both},
		{"used to, another", "I play tennis.", "I used to play golf.", both},
		{"two decisions", "We decided to use Kafka.", "We decided not to use Redis after all.", both},
		{"somebody else's age", "I'm 34.", "My brother is 35 now.", both},
		{"home and work phone", "My home phone is 555-1234", "My work phone is 555-9876 now", both},
		{"an old address that was another", "My email is a@x.example", "My old email was c@x.example", both},
		{"floor and port", "The lab is on floor 3", "The lab isn't on port 8080 anymore", both},
		{"another floor denied", "The lab is on floor 3", "The lab isn't on floor 7 anymore", both},
		{"another limit denied", "The API limit is 100 requests", "The API limit isn't 50 requests anymore", both},
		{"price and rent", "The flat costs 900 euros.", "Our rent is 400 euros now.", both},
		{"price a day and a year", "The pass costs 5 euros per day.", "The pass costs 300 euros per year.", both},
		{"two budgets", "Our travel budget is 5000 euros.", "Our training budget is 8000 euros.", both},
		{"habit in Serbian, of two", "Pušim.", "Više ne pijem kafu.", both},
		{"partly in Serbian", "Pijem kafu.", "Ne pijem samo kafu.", both},
		{"French, another", "J'aime le café.", "Je n'aime plus le thé.", both},
		{"Spanish, another", "Me gusta el café.", "Ya no me gusta el té.", both},
		{"Italian, another", "Mi piace il tè.", "Non mi piace più il vino.", both},
		{"marital status of another", "I'm single.", "My sister is married now.", both},
		{"people and rooms", "The team has 5 people.", "The team has 3 rooms.", both},
		{"two teams", "The core team has 5 people.", "The design team has 7 people.", both},
		{"CTO and CEO", "Our CTO is Bob.", "Our CEO is Eve.", both},
		{"two diets of two people", "I'm vegetarian.", "My wife eats meat again.", both},
		{"diet and allergy", "I'm vegetarian", "I'm allergic to nuts", both},
	}
	s := openStore(t, nil)
	for _, test := range tests {
		for i, said := range [][]string{{test.a, test.b}, {test.b, test.a}} {
			t.Run(test.name+[]string{"", ", other order"}[i], func(t *testing.T) {
				scope := scopeIn(t, test.name+[]string{"", " r"}[i], "ann")
				for j, text := range said {
					s.Learn(Exchange{Scope: scope, At: noon.Add(time.Duration(j) * time.Hour), UserText: text})
					settle(t, s)
				}
				items := list(t, s, scope, Filter{})
				var hold, ended []string
				for _, item := range items {
					if item.ValidTo == nil {
						hold = append(hold, item.Content)
					} else {
						ended = append(ended, item.Content)
					}
				}
				// A denial may be worth a memory only when there is something to deny.
				kept := len(ended) == 1 || i == 1 && len(ended) == 0
				if test.want == one && (!kept || len(hold) != 1 || hold[0] != said[1]) || test.want == both && len(ended) > 0 {
					t.Errorf("%d hold: %q, ended: %q", len(hold), hold, ended)
				}
				if test.want == both && len(hold) != 2 {
					t.Logf("learned only %q", hold)
				}
			})
		}
	}
}
