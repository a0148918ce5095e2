package preset

import (
	"strings"
	"testing"
)

// TestText holds that each preset is whole, and says what an agent of its kind
// has to know.
func TestText(t *testing.T) {
	tests := []struct {
		name string
		want []string // headings of its role
	}{
		{"main", []string{"Conversation handling", "Authority", "Delegation", "Escalation"}},
		{"community", []string{"Engagement", "Moderation", "Escalation", "Delegation"}},
		{"engineering", []string{"Conversation handling", "Technical authority", "Delegation", "Escalation"}},
	}
	if len(tests) != len(Names()) {
		t.Errorf("presets are %q, and %d are tested", Names(), len(tests))
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for file, heading := range map[string]string{"SOUL.md": "## Soul\n", "IDENTITY.md": "## Identity\n", "ROLE.md": "## Role\n"} {
				if text, err := Text(tt.name, file); err != nil || !strings.HasPrefix(text, heading) {
					t.Errorf("%s begins %.40q (%v), want %q", file, text, err, heading)
				}
			}
			role, err := Text(tt.name, "ROLE.md")
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range tt.want {
				if !strings.Contains(role, "\n### "+want+"\n") {
					t.Errorf("the role has no part %q", want)
				}
			}
		})
	}
}

func TestTextOfNone(t *testing.T) {
	for _, name := range [][2]string{{"none", "SOUL.md"}, {"main", "SPEECH.md"}, {"..", "preset.go"}} {
		if text, err := Text(name[0], name[1]); err == nil {
			t.Errorf("Text(%q) = %.20q, want an error", name, text)
		}
	}
}
