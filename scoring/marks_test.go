package scoring

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMarks(t *testing.T) {
	tests := []struct {
		name string
		text string
		want marks
	}{
		{name: "prose", text: "It's 5 o'clock, and (so) we go: home? Yes! 1. FC Union - iPhone, eBay & YouTube."},
		{name: "fence", text: "```\nx", want: marks{fence: true}},
		{name: "inline", text: "the `x`", want: marks{inline: true}},
		{name: "one backtick", text: "a ` b"},
		{name: "camel case", text: "getUser", want: marks{name: true}},
		{name: "camel case with digits", text: "v2getUser", want: marks{name: true}},
		{name: "firms", text: "FloodTwin and GitHub"},
		{name: "snake case", text: "get_user", want: marks{name: true}},
		{name: "underscores for stress", text: "_very_ nice _"},
		{name: "operators", text: "a == b", want: marks{operator: true}},
		{name: "call", text: "run() it", want: marks{operator: true}},
		{name: "mathematics", text: "x ∈ S", want: marks{math: true}},
		{name: "typography", text: "“x” – y…"},
		{name: "numbered lines", text: "1. a\n  2. b\n3. c", want: marks{items: 3}},
		{name: "numbers in a line", text: "do (1) a, 2) b", want: marks{items: 2}},
		{name: "not in order", text: "2. a\n3. b"},
		{name: "version", text: "use 1.2 or sqrt(1) here"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got marks
			got.scan(tt.text)
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(marks{})); diff != "" {
				t.Errorf("scan(%q) (-want +got):\n%s", tt.text, diff)
			}
		})
	}
}
