package scoring

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// newScorer returns the keyword scorer.
func newScorer(t testing.TB) *Scorer {
	t.Helper()
	s, err := New(keywordConfig())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func keywordConfig() Config {
	c := DefaultConfig()
	c.Kind = Keyword
	return c
}

const hardDesign = "Design a fault-tolerant key-value store step by step. Prove that it stays linearizable with " +
	"at most two failed nodes: first the write path, then recovery."

func TestScoreTier(t *testing.T) {
	technical := strings.Repeat("The distributed consensus algorithm must guarantee at most n steps.\n\n"+
		"We prove this theorem by induction, first for the leader, then for the API function.\n\n", 500)
	tests := []struct {
		name      string
		text      string
		abstained bool
		want      Tier
	}{
		{name: "empty", text: "", abstained: true, want: Standard},
		{name: "blank", text: " \n", abstained: true, want: Standard},
		{name: "no signal", text: "Tell the team that lunch moves", abstained: true, want: Standard},
		{name: "greeting", text: "hi", want: Light},
		{name: "greeting in caps", text: "HELLO!!", want: Light},
		{name: "thanks", text: "thanks!", want: Light},
		{name: "look-up", text: "what is the capital of France?", want: Light},
		{name: "look-up after a greeting", text: "Hey. Who wrote Faust?", want: Light},
		{name: "German greeting", text: "Guten Morgen", want: Light},
		{name: "Serbian thanks", text: "Хвала!", want: Light},
		{name: "Serbian thanks, Latin", text: "hvala", want: Light},
		{name: "Chinese look-up", text: "什么是机器学习？", want: Light},
		{name: "Japanese thanks", text: "ありがとうございます", want: Light},
		{name: "Spanish look-up, decomposed", text: "¿Que\u0301 es el ADN?", want: Light},
		{name: "code request", text: "Write a Python function that reverses a list", want: Standard},
		{name: "code alone", text: "```\nfor i := range n {\n```", want: Standard},
		{name: "greeting before work", text: "Hi, refactor parse_args in main.py so that it returns early", want: Standard},
		{name: "not a greeting", text: "Write a hello world program in Go", want: Standard},
		{name: "not a look-up", text: "Explain what is wrong with this code", want: Standard},
		{name: "reasoning words bought by a greeting", text: "hi, step by step, pros and cons", want: Standard},
		{name: "one kind of signal, however strong", text: "Prove that sqrt(2) is irrational", want: Standard},
		{name: "several kinds of signal", text: hardDesign, want: Heavy},
		{
			name: "numbered list", want: Heavy,
			text: "Implement in Rust:\n1. a lock-free queue\n2. a benchmark\n3. a proof of its invariants, using at most 2 atomics",
		},
		{name: "long material, short request behind", text: technical + "Summarise in one line.", abstained: true, want: Standard},
		{name: "long material, short request in front", text: "Summarise in one line.\n\n" + technical, abstained: true, want: Standard},
	}
	s := newScorer(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := s.Score(tt.text)
			if got.Tier != tt.want || got.Abstained != tt.abstained {
				t.Errorf("Score(%.60q) = %v, abstained %v, want %v, %v: %+v",
					tt.text, got.Tier, got.Abstained, tt.want, tt.abstained, got)
			}
		})
	}
}

