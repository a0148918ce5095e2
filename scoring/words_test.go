package scoring

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSplit(t *testing.T) {
	tests := []struct {
		name string
		in   string
		want []string
	}{
		{name: "empty", in: " \n!"},
		{name: "case and punctuation", in: "Hello, World!", want: []string{"hello", "world"}},
		{name: "apostrophes", in: "what's what’s", want: []string{"what", "s", "what", "s"}},
		{name: "underscore joins", in: "snake_case a-b", want: []string{"snake_case", "a", "b"}},
		{name: "marks belong to the word", in: "ĐURĐEVAK naïveq\u0301", want: []string{"đurđevak", "naïveq\u0301"}},
		{name: "NFD becomes NFC", in: "que\u0301", want: []string{"qué"}},
		{name: "Cyrillic", in: "Што је то?", want: []string{"што", "је", "то"}},
		{name: "CJK by character", in: "继续ok", want: []string{"继", "续", "ok"}},
		{name: "CJK after a word", in: "ok继续", want: []string{"ok", "继", "续"}},
		{name: "Hangul", in: "안녕!", want: []string{"안", "녕"}},
		{name: "Devanagari vowel signs", in: "हिन्दी में", want: []string{"हिन्दी", "में"}},
		{name: "not UTF-8", in: "a\xffb", want: []string{"a", "b"}},
		{name: "too long a word", in: strings.Repeat("x", maxWord+1) + " y", want: []string{"", "y"}},
		{name: "mark alone", in: "\u0301 x", want: []string{"x"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, split(tt.in)); diff != "" {
				t.Errorf("split(%q) (-want +got):\n%s", tt.in, diff)
			}
		})
	}
}

func TestMatch(t *testing.T) {
	tests := []struct {
		name    string
		entries []string
		text    string
		want    []string
	}{
		{name: "whole words", entries: []string{"prove", "import"}, text: "Improve the important import", want: []string{"import"}},
		{name: "phrase", entries: []string{"step by step"}, text: "go Step-by\nstep now", want: []string{"step by step"}},
		{name: "phrase across sentences", entries: []string{"at most"}, text: "Look at. Most of it"},
		{name: "a dot inside a word ends nothing", entries: []string{"main go"}, text: "see main.go", want: []string{"main go"}},
		{name: "restarts inside itself", entries: []string{"a a b"}, text: "a a a b", want: []string{"a a b"}},
		{name: "overlapping", entries: []string{"a b", "b c"}, text: "a b c", want: []string{"a b", "b c"}},
		{name: "prefix and whole", entries: []string{"a", "a b"}, text: "a b", want: []string{"a", "a b"}},
		{name: "anchored in front", entries: []string{"^hello"}, text: "Hello you", want: []string{"hello"}},
		{name: "anchored after a sentence", entries: []string{"^what is"}, text: "Look. What is it?", want: []string{"what is"}},
		{name: "anchored on a line", entries: []string{"^hello"}, text: "dear all\n* hello", want: []string{"hello"}},
		{name: "anchored, within", entries: []string{"^hello"}, text: "a hello world program"},
		{name: "gap", entries: []string{"first ... then"}, text: "First a. And then b", want: []string{"first ... then"}},
		{name: "gap of nothing", entries: []string{"first ... then"}, text: "first then", want: []string{"first ... then"}},
		{name: "gap, wrong order", entries: []string{"first ... then"}, text: "then first"},
		{name: "gap too wide", entries: []string{"first ... then"}, text: "first " + strings.Repeat("x ", gapWords) + "then"},
		{
			name: "gap renewed", entries: []string{"first ... then"},
			text: "first " + strings.Repeat("x ", gapWords-1) + "first then", want: []string{"first ... then"},
		},
		{name: "two gaps", entries: []string{"a ... b c ... d"}, text: "a x b c y d", want: []string{"a ... b c ... d"}},
		{name: "CJK inside a run", entries: []string{"什么是"}, text: "请问什么是光", want: []string{"什么是"}},
		{name: "NFD text", entries: []string{"qué es"}, text: nfc("que\u0301 es"), want: []string{"qué es"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := &matcher{}
			for _, e := range tt.entries {
				if err := m.add(0, e); err != nil {
					t.Fatal(err)
				}
			}
			var got []string
			m.match(tt.text, func(h hit) { got = append(got, m.phrases[h.id]) }, nil)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("match(%q) (-want +got):\n%s", tt.text, diff)
			}
		})
	}
}

// More phrases at a time than there is room for are dropped, never a fault.
func TestMatchOverflow(t *testing.T) {
	m := &matcher{}
	for c := 'a'; c <= 'z'; c++ {
		if err := m.add(0, string(c)+" ... end"); err != nil {
			t.Fatal(err)
		}
	}
	hits := 0
	words := m.match("a b c d e f g h i j k l m n o p end", func(hit) { hits++ }, nil)
	if words != 17 || hits != maxOpen {
		t.Errorf("match found %d in %d words, want %d in 17", hits, words, maxOpen)
	}
}

func TestKeywordFiles(t *testing.T) {
	files, err := keywordFiles.ReadDir("keywords")
	if err != nil || len(files) < int(NumDimensions) {
		t.Fatalf("ReadDir = %d files, %v", len(files), err)
	}
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), ".txt")
		entries, err := keywords(name)
		if err != nil || len(entries) == 0 {
			t.Errorf("keywords(%q) = %d entries, %v", name, len(entries), err)
		}
		m, seen := &matcher{}, map[string]bool{}
		for _, e := range entries {
			if err := m.add(0, e); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			key := strings.Trim(e, "^!")
			if seen[key] && !strings.HasPrefix(name, "terse") { // languages share their terse words
				t.Errorf("%s: %q stands there twice", name, key)
			}
			seen[key] = true
			if strings.HasPrefix(name, "shape-") && strings.ContainsFunc(e, func(r rune) bool { return r > 126 }) {
				t.Errorf("%s: %q is not ASCII, but signals must be", name, e)
			}
		}
	}
	for _, s := range shapes {
		if _, err := keywords("shape-" + string(s)); err != nil {
			t.Error(err)
		}
	}
}
