package proxy_test

// The conformance corpus holds shapes of requests and answers that have broken
// proxies before, one file a case, each with its own expectation. Every case
// runs against the real server over TCP, with an upstream that keeps the raw
// bytes. The letter in front of a file's name says what it is about:
//
//	a what is scored   b sessions               c history of other models
//	d assembly         e fidelity of requests   f abilities and windows
//	g streams          h money, errors, labels  x faults of the connection
//
// and letter and number together name a kind of shape; files of one kind are
// neighbours of each other.
//
// A file is a txtar archive: a comment that says what it holds, then
//
//	-- config --      optional, one switch a line; see switches
//	-- request --     or request.1, request.2, …: optional request line, headers, empty line, body
//	-- upstream --    what the upstream answers; upstream.MODEL answers only when that model is asked
//	-- want --        one expectation a line
//
// In bodies, headers and answers ␍ and ␊ are a carriage return and a line
// feed, «"\x00"» is a string as in Go, and «"ab" * 1000» is one repeated. The
// line end before the next part does not belong to a body.
//
// An upstream part is "simulated" (the model of llmtest answers), or a script:
//
//	json STATUS BODY  a whole answer with its length
//	sse               the head of a stream in chunks
//	header NAME: V    a header of the json or sse that comes next
//	| BYTES           bytes as they are
//	~ BYTES           one chunk, sent by itself; without bytes: the last chunk
//	x BYTES           a chunk that the client must not see
//	split N           the chunks that follow are cut again, each N bytes long
//	flush             what stands before is sent by itself
//	pause DURATION    wait before what stands next
//	close reset hang  how it ends; without: the connection stays open
//	next              what follows is the answer to the next request
//
// An expectation is SUBJECT OP VALUE. It is about the last request of the
// client; "2: " in front is about the second, "all: " about each. Subjects:
//
//	status            that the client got
//	body body.PATH    what the client got; PATH is a gjson path
//	header NAME       of the answer
//	outbound outbound.PATH  the newest body that went upstream for the request
//	outheader NAME    of that request
//	outline           its first line
//	sent              how many requests went upstream for the request
//	asked             their models, in order
//	models            the last model asked for each request of the client so far
//	ledger.PATH       the request's entry as JSON
//	metric NAME{LABEL="V",…}  the sum of the series that have these labels
//	series NAME       how many series have been used
//	log               all that was logged
//	memories          how many memories are kept
//
// Ops: none or is (equal), has, lacks, starts, absent, < <= > >= (numbers),
// same N and differs N (than for the Nth request). A value may be a Go string.
// Whole expectations:
//
//	body identical           to what the upstream sent, less its x lines
//	body cut                 it broke off; without this it must not
//	outbound identical       to the client's body
//	outbound unchanged-except PATH…   all other bytes are; +PATH was not there before, -PATH went
//	prefix-stable            the messages sent for a request begin with those of the request before
//
// A word that is not known fails the test, also in a pending case.

import (
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// pending names the cases that fail, and the reason: the feature that is not
// built yet, or a fault. A case in here must fail, so that it leaves the table
// with what made it pass. Those of table tests begin with "Test".
var pending = map[string]string{}

func TestConformance(t *testing.T) {
	files, err := filepath.Glob("testdata/conformance/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	const atOnce = 8 // they wait for disks and for servers to end, not for processors
	var all sync.WaitGroup
	turns := make(chan struct{}, atOnce)
	known := make(map[string]bool)
	for _, path := range files {
		f, err := readCase(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		known[f.name] = true
		turns <- struct{}{}
		all.Go(func() {
			defer func() { <-turns }()
			t.Run(f.name, func(t *testing.T) { runCase(t, f) })
		})
	}
	all.Wait()
	for name := range pending {
		if !known[name] && !strings.HasPrefix(name, "Test") {
			t.Errorf("pending case %q does not exist", name)
		}
	}
}

func runCase(t *testing.T, f *caseFile) {
	c := startCase(t, f)
	for i := range f.turns {
		c.play(i)
	}
	_, isPending := pending[f.name]
	problems := c.check(isPending)
	settle(t, f.name, errors.Join(problems...))
	if len(problems) > 0 && !isPending {
		t.Logf("outbound of the last request: %.2000s", c.rounds[len(c.rounds)-1].outbound())
	}
}

// settle reports what became of a case that may be pending.
func settle(t *testing.T, name string, err error) {
	t.Helper()
	reason, isPending := pending[name]
	switch {
	case isPending && err == nil:
		t.Errorf("the case passes: take it from the table of pending ones (%s)", reason)
	case isPending:
		t.Logf("pending, %s: %v", reason, err)
	case err != nil:
		t.Error(err)
	}
}
