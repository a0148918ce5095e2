package cmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/understudy-ai/understudy/eval"
	"github.com/understudy-ai/understudy/llmtest"
)

// What the scripted models of eval -simulated get right, by model: alone, and
// with an assembled prompt. The judge reads it off their answers.
const (
	scriptedStrong, scriptedWeak, scriptedJudge = "scripted-strong", "scripted-weak", "scripted-judge"

	strongQuality, weakQuality, helpedQuality = 0.9, 0.3, 0.6
)

// startScripted starts an upstream whose models have a known gap.
func startScripted(scenarios []eval.Scenario) (*llmtest.Upstream, error) {
	scripted := []string{scriptedStrong, scriptedWeak, scriptedJudge}
	up, err := llmtest.Start(scripted...)
	if err != nil {
		return nil, err
	}
	up.Misbehave(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // from memory
		model := gjson.GetBytes(body, "model").String()
		if !slices.Contains(scripted, model) {
			r.Body = io.NopCloser(bytes.NewReader(body))
			up.Answer(w, r)
			return
		}
		prompt := gjson.GetBytes(body, "messages").String()
		text := scriptedAnswer(scenarios, model, prompt)
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{ // to a client of this process
			"id": "chatcmpl-scripted", "object": "chat.completion", "model": model,
			"choices": []any{map[string]any{"index": 0, "finish_reason": "stop", "message": map[string]string{"role": "assistant", "content": text}}},
			"usage":   map[string]int{"prompt_tokens": len(prompt) / 4, "completion_tokens": len(text) / 4, "total_tokens": (len(prompt) + len(text)) / 4},
		})
	})
	return up, nil
}

// qualityPattern finds what the answer that is judged says of itself, wherever
// it stands.
var qualityPattern = regexp.MustCompile(`ANSWER\\nquality=([0-9.]+)`)

// scriptedAnswer is the quality that the script gives a model, and as many of
// the scenario's facts.
func scriptedAnswer(scenarios []eval.Scenario, model, prompt string) string {
	if model == scriptedJudge {
		q := "0"
		if m := qualityPattern.FindStringSubmatch(prompt); m != nil {
			q = strings.TrimRight(m[1], ".")
		}
		return fmt.Sprintf(`{"correctness": %s, "procedure": %s, "conciseness": %s}`, q, q, q)
	}
	quality := strongQuality
	switch helped := strings.Contains(prompt, "understudy-context"); {
	case model == scriptedWeak && helped:
		quality = helpedQuality
	case model == scriptedWeak:
		quality = weakQuality
	}
	for _, s := range scenarios {
		if !strings.Contains(gjson.Get(prompt, "@reverse.0.content").String(), s.Query) {
			continue
		}
		parts := []string{fmt.Sprintf("quality=%.1f", quality)}
		for i, f := range s.Facts {
			if len(f.Any) > 0 && i < int(math.Round(quality*float64(len(s.Facts)))) {
				parts = append(parts, f.Any[0])
			}
		}
		return strings.Join(parts, "; ")
	}
	return "Noted."
}
