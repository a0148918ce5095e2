package ledger

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// usageCase is a file of testdata/usage: a usage object as servers send it,
// and what it means. No want: it means nothing.
type usageCase struct {
	Why   string
	Usage json.RawMessage
	Want  *Usage
}

func usageCorpus(tb testing.TB) map[string]usageCase {
	tb.Helper()
	paths, err := filepath.Glob("testdata/usage/*.json")
	if err != nil || len(paths) == 0 {
		tb.Fatalf("no corpus: %v", err)
	}
	cases := make(map[string]usageCase)
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		var c usageCase
		if err := json.Unmarshal(data, &c); err != nil {
			tb.Fatalf("%s: %v", path, err)
		}
		cases[strings.TrimSuffix(filepath.Base(path), ".json")] = c
	}

	return cases
}

func TestParseUsageCorpus(t *testing.T) {
	for name, c := range usageCorpus(t) {
		t.Run(name, func(t *testing.T) {
			got, ok := ParseUsage(c.Usage)
			if c.Want == nil {
				if ok {
					t.Errorf("ParseUsage(%s) = %+v, want not ok: %s", c.Usage, got, c.Why)
				}
				return
			}
			if diff := cmp.Diff(*c.Want, got); diff != "" || !ok {
				t.Errorf("ParseUsage(%s), ok %v, (-want +got):\n%s%s", c.Usage, ok, diff, c.Why)
			}
		})
	}
}

func TestParseUsageRejectsBrokenJSON(t *testing.T) {
	for _, text := range []string{"", "{", `{"prompt_tokens":5,"completion_tokens":5`, `{"prompt_tokens":5,"completion_tokens":}`} {
		if got, ok := ParseUsage([]byte(text)); ok {
			t.Errorf("ParseUsage(%q) = %+v, want not ok", text, got)
		}
	}
}

func FuzzParseUsage(f *testing.F) {
	for _, c := range usageCorpus(f) {
		f.Add([]byte(c.Usage))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		u, ok := ParseUsage(data)
		if !ok {
			return
		}
		if u.Input <= 0 || u.Cached < 0 || u.CacheWrite < 0 || u.Cached+u.CacheWrite > u.Input {
			t.Errorf("ParseUsage(%s): parts of the prompt don't fit it: %+v", data, u)
		}
		if u.Reasoning < 0 || u.Reasoning > u.Output {
			t.Errorf("ParseUsage(%s): reasoning doesn't fit the output: %+v", data, u)
		}
	})
}

func BenchmarkParseUsage(b *testing.B) {
	usage := []byte(usageCorpus(b)["litellm-anthropic"].Usage)
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := ParseUsage(usage); !ok {
			b.Fatal("not ok")
		}
	}
}
