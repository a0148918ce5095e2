package proxy

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadVectors(t *testing.T) {
	tests := []struct {
		name, answer string
		want         [][]float32 // of two texts; nil: refused
	}{
		{"in order", `{"model":"m","data":[{"index":0,"embedding":[1,2]},{"index":1,"embedding":[3,4]}],"usage":{"prompt_tokens":4,"total_tokens":4}}`, [][]float32{{1, 2}, {3, 4}}},
		{"in any order", `{"data":[{"index":1,"embedding":[3]},{"index":0,"embedding":[1]}]}`, [][]float32{{1}, {3}}},
		{"too few", `{"data":[{"index":0,"embedding":[1]}]}`, nil},
		{"one twice", `{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}`, nil},
		{"beyond", `{"data":[{"index":0,"embedding":[1]},{"index":2,"embedding":[1]}]}`, nil},
		{"below", `{"data":[{"index":0,"embedding":[1]},{"index":-1,"embedding":[1]}]}`, nil},
		{"not numbers", `{"data":[{"index":0,"embedding":"AAAA"},{"index":1,"embedding":"AAAA"}]}`, nil},
		{"too large", `{"data":[{"index":0,"embedding":[1e99]},{"index":1,"embedding":[1]}]}`, nil},
		{"an error", `{"error":{"message":"no"}}`, nil},
		{"no JSON", `<html>`, nil},
		{"empty", ``, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			x := &exchange{}
			if diff := cmp.Diff(test.want, x.readVectors([]byte(test.answer), 2)); diff != "" {
				t.Errorf("vectors (-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzReadVectors(f *testing.F) {
	f.Add([]byte(`{"data":[{"index":0,"embedding":[1]}]}`), 1)
	f.Fuzz(func(t *testing.T, answer []byte, n int) {
		x := &exchange{}
		if vectors := x.readVectors(answer, n&31); vectors != nil && len(vectors) != n&31 {
			t.Errorf("%d vectors of %d texts", len(vectors), n&31)
		}
		if usage := x.answer.Usage; len(usage) > 0 && !json.Valid(usage) {
			t.Errorf("usage %q", usage)
		}
	})
}
