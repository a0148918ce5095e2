//go:build realstack

// Package goclient checks an OpenAI-compatible endpoint with the official Go SDK.
//
// It holds no product code, and it starts nothing: test/realstack/run.py starts the stack, runs this test against it
// and documents the REALSTACK_* variables. The last line it logs, "requests N", is the number of HTTP requests made.
package goclient

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// stages are the names under which LiteLLM serves the one model.
var stages = []string{"stage-small", "stage-mid", "stage-large"}

// suite is the endpoint under test.
type suite struct {
	baseURL, apiKey string
	model           string // what the chat requests name
	routed          bool   // Understudy stands before LiteLLM
	requests        atomic.Int64
}

func TestClient(t *testing.T) {
	s := &suite{
		baseURL: os.Getenv("REALSTACK_BASE_URL"),
		apiKey:  os.Getenv("REALSTACK_API_KEY"),
		model:   os.Getenv("REALSTACK_MODEL"),
		routed:  os.Getenv("REALSTACK_ROUTED") == "1",
	}
	if s.baseURL == "" || s.model == "" {
		t.Fatal("REALSTACK_BASE_URL and REALSTACK_MODEL must be set: this test is run by test/realstack/run.sh")
	}
	for _, check := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"chat", s.chat},
		{"stream_without_usage", s.streamWithoutUsage},
		{"stream_with_usage", s.streamWithUsage},
		{"tools", s.tools},
		{"models_list", s.modelsList},
		{"embeddings", s.embeddings},
		{"unknown_model", s.unknownModel},
		{"bad_key", s.badKey},
		{"cancelled_stream", s.cancelledStream},
	} {
		t.Run(check.name, check.run)
	}
	t.Log("requests", s.requests.Load())
}

// client returns an SDK client that counts its requests and never repeats one.
func (s *suite) client(opts ...option.RequestOption) openai.Client {
	count := func(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
		s.requests.Add(1)
		return next(r)
	}
	return openai.NewClient(append([]option.RequestOption{
		option.WithBaseURL(s.baseURL),
		option.WithAPIKey(s.apiKey),
		option.WithMaxRetries(0),
		option.WithRequestTimeout(2 * time.Minute),
		option.WithMiddleware(count),
	}, opts...)...)
}

// question returns a chat request.
func (s *suite) question(text string, maxTokens int64) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model:     s.model,
		Messages:  []openai.ChatCompletionMessageParamUnion{openai.UserMessage(text)},
		MaxTokens: openai.Int(maxTokens),
	}
}

func (s *suite) chat(t *testing.T) {
	client := s.client()
	var response *http.Response
	answer, err := client.Chat.Completions.New(t.Context(), s.question("Name three colours.", 32),
		option.WithResponseInto(&response))
	if err != nil {
		t.Fatal(err)
	}
	checkAnswer(t, answer)
	if !s.routed {
		return
	}
	for _, name := range []string{"X-Request-Id", "X-Routed-Model", "X-Prompt-Tier"} {
		if response.Header.Get(name) == "" {
			t.Errorf("no %s header", name)
		}
	}
	if got := response.Header.Get("X-Routed-Model"); !slices.Contains(stages, got) {
		t.Errorf("routed to %q, want one of %q", got, stages)
	}
}

func (s *suite) streamWithoutUsage(t *testing.T) {
	chunks := s.stream(t, s.question("Name three colours.", 32))
	for _, c := range chunks {
		if c.JSON.Usage.Valid() {
			t.Errorf("a chunk has usage: %s", c.RawJSON())
		}
		if len(c.Choices) == 0 {
			t.Errorf("a chunk has no choices: %s", c.RawJSON())
		}
	}
}

func (s *suite) streamWithUsage(t *testing.T) {
	question := s.question("Name three colours.", 32)
	question.StreamOptions.IncludeUsage = openai.Bool(true)
	var at []int
	chunks := s.stream(t, question)
	for i, c := range chunks {
		if c.JSON.Usage.Valid() {
			at = append(at, i)
		}
	}
	if want := []int{len(chunks) - 1}; !slices.Equal(at, want) {
		t.Fatalf("usage is in chunks %v, want %v", at, want)
	}
	if chunks[at[0]].Usage.CompletionTokens == 0 {
		t.Error("no completion tokens in usage")
	}
}

