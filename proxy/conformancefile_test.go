package proxy_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/understudy-ai/understudy/llmtest"
)

// caseFile is one file of the corpus.
type caseFile struct {
	name      string
	config    [][]string // switches, split into words
	turns     []turn
	upstreams map[string]*upstreamFile // by the outbound model; "" for all others
	want      []string
}

// turn is one request of the client.
type turn struct {
	method, path string
	headers      []string // "Name: value"
	body         []byte
}

// upstreamFile is what the upstream answers to one request after the other;
// the last one again when there are more requests.
type upstreamFile struct{ answers []upstreamAnswer }

type upstreamAnswer struct {
	simulated bool
	script    llmtest.Script
	visible   []byte // the body that the client has to see
}

func readCase(path string) (*caseFile, error) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		return nil, err
	}
	f := &caseFile{name: strings.TrimSuffix(filepath.Base(path), ".txtar"), upstreams: make(map[string]*upstreamFile)}
	if strings.TrimSpace(string(archive.Comment)) == "" {
		return nil, fmt.Errorf("the file does not begin with a comment that says what it holds")
	}
	for _, part := range archive.Files {
		if err := f.read(part.Name, string(part.Data)); err != nil {
			return nil, fmt.Errorf("%s: %w", part.Name, err)
		}
	}
	if len(f.turns) == 0 || len(f.want) == 0 || f.upstreams[""] == nil {
		return nil, fmt.Errorf("request, upstream or want is missing")
	}
	return f, nil
}

func (f *caseFile) read(name, data string) (err error) {
	kind, key, _ := strings.Cut(name, ".")
	switch kind {
	case "config":
		for _, line := range lines(data) {
			f.config = append(f.config, strings.Fields(line))
		}
	case "request":
		if key != "" && key != strconv.Itoa(len(f.turns)+1) {
			return fmt.Errorf("out of order: %d came before", len(f.turns))
		}
		var t turn
		t, err = readTurn(data)
		f.turns = append(f.turns, t)
	case "upstream":
		f.upstreams[key], err = readUpstream(lines(data))
	case "want":
		f.want = lines(data)
	default:
		err = fmt.Errorf("unknown part")
	}
	return err
}

// lines are the lines that say something: not empty, and no "#" in front.
func lines(data string) []string {
	return slices.DeleteFunc(strings.Split(data, "\n"), func(l string) bool { return l == "" || strings.HasPrefix(l, "#") })
}

func readTurn(data string) (turn, error) {
	t := turn{method: http.MethodPost, path: "/v1/chat/completions"}
	head, body, ok := strings.Cut(data, "\n\n")
	if strings.HasPrefix(data, "\n") { // no headers
		head, body, ok = "", data[1:], true
	}
	if !ok {
		head = strings.TrimSuffix(head, "\n")
	}
	for i, line := range strings.Split(head, "\n") {
		method, path, isLine := strings.Cut(line, " /")
		switch {
		case line == "":
		case i == 0 && isLine && !strings.Contains(method, ":"):
			t.method, t.path = method, "/"+path
		default:
			value, err := expand(line)
			if err != nil {
				return t, err
			}
			t.headers = append(t.headers, string(value))
		}
	}
	var err error
	t.body, err = expand(strings.TrimSuffix(body, "\n"))
	return t, err
}

// generated is «"text"» or «"text" * 1000», with text as in Go.
var generated = regexp.MustCompile(`«("(?:[^"\\]|\\.)*")(?: \* (\d+))?»`)

// expand replaces what is written for the reader by the bytes that it means.
func expand(text string) ([]byte, error) {
	var failed error
	out := generated.ReplaceAllStringFunc(text, func(match string) string {
		m := generated.FindStringSubmatch(match)
		bytes, err := strconv.Unquote(m[1])
		if err != nil {
			failed = fmt.Errorf("%s: %w", match, err)
		}
		times := 1
		if m[2] != "" {
			times, _ = strconv.Atoi(m[2]) // digits
		}
		return strings.Repeat(bytes, times)
	})
	if strings.Contains(out, "«") {
		failed = fmt.Errorf("unknown form of «…» in %q", text)
	}
	return []byte(strings.NewReplacer("␍", "\r", "␊", "\n").Replace(out)), failed
}

// wire collects the bytes of one answer.
type wire struct {
	answer  upstreamAnswer
	headers string
	piece   []byte // not sent yet
	visible []byte // the bytes of an answer without what is to be hidden
	after   time.Duration
	split   int    // bytes in a chunk, 0 as the file has it
	chunks  []byte // data that waits for split
}

func readUpstream(lines []string) (*upstreamFile, error) {
	u := &upstreamFile{}
	w := &wire{}
	for _, line := range lines {
		if line == "next" {
			u.answers = append(u.answers, w.end())
			w = &wire{}
			continue
		}
		if err := w.line(line); err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
	}
	u.answers = append(u.answers, w.end())
	return u, nil
}

func (w *wire) line(line string) error {
	verb, rest, _ := strings.Cut(line, " ")
	data, err := expand(rest)
	if err != nil {
		return err
	}
	switch verb {
	case "simulated":
		w.answer.simulated = true
	case "header":
		w.headers += rest + "\r\n"
	case "json":
		status, body, _ := bytes.Cut(data, []byte(" "))
		w.raw(fmt.Appendf(nil, "HTTP/1.1 %s Status\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n%s", status, len(body), w.headers, body))
	case "sse":
		w.raw([]byte("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n" + w.headers + "\r\n"))
		w.flush()
	case "|":
		w.raw(data)
	case "~", "x":
		w.chunk(data, verb == "~")
	case "split":
		w.split, err = strconv.Atoi(rest)
	case "flush":
		w.flush()
	case "pause":
		w.flush()
		w.after, err = time.ParseDuration(rest)
	case "close":
		w.answer.script.End = llmtest.CloseConn
	case "reset":
		w.answer.script.End = llmtest.ResetConn
	case "hang":
		w.answer.script.End = llmtest.Hang
	default:
		err = fmt.Errorf("unknown word")
	}
	return err
}

func (w *wire) raw(b []byte) {
	w.piece = append(w.piece, b...)
	w.visible = append(w.visible, b...)
}

// chunk frames data as one chunk, or keeps it for split. No data: the last one.
func (w *wire) chunk(data []byte, visible bool) {
	if w.split > 0 && len(data) > 0 {
		w.chunks = append(w.chunks, data...)
	} else {
		for c := range slices.Chunk(w.chunks, max(w.split, 1)) {
			w.frame(c)
		}
		w.chunks = nil
		w.frame(data)
	}
	if visible {
		w.visible = fmt.Appendf(w.visible, "%x\r\n%s\r\n", len(data), data)
	}
}

func (w *wire) frame(data []byte) {
	w.piece = fmt.Appendf(w.piece, "%x\r\n%s\r\n", len(data), data)
	w.flush()
}

func (w *wire) flush() {
	if len(w.piece) > 0 || w.after > 0 {
		w.answer.script.Pieces = append(w.answer.script.Pieces, llmtest.Piece{After: w.after, Bytes: w.piece})
	}
	w.piece, w.after = nil, 0
}

func (w *wire) end() upstreamAnswer {
	w.flush()
	if resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(w.visible)), nil); err == nil {
		w.answer.visible, _ = io.ReadAll(resp.Body) // as far as it goes: answers break off on purpose
		resp.Body.Close()
	}
	return w.answer
}
