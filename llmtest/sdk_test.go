package llmtest_test

import (
	"errors"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/understudy-ai/understudy/llmtest"
)

// start runs an upstream with the models small and large until the test ends.
func start(t *testing.T) *llmtest.Upstream {
	t.Helper()
	u, err := llmtest.Start("small", "large")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := u.Close(); err != nil {
			t.Error(err)
		}
	})
	return u
}

// newClient makes a client whose connections end with the test.
func newClient(t *testing.T) *http.Client {
	c := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func sdk(t *testing.T, u *llmtest.Upstream) openai.Client {
	return openai.NewClient(
		option.WithBaseURL(u.URL()), option.WithAPIKey("sk-test"), option.WithHTTPClient(newClient(t)), option.WithMaxRetries(0))
}

const note = "Facts:\n- [decision, 2026-03-18] The ledger uses PostgreSQL.\n- [fact] Lunch is at noon."

func ask(model, system, question string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model:    model,
		Messages: []openai.ChatCompletionMessageParamUnion{openai.SystemMessage(system), openai.UserMessage(question)},
	}
}

func TestSDKChat(t *testing.T) {
	client := sdk(t, start(t))
	params := ask("small", note, "Which database has the ledger?")
	var cached []int64
	for range 2 {
		got, err := client.Chat.Completions.New(t.Context(), params)
		if err != nil {
			t.Fatal(err)
		}
		if got.Model != "small" || len(got.Choices) != 1 || got.Choices[0].FinishReason != "stop" {
			t.Fatalf("completion = %s", got.RawJSON())
		}
		const want = "[simulated answer of small] I was told: The ledger uses PostgreSQL. And so"
		if answer := got.Choices[0].Message.Content; !strings.HasPrefix(answer, want) || strings.Contains(answer, "Lunch") {
			t.Errorf("answer = %q, want only the note that shares a word with the question", answer)
		}
		if u := got.Usage; u.PromptTokens == 0 || u.CompletionTokens == 0 || u.TotalTokens != u.PromptTokens+u.CompletionTokens {
			t.Errorf("usage = %s", u.RawJSON())
		}
		cached = append(cached, got.Usage.PromptTokensDetails.CachedTokens)
	}
	if diff := cmp.Diff([]int64{0, 32}, cached); diff != "" {
		t.Errorf("cached tokens of a prompt and its repetition (-want +got):\n%s", diff)
	}
	params.Model = "large"
	got, err := client.Chat.Completions.New(t.Context(), params)
	if err != nil || got.Usage.PromptTokensDetails.CachedTokens != 0 {
		t.Errorf("another model's cache: %v, %v, want nothing cached", got.Usage, err)
	}
}

func TestSDKStream(t *testing.T) {
	tests := []struct {
		name  string
		usage bool
	}{
		{"without usage", false},
		{"with usage", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			client := sdk(t, start(t))
			params := ask("large", note, "Which database has the ledger?")
			whole, err := client.Chat.Completions.New(t.Context(), params)
			if err != nil {
				t.Fatal(err)
			}
			if tt.usage {
				params.StreamOptions.IncludeUsage = openai.Bool(true)
			}
			stream := client.Chat.Completions.NewStreaming(t.Context(), params)
			var sum openai.ChatCompletionAccumulator
			chunks, usages := 0, 0
			for stream.Next() {
				chunk := stream.Current()
				if !sum.AddChunk(chunk) {
					t.Errorf("chunk that doesn't fit: %s", chunk.RawJSON())
				}
				chunks++
				if chunk.JSON.Usage.Valid() {
					usages++
				}
			}
			if err := errors.Join(stream.Err(), stream.Close()); err != nil {
				t.Fatal(err)
			}
			if len(sum.Choices) != 1 || sum.Choices[0].Message.Content != whole.Choices[0].Message.Content || sum.Choices[0].FinishReason != "stop" {
				t.Errorf("streamed %+v, want %+v", sum.Choices, whole.Choices)
			}
			if chunks < 5 {
				t.Errorf("the answer came in %d chunks", chunks)
			}
			if want := map[bool]int{true: 1}[tt.usage]; usages != want {
				t.Errorf("%d usage chunks, want %d", usages, want)
			}
			if tt.usage && (sum.Usage.PromptTokens != whole.Usage.PromptTokens || sum.Usage.CompletionTokens != whole.Usage.CompletionTokens) {
				t.Errorf("usage = %+v, want %+v", sum.Usage, whole.Usage)
			}
		})
	}
}

