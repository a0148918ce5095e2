package cmd

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/understudy-ai/understudy/scoring"
)

// scored is one result of the scorer, as a program reads it.
type scored struct {
	scoring.Score
	Shape scoring.Shape `json:"shape"`
}

func runScore(_ context.Context, args []string, o IO) error {
	f := flags("score")
	cf := addConfigFlags(f)
	lines := f.Bool("jsonl", false, `read {"prompt": TEXT} lines from stdin, write one result a line`)
	asJSON := f.Bool("json", false, "write the result as JSON")
	if err := parseFlags(f, args, o); err != nil {
		return err
	}
	if *lines && f.NArg() > 0 {
		return usageError{errors.New("-jsonl reads its prompts from stdin, not from the command line")}
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
		return scoreLines(scorer, o)
	}
	text := strings.Join(f.Args(), " ")
	if text == "" {
		all, err := io.ReadAll(o.In)
		if err != nil {
			return fmt.Errorf("reading the prompt: %w", err)
		}
		text = string(all)
	}
	result := score(scorer, text)
	if *asJSON {
		return json.NewEncoder(o.Out).Encode(result)
	}
	return explain(result, o.Out)
}

func score(s *scoring.Scorer, text string) scored {
	words := scoring.HumanText(text)
	return scored{s.Score(words), scoring.DetectShape(words)}
}

// maxLine bounds a line of -jsonl input.
const maxLine = 64 << 20

func scoreLines(s *scoring.Scorer, o IO) error {
	in := bufio.NewScanner(o.In)
	in.Buffer(make([]byte, 64<<10), maxLine)
	w := bufio.NewWriter(o.Out)
	n := 0
	for in.Scan() {
		n++
		if err := scoreLine(s, in.Bytes(), w); err != nil {
			return errors.Join(fmt.Errorf("line %d: %w", n, err), w.Flush())
		}
	}
	if err := in.Err(); err != nil {
		return errors.Join(fmt.Errorf("line %d: %w", n+1, err), w.Flush())
	}
	return w.Flush()
}

// scoreLine scores a line of -jsonl input; an empty one gives nothing.
func scoreLine(s *scoring.Scorer, data []byte, w io.Writer) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil
	}
	var line struct {
		Prompt *string `json:"prompt"`
	}
	if err := json.Unmarshal(data, &line); err != nil || line.Prompt == nil {
		return errors.New(`want {"prompt": TEXT}`)
	}
	return json.NewEncoder(w).Encode(score(s, *line.Prompt))
}

func explain(r scored, w io.Writer) error {
	note := ""
	if r.Abstained {
		note = ", abstained"
	}
	fmt.Fprintf(w, "tier   %s (score %.3f, confidence %.2f%s)\n", r.Tier, r.Value, r.Confidence, note)
	fmt.Fprintf(w, "shape  %s, %s (confidence %.2f) %s\n\n", r.Shape.Type, r.Shape.Complexity, r.Shape.Confidence, strings.Join(r.Shape.Signals, ", "))
	fmt.Fprintf(w, "%-22s %9s %13s\n", "dimension", "value", "contribution")
	for d := range scoring.NumDimensions {
		fmt.Fprintf(w, "%-22s %+9.3f %+13.3f\n", d, r.Dimensions[d], r.Contributions[d])
	}
	_, err := fmt.Fprintf(w, "%-22s %9s %+13.3f\n", "score", "", r.Value)
	return err
}
