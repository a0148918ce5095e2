package memory

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"flag"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/understudy-ai/understudy/internal/embed"
)

// fitLearning has TestFitStatements make statements.bin anew, measureLearning
// has it measured.
var (
	fitLearning     = flag.String("fitlearning", "", "fit the weights of learning to testdata and the prompts in the JSONL files of this folder, which ask for work")
	measureLearning = flag.String("measurelearning", "", "measure learning by the labelled test-*.jsonl of this folder")
)

// fitSentence is a sentence as the fit sees it.
type fitSentence struct {
	slots   []int32
	meaning [embed.Dim]float64 // of length 1, or 0
	class   int
	weight  float64
	mine    bool // it speaks of its writer
	part    int  // of those that are left out in turn
}

// parts is how many times the rows are fitted with some left out.
const fitParts = 5

func partOf(text string) int { return int(crc32.ChecksumIEEE([]byte(text)) % fitParts) }

// elsewhere are the places in which a sentence of its own might stand as well.
var elsewhere = []clue{clueOnly, clueFirst | clueAsked, clueLast}

// toldOf returns the sentences of a labelled message; one that stands alone, in
// three places.
func toldOf(s said, weight float64) []*fitSentence {
	text := cleanText(s.Text)
	list := sentences(straight(text))
	var out []*fitSentence
	for i, sentence := range list {
		if question(sentence) || asking(sentence) {
			continue
		}
		places := []clue{placeOf(i, len(list))}
		if len(list) == 1 {
			places = elsewhere
		}
		class := 0
		for _, w := range s.Want {
			if strings.Contains(sentence, straight(w.Has)) {
				class = slices.Index(statementClasses[:], w.Type)
				break
			}
		}
		for _, place := range places {
			row := sentenceOf(sentence, aroundOf(text)|place)
			row.class, row.weight, row.part = class, weight/float64(len(places)), partOf(s.Text)
			out = append(out, row)
		}
	}

	return out
}

func sentenceOf(sentence string, around clue) *fitSentence {
	var c clues
	c.read(sentence, around)
	row := &fitSentence{mine: c.persons&ofWriter != 0}
	for slot := range c.slots {
		row.slots = append(row.slots, int32(slot))
	}
	var v [embed.Dim]int8
	if meaning(&v, sentence) {
		for k, x := range v {
			row.meaning[k] = float64(x) / float64(embed.Norm(v[:]))
		}
	}

	return row
}

// weights are what the fit finds: of each slot by class, of each dimension by
// class, a bias a class.
type weights []float64

const (
	meaningAt  = statementSlots * classes
	biasAt     = meaningAt + embed.Dim*classes
	allWeights = biasAt + classes
)

func (w weights) chances(r *fitSentence) (p [classes]float64) {
	copy(p[:], w[biasAt:])
	root := r.root()
	for _, s := range r.slots {
		for k := range p {
			p[k] += w[int(s)*classes+k] / root
		}
	}
	for i, x := range r.meaning {
		for k := range p {
			p[k] += w[meaningAt+i*classes+k] * x
		}
	}
	sum := 0.0
	for k := range p {
		p[k] = math.Exp(p[k])
		sum += p[k]
	}
	for k := range p {
		p[k] /= sum
	}

	return p
}

func (r *fitSentence) root() float64 {
	return math.Sqrt(float64(max(len(r.slots), minStatementFeatures)))
}

// fitStatements is a multinomial logistic regression over all rows.
func fitStatements(rows []*fitSentence) weights {
	w, g := make(weights, allWeights), make([]float64, allWeights)
	a := newAdam(100, w[:biasAt], w[biasAt:])
	for a.next() {
		clear(g)
		for _, r := range rows {
			d := w.chances(r)
			d[r.class]--
			root := r.root()
			for k := range d {
				d[k] *= r.weight
				g[biasAt+k] += d[k]
			}
			for _, s := range r.slots {
				for k := range d {
					g[int(s)*classes+k] += d[k] / root
				}
			}
			for i, x := range r.meaning {
				for k := range d {
					g[meaningAt+i*classes+k] += d[k] * x
				}
			}
		}
		a.step(g)
	}

	return w
}

