package scoring_test

import (
	"fmt"

	"github.com/understudy-ai/understudy/scoring"
)

func ExampleScorer_Score() {
	config := scoring.DefaultConfig()
	config.Kind = scoring.Keyword
	scorer, err := scoring.New(config)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, text := range []string{
		"hi",
		"Write a Python function that reverses a list",
		"Design a fault-tolerant queue step by step, and prove that it delivers each message at most once",
		"Move lunch to one o'clock",
	} {
		s := scorer.Score(text)
		fmt.Printf("%-8v %+.2f abstained=%v\n", s.Tier, s.Value, s.Abstained)
	}
	// Output:
	// light    -0.19 abstained=false
	// standard +0.16 abstained=false
	// heavy    +0.45 abstained=false
	// standard -0.06 abstained=true
}

func ExampleDetectShape() {
	s := scoring.DetectShape("Should I use Postgres or SQLite?")
	fmt.Printf("%s %.2f %s %q\n", s.Type, s.Confidence, s.Complexity, s.Signals)
	// Output: decide 0.33 simple ["decide:should i"]
}

func ExampleHumanText() {
	fmt.Println(scoring.HumanText("<system-reminder>Plan mode is on.</system-reminder>\n[2026-03-18 15:12] fix typo"))
	// Output: fix typo
}
