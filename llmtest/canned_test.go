package llmtest_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/understudy-ai/understudy/llmtest"
)

func TestCanned(t *testing.T) {
	c, err := llmtest.StartCanned("", 50)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}} // every request on the same connection
	t.Cleanup(client.CloseIdleConnections)
	tests := []struct {
		name    string
		body    io.Reader
		chunked bool
		frames  int // 0: not streamed
		usage   bool
	}{
		{name: "whole", body: strings.NewReader(`{"messages":[]}`)},
		{name: "stream", body: strings.NewReader(`{"stream":true}`), frames: 52},
		{name: "stream with usage", body: strings.NewReader(`{"stream":true,"stream_options":{"include_usage":true}}`), frames: 53, usage: true},
		{name: "chunked body", body: io.MultiReader(strings.NewReader(`{"stream"`), strings.NewReader(`:true}`)), frames: 52},
		{name: "large body", body: bytes.NewReader(bytes.Repeat([]byte("x"), 1<<20))},
		{name: "no body", body: http.NoBody},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), "POST", c.URL()+"/chat/completions", tt.body)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("X-Canned-Delay", "1us")
			req.Header.Set("X-Canned-Gap", "1us")
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != 200 {
				t.Fatalf("%d, %v", resp.StatusCode, err)
			}
			if tt.frames == 0 {
				if got := gjson.GetBytes(body, "usage.total_tokens").Int(); got != 172 || len(body) != int(resp.ContentLength) {
					t.Errorf("answer = %s", body)
				}
				return
			}
			frames := strings.Split(strings.TrimSpace(string(body)), "\n\n")
			if len(frames) != tt.frames || frames[len(frames)-1] != "data: [DONE]" || bytes.Contains(body, []byte(`"usage"`)) != tt.usage {
				t.Errorf("%d frames, want %d with usage %v:\n%s", len(frames), tt.frames, tt.usage, body)
			}
			for _, f := range frames[:len(frames)-1] {
				if data, ok := strings.CutPrefix(f, "data: "); !ok || !gjson.Valid(data) {
					t.Errorf("frame %q", f)
				}
			}
		})
	}
}

func TestCannedEndsWhileItWaits(t *testing.T) {
	c, err := llmtest.StartCanned("", 1)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), "POST", c.URL(), strings.NewReader(`{"stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Canned-Delay", "10h")
	failed := make(chan error, 1)
	go func() {
		resp, err := (&http.Transport{}).RoundTrip(req)
		if err == nil {
			resp.Body.Close()
		}
		failed <- err
	}()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := <-failed; err == nil {
		t.Error("a request was answered after Close")
	}
	if _, err := llmtest.StartCanned("", 0); err == nil {
		t.Error("a stream without chunks was accepted")
	}
}
