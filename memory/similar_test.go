package memory

import "testing"

func TestSimilar(t *testing.T) {
	tests := []struct {
		name, wanted, text string
		want               bool // they have to do with each other
	}{
		{"the same", "Fix the flaky test in the payments module", "Fix the flaky test in the payments module", true},
		{"other words", "Set up the NATS versus Redis benchmark and report latency", "Benchmark scaffolding for NATS vs Redis comparison is done", true},
		{"shared words", "Fix the flaky test in the payments module", "CI is red because payments tests time out", true},
		{"nothing in common", "Fix the flaky test in the payments module", "Lunch is at noon on Friday", false},
		{"a task and another", "Continue the auth migration", "Staging deployment successful", false},
		{"no words", "?!", "Lunch is at noon on Friday", false},
		{"nothing to compare", "Fix the flaky test", "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			like, err := Similar(tt.wanted)
			if err != nil {
				t.Fatal(err)
			}
			got := like(tt.text)
			if got < 0 || got > 1 || (got >= likeWords) != tt.want || got != like(tt.text) {
				t.Errorf("similarity of %q and %q is %.2f, want %v", tt.wanted, tt.text, got, tt.want)
			}
		})
	}
}