// file returns the weights as the program reads them.
func (w weights) file() []byte {
	most := func(w []float64) (most float64) {
		for _, x := range w {
			most = max(most, math.Abs(x))
		}
		return most
	}
	slots, meanings := w[:meaningAt], w[meaningAt:biasAt]
	head := append([]float64{most(slots) / 127, most(meanings) / 127}, w[biasAt:]...)
	var out []byte
	for _, x := range head {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(float32(x)))
	}
	for _, x := range slots {
		out = append(out, byte(int8(math.Round(x/head[0]))))
	}
	for k := range classes {
		for i := range embed.Dim {
			out = append(out, byte(int8(math.Round(meanings[i*classes+k]/head[1]))))
		}
	}

	return out
}

// saidIn reads labelled messages.
func saidIn(tb testing.TB, pattern string) map[string][]said {
	tb.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil {
		tb.Fatal(err)
	}
	out := map[string][]said{}
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			tb.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		for lines := bufio.NewScanner(f); lines.Scan(); {
			var s said
			if err = json.Unmarshal(lines.Bytes(), &s); err != nil {
				tb.Fatal(err)
			}
			out[name] = append(out[name], s)
		}
		f.Close()
	}

	return out
}

// promptsIn returns prompts that ask for work.
func promptsIn(tb testing.TB, folder string) (out []string) {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.jsonl"))
	if err != nil {
		tb.Fatal(err)
	}
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			tb.Fatal(err)
		}
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var s struct{ Prompt string }
			if err = json.Unmarshal(lines.Bytes(), &s); err != nil {
				tb.Fatal(err)
			}
			out = append(out, s.Prompt)
		}
		f.Close()
	}

	return out
}

// workOf returns the first sentences of prompts that ask for work: those that
// stand alone or speak of their writer, and a sixth of the others.
func workOf(prompts []string) (out []*fitSentence) {
	n := 0
	for _, prompt := range prompts {
		list := toldOf(said{Text: prompt}, 0.3)
		for _, row := range list[:min(len(list), 6)] {
			if n++; row.mine || row.weight < 0.3 || n%6 == 0 {
				out = append(out, row)
			}
		}
	}

	return out
}

// TestFitStatements fits the model anew when -fitlearning says with what, and
// prints what is learned of messages that it hasn't seen. Without, it holds
// that the weights are there.
func TestFitStatements(t *testing.T) {
	if *fitLearning != "" {
		refitStatements(t, *fitLearning)
	}
	if statementModel == nil {
		t.Error("no weights")
	}
}

