package scoring

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestHumanText(t *testing.T) {
	tests := []struct {
		name string
		in   string
		want string
	}{
		{name: "empty"},
		{name: "plain", in: " fix typo\n", want: "fix typo"},
		{name: "reminder in front", in: "<system-reminder>\nPlan mode is on.\n</system-reminder>\nfix typo", want: "fix typo"},
		{name: "reminder behind", in: "fix typo\n<system-reminder>x</system-reminder>", want: "fix typo"},
		{name: "reminder between", in: "fix<system-reminder>x</system-reminder>typo", want: "fix\ntypo"},
		{name: "only a reminder", in: "<system-reminder>x</system-reminder>"},
		{name: "several kinds", in: "<environment_context><cwd>/x</cwd></environment_context><ide_selection>y</ide_selection>go on", want: "go on"},
		{name: "nested, one kind", in: "<system-reminder>a<system-reminder>b</system-reminder>c</system-reminder>hi", want: "hi"},
		{name: "nested, two kinds", in: "<bash-stdout>a<system-reminder>b</system-reminder>c</bash-stdout>hi", want: "hi"},
		{name: "crossed", in: "<bash-stdout>a<bash-stderr>b</bash-stdout>c</bash-stderr>hi", want: "hi"},
		{name: "not closed", in: "what does <system-reminder> mean?", want: "what does <system-reminder> mean?"},
		{name: "not opened", in: "why </system-reminder>?", want: "why </system-reminder>?"},
		{
			name: "asked about, then used", in: "what does <system-reminder> mean? <system-reminder>x</system-reminder>",
			want: "what does <system-reminder> mean?",
		},
		{name: "the human's own markup", in: "<context>a</context> <b>c</b> 1 < 2", want: "<context>a</context> <b>c</b> 1 < 2"},
		{
			name: "slash command", want: "the parser",
			in: "<command-name>/review</command-name>\n<command-message>review</command-message>\n<command-args>the parser</command-args>",
		},
		{name: "query inside a tag", in: "<user_info>mac</user_info>\n<user_query>\nfix typo\n</user_query>", want: "fix typo"},
		{
			name: "agents file", want: "fix typo",
			in: "# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>\nuse tabs\n</INSTRUCTIONS>\nfix typo",
		},
		{
			name: "our own block", want: "fix typo",
			in: "<understudy-context>\nnotes: </understudy-context> quoted\n</understudy-context>\n\nfix typo",
		},
		{
			name: "our own tag inside a line", want: "is <understudy-context> a tag, </understudy-context> too?",
			in: "is <understudy-context> a tag, </understudy-context> too?",
		},
		{name: "time stamp", in: "[2026-03-18 15:12] hi", want: "hi"},
		{name: "time stamp with more", in: "[Slack #ops Wed 2026-03-18 15:12 EST] hi", want: "hi"},
		{name: "clock", in: "[15:12:33] [9:01] hi", want: "hi"},
		{name: "time stamp behind a block", in: "<system-reminder>x</system-reminder>\n[2026-03-18T15:12:00Z] hi", want: "hi"},
		{name: "brackets without a time", in: "[WIP] fix typo", want: "[WIP] fix typo"},
		{name: "a ratio", in: "[16:9] crop", want: "[16:9] crop"},
		{name: "brackets elsewhere", in: "see [15:12] there", want: "see [15:12] there"},
		{name: "not closed bracket", in: "[2026-03-18 hi", want: "[2026-03-18 hi"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := HumanText(tt.in); got != tt.want {
				t.Errorf("HumanText(%q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

// What a harness wraps around a message changes neither score nor shape.
func TestWrappersDoNotScore(t *testing.T) {
	s := newScorer(t)
	wrapped := "<system-reminder>" + hardDesign + "</system-reminder>\n[2026-03-18 15:12] hi"
	if got, want := s.Score(HumanText(wrapped)), s.Score("hi"); got != want {
		t.Errorf("Score(HumanText(%q)) = %+v, want %+v", wrapped, got, want)
	}
}

func FuzzHumanText(f *testing.F) {
	for _, text := range []string{
		"hi", "<system-reminder>a</system-reminder>b", "[2026-03-18 15:12] hi", "<user_query>x</user_query>",
		"<bash-stdout>a<bash-stderr>b</bash-stdout>c</bash-stderr>", "# AGENTS.md instructions for x</INSTRUCTIONS>",
		"<understudy-context>\nx\n</understudy-context>", "<", "[", "</bash-stdout>",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := HumanText(text)
		if len(got) > len(text) || got != strings.TrimSpace(got) || utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Errorf("HumanText(%q) = %q", text, got)
		}
		if !strings.ContainsAny(text, "<[") && got != strings.TrimSpace(text) {
			t.Errorf("HumanText(%q) = %q, want the text itself", text, got)
		}
		block := "<system-reminder>note</system-reminder>"
		if again := HumanText(block + "\n" + got); !strings.ContainsAny(got, "<[#") && again != got {
			t.Errorf("HumanText of %q behind a block = %q", got, again)
		}
	})
}

func BenchmarkHumanText(b *testing.B) {
	for name, text := range map[string]string{
		"plain":   strings.Repeat("fix the typo ", 160),
		"wrapped": "<system-reminder>" + strings.Repeat("note ", 400) + "</system-reminder>\nfix typo",
		"hostile": strings.Repeat("<bash-stdout>", 5000),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				HumanText(text)
			}
		})
	}
}

func TestTerse(t *testing.T) {
	tests := []struct {
		name string
		text string
		want bool
	}{
		{name: "yes", text: "yes", want: true},
		{name: "punctuation and case", text: "Yes, do that!", want: true},
		{name: "several", text: "ok ok, go ahead and commit it", want: true},
		{name: "several replies", text: "ok, yes, go ahead. Commit it", want: true},
		{name: "with a filler", text: "continue please, thanks", want: true},
		{name: "apostrophe", text: "Let’s do it", want: true},
		{name: "question", text: "why?", want: true},
		{name: "Serbian", text: "Da, nastavi", want: true},
		{name: "Serbian, Cyrillic", text: "да, настави", want: true},
		{name: "German", text: "ja, mach weiter bitte", want: true},
		{name: "Spanish, decomposed", text: "si\u0301, adelante", want: true},
		{name: "Chinese", text: "继续", want: true},
		{name: "Chinese, two", text: "好的，继续吧", want: true},
		{name: "Japanese", text: "はい", want: true},
		{name: "Korean", text: "네, 계속해", want: true},
		{name: "empty", text: "", want: false},
		{name: "only signs", text: "?!", want: false},
		{name: "greeting", text: "hi", want: false},
		{name: "thanks", text: "thanks", want: false},
		{name: "filler alone", text: "please", want: false},
		{name: "more than a reply", text: "yes, and rewrite it in Rust", want: false},
		{name: "a word inside a word", text: "okra", want: false},
		{name: "Chinese, more", text: "继续写代码", want: false},
		{name: "long", text: strings.Repeat("yes ", maxTerse+1), want: false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Terse(tt.text); got != tt.want {
				t.Errorf("Terse(%q) = %v, want %v", tt.text, got, tt.want)
			}
		})
	}
}

func BenchmarkTerse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Terse("yes, go ahead and do that for me, please")
	}
}