// stream returns all chunks of an answer that has text and one id.
func (s *suite) stream(t *testing.T, question openai.ChatCompletionNewParams) []openai.ChatCompletionChunk {
	t.Helper()
	client := s.client()
	stream := client.Chat.Completions.NewStreaming(t.Context(), question)
	defer stream.Close()
	var chunks []openai.ChatCompletionChunk
	var text strings.Builder
	for stream.Next() {
		chunk := stream.Current()
		if len(chunk.Choices) > 0 {
			text.WriteString(chunk.Choices[0].Delta.Content)
		}
		chunks = append(chunks, chunk)
		if chunk.ID != chunks[0].ID {
			t.Errorf("chunk id %q, want %q", chunk.ID, chunks[0].ID)
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	if text.Len() == 0 {
		t.Error("no text arrived")
	}
	return chunks
}

func (s *suite) tools(t *testing.T) {
	question := s.question("What is the weather in Paris?", 64)
	question.Tools = []openai.ChatCompletionToolUnionParam{
		openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{
			Name: "get_weather",
			Parameters: openai.FunctionParameters{
				"type":       "object",
				"properties": map[string]any{"city": map[string]any{"type": "string"}},
				"required":   []string{"city"},
			},
		}),
	}
	client := s.client()
	answer, err := client.Chat.Completions.New(t.Context(), question)
	if err != nil {
		t.Fatal(err)
	}
	checkAnswer(t, answer)
}

func (s *suite) modelsList(t *testing.T) {
	client := s.client()
	var got []string
	models := client.Models.ListAutoPaging(t.Context())
	for models.Next() {
		got = append(got, models.Current().ID)
	}
	if err := models.Err(); err != nil {
		t.Fatal(err)
	}
	want := slices.Clone(stages)
	if s.routed {
		want = append(want, "auto")
	}
	for _, name := range want {
		if !slices.Contains(got, name) {
			t.Errorf("no model %q in %q", name, got)
		}
	}
}

func (s *suite) embeddings(t *testing.T) {
	client := s.client()
	got, err := client.Embeddings.New(t.Context(), openai.EmbeddingNewParams{
		Model: "stage-small",
		Input: openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: []string{"a lighthouse", "a keeper"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Data) != 2 || len(got.Data[0].Embedding) < 100 {
		t.Errorf("%d vectors, want 2 of some hundred dimensions", len(got.Data))
	}
}

func (s *suite) unknownModel(t *testing.T) {
	client := s.client()
	question := s.question("Name three colours.", 32)
	question.Model = "no-such-model"
	_, err := client.Chat.Completions.New(t.Context(), question)
	apiErr := wantAPIError(t, err, http.StatusNotFound, http.StatusBadRequest)
	if !strings.Contains(apiErr.Message, "no-such-model") {
		t.Errorf("the message does not name the model: %s", apiErr.Message)
	}
}

func (s *suite) badKey(t *testing.T) {
	client := s.client(option.WithAPIKey("sk-wrong"))
	_, err := client.Chat.Completions.New(t.Context(), s.question("Name three colours.", 32))
	wantAPIError(t, err, http.StatusUnauthorized)
}

func (s *suite) cancelledStream(t *testing.T) {
	client := s.client()
	ctx, cancel := context.WithCancel(t.Context())
	stream := client.Chat.Completions.NewStreaming(ctx,
		s.question("Write a very long story about a lighthouse keeper.", 3000),
		option.WithJSONSet("ignore_eos", true)) // llama.cpp goes on up to max_tokens
	if !stream.Next() {
		t.Fatal(cmp.Or(stream.Err(), errors.New("no chunk arrived")))
	}
	cancel()
	for stream.Next() { // drains what had arrived before the cancellation
	}
	if err := stream.Err(); !errors.Is(err, context.Canceled) {
		t.Errorf("the stream ended with %v, want %v", err, context.Canceled)
	}
	answer, err := client.Chat.Completions.New(t.Context(), s.question("Name three colours.", 16))
	if err != nil {
		t.Fatal(err)
	}
	checkAnswer(t, answer)
}

// checkAnswer checks that a chat answer is well formed and accounted for.
func checkAnswer(t *testing.T, answer *openai.ChatCompletion) {
	t.Helper()
	if len(answer.Choices) != 1 {
		t.Fatalf("%d choices, want 1", len(answer.Choices))
	}
	choice := answer.Choices[0]
	if choice.Message.Content == "" && len(choice.Message.ToolCalls) == 0 {
		t.Error("the answer is empty")
	}
	if choice.FinishReason == "" {
		t.Error("no finish_reason")
	}
	if answer.Usage.PromptTokens == 0 || answer.Usage.CompletionTokens == 0 {
		t.Errorf("usage is %s", answer.Usage.RawJSON())
	}
}

// wantAPIError returns the SDK's own error, which must carry one of the statuses.
func wantAPIError(t *testing.T, err error, statuses ...int) *openai.Error {
	t.Helper()
	var apiErr *openai.Error
	if !errors.As(err, &apiErr) {
		t.Fatalf("error is %v, want an *openai.Error", err)
	}
	if !slices.Contains(statuses, apiErr.StatusCode) {
		t.Errorf("status %d, want one of %d", apiErr.StatusCode, statuses)
	}
	return apiErr
}
