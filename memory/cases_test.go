package memory

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestCases plays the files of testdata/cases, each of which is a kind of
// thing that has gone wrong in some memory. A file is lines of "verb user
// argument"; user "-" is nobody, for the workspace. Lines that begin with "|"
// are what the line above must give, sorted; white space around them doesn't
// count, and "#" begins a comment.
//
//	say USER TEXT        is learned; time goes on by an hour
//	answer TEXT          what the assistant said to the next say
//	again                all that was said is said again
//	add USER TYPE TEXT   | outcome: reason
//	import USER JSON     | outcome
//	recall USER TEXT     | what comes back, pinned or found, "type: content"
//	list USER WORD       | "status hits type: content", status "was" for history
//	forget USER CONTENT  deletes a memory by what it says
//	forgetuser USER      deletes all of a user
//	restart              closes and opens the store
//	gone WORD            fails if the files have the word
func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/cases/*.txt")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d cases, error %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			p := &player{T: t, path: filepath.Join(t.TempDir(), "memory.db")}
			p.open()
			t.Cleanup(p.close)
			p.play(string(text))
		})
	}
}

// player plays a case.
type player struct {
	*testing.T
	path   string
	store  *Store
	hours  atomic.Int64 // since noon; the store's writer reads it, too
	said   []Exchange
	answer string
}

func (p *player) now() time.Time { return noon.Add(time.Duration(p.hours.Load()) * time.Hour) }

func (p *player) open() {
	var err error
	p.store, err = Open(p.Context(), Config{Path: p.path, Clock: p.now})
	if err != nil {
		p.Fatal(err)
	}
}

func (p *player) close() {
	if err := p.store.Close(); err != nil {
		p.Error(err)
	}
}

func (p *player) play(text string) {
	lines := strings.Split(text, "\n")
	for n := 0; n < len(lines); n++ {
		line := strings.TrimSpace(lines[n])
		if line == "" || line[0] == '#' {
			continue
		}
		at := n
		want := []string{}
		for n+1 < len(lines) && strings.HasPrefix(strings.TrimSpace(lines[n+1]), "|") {
			n++
			if w := strings.TrimSpace(strings.TrimSpace(lines[n])[1:]); w != "" {
				want = append(want, w)
			}
		}
		got, err := p.do(line)
		if err != nil {
			p.Fatalf("line %d: %s: %v", at+1, line, err)
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, append([]string{}, got...)); diff != "" {
			p.Errorf("line %d: %s (-want +got):\n%s", at+1, line, diff)
		}
	}
}

// do plays a line and returns what it gives.
func (p *player) do(line string) (got []string, err error) {
	verb, rest, _ := strings.Cut(line, " ")
	switch verb {
	case "answer":
		p.answer = rest
		return nil, nil
	case "again":
		return nil, p.learn(p.said...)
	case "restart":
		p.close()
		p.open()
		return nil, nil
	case "gone":
		if bytes.Contains(rawBytes(p.T, p.path), bytes.ToLower([]byte(rest))) {
			err = fmt.Errorf("%q is in the files", rest)
		}
		return nil, err
	}

	user, arg, _ := strings.Cut(rest, " ")
	scope, err := NewScope("acme", "bot", strings.TrimPrefix(user, "-"))
	if err != nil {
		return nil, err
	}
	arg = strings.NewReplacer(`\n`, "\n", `\0`, "\x00", `\u200b`, "\u200b").Replace(arg)
	switch verb {
	case "say":
		p.hours.Add(1)
		e := Exchange{Scope: scope, Session: "s", At: p.now(), UserText: arg, AssistantText: p.answer}
		p.said, p.answer = append(p.said, e), ""
		return nil, p.learn(e)
	case "add":
		typ, content, _ := strings.Cut(arg, " ")
		out, err := p.store.Add(p.Context(), scope, NewItem{Type: Type(strings.TrimPrefix(typ, "-")), Content: content})
		return []string{out.Outcome + ": " + anID.ReplaceAllString(out.Reason, "ID")}, err
	case "import":
		r, err := p.store.Import(p.Context(), scope, strings.NewReader(arg), ImportOptions{})
		return outcomes(r), err
	case "recall":
		return p.recall(scope, arg)
	case "list":
		page, err := p.store.List(p.Context(), scope, Filter{Text: arg})
		for _, item := range page.Items {
			status := item.Status
			if item.ValidTo != nil {
				status = "was"
			}
			got = append(got, fmt.Sprintf("%s %d %s: %s", status, item.Hits, item.Type, item.Content))
		}
		return got, err
	case "forget":
		page, err := p.store.List(p.Context(), scope, Filter{Limit: maxPage})
		for _, item := range page.Items {
			if item.Content == arg {
				_, err := p.store.Forget(p.Context(), scope, item.ID)
				return nil, err
			}
		}
		return nil, errorOr(err, ErrNotFound)
	case "forgetuser":
		_, err = p.store.ForgetUser(p.Context(), "acme", user, "")
		return nil, err
	}

	return nil, fmt.Errorf("unknown verb %q", verb)
}

// anID is what no two runs share.
var anID = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

func errorOr(err, other error) error {
	if err != nil {
		return err
	}

	return other
}

func (p *player) learn(list ...Exchange) error {
	for _, e := range list {
		if !p.store.Learn(e) {
			return ErrClosed
		}
	}

	return p.store.Sync(p.Context())
}

// recall asks the file and the index, which must agree.
func (p *player) recall(scope Scope, text string) (got []string, err error) {
	all := recallBoth(p, p.store, scope, text)
	for _, item := range append(all.Pinned, all.Items...) {
		got = append(got, fmt.Sprintf("%s: %s", item.Type, item.Content))
	}

	return got, nil
}

// outcomes lists what an import counted.
func outcomes(r ImportReport) (list []string) {
	for _, c := range []struct {
		outcome string
		n       int
	}{{Stored, r.Stored}, {Merged, r.Merged}, {Superseded, r.Superseded}, {Quarantined, r.Quarantined}, {Skipped, r.Skipped}, {"invalid", r.Invalid}} {
		list = append(list, slices.Repeat([]string{c.outcome}, c.n)...)
	}

	return list
}
