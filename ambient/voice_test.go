package ambient

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestVoices(t *testing.T) {
	for _, tt := range []struct {
		name     string
		messages []Message
		user     string
		want     []Voice
	}{
		{"nothing", nil, "Ada", nil},
		{"the user", []Message{{Text: "hello"}}, "Ada", []Voice{{"Ada", true, "hello"}}},
		{"nobody known", []Message{{Text: "hello"}}, "", []Voice{{"", true, "hello"}}},
		{
			"named messages",
			[]Message{{"Bo", "one"}, {"Ada", "two"}},
			"Ada",
			[]Voice{{"Bo", false, "one"}, {"Ada", true, "two"}},
		},
		{
			"the last one is the user",
			[]Message{{"Bo", "one"}, {"Ada", "two"}},
			"",
			[]Voice{{"Bo", false, "one"}, {"Ada", true, "two"}},
		},
		{
			"lines",
			[]Message{{Text: "[Sarah Chen]: one\nand more\n[Bo]: two\n\n[ada]:three"}},
			"Ada",
			[]Voice{{"Sarah Chen", false, "one\nand more"}, {"Bo", false, "two"}, {"Ada", true, "three"}},
		},
		{"lines that come late are text", []Message{{Text: "see:\n[Bo]: two"}}, "Ada", []Voice{{"Ada", true, "see:\n[Bo]: two"}}},
		{"a log", []Message{{Text: "[ERROR]: disk\n[12:03:44]: full"}}, "Ada", []Voice{{"Ada", true, "[ERROR]: disk\n[12:03:44]: full"}}},
		{"a list", []Message{{Text: "[1, 2]: x"}}, "Ada", []Voice{{"Ada", true, "[1, 2]: x"}}},
		{"a link", []Message{{Text: "[docs](http://x): x"}}, "Ada", []Voice{{"Ada", true, "[docs](http://x): x"}}},
		{
			"hostile names",
			[]Message{{"<system>\n# Bo **", "one"}},
			"Ada",
			[]Voice{{"system Bo", false, "one"}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Voices(tt.messages, tt.user)); diff != "" {
				t.Errorf("Voices(%v, %q) (-want +got):\n%s", tt.messages, tt.user, diff)
			}
		})
	}
}

func TestSpoken(t *testing.T) {
	const both = "[Bo]: one\nand more\n[Ada]: two\n[bo]: three"
	for _, tt := range []struct{ name, text, user, all, own string }{
		{"no name", "one\n[Bo]: two", "Ada", "one\n[Bo]: two", "one\n[Bo]: two"},
		{"one's own", "[Ada]: one", "ada", "one", "one"},
		{"among others", both, "Ada", "one\nand more\ntwo\nthree", "two"},
		{"several times", both, "BO", "one\nand more\ntwo\nthree", "one\nand more\nthree"},
		{"nobody known: the last", both, "", "one\nand more\ntwo\nthree", "one\nand more\nthree"},
		{"called otherwise: the last", "[bo.k]: one\n[ada.l]: two", "Ada L", "one\ntwo", "two"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if all, own := Spoken(tt.text, tt.user); all != tt.all || own != tt.own {
				t.Errorf("Spoken(%q, %q) = %q, %q, want %q, %q", tt.text, tt.user, all, own, tt.all, tt.own)
			}
		})
	}
}

func FuzzVoices(f *testing.F) {
	f.Add("", "[Sarah]: one\n[Bo]: two", "Bo")
	f.Add("Ada", "hello\n[Bo]: two", "")
	f.Add("\xff[x]*", "[\u202ex]: "+strings.Repeat("ü", 400), "[Bo]")
	f.Fuzz(func(t *testing.T, name, text, user string) {
		voices := Voices([]Message{{Text: text}, {name, text}}, user)
		if len(voices) < 2 || len(voices) > maxVoices {
			t.Errorf("%d voices of two messages", len(voices))
		}
		if all, own := Spoken(text, user); len(all) > len(text) || len(own) > len(all) {
			t.Errorf("Spoken(%q) = %q, %q", text, all, own)
		}
		for _, v := range voices {
			if !utf8.ValidString(v.Name) || utf8.RuneCountInString(v.Name) > maxHumanName || strings.ContainsAny(v.Name, "[]<>*#\n\x00") {
				t.Errorf("a voice is called %q", v.Name)
			}
			if !utf8.ValidString(v.Text) || len(v.Text) > maxSaid {
				t.Errorf("a voice says %d bytes", len(v.Text))
			}
			if CleanName(v.Name) != v.Name {
				t.Errorf("CleanName(%q) = %q", v.Name, CleanName(v.Name))
			}
		}
	})
}
