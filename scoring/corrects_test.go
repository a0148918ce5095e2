package scoring

import (
	"strings"
	"testing"
)

func TestCorrects(t *testing.T) {
	tests := []struct {
		name, text, answer string
		want               bool
	}{
		{"no", "No, in Go please.", "Here it is in Rust.", true},
		{"a no to a question", "No, that's all.", "Shall I add tests, too?", false},
		{"wrong all the same", "No, that's wrong.", "Shall I add tests, too?", true},
		{"no thanks", "No thanks, go on.", "Done.", false},
		{"not what was asked", "Hm, that's not what I asked for.", "Done.", true},
		{"a curly apostrophe", "That’s wrong, it listens on 9464.", "9100.", true},
		{"a word that begins alike", "Notes on the meeting, please.", "Done.", false},
		{"Serbian", "Ne, mislio sam na Beograd.", "Novi Sad.", true},
		{"German", "Das stimmt nicht, es sind drei.", "Zwei.", true},
		{"Chinese", "不对,是三个", "两个", true},
		{"far from the beginning", "Write a story. " + strings.Repeat("It goes on. ", 40) + "that's wrong", "Done.", false},
		{"the next question", "And what of Kafka?", "NATS.", false},
		{"nothing", "", "Done.", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Corrects(tt.text, tt.answer); got != tt.want {
				t.Errorf("Corrects(%q, %q) = %v, want %v", tt.text, tt.answer, got, tt.want)
			}
		})
	}
}

func BenchmarkCorrects(b *testing.B) {
	const text = "Now compare the latency of both under load, and tell me which of them loses fewer messages when a node of the cluster goes away."
	b.ReportAllocs()
	for b.Loop() {
		Corrects(text, "NATS.")
	}
}
