package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"
)

// demoClient talks to the proxy over HTTP as an application would: it sends
// the whole conversation with every turn.
type demoClient struct {
	base    string
	day     int // names the conversation
	history []map[string]string
}

// say sends one turn and returns the request's id and the answer's text.
func (c *demoClient) say(ctx context.Context, turn demoTurn) (id, answer string, err error) {
	c.history = append(c.history, map[string]string{"role": "user", "content": turn.say})
	messages := append([]map[string]string{{"role": "system", "content": "You are a helpful engineer."}}, c.history...)
	body, err := json.Marshal(map[string]any{"model": demoLarge, "messages": messages, "stream": turn.stream})
	if err != nil {
		return "", "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return "", "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-User-Id", demoUser)
	req.Header.Set("X-Session-Id", fmt.Sprint("day-", c.day))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", "", err
	}
	if resp.StatusCode != http.StatusOK {
		return "", "", fmt.Errorf("HTTP %d: %s", resp.StatusCode, data)
	}
	if answer = text(data); answer == "" {
		return "", "", fmt.Errorf("an answer without text: %.200s", data)
	}
	c.history = append(c.history, map[string]string{"role": "assistant", "content": answer})
	return resp.Header.Get("X-Request-Id"), answer, nil
}

// text is what an answer says, streamed or not.
func text(body []byte) string {
	if gjson.ValidBytes(body) {
		return gjson.GetBytes(body, "choices.0.message.content").String()
	}
	var all strings.Builder
	for line := range bytes.Lines(body) {
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			all.WriteString(gjson.GetBytes(data, "choices.0.delta.content").String())
		}
	}
	return all.String()
}
