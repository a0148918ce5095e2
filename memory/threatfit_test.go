package memory

import (
	"encoding/binary"
	"encoding/json"
	"flag"
	"hash/crc32"
	"maps"
	"math"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fitWith has TestFit make threats.bin anew.
var fitWith = flag.String("fit", "", "fit the scanner's weights to testdata/scan and the JSONL files of this folder, lines of label, kind and text")

// fitRow is a text as the fit sees it.
type fitRow struct {
	slots  []int32
	attack float64
	weight float64
	ruled  bool // the rules stop it
	group  int  // of kinds
}

func fitRowOf(s sample, attack bool, weight float64) fitRow {
	folded := fold(clip(s.Text, maxScan))
	r := reading{threats: scanner}
	r.read(folded)
	var f features
	f.read(folded, r.seen)
	row := fitRow{weight: weight, group: groupOf(s.Kind, attack)}
	if attack {
		row.attack = 1
	}
	v := Scan(s.Text)
	row.ruled = v.Action == Quarantine && !v.Guess()
	for i, set := range f.set {
		for ; set != 0; set &= set - 1 {
			row.slots = append(row.slots, int32(i<<6|bits.TrailingZeros64(set)))
		}
	}

	return row
}

// groupOf puts kinds in six groups, so that one of them can be left out; a
// language's attacks and look-alikes are in one.
func groupOf(kind string, attack bool) int {
	switch kind {
	case "german", "italian", "de", "it":
		return 0
	case "french", "japanese", "fr", "ja":
		return 1
	case "spanish", "portuguese", "es", "pt":
		return 2
	case "serbian", "croatian", "sr":
		return 3
	case "russian", "polish", "ru", "pl":
		return 4
	case "chinese", "korean", "zh", "ko":
		return 5
	}
	if attack {
		kind += "!"
	}

	return int(crc32.ChecksumIEEE([]byte(kind)) % 6)
}

// ridge is the penalty of squared weights.
const ridge = 1.0 / 16

// fitted is what fit finds: the last weight is the bias.
type fitted []float64

func (w fitted) score(r *fitRow) float64 {
	sum := 0.0
	for _, s := range r.slots {
		sum += w[s]
	}

	return w[threatSlots] + sum/rootOf(r)
}

func rootOf(r *fitRow) float64 { return math.Sqrt(float64(max(len(r.slots), minThreatFeatures))) }

// logistic is a logistic regression, by Adam over all rows.
func logistic(rows []*fitRow) fitted {
	w, g := make(fitted, threatSlots+1), make([]float64, threatSlots+1)
	a := newAdam(250, w[:threatSlots], w[threatSlots:])
	for a.next() {
		clear(g)
		for _, r := range rows {
			d := r.weight * (1/(1+math.Exp(-w.score(r))) - r.attack)
			g[threatSlots] += d
			for _, s := range r.slots {
				g[s] += d / rootOf(r)
			}
		}
		a.step(g)
	}

	return w
}

// adam goes down a gradient (Kingma and Ba, 2015), more slowly each time. What
// it moves is weights, which it keeps small, then biases.
type adam struct {
	weights, biases []float64
	m, v            []float64
	n, rounds       int
}

func newAdam(rounds int, weights, biases []float64) *adam {
	size := len(weights) + len(biases)

	return &adam{weights: weights, biases: biases, m: make([]float64, size), v: make([]float64, size), rounds: rounds}
}

// next reports whether there is another round.
func (a *adam) next() bool {
	a.n++

	return a.n <= a.rounds
}

// step moves by a gradient, which it changes.
func (a *adam) step(g []float64) {
	rate := 0.3 * (1 - float64(a.n)/float64(a.rounds+1))
	mean, square := 1-math.Pow(0.9, float64(a.n)), 1-math.Pow(0.99, float64(a.n))
	for i := range g {
		w := a.biases
		at := i - len(a.weights)
		if at < 0 {
			w, at = a.weights, i
			g[i] += ridge * w[at]
		}
		a.m[i] = 0.9*a.m[i] + 0.1*g[i]
		a.v[i] = 0.99*a.v[i] + 0.01*g[i]*g[i]
		w[at] -= rate * a.m[i] / mean / (math.Sqrt(a.v[i]/square) + 1e-6)
	}
}

// TestFit fits the model anew when -fit says with what, and prints what it
// does with kinds that it hasn't seen. Without, it holds that the weights are
// there.
func TestFit(t *testing.T) {
	if *fitWith != "" {
		refit(t, *fitWith)
	}
	if threatModel.scale == 0 {
		t.Error("no weights")
	}
}

// otherWeight is what a text that isn't in testdata/scan counts for in the fit.
const otherWeight = 1

// TestThemes holds the list of themes to its form: each has a name, a bit, and
// words, each once.
func TestThemes(t *testing.T) {
	of, names := readThemes(themesFile)
	if len(of) == 0 || len(names) == 0 || len(names) > 64 {
		t.Fatalf("%d words of %d themes, want at most 64", len(of), len(names))
	}
	name, seen := "", map[string]bool{}
	for word := range strings.FieldsSeq(themesFile) {
		switch {
		case strings.HasSuffix(word, ":"):
			name = word
		case name == "":
			t.Errorf("%s stands before the first theme", word)
		case seen[name+fold(word)]:
			t.Errorf("%s %s twice", name, word)
		}
		seen[name+fold(word)] = true
	}
}

func refit(t *testing.T, folder string) {
	var own, others []*fitRow
	tests := map[string][]*fitRow{}
	for _, name := range []string{"attacks", "benign", "attacks-free", "benign-free", "attacks-unseen", "benign-unseen"} {
		for _, s := range samples(t, filepath.Join("scan", name+".jsonl")) {
			r := fitRowOf(s, strings.HasPrefix(name, "attacks"), 1)
			if strings.HasSuffix(name, "-unseen") {
				tests["unseen"] = append(tests["unseen"], &r)
			} else {
				own = append(own, &r)
			}
		}
	}
	for _, name := range []string{"odd-1", "odd-2", "languages", "plain"} { // What people say of themselves.
		for _, s := range samples(t, filepath.Join("learn", name+".jsonl")) {
			r := fitRowOf(s, false, otherWeight)
			others = append(others, &r)
		}
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		for line := range strings.SplitSeq(strings.TrimSpace(string(data)), "\n") {
			var s struct {
				sample
				Label string `json:"label"`
			}
			if err = json.Unmarshal([]byte(line), &s); err != nil {
				t.Fatal(err)
			}
			r := fitRowOf(s.sample, s.Label == "attack", otherWeight)
			if strings.HasPrefix(name, "test-") {
				tests[name] = append(tests[name], &r)
			} else {
				others = append(others, &r)
			}
		}
	}
	held := leftOut(own, others)
	w := logistic(append(slices.Clone(own), others...))
	for _, bound := range []float64{0, 0.25, 0.5, 0.75, 1, 1.5} {
		t.Logf("bound %.2f", bound)
		reportFit(t, "left out", own, bound, func(i int) float64 { return held[i] })
		for _, name := range slices.Sorted(maps.Keys(tests)) {
			reportFit(t, name, tests[name], bound, func(i int) float64 { return w.score(tests[name][i]) })
		}
	}
	writeFit(t, w)
}

// leftOut scores each of own by a model that has seen none of its kind.
func leftOut(own, others []*fitRow) []float64 {
	held := make([]float64, len(own))
	for group := range 6 {
		var rows []*fitRow
		for _, r := range own {
			if r.group != group {
				rows = append(rows, r)
			}
		}
		w := logistic(append(rows, others...))
		for i, r := range own {
			if r.group == group {
				held[i] = w.score(r)
			}
		}
	}

	return held
}

func reportFit(t *testing.T, name string, rows []*fitRow, bound float64, score func(int) float64) {
	var all, stopped, model [2]int
	for i, r := range rows {
		all[int(r.attack)]++
		if score(i) > bound {
			model[int(r.attack)]++
		}
		if score(i) > bound || r.ruled {
			stopped[int(r.attack)]++
		}
	}
	t.Logf("  %-16s attacks %d of %d (model %d), benign %d of %d (model %d)", name, stopped[1], all[1], model[1], stopped[0], all[0], model[0])
}

func writeFit(t *testing.T, w fitted) {
	most := 0.0
	for _, x := range w[:threatSlots] {
		most = max(most, math.Abs(x))
	}
	out := binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(most/127)))
	out = binary.LittleEndian.AppendUint32(out, math.Float32bits(float32(w[threatSlots])))
	for _, x := range w[:threatSlots] {
		out = append(out, byte(int8(math.Round(x/most*127))))
	}
	if err := os.WriteFile("threats.bin", out, 0o644); err != nil {
		t.Fatal(err)
	}
}