func refitStatements(t *testing.T, folder string) {
	sets := saidIn(t, "testdata/learn/*.jsonl")
	sets["exchanges"] = exchanges(t)
	work := promptsIn(t, folder)
	rows := workOf(work)
	for _, list := range sets {
		for _, s := range list {
			rows = append(rows, toldOf(s, 1)...)
		}
	}
	t.Logf("%d sentences", len(rows))
	var models [fitParts + 1]*teller
	var group sync.WaitGroup
	for part := range models {
		group.Go(func() {
			w := fitStatements(slices.DeleteFunc(slices.Clone(rows), func(r *fitSentence) bool { return r.part == part }))
			models[part] = newTeller(string(w.file()))
			if part == fitParts {
				if err := os.WriteFile("statements.bin", w.file(), 0o644); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	for _, bounds := range [][3]float64{{0.6, 0.4, 0.4}, {0.7, 0.4, 0.4}, {0.7, 0.4, 0.7}, {0.8, 0.4, 0.4}, {0.8, 0.4, 0.7}, {0.8, 0.6, 0.7}} {
		t.Logf("bounds %.1f", bounds)
		for _, m := range models {
			m.minTold, m.minTyped, m.minPersonal = bounds[0], bounds[1], bounds[2]
		}
		for name, list := range sets {
			learnedOf(list, func(s said) *teller { return models[partOf(s.Text)] })[""].log(t, name)
		}
		for name, list := range saidIn(t, *measureLearning) {
			learnedOf(list, func(said) *teller { return models[fitParts] })[""].log(t, name)
		}
	}
	for _, m := range models {
		m.minTold, m.minTyped, m.minPersonal = minTold, minTyped, minPersonal
	}
	wrong, ruled := 0, 0
	for _, prompt := range work {
		wrong += boolInt(len(alone(extractWith(models[partOf(prompt)], cleanText(prompt)))) > 0)
		ruled += boolInt(len(extractWith(nil, cleanText(prompt))) > 0)
	}
	t.Logf("of %d prompts for work something is learned from %d, by the rules alone from %d", len(work), wrong, ruled)
	for name, list := range sets {
		reportLearning(t, name+", rules", list, func(said) *teller { return nil })
		reportLearning(t, name, list, func(s said) *teller { return models[partOf(s.Text)] })
	}
	for name, list := range saidIn(t, *measureLearning) {
		reportLearning(t, name+", rules", list, func(said) *teller { return nil })
		reportLearning(t, name, list, func(said) *teller { return models[fitParts] })
	}
}

// TestLearningOfModel holds what the model was fitted to. What to expect of
// other sentences is in docs/MEMORY.md.
func TestLearningOfModel(t *testing.T) {
	var all []said
	for _, list := range saidIn(t, "testdata/learn/*.jsonl") {
		all = append(all, list...)
	}
	s := learnedOf(all, func(said) *teller { return statementModel })[""]
	s.log(t, "fitted to")
	if s.share(s.kept, s.learned) < 0.97 || s.share(s.right, s.learned) < 0.95 || s.share(s.found, s.wanted) < 0.8 {
		t.Error("want 0.97, 0.95 and 0.8 at least")
	}
}

// learning counts what was learned, how much of that was to be kept, and is of
// the right type, and how much of what was wanted is found with the right type.
type learning struct{ learned, kept, right, wanted, found int }

func (*learning) share(a, b int) float64 { return float64(a) / float64(max(b, 1)) }

func (l *learning) log(t *testing.T, name string) {
	t.Helper()
	if l.learned+l.wanted > 0 {
		t.Logf("  %-26s learned %4d, to be kept %.3f, of the right type %.3f; wanted %4d, found %.3f", name,
			l.learned, l.share(l.kept, l.learned), l.share(l.right, l.learned), l.wanted, l.share(l.found, l.wanted))
	}
}

// reportLearning prints what is learned, all together and by type.
func reportLearning(t *testing.T, name string, list []said, model func(said) *teller) {
	t.Helper()
	all := learnedOf(list, model)
	for _, typ := range statementClasses {
		all[typ].log(t, name+" "+string(typ))
	}
}

// learnedOf learns from labelled messages and counts, in all and by type.
func learnedOf(list []said, model func(said) *teller) map[Type]*learning {
	by := map[Type]*learning{}
	for _, typ := range statementClasses {
		by[typ] = &learning{}
	}
	for _, s := range list {
		drafts := alone(extractAfterWith(model(s), s.Before, cleanText(s.Text)))
		for _, d := range drafts {
			kept, right := false, false
			for _, w := range s.Want {
				has := straight(w.Has)
				holds := strings.Contains(d.content, has) || strings.Contains(has, d.content)
				kept, right = kept || holds, right || holds && w.Type == d.typ
			}
			for _, l := range [...]*learning{by[""], by[d.typ]} {
				l.learned, l.kept, l.right = l.learned+1, l.kept+boolInt(kept), l.right+boolInt(right)
			}
		}
		for _, w := range s.Want {
			found := slices.ContainsFunc(drafts, func(d draft) bool {
				return d.typ == w.Type && strings.Contains(d.content, straight(w.Has))
			})
			for _, l := range [...]*learning{by[""], by[w.Type]} {
				l.wanted, l.found = l.wanted+1, l.found+boolInt(found)
			}
		}
	}

	return by
}
