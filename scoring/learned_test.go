package scoring

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func newLearned(t testing.TB) *Scorer {
	t.Helper()
	s, err := New(DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What the fitting code read and made of some prompts, it wrote to a file: the scorer has to find and make the same.
func TestWeightsParity(t *testing.T) {
	file, err := os.Open("testdata/weights.golden.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	x, err := NewExtractor()
	if err != nil {
		t.Fatal(err)
	}
	s, n := newLearned(t), 0
	for lines := bufio.NewScanner(file); lines.Scan(); n++ {
		var want struct {
			Prompt string
			Named  map[string]float64
			Slots  []uint32
			Score  float64
		}
		if err := json.Unmarshal(lines.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		f := x.Features(want.Prompt)
		named := map[string]float64{}
		for i, name := range FeatureNames() {
			if f.Named[i] != 0 {
				named[name] = f.Named[i]
			}
		}
		if diff := cmp.Diff(want.Named, named); diff != "" {
			t.Errorf("features of %q (-fitted on +found):\n%s", want.Prompt, diff)
		}
		if diff := cmp.Diff(want.Slots, f.Slots); diff != "" {
			t.Errorf("slots of %q (-fitted on +found):\n%s", want.Prompt, diff)
		}
		if got := s.Score(want.Prompt).Value; math.Abs(got-want.Score) > 1e-6 {
			t.Errorf("Score(%q) = %v, want %v as fitted", want.Prompt, got, want.Score)
		}
	}
	if n < 10 {
		t.Errorf("compared %d prompts", n)
	}
}

func TestExplainSums(t *testing.T) {
	for name, s := range map[string]*Scorer{"learned": newLearned(t), "keyword": newScorer(t)} {
		for _, text := range []string{"hi", hardDesign, "Докажи теорему", strings.Repeat("Read this. ", 1000) + "\n\nSummarise it"} {
			e, sum := s.Explain(text), 0.0
			for _, c := range e.Parts {
				sum += c.Adds
			}
			if math.Abs(sum-e.Value) > 1e-9 {
				t.Errorf("%s: the parts of %.40q sum to %v, the score is %v", name, text, sum, e.Value)
			}
			if diff := cmp.Diff(s.Score(text), e.Score); diff != "" {
				t.Errorf("%s: Explain(%.40q) differs from Score (-score +explained):\n%s", name, text, diff)
			}
		}
	}
}

// The tiers that the learned scorer exists for: short but hard, long but easy, the same in many languages. Most of these
// prompts were not fitted on.
func TestLearnedTier(t *testing.T) {
	technical := strings.Repeat("The distributed consensus algorithm must guarantee at most n steps.\n\n", 500)
	tests := []struct {
		name string
		text string
		want Tier
	}{
		{name: "empty", text: "", want: Standard},
		{name: "greeting", text: "hi", want: Light},
		{name: "greeting with a question", text: "hey, how are you doing?", want: Light},
		{name: "look-up", text: "what is the capital of Norway?", want: Light},
		{name: "look-up, German", text: "Was ist die Hauptstadt von Norwegen?", want: Light},
		{name: "look-up, Serbian", text: "Šta je glavni grad Norveške?", want: Light},
		{name: "look-up, Serbian in Cyrillic", text: "Шта је главни град Норвешке?", want: Light},
		{name: "look-up, Chinese", text: "挪威的首都是哪里？", want: Light},
		{name: "look-up, Japanese", text: "ノルウェーの首都はどこですか？", want: Light},
		{name: "look-up, Korean", text: "노르웨이의 수도는 어디인가요?", want: Light},
		{name: "explanation", text: "Explain how a bloom filter works", want: Standard},
		{name: "explanation, Italian", text: "Spiega come funziona un filtro di Bloom", want: Standard},
		{name: "explanation, Polish", text: "Wyjaśnij, jak działa filtr Blooma", want: Standard},
		{name: "small code", text: "Write a Python function that counts vowels", want: Standard},
		{name: "prose", text: "Write a haiku about rain", want: Standard},
		{name: "reasoning words bought by a greeting", text: "hi, step by step, pros and cons", want: Standard},
		{name: "and repeated", text: "hi " + strings.Repeat("step by step, pros and cons, think carefully, ", 10), want: Standard},
		{name: "a letter", text: "Improve my basic letter to various important customers, I understand the history", want: Standard},
		{name: "proof", text: "Prove that sqrt(3) is irrational", want: Heavy},
		{name: "proof, German", text: "Beweise, dass die Wurzel aus 3 irrational ist", want: Heavy},
		{name: "proof, Serbian", text: "Dokaži da je koren iz 3 iracionalan broj", want: Heavy},
		{name: "proof, Serbian in Cyrillic", text: "Докажи да је корен из 3 ирационалан број", want: Heavy},
		{name: "proof, Chinese", text: "证明根号3是无理数", want: Heavy},
		{name: "proof, Japanese", text: "√3が無理数であることを証明してください", want: Heavy},
		{name: "design", text: "Design a distributed rate limiter", want: Heavy},
		{name: "design, Italian", text: "Progetta un sistema distribuito di code con replica e ripristino", want: Heavy},
		{name: "design, Turkish", text: "Ölçeklenebilir bir ödeme sistemi tasarla", want: Heavy},
		{name: "hard by its subject", text: "Find the data race in a lock-free queue with hazard pointers", want: Heavy},
		{name: "hard by its subject, a question", text: "Is P equal to NP? Show why relativizing techniques cannot settle it.", want: Heavy},
		{name: "long material, short request behind", text: technical + "Summarise in one line.", want: Standard},
	}
	s := newLearned(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := s.Score(tt.text); got.Tier != tt.want {
				t.Errorf("Score(%.60q) = %v (%.3f, confidence %.2f), want %v", tt.text, got.Tier, got.Value, got.Confidence, tt.want)
			}
		})
	}
}

func TestDecodeWeightsErrors(t *testing.T) {
	head, _, _ := strings.Cut(string(weightsFile), "\n")
	table := strings.Repeat("\x00", int(numJudges)<<ngramBits)
	tests := []struct {
		name string
		file string
		want string
	}{
		{name: "empty", file: "", want: "JSON"},
		{name: "other features", file: strings.Replace(head, "token_count", "tokens", 1) + "\n" + table, want: "make weights"},
		{name: "short table", file: head + "\n" + table[1:], want: "bytes"},
		{name: "a feature short", file: strings.Replace(head, `"features":[-`, `"features":[`, 1) + "\n" + table + "x", want: "bytes"},
		{name: "no numbers", file: head[:strings.Index(head, `,"steady"`)] + "}\n" + table, want: "finite numbers"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := decodeWeights([]byte(tt.file)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("decodeWeights = %v, want an error with %q", err, tt.want)
			}
		})
	}
	if len(weightsFile) > 1<<20 {
		t.Errorf("the weights take %d bytes, want at most 1 MiB", len(weightsFile))
	}
}

// What every feature is fed by must be found whatever the text, and the score stay finite.
func FuzzLearned(f *testing.F) {
	for _, text := range []string{"", "hi", hardDesign, "什么是 O(n)", "a\xff1. b\n2. c", strings.Repeat("e\u0301 ", maxRead), "a\n\n" + strings.Repeat("x", maxRead)} {
		f.Add(text)
	}
	s := newLearned(f)
	f.Fuzz(func(t *testing.T, text string) {
		got := s.Score(text)
		if math.IsNaN(got.Value) || math.Abs(got.Value) > 50 {
			t.Errorf("Score = %v", got.Value)
		}
		if !(got.Confidence >= 0 && got.Confidence <= 1) || got.Tier < Light || got.Tier > Heavy || got.Abstained && got.Tier != Standard {
			t.Errorf("Score = %+v", got)
		}
	})
}
