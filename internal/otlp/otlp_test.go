package otlp

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func logger(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }

// collector stands in for one; it keeps the bodies it gets.
func collector(t *testing.T, status int) (url string, bodies chan []byte) {
	t.Helper()
	bodies = make(chan []byte, 100)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s of type %q", r.Method, r.URL.Path, r.Header.Get("Content-Type"))
		}
		w.WriteHeader(status)
		bodies <- body
	}))
	t.Cleanup(s.Close)
	return s.URL, bodies
}

func TestExport(t *testing.T) {
	url, bodies := collector(t, http.StatusOK)
	e, err := New(Config{Endpoint: url, Service: "understudy", Version: "v1", Logger: logger(io.Discard)})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Unix(1_700_000_000, 5)
	e.Export(Span{
		Trace: TraceID{1}, ID: SpanID{2}, Parent: SpanID{3}, Name: "chat \xff", Kind: KindServer, Start: at, End: at.Add(time.Millisecond),
		Attrs: []Attr{{"text", "a"}, {"count", int64(1 << 60)}, {"usd", 0.5}, {"yes", true}}, Error: "timeout",
	}, Span{Trace: TraceID{1}, ID: SpanID{4}, Name: "root", Kind: KindInternal, Start: at, End: at})
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	var got, want any
	if err := json.Unmarshal(<-bodies, &got); err != nil {
		t.Fatal(err)
	}
	const text = `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"understudy"}},
		{"key":"service.version","value":{"stringValue":"v1"}}]},
		"scopeSpans":[{"scope":{"name":"understudy","version":"v1"},"spans":[
		{"traceId":"01000000000000000000000000000000","spanId":"0200000000000000","parentSpanId":"0300000000000000","name":"chat \ufffd","kind":2,
		"startTimeUnixNano":"1700000000000000005","endTimeUnixNano":"1700000000001000005",
		"attributes":[{"key":"text","value":{"stringValue":"a"}},{"key":"count","value":{"intValue":"1152921504606846976"}},
		{"key":"usd","value":{"doubleValue":0.5}},{"key":"yes","value":{"boolValue":true}}],"status":{"code":2,"message":"timeout"}},
		{"traceId":"01000000000000000000000000000000","spanId":"0400000000000000","name":"root","kind":1,
		"startTimeUnixNano":"1700000000000000005","endTimeUnixNano":"1700000000000000005"}]}]}]}`
	if err := json.Unmarshal([]byte(text), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" || e.Lost() != 0 {
		t.Errorf("%d lost; the request (-want +got):\n%s", e.Lost(), diff)
	}
}

func TestLostSpansAreCounted(t *testing.T) {
	url, _ := collector(t, http.StatusServiceUnavailable)
	for _, endpoint := range []string{url, "http://127.0.0.1:1"} {
		var log bytes.Buffer
		e, err := New(Config{Endpoint: endpoint, Logger: logger(&log)})
		if err != nil {
			t.Fatal(err)
		}
		for range maxBatch + 1 {
			e.Export(Span{})
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		if lost, lines := e.Lost(), strings.Count(log.String(), "traces are lost"); lost != maxBatch+1 || lines != 1 {
			t.Errorf("%d lost and %d lines in the log, want %d and one", lost, lines, maxBatch+1)
		}
	}
}

func TestFullQueueHoldsUpNobody(t *testing.T) {
	waiting, release := make(chan struct{}, 10), make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { waiting <- struct{}{}; <-release }))
	t.Cleanup(s.Close)
	e, err := New(Config{Endpoint: s.URL, Logger: logger(io.Discard)})
	if err != nil {
		t.Fatal(err)
	}
	for range maxBatch {
		e.Export(Span{})
	}
	<-waiting // the sender is busy
	for range maxQueue + 7 {
		e.Export(Span{})
	}
	if lost := e.Lost(); lost != 7 {
		t.Errorf("%d lost, want the 7 beyond the queue", lost)
	}
	close(release)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestEndpoint(t *testing.T) {
	for _, endpoint := range []string{"", "localhost:4318", "ftp://x", "http://"} {
		if e, err := New(Config{Endpoint: endpoint}); err == nil {
			e.Close()
			t.Errorf("New took the endpoint %q", endpoint)
		}
	}
}

func TestTraceparent(t *testing.T) {
	const trace, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	tests := []struct {
		name, header  string
		sampled, want bool
	}{
		{"sampled", "00-" + trace + "-" + parent + "-01", true, true},
		{"not sampled", "00-" + trace + "-" + parent + "-00", false, true},
		{"a later version with more", "01-" + trace + "-" + parent + "-01-more", true, true},
		{"this version with more", "00-" + trace + "-" + parent + "-01-more", false, false},
		{"no version", "ff-" + trace + "-" + parent + "-01", false, false},
		{"no trace", "00-00000000000000000000000000000000-" + parent + "-01", false, false},
		{"no parent", "00-" + trace + "-0000000000000000-01", false, false},
		{"no hex", "00-" + strings.Repeat("x", 32) + "-" + parent + "-01", false, false},
		{"cut", "00-" + trace, false, false},
		{"nothing", "", false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, ok := ParseTraceparent(tt.header)
			if ok != tt.want || ok && c.Sampled != tt.sampled {
				t.Fatalf("ParseTraceparent(%q) = %+v, %v", tt.header, c, ok)
			}
			if sent := Traceparent(c.Trace, c.Parent); ok && sent != "00-"+trace+"-"+parent+"-01" {
				t.Errorf("passed on as %q", sent)
			}
		})
	}
}

func FuzzParseTraceparent(f *testing.F) {
	f.Add("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	f.Fuzz(func(t *testing.T, header string) {
		c, ok := ParseTraceparent(header)
		if again, ok2 := ParseTraceparent(Traceparent(c.Trace, c.Parent)); ok && (!ok2 || again.Trace != c.Trace || again.Parent != c.Parent) {
			t.Errorf("%q reads as %+v, and passed on as %+v", header, c, again)
		}
	})
}
