package assemble

import (
	"strings"
	"testing"
)

func TestStrip(t *testing.T) {
	const block = openTag + "\n# State\n- [fact] x\n" + closeTag
	quoted := "> " + strings.ReplaceAll(block, "\n", "\n> ")
	tests := []struct {
		name, text, want string
	}{
		{"empty", "", ""},
		{"no block", "a\n\nb\n", "a\n\nb\n"},
		{"alone", block, ""},
		{"after a system prompt", "You help.\n" + Separator + block, "You help.\n"},
		{"before the human", block + Separator + "\n hi\n", "\n hi\n"},
		{"between", "a\n\n" + block + "\n\nb", "a\n\nb"},
		{"two", block + "\n\n" + block + "\n\nhi", "hi"},
		{"CRLF", strings.ReplaceAll(block+Separator+"hi", "\n", "\r\n"), "hi"},
		{"quoted", "you wrote:\n" + quoted + "\nwhy?", "you wrote:\nwhy?"},
		{"indented", "  " + strings.ReplaceAll(block, "\n", "\n  ") + "\nwhy?", "why?"},
		{"nested", openTag + "\nouter\n" + block + "\nouter still\n" + closeTag + "\n\nhi", "hi"},
		{"not closed", "a\n" + openTag + "\n# State\n- [fact] x", "a"},
		{"opened twice", openTag + "\nx\n" + block + "\n\nhi", "hi"},
		{"not opened", "a\n" + closeTag + "\nb", "a\nb"},
		{"in a sentence", "What is " + openTag + "?\nAnd " + closeTag + "?", "What is " + openTag + "?\nAnd " + closeTag + "?"},
		{"another tag", "<understudy-contexts>\nx", "<understudy-contexts>\nx"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Strip(tt.text); got != tt.want {
				t.Errorf("Strip(%q) = %q, want %q", tt.text, got, tt.want)
			}
		})
	}
}

func TestStripUndoesAssemble(t *testing.T) {
	a := newAssembler(t, nil)
	for _, tier := range []ModelTier{Small, Frontier} {
		got := a.Assemble(fullInput(tier))
		for _, text := range []string{"You help.", "line\n\nline\n", "# State\n- [x]\n\n"} {
			if s := Strip(text + Separator + got.SystemBlock); s != text {
				t.Errorf("%v: system prompt %q comes back as %q", tier, text, s)
			}
			if got.UserPrefix == "" {
				continue
			}
			if s := Strip(got.UserPrefix + Separator + text); s != text {
				t.Errorf("%v: human text %q comes back as %q", tier, text, s)
			}
		}
	}
}

func FuzzStrip(f *testing.F) {
	f.Add("", "")
	f.Add("You help.\n", "hi")
	f.Add(openTag+"\nx", "> "+closeTag)
	f.Fuzz(func(t *testing.T, before, after string) {
		once := Strip(before)
		if again := Strip(once); again != once {
			t.Errorf("Strip(%q) = %q, and again %q", before, once, again)
		}
		for line := range strings.SplitSeq(once, "\n") {
			if tag := tagOf(line); tag == openTag || tag == closeTag {
				t.Errorf("Strip(%q) = %q keeps %q", before, once, line)
			}
		}
		const block = openTag + "\nx\n" + closeTag
		if text := Strip(after); Strip(block+Separator+text) != text {
			t.Errorf("human text %q comes back as %q", text, Strip(block+Separator+text))
		}
		if text := once; text != "" && Strip(text+Separator+block) != text {
			t.Errorf("system prompt %q comes back as %q", text, Strip(text+Separator+block))
		}
	})
}
