package llmtest_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/understudy-ai/understudy/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const hello = `{"model":"small","messages":[{"role":"user","content":"hello"}]}`

// post sends a body and returns the status and the answer's bytes.
func post(t *testing.T, client *http.Client, url, body string) (int, string) {
	t.Helper()
	resp, err := client.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(answer)
}

func TestRecording(t *testing.T) {
	tests := []struct {
		name, method, path string
		chunked            bool
		body               string
		wantStatus         int
	}{
		{name: "a chat", method: "POST", path: "/v1/chat/completions", body: hello, wantStatus: 200},
		{
			name: "odd spelling", method: "POST", path: "/v1/chat/completions", wantStatus: 200,
			body: " {\"n\": 9007199254740993, \"n\":1.0,\r\n\t" + `"model":"sm\u0061ll", "messages":[{"content":"\/","role":"user"}]}` + "\n",
		},
		{name: "no JSON", method: "POST", path: "/v1/chat/completions", body: "\x00\xff{", wantStatus: 400},
		{name: "no length ahead", method: "POST", path: "/v1/chat/completions", chunked: true, body: hello, wantStatus: 200},
		{name: "large", method: "POST", path: "/v1/embeddings", body: `{"input":"` + strings.Repeat("x", 3<<20) + `"}`, wantStatus: 200},
		{name: "unknown path, query kept", method: "PUT", path: "/v1/files/%2F?a=%20b&a=", body: "raw", wantStatus: 404},
		{name: "no body", method: "GET", path: "/v1/models?limit=1", wantStatus: 200},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			u := start(t)
			if got := u.Last(); got.Method != "" {
				t.Errorf("Last() = %+v before any request", got)
			}
			body := io.Reader(strings.NewReader(tt.body))
			if tt.chunked {
				body = io.MultiReader(body)
			}
			req, err := http.NewRequestWithContext(t.Context(), tt.method, strings.TrimSuffix(u.URL(), "/v1")+tt.path, body)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("X-Odd", "kept")
			resp, err := newClient(t).Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != tt.wantStatus {
				t.Errorf("status = %d, want %d", resp.StatusCode, tt.wantStatus)
			}
			got := u.Last()
			if !bytes.Equal(got.Body, []byte(tt.body)) {
				t.Errorf("recorded %.200q, want %.200q", got.Body, tt.body)
			}
			if got.Method != tt.method || got.Path != tt.path || got.Header.Get("X-Odd") != "kept" {
				t.Errorf("recorded %s %s %v, want %s %s", got.Method, got.Path, got.Header, tt.method, tt.path)
			}
		})
	}
}

// The newest thousand requests are kept, in order, and what was returned stays.
func TestRecordingIsBounded(t *testing.T) {
	u, client := start(t), newClient(t)
	post(t, client, u.URL(), "first")
	before := u.Requests()
	for i := range 1_000 {
		post(t, client, u.URL(), fmt.Sprint(i))
	}
	got := u.Requests()
	if len(got) != 1_000 || string(got[0].Body) != "0" || string(got[999].Body) != "999" || string(u.Last().Body) != "999" {
		t.Errorf("%d requests, from %q to %q, want 0 to 999", len(got), got[0].Body, got[len(got)-1].Body)
	}
	if len(before) != 1 || string(before[0].Body) != "first" {
		t.Errorf("what was returned before is now %q", before)
	}
}

