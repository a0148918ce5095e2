package embed

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func table(tb testing.TB) *Table {
	tb.Helper()
	t, err := Default()
	if err != nil {
		tb.Fatal(err)
	}

	return t
}

func cosine(tb testing.TB, a, b string) float64 {
	tb.Helper()
	t := table(tb)
	v, w := make([]int8, Dim), make([]int8, Dim)
	if !t.Embed(v, a) || !t.Embed(w, b) {
		tb.Fatalf("%q or %q has no vector", a, b)
	}

	return float64(Dot(v, w)) / float64(Norm(v)*Norm(w))
}

// TestPieces holds the tokenizer against the cutting of the model's own,
// written down in testdata. Words of which the model knows no cutting are
// [UNK] there and nothing here.
func TestPieces(t *testing.T) {
	tab := table(t)
	names := map[int32]string{}
	for piece, i := range tab.pieces {
		names[i] = piece
	}
	for tail, i := range tab.tails {
		names[i] = "##" + tail
	}
	file, err := os.Open("testdata/pieces.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()

	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var c struct {
			Text string   `json:"text"`
			Want []string `json:"want"`
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		var got, want []string
		tab.Pieces(c.Text, func(piece int32) { got = append(got, names[piece]) })
		for _, p := range c.Want {
			if p != "[UNK]" {
				want = append(want, p)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.Text, diff)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}

// TestNearer shows that the table knows what words mean: each text is nearer to
// its paraphrase, with which it shares no word of content, than to the other.
func TestNearer(t *testing.T) {
	for _, c := range []struct{ text, near, far string }{
		{"my automobile broke down", "the car needs a repair", "the garden needs water"},
		{"he is a physician", "a doctor in a hospital", "a lawyer in a court"},
		{"which database stores the invoices", "bills are kept in PostgreSQL", "bananas are kept in the kitchen"},
		{"what pets do they own", "her cat and dog", "her desk and chair"},
		{"vacation at the seaside", "holidays on the beach", "meetings in the office"},
	} {
		if near, far := cosine(t, c.text, c.near), cosine(t, c.text, c.far); near <= far {
			t.Errorf("%q: %q at %.2f isn't nearer than %q at %.2f", c.text, c.near, near, c.far, far)
		}
	}
}

func TestNothingKnown(t *testing.T) {
	v := make([]int8, Dim)
	for _, text := range []string{"", "  \t\n", "\x00", strings.Repeat("a", 1000)} {
		v[0] = 1
		if table(t).Embed(v, text) || v[0] != 0 {
			t.Errorf("Embed(%.10q) found something in nothing", text)
		}
	}
}

func TestQuantize(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, c := range []struct {
		name string
		x    []float32
		ok   bool
		want []int8
	}{
		{"scales to the largest", []float32{0.5, -1, 0.25, 0}, true, []int8{64, -127, 32, 0}},
		{"nothing", []float32{0, 0, 0, 0}, false, []int8{0, 0, 0, 0}},
		{"infinite", []float32{inf, 1, 0, 0}, false, []int8{0, 0, 0, 0}},
		{"no numbers", []float32{nan, nan, nan, nan}, false, []int8{0, 0, 0, 0}},
	} {
		got := make([]int8, len(c.x))
		ok := Quantize(got, c.x)
		if diff := cmp.Diff(c.want, got); diff != "" || ok != c.ok {
			t.Errorf("%s: %v, want %v (-want +got):\n%s", c.name, ok, c.ok, diff)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ name, file string }{
		{"empty", ""},
		{"other file", "PNG and so on and so on and so on and so on"},
		{"cut off", tableBytes[:len(tableBytes)-1]},
		{"head alone", tableBytes[:len(magic)+12]},
		{"other dimension", magic + "\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00"},
	} {
		if _, err := parse(c.file); err == nil {
			t.Errorf("%s: parsed", c.name)
		}
	}
}

func FuzzPieces(f *testing.F) {
	for _, seed := range []string{"The quick fox", "Đoković", "设备 悬空", "a\xffb", strings.Repeat("é", 200), "İ"} {
		f.Add(seed)
	}
	tab := table(f)
	f.Fuzz(func(t *testing.T, text string) {
		n := 0
		tab.Pieces(text, func(piece int32) {
			if piece < 0 || int(piece) >= len(tab.scales) {
				t.Errorf("piece %d", piece)
			}
			n++
		})
		if n > maxPieces || n > utf8.RuneCountInString(text)*4 {
			t.Errorf("%d pieces of %d bytes", n, len(text))
		}
		v := make([]int8, Dim)
		if tab.Embed(v, text) != (Dot(v, v) > 0) {
			t.Errorf("Embed(%q) says what its vector doesn't", text)
		}
	})
}

func BenchmarkEmbed(b *testing.B) {
	tab, v := table(b), make([]int8, Dim)
	b.ReportAllocs()
	for b.Loop() {
		tab.Embed(v, "Which database did we decide on for the ledger service, and why?")
	}
}

func BenchmarkDot(b *testing.B) {
	v, w := make([]int8, Dim), make([]int8, Dim)
	table(b).Embed(v, "a cat")
	table(b).Embed(w, "a dog")
	b.ReportAllocs()
	for b.Loop() {
		Dot(v, w)
	}
}