// Each dimension is moved by its own signals and by no other.
func TestScoreDimensions(t *testing.T) {
	tests := []struct {
		name string
		text string
		want Vector // TokenCount is not compared
	}{
		{name: "words inside words", text: "Improve my basic letter to various important customers, I understand the history"},
		{name: "code, one hit", text: "a JavaScript joke", want: Vector{CodePresence: 0.6}},
		{name: "code, the same twice", text: "JavaScript or javascript", want: Vector{CodePresence: 0.6}},
		{name: "code, one hit in much space", text: strings.Repeat(" ", maxRead) + "a JavaScript joke", want: Vector{CodePresence: 0.6}},
		{name: "code, two hits", text: "a JavaScript function", want: Vector{CodePresence: 1}},
		{name: "code fence", text: "```\nx\n```", want: Vector{CodePresence: 1}},
		{name: "inline code", text: "what of `x`", want: Vector{CodePresence: 0.6}},
		{name: "identifier", text: "rename userName please", want: Vector{CodePresence: 0.6}},
		{name: "reasoning", text: "Derive the sum", want: Vector{ReasoningMarkers: 1}},
		{name: "mathematics", text: "∑ of all i ≤ n", want: Vector{ReasoningMarkers: 0.6}},
		{name: "simple", text: "translate this", want: Vector{SimpleIndicators: -0.6}},
		{name: "technical", text: "our throughput", want: Vector{TechnicalDepth: 0.6}},
		{name: "several steps", text: "First open the door and then leave", want: Vector{MultiStep: 1}},
		{name: "constraint", text: "in at most ten lines", want: Vector{ConstraintComplexity: 0.6}},
		{name: "complexity class", text: "it has to be O(n)", want: Vector{ConstraintComplexity: 0.6}},
	}
	s := newScorer(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := s.Score(tt.text).Dimensions
			got[TokenCount] = 0
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Score(%q).Dimensions (-want +got):\n%s", tt.text, diff)
			}
		})
	}
}

func TestLength(t *testing.T) {
	if got := length(neutralBytes); got != 0 {
		t.Errorf("length(%d) = %v, want 0", neutralBytes, got)
	}
	last := length(1)
	for n := 2; n < 40_000; n++ {
		now := length(n)
		if now < last || now-last > 0.1 || now < -1 || now > 1 {
			t.Fatalf("length(%d) = %v after %v, want a small step up within [-1, 1]", n, now, last)
		}
		last = now
	}
	if last != 1 {
		t.Errorf("the longest text has length %v, want 1", last)
	}
}

func TestConfidence(t *testing.T) {
	tests := []struct {
		name          string
		minConfidence float64
		value         float64
		abstained     bool
		want          Tier
	}{
		{name: "well below", minConfidence: 0.55, value: -0.2, want: Light},
		{name: "just below", minConfidence: 0.55, value: -0.01, abstained: true, want: Standard},
		{name: "on the lower boundary", value: 0, want: Standard},
		{name: "between", minConfidence: 0.55, value: 0.2, want: Standard},
		{name: "on the upper boundary", value: 0.4, want: Standard},
		{name: "just above", minConfidence: 0.55, value: 0.41, abstained: true, want: Standard},
		{name: "just above, any confidence", value: 0.41, want: Heavy},
		{name: "well above", minConfidence: 0.55, value: 0.6, want: Heavy},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := DefaultConfig()
			c.MinConfidence = tt.minConfidence
			m, err := c.model()
			if err != nil {
				t.Fatal(err)
			}
			m.weights = Vector{CodePresence: 1}
			got := m.score(Vector{CodePresence: tt.value}, true)
			if got.Tier != tt.want || got.Abstained != tt.abstained || got.Confidence < 0.5 || got.Confidence > 1 {
				t.Errorf("score(%v) = %+v, want %v, abstained %v", tt.value, got, tt.want, tt.abstained)
			}
		})
	}
}

func TestConfigChangesScore(t *testing.T) {
	c := keywordConfig()
	c.Weights = map[string]float64{"code_presence": 0.9}
	c.Keywords = map[string]KeywordEdit{
		"code_presence":     {Add: []string{"!Flurbo"}, Remove: []string{"Python"}},
		"simple_indicators": {Remove: []string{"HI"}},
	}
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Score("port flurbo"); got.Tier != Heavy {
		t.Errorf("with a keyword added and its weight raised: %+v, want heavy", got)
	}
	for _, text := range []string{"python", "hi"} {
		if got := s.Score(text); !got.Abstained {
			t.Errorf("Score(%q) = %+v, want no signal from a keyword that was removed", text, got)
		}
	}
	if got := newScorer(t).Score("python"); got.Abstained {
		t.Errorf("one scorer's edits changed another: %+v", got)
	}
}

