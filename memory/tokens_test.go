package memory

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestTokens(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string
	}{
		{"stop words", "Where do I live in the city?", []string{"live", "city"}},
		{"stems", "We decided: databases, policies, running, Beogradu", []string{"decid", "databas", "policy", "run", "beograd"}},
		{"short words stay", "use sed red ring", []string{"use", "sed", "red", "ring"}},
		{"numbers", "port 8090, v3.12", []string{"port", "8090", "v3", "12"}},
		{"signs", "C++, C#, F# and C", []string{"cplusplus", "csharp", "fsharp", "c"}},
		{"letters", "Đoković Łódź Straße Œuvre", []string{"djokovic", "lodz", "strass", "oeuvr"}},
		{"Cyrillic", "Ђоковић живи", []string{"djokovic", "zivi"}},
		{"pairs", "悬空引用 x", []string{"x", "悬空", "空引", "引用"}},
		{"one character", "茶", []string{"茶"}},
		{"voiced kana keep their marks", "ガ", []string{"ガ"}},
		{"Hangul composes", "한국어", []string{"한국", "국어"}},
		{"nothing", " \t- the ", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, tokens(test.text)); diff != "" {
				t.Errorf("tokens(%q) (-want +got):\n%s", test.text, diff)
			}
		})
	}
}

func TestHashTellsApart(t *testing.T) {
	scope, other := scopeOf(t, "u1"), scopeOf(t, "u10")
	tests := []struct {
		name, a, b string
		want       bool
	}{
		{"case, space, period", "The VPN  is on.", "the vpn is on", true},
		{"script", "Ђоковић", "Đoković", true},
		{"negation", "I like tea", "I don't like tea", false},
		{"server", "server A port 8080", "server B port 8080", false},
		{"sign", "the offset is -5", "the offset is 5", false},
		{"point", "3.5", "35", false},
		{"emoji", "🎉", "🔥", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := string(scope.hash(hashMemory, test.a)) == string(scope.hash("memory", test.b)); got != test.want {
				t.Errorf("%q and %q same: %v, want %v", test.a, test.b, got, test.want)
			}
		})
	}
	if string(scope.hash(hashMemory, "x")) == string(other.hash("memory", "x")) {
		t.Error("two scopes share a hash")
	}
}

func FuzzFold(f *testing.F) {
	for _, s := range []string{"Đoković", "ÀÉ\u0301x", "ﬁ Ⅷ", "\xff\u200b", "İstanbul ǅ", "한국어ガ"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once := fold(s)
		if !utf8.ValidString(once) && utf8.ValidString(s) {
			t.Errorf("fold(%q) = %q, not UTF-8", s, once)
		}
		for _, tok := range tokens(s) {
			if tok == "" || strings.ContainsAny(tok, "\" \x00'*():^-+") {
				t.Errorf("tokens(%q) holds %q", s, tok)
			}
		}
	})
}

// FuzzMatchQuery runs what it builds, against a row that holds the same text.
func FuzzMatchQuery(f *testing.F) {
	s := openStore(f, nil)
	for _, q := range []string{`"`, "NEAR(a b)", "a OR b*", "設備", "\x00", "C++", "-x:y"} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, q string) {
		words := queryTokens(q)
		if len(words) == 0 {
			return
		}
		if _, err := s.db.Writer.Exec("DELETE FROM memories_fts"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.db.Writer.Exec(insertText, 1, "s0", strings.Join(words, " ")); err != nil {
			t.Fatal(err)
		}
		var n int
		err := s.db.Reader.QueryRow("SELECT count(*) FROM memories_fts WHERE memories_fts MATCH ?", matchQuery([]string{"s0"}, words)).Scan(&n)
		if err != nil || n != 1 {
			t.Errorf("query for %q found %d rows, error %v", words, n, err)
		}
		err = s.db.Reader.QueryRow("SELECT count(*) FROM memories_fts WHERE memories_fts MATCH ?", matchQuery([]string{"s1"}, words)).Scan(&n)
		if err != nil || n != 0 {
			t.Errorf("another scope's query for %q found %d rows, error %v", words, n, err)
		}
	})
}