func TestMisbehave(t *testing.T) {
	u, client := start(t), newClient(t)
	var seen []byte
	u.Misbehave(func(w http.ResponseWriter, r *http.Request) {
		seen, _ = io.ReadAll(r.Body)
		http.Error(w, "on fire", http.StatusServiceUnavailable)
	})
	if status, answer := post(t, client, u.URL()+"/chat/completions", hello); status != 503 || answer != "on fire\n" {
		t.Errorf("misbehaving: %d %q", status, answer)
	}
	if recorded := string(u.Last().Body); string(seen) != hello || recorded != hello {
		t.Errorf("the fault saw %q, and %q was recorded, want %q", seen, recorded, hello)
	}
	u.Misbehave(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	if resp, err := client.Post(u.URL()+"/embeddings", "application/json", nil); err == nil {
		resp.Body.Close()
		t.Errorf("the connection lives: %s", resp.Status)
	}
	u.Misbehave(nil)
	if status, answer := post(t, client, u.URL()+"/chat/completions", hello); status != 200 {
		t.Errorf("behaving again: %d %q", status, answer)
	}
}

// startStream begins a stream and reads its first line.
func startStream(t *testing.T, ctx context.Context, u *llmtest.Upstream) *bufio.Reader {
	t.Helper()
	body := strings.Replace(hello, "{", `{"stream":true,`, 1)
	req, err := http.NewRequestWithContext(ctx, "POST", u.URL()+"/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := newClient(t).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	if got := resp.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("Content-Type = %q", got)
	}
	r := bufio.NewReader(resp.Body)
	if line, err := r.ReadString('\n'); err != nil || !strings.HasPrefix(line, "data: {") {
		t.Fatalf("the stream begins with %q, %v", line, err)
	}
	return r
}

// An hour between two chunks: the first comes at once, and Close cuts the rest.
func TestCloseEndsStreams(t *testing.T) {
	u := start(t)
	u.Pace(time.Hour)
	r := startStream(t, t.Context(), u)
	if err := u.Close(); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(r); err == nil || bytes.Contains(rest, []byte("[DONE]")) {
		t.Errorf("the stream went on to %q, %v", rest, err)
	}
	if _, err := net.Dial("tcp", hostOf(u)); err == nil {
		t.Error("it still listens")
	}
	if err := u.Close(); err != nil {
		t.Errorf("closing twice: %v", err)
	}
}

// A client that leaves ends its stream: goleak would find it.
func TestClientLeaves(t *testing.T) {
	u := start(t)
	u.Pace(time.Hour)
	ctx, leave := context.WithCancel(t.Context())
	r := startStream(t, ctx, u)
	leave()
	if _, err := io.ReadAll(r); !errors.Is(err, context.Canceled) {
		t.Errorf("reading on: %v, want %v", err, context.Canceled)
	}
	if err := u.Drain(t.Context()); err != nil { // waits for the answer to end
		t.Error(err)
	}
}

func hostOf(u *llmtest.Upstream) string {
	return strings.TrimSuffix(strings.TrimPrefix(u.URL(), "http://"), "/v1")
}

// held makes u answer only when release is closed, and starts a request; its
// result arrives on the channel.
func held(t *testing.T, u *llmtest.Upstream, release <-chan struct{}) <-chan error {
	t.Helper()
	began, client, result := make(chan struct{}), newClient(t), make(chan error, 1)
	u.Misbehave(func(w http.ResponseWriter, r *http.Request) {
		close(began)
		select {
		case <-release:
			_, _ = io.WriteString(w, "late")
		case <-r.Context().Done():
		}
	})
	go func() {
		resp, err := client.Post(u.URL(), "text/plain", nil)
		if err == nil {
			defer resp.Body.Close()
			answer, readErr := io.ReadAll(resp.Body)
			if err = readErr; err == nil && string(answer) != "late" {
				err = fmt.Errorf("answer %q", answer)
			}
		}
		result <- err
	}()
	<-began
	return result
}

func TestDrainWaits(t *testing.T) {
	u := start(t)
	release, drained := make(chan struct{}), make(chan error, 1)
	result := held(t, u, release)
	go func() { drained <- u.Drain(context.Background()) }()
	for { // until it has stopped to listen
		conn, err := net.Dial("tcp", hostOf(u))
		if err != nil {
			break
		}
		conn.Close()
	}
	close(release)
	if err := errors.Join(<-result, <-drained); err != nil {
		t.Errorf("draining: %v", err)
	}
}

func TestDrainGivesUp(t *testing.T) {
	u := start(t)
	result := held(t, u, nil)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := u.Drain(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Drain() = %v, want %v", err, context.Canceled)
	}
	if err := <-result; err == nil {
		t.Error("the answer was not cut")
	}
}

func TestPromptCache(t *testing.T) {
	u, client := start(t), newClient(t)
	chat := func(words string) string {
		_, answer := post(t, client, u.URL()+"/chat/completions", `{"model":"small","messages":[{"role":"user","content":"`+words+`"}]}`)
		_, tail, _ := strings.Cut(answer, `"cached_tokens":`)
		n, _, _ := strings.Cut(tail, "}")
		return n
	}
	long := strings.Repeat("prefix ", 100)
	var got []string
	for _, words := range []string{long + "one", long + "two", "other " + long, long[:350], "short", "short"} {
		got = append(got, chat(words))
	}
	// Whole blocks of 32 tokens of 4 bytes; "user: " is part of the prompt.
	want := []string{"0", "160", "0", "64", "0", "0"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("cached tokens (-want +got):\n%s", diff)
	}
}