func TestNewErrors(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Config)
		want   []string
	}{
		{name: "zero config", change: func(c *Config) { *c = Config{} }, want: []string{"boundaries", `unknown kind ""`}},
		{name: "weight of nothing", change: func(c *Config) { c.Weights = map[string]float64{"tokens": 1} }, want: []string{`"tokens"`, "token_count"}},
		{name: "negative weight", change: func(c *Config) { c.Weights = map[string]float64{"multi_step": -1} }, want: []string{"multi_step", "≥ 0"}},
		{name: "infinite weight", change: func(c *Config) { c.Weights = map[string]float64{"multi_step": math.Inf(1)} }, want: []string{"multi_step"}},
		{name: "boundary order", change: func(c *Config) { c.Boundaries = Boundaries{0.5, 0.4} }, want: []string{"light_standard 0.5"}},
		{name: "boundary not a number", change: func(c *Config) { c.Boundaries.StandardHeavy = math.NaN() }, want: []string{"boundaries"}},
		{name: "confidence", change: func(c *Config) { c.MinConfidence = 1 }, want: []string{"min_confidence"}},
		{
			name: "keywords", want: []string{`"humour"`, "token_count has no keywords", `"zzz"`, `"!?"`},
			change: func(c *Config) {
				c.Keywords = map[string]KeywordEdit{
					"humour":        {},
					"token_count":   {Add: []string{"x"}},
					"multi_step":    {Remove: []string{"zzz"}},
					"code_presence": {Add: []string{"!?"}},
				}
			},
		},
		{
			name: "all at once", want: []string{"boundaries", `"x"`},
			change: func(c *Config) { *c = Config{Keywords: map[string]KeywordEdit{"x": {}}} },
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := DefaultConfig()
			tt.change(&c)
			_, err := New(c)
			if err == nil {
				t.Fatal("New = no error")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("New = %v, want an error with %q", err, want)
				}
			}
		})
	}
}

func TestScoreIsPure(t *testing.T) {
	s := newScorer(t)
	want := s.Score(hardDesign)
	got := make(chan Score)
	for range 8 {
		go func() { got <- s.Score(hardDesign) }()
	}
	for range 8 {
		if diff := cmp.Diff(want, <-got); diff != "" {
			t.Errorf("Score differs between calls (-first +later):\n%s", diff)
		}
	}
}

func FuzzScore(f *testing.F) {
	for _, text := range []string{"", "hi", hardDesign, "什么是 O(n)", "a\xff1. b\n2. c", strings.Repeat("e\u0301 ", maxRead), "a\n\n" + strings.Repeat("x", maxRead)} {
		f.Add(text)
	}
	s := newScorer(f)
	f.Fuzz(func(t *testing.T, text string) {
		got := s.Score(text)
		sum := 0.0
		for d, x := range got.Dimensions {
			if !(x >= -1 && x <= 1) {
				t.Errorf("%v = %v, want [-1, 1]", Dimension(d), x)
			}
			sum += got.Contributions[d]
		}
		if sum != got.Value || math.Signbit(got.Dimensions[SimpleIndicators]) != (got.Dimensions[SimpleIndicators] < 0) {
			t.Errorf("contributions sum to %v, want %v; dimensions %v", sum, got.Value, got.Dimensions)
		}
		if !(got.Confidence >= 0 && got.Confidence <= 1) || got.Tier < Light || got.Tier > Heavy || got.Abstained && got.Tier != Standard {
			t.Errorf("Score = %+v", got)
		}
		shape := DetectShape(text)
		if !(shape.Confidence >= 0.1 && shape.Confidence <= 0.95) || len(shape.Signals) > maxSignals {
			t.Errorf("DetectShape = %+v", shape)
		}
		Terse(text)
	})
}

func BenchmarkScore(b *testing.B) {
	for _, kind := range []struct {
		name   string
		scorer *Scorer
	}{{"learned", newLearned(b)}, {"keyword", newScorer(b)}} {
		for _, size := range []int{100, 2 << 10, 4 << 10, 20 << 10} {
			text := strings.Repeat(hardDesign+"\n\n", size/len(hardDesign)+1)[:size]
			b.Run(fmt.Sprintf("%s/%dB", kind.name, size), func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(size))
				for b.Loop() {
					kind.scorer.Score(text)
				}
			})
		}
	}
}