func TestSDKContentParts(t *testing.T) {
	client := sdk(t, start(t))
	parts := []openai.ChatCompletionContentPartUnionParam{openai.TextContentPart(note), openai.TextContentPart("Which ledger?")}
	got, err := client.Chat.Completions.New(t.Context(), openai.ChatCompletionNewParams{
		Model: "small", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(parts)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if answer := got.Choices[0].Message.Content; !strings.Contains(answer, "PostgreSQL") {
		t.Errorf("answer = %q, want what the parts say", answer)
	}
}

func TestSDKErrors(t *testing.T) {
	tests := []struct {
		name        string
		params      openai.ChatCompletionNewParams
		want        int
		wantMessage string
	}{
		{"unknown model", ask("nope", "", "hi"), 404, `The model "nope" does not exist.`},
		{
			"no user message",
			openai.ChatCompletionNewParams{Model: "small", Messages: []openai.ChatCompletionMessageParamUnion{openai.SystemMessage("hi")}},
			400, "messages holds no user message",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			client := sdk(t, start(t))
			_, err := client.Chat.Completions.New(t.Context(), tt.params)
			e, ok := errors.AsType[*openai.Error](err)
			if !ok || e.StatusCode != tt.want || e.Message != tt.wantMessage || e.Type != "invalid_request_error" {
				t.Errorf("error = %v, want %d %s", err, tt.want, tt.wantMessage)
			}
		})
	}
}

func TestSDKEmbeddings(t *testing.T) {
	client := sdk(t, start(t))
	embed := func(texts ...string) [][]float64 {
		got, err := client.Embeddings.New(t.Context(), openai.EmbeddingNewParams{
			Model: "embedder", Input: openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: texts},
		})
		if err != nil {
			t.Fatal(err)
		}
		if got.Model != "embedder" || got.Usage.PromptTokens == 0 {
			t.Errorf("answer = %s", got.RawJSON())
		}
		var vectors [][]float64
		for i, e := range got.Data {
			if int(e.Index) != i {
				t.Errorf("embedding %d has index %d", i, e.Index)
			}
			vectors = append(vectors, e.Embedding)
		}
		return vectors
	}
	both := embed("one text", "another text")
	if len(both) != 2 || len(both[0]) != 8 || cmp.Equal(both[0], both[1]) {
		t.Fatalf("embeddings of two texts = %v", both)
	}
	for _, v := range both[0] {
		if math.Abs(v) > 1 {
			t.Errorf("embedding %v leaves [-1, 1]", both[0])
		}
	}
	if diff := cmp.Diff(both[1:], embed("another text")); diff != "" {
		t.Errorf("the same text again (-want +got):\n%s", diff)
	}
	single, err := client.Embeddings.New(t.Context(), openai.EmbeddingNewParams{
		Model: "embedder", Input: openai.EmbeddingNewParamsInputUnion{OfString: openai.String("one text")},
	})
	if err != nil || len(single.Data) != 1 || !cmp.Equal(single.Data[0].Embedding, both[0]) {
		t.Errorf("embedding of a plain string = %+v, %v, want %v", single, err, both[0])
	}
}

func TestSDKModels(t *testing.T) {
	client := sdk(t, start(t))
	page, err := client.Models.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range page.Data {
		got = append(got, m.ID)
	}
	if diff := cmp.Diff([]string{"small", "large"}, got); diff != "" {
		t.Errorf("models (-want +got):\n%s", diff)
	}
}
