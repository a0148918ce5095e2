package ledger

import "github.com/tidwall/gjson"

// Usage is the tokens of one request, normalised: Input includes Cached and
// CacheWrite, and Output includes Reasoning, whatever the dialect they were
// reported in.
type Usage struct {
	Input      int64 `json:"input"`
	Cached     int64 `json:"cached"`      // Of Input: read from the provider's prompt cache.
	CacheWrite int64 `json:"cache_write"` // Of Input: written to it.

	// CacheWriteHour is how much of CacheWrite is to be kept for an hour, which
	// some providers charge more for than for five minutes.
	CacheWriteHour int64 `json:"cache_write_hour,omitempty"`
	Output         int64 `json:"output"`
	Reasoning      int64 `json:"reasoning"` // Of Output: thought, not shown.
}

// maxTokens is more than any request can have. What is beyond is garbage, and
// sums of what is below cannot overflow.
const maxTokens = 1e12

// reported is a usage object as it came; -1 marks a count that didn't.
type reported struct {
	prompt, completion int64 // OpenAI's chat names.
	input, output      int64 // Anthropic's, and OpenAI's of the Responses API.
	total              int64
	cached, written    int64
	writtenHour        int64
	reasoning          int64
	inputDetails       bool // The Responses API: input includes the cached.
}

// ParseUsage reads the raw "usage" object of a response. It understands
// OpenAI's chat and responses shapes, and what Anthropic, LiteLLM, OpenRouter,
// DeepSeek, Gemini, xAI, llama.cpp, vLLM and Ollama make of them.
//
// They differ in three things. Where they contradict each other within one
// object, the total decides:
//
//   - cached tokens are part of the prompt (OpenAI, LiteLLM), or beside it
//     (Anthropic);
//   - reasoning is part of the completion (OpenAI), beside it (xAI), or only
//     to be found in the total (Gemini);
//   - the cached count has five names; what was written to the cache for an
//     hour instead of five minutes has two places.
//
// It is not ok when the object says nothing of prompt or answer, when all
// is zero (no request has an empty prompt: the server doesn't count), or when
// the counts can't be true.
func ParseUsage(json []byte) (Usage, bool) {
	if !gjson.ValidBytes(json) {
		return Usage{}, false
	}
	object := gjson.ParseBytes(json)
	if !object.IsObject() {
		return Usage{}, false
	}

	return readUsage(object).normalise()
}

// readUsage walks the object once.
func readUsage(object gjson.Result) reported {
	r := reported{prompt: -1, completion: -1, input: -1, output: -1, total: -1}
	object.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "prompt_tokens":
			r.prompt = count(value)
		case "completion_tokens":
			r.completion = count(value)
		case "input_tokens":
			r.input = count(value)
		case "output_tokens":
			r.output = count(value)
		case "total_tokens":
			r.total = count(value)
		case "cache_read_input_tokens", "prompt_cache_hit_tokens", "cached_tokens":
			r.cached = max(r.cached, count(value))
		case "cache_creation_input_tokens":
			r.written = max(r.written, count(value))
		case "cache_creation":
			r.writtenHour = max(r.writtenHour, count(value.Get("ephemeral_1h_input_tokens")))
		case "reasoning_tokens":
			r.reasoning = max(r.reasoning, count(value))
		case "prompt_tokens_details", "input_tokens_details":
			r.inputDetails = r.inputDetails || key.Str == "input_tokens_details" && value.IsObject()
			r.promptDetails(value)
		case "completion_tokens_details", "output_tokens_details":
			r.reasoning = max(r.reasoning, count(value.Get("reasoning_tokens")))
		}

		return true
	})

	return r
}

func (r *reported) promptDetails(object gjson.Result) {
	object.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "cached_tokens":
			r.cached = max(r.cached, count(value))
		case "cache_write_tokens", "cache_creation_tokens":
			r.written = max(r.written, count(value))
		case "cache_creation_token_details":
			r.writtenHour = max(r.writtenHour, count(value.Get("ephemeral_1h_input_tokens")))
		}

		return true
	})
}

// count returns a token count, or -1 for what isn't one.
func count(value gjson.Result) int64 {
	if value.Type != gjson.Number || value.Num < 0 || value.Num > maxTokens {
		return -1
	}

	return int64(value.Num)
}

func (r reported) normalise() (Usage, bool) {
	u := Usage{Input: r.prompt, Output: r.completion, Cached: r.cached, CacheWrite: r.written, Reasoning: r.reasoning}
	u.CacheWriteHour = min(r.writtenHour, r.written)
	beside := false // The cached tokens are not in the prompt count.
	if u.Input <= 0 && r.input > 0 {
		u.Input = r.input
		beside = !r.inputDetails
	}
	if u.Output <= 0 && r.output > 0 {
		u.Output = r.output
	}
	if u.Input < 0 || u.Output < 0 {
		return Usage{}, false
	}

	inCache := u.Cached + u.CacheWrite
	if beside || inCache > u.Input || inCache > 0 && r.total == u.Input+inCache+u.Output {
		u.Input += inCache
	}

	// The rest of the total is thought that the completion count leaves out.
	if rest := r.total - u.Input - u.Output; rest > 0 && (u.Reasoning == rest || u.Reasoning == 0) {
		u.Output += rest
		u.Reasoning = rest
	}
	if u.Reasoning > u.Output { // Beside the completion, and no total to say so.
		u.Output += u.Reasoning
	}

	return u, u.Input > 0
}
