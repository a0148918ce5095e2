package llmtest_test

import (
	"fmt"
	"log"
	"net/http"
	"strings"

	"github.com/understudy-ai/understudy/llmtest"
)

func ExampleUpstream_Misbehave() {
	upstream, err := llmtest.Start("small")
	if err != nil {
		log.Fatal(err)
	}
	defer upstream.Close()
	upstream.Misbehave(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusTooManyRequests)
	})

	resp, err := http.Post(upstream.URL()+"/chat/completions", "application/json", strings.NewReader(`{"model": "small"}`))
	if err != nil {
		log.Fatal(err)
	}
	resp.Body.Close()
	fmt.Println(resp.StatusCode, resp.Header.Get("Retry-After"))
	fmt.Printf("%s %s %s\n", upstream.Last().Method, upstream.Last().Path, upstream.Last().Body)
	// Output:
	// 429 7
	// POST /v1/chat/completions {"model": "small"}
}
