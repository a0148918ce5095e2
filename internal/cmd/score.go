package cmd

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/understudy-ai/understudy/scoring"
)

// scored is one result of the scorer, as a program reads it.
type scored struct {
	scoring.Score
	Shape scoring.Shape `json:"shape"`
}

// explained is the same with what it was made of.
type explained struct {
	scoring.Explanation
	Shape scoring.Shape `json:"shape"`
}

func runScore(_ context.Context, args []string, o IO) error {
	f := flags("score")
	cf := addConfigFlags(f)
	lines := f.Bool("jsonl", false, `read {"prompt": TEXT} lines from stdin, write one result a line`)
	asJSON := f.Bool("json", false, "write the result as JSON")
	features := f.Bool("features", false, "with -jsonl: write what the learned scorer reads instead of a score, for fitting weights")
	if err := parseFlags(f, args, o); err != nil {
		return err
	}
	if *lines && f.NArg() > 0 {
		return usageError{errors.New("-jsonl reads its prompts from stdin, not from the command line")}
	}
	if *features {
		if !*lines {
			return usageError{errors.New("-features needs -jsonl")}
		}
		return extractLines(o)
	}
	loaded, err := cf.load(o)
	if err != nil {
		return err
	}
	scorer, err := scoring.New(scoringConfig(loaded.Config.Routing.PromptRouting))
	if err != nil {
		return err
	}
	if *lines {
		return eachPrompt(o, func(text string) any { return score(scorer, text) })
	}
	text := strings.Join(f.Args(), " ")
	if text == "" {
		all, err := io.ReadAll(o.In)
		if err != nil {
			return fmt.Errorf("reading the prompt: %w", err)
		}
		text = string(all)
	}
	words := scoring.HumanText(text)
	result := explained{scorer.Explain(words), scoring.DetectShape(words)}
	if *asJSON {
		return json.NewEncoder(o.Out).Encode(result)
	}
	return result.print(o.Out)
}

func score(s *scoring.Scorer, text string) scored {
	words := scoring.HumanText(text)
	return scored{s.Score(words), scoring.DetectShape(words)}
}

// maxLine bounds a line of -jsonl input.
const maxLine = 64 << 20

func extractLines(o IO) error {
	x, err := scoring.NewExtractor()
	if err != nil {
		return err
	}
	if err := json.NewEncoder(o.Out).Encode(scoring.FeatureNames()); err != nil {
		return err
	}
	return eachPrompt(o, func(text string) any { return x.Features(scoring.HumanText(text)) })
}

// eachPrompt reads {"prompt"} lines and writes what result makes of each, in order.
func eachPrompt(o IO, result func(text string) any) error {
	in := bufio.NewScanner(o.In)
	in.Buffer(make([]byte, 64<<10), maxLine)
	w := bufio.NewWriter(o.Out)
	n := 0
	for in.Scan() {
		n++
		if err := writeResult(in.Bytes(), w, result); err != nil {
			return errors.Join(fmt.Errorf("line %d: %w", n, err), w.Flush())
		}
	}
	if err := in.Err(); err != nil {
		return errors.Join(fmt.Errorf("line %d: %w", n+1, err), w.Flush())
	}
	return w.Flush()
}

// writeResult answers one line of -jsonl input; an empty one gives nothing.
func writeResult(data []byte, w io.Writer, result func(text string) any) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil
	}
	var line struct {
		Prompt *string `json:"prompt"`
	}
	if err := json.Unmarshal(data, &line); err != nil || line.Prompt == nil {
		return errors.New(`want {"prompt": TEXT}`)
	}
	return json.NewEncoder(w).Encode(result(*line.Prompt))
}

// maxParts is how many contributions are printed; -json has them all.
const maxParts = 20

func (e explained) print(w io.Writer) error {
	note := ""
	if e.Abstained {
		note = ", abstained"
	}
	fmt.Fprintf(w, "tier   %s (score %.3f, confidence %.2f%s)\n", e.Tier, e.Value, e.Confidence, note)
	fmt.Fprintf(w, "shape  %s, %s (confidence %.2f) %s\n", e.Shape.Type, e.Shape.Complexity, e.Shape.Confidence, strings.Join(e.Shape.Signals, ", "))
	if e.Request+e.Exam > 0 {
		fmt.Fprintf(w, "like   requests %.2f, exam questions %.2f, neither %.2f\n", e.Request, e.Exam, max(0, 1-e.Request-e.Exam))
	}
	fmt.Fprintf(w, "\n%-22s %9s %13s\n", "dimension", "value", "contribution")
	for d := range scoring.NumDimensions {
		fmt.Fprintf(w, "%-22s %+9.3f %+13.3f\n", d, e.Dimensions[d], e.Contributions[d])
	}
	rest := slices.DeleteFunc(slices.Clone(e.Parts), func(c scoring.Contribution) bool { return c.Dimension })
	for i, c := range rest {
		if i == maxParts {
			fmt.Fprintf(w, "%-22s %9s %+13.3f\n", fmt.Sprintf("%d more", len(rest)-i), "", sum(rest[i:]))
			break
		}
		fmt.Fprintf(w, "%-22s %+9.3f %+13.3f\n", c.Name, c.Value, c.Adds)
	}
	_, err := fmt.Fprintf(w, "%-22s %9s %+13.3f\n", "score", "", e.Value)
	return err
}

func sum(parts []scoring.Contribution) (total float64) {
	for _, c := range parts {
		total += c.Adds
	}
	return total
}
