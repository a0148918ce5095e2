package memory

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fakeEmbedder makes vectors of a text's subject: fish, money or neither.
type fakeEmbedder struct {
	dim int

	mu    sync.Mutex
	texts []string
	who   []string // of each call
	err   error
}

func (f *fakeEmbedder) embed(_ context.Context, q Question, texts []string) ([][]float32, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return nil, f.err
	}
	f.who = append(f.who, q.Tenant+"/"+q.Agent+"/"+q.User)
	var out [][]float32
	for _, text := range texts {
		f.texts = append(f.texts, text)
		v := make([]float32, f.dim)
		v[2] = 0.1
		for i, words := range []string{"trout salmon anglers", "salary invoice"} {
			for word := range strings.FieldsSeq(words) {
				if strings.Contains(text, word) {
					v[i] = 1
				}
			}
		}
		out = append(out, v)
	}

	return out, nil
}

func (f *fakeEmbedder) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

func (f *fakeEmbedder) asked() []string {
	f.mu.Lock()
	defer f.mu.Unlock()

	return slices.Clone(f.texts)
}

// with is a configuration with the embedder under a name.
func (f *fakeEmbedder) with(path, name string) func(*Config) {
	return func(cfg *Config) {
		if path != "" {
			cfg.Path = path
		}
		cfg.Embedder = &Embedder{Model: name, MinCosine: 0.6, Embed: f.embed}
	}
}

// await polls until a condition holds.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); !ok(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("in vain: %s", what)
		}
	}
}

// vectorRows lists the vectors of the file: model, dimension and how many.
func vectorRows(t *testing.T, s *Store) string {
	t.Helper()
	var out string
	row := s.db.Reader.QueryRowContext(t.Context(),
		`SELECT coalesce(group_concat(model || ' ' || dim || ' ' || n, ', '), '') FROM (SELECT model, dim, count(*) n FROM vectors GROUP BY 1, 2 ORDER BY 1, 2)`)
	if err := row.Scan(&out); err != nil {
		t.Fatal(err)
	}

	return out
}

// awaitVectors waits until the file and the indexes have these.
func awaitVectors(t *testing.T, s *Store, want string) {
	t.Helper()
	await(t, "vectors "+want, func() bool { return vectorRows(t, s) == want })
	s.turn <- struct{}{} // The write is over.
	<-s.turn
}

// found recalls until the query's vector has come, and returns what there is.
func found(t *testing.T, s *Store, scope Scope, text string) []string {
	t.Helper()
	warm(t, s, scope)
	recall(t, s, scope, text)
	await(t, "a vector of "+text, func() bool { return s.embedder.query(scope, text).dim > 0 })

	return contents(recall(t, s, scope, text).Items)
}

const (
	trout    = "We saw a trout at the mill."
	salary   = "The salary comes on Fridays."
	anglers  = "Is it worth a trip for anglers?"
	nonsense = "Where is zork?"
)

func TestEmbedder(t *testing.T) {
	model := &fakeEmbedder{dim: 6}
	s := openStore(t, model.with("", "a"))
	ann, bob := scopeOf(t, "ann"), scopeOf(t, "bob")
	add(t, s, ann, NewItem{Content: trout})
	add(t, s, ann, NewItem{Content: salary})
	warm(t, s, ann) // Before the vectors come, for some of them.
	add(t, s, bob, NewItem{Content: "The invoice has the key sk-proj-Zx81kQpR7tLmN4vB9wYc2dEf."})
	awaitVectors(t, s, "a 6 3")

	if got := contents(recall(t, s, ann, anglers).Items); len(got) != 0 {
		t.Errorf("before the query has a vector there is %q", got)
	}
	if diff := cmp.Diff([]string{trout}, found(t, s, ann, anglers)); diff != "" {
		t.Errorf("by meaning (-want +got):\n%s", diff)
	}
	if got := found(t, s, ann, nonsense); len(got) != 0 {
		t.Errorf("of nonsense there is %q", got)
	}
	if got := found(t, s, bob, "My password is hunter2. "+anglers); len(got) != 0 {
		t.Errorf("another user is told %q", got)
	}
	for _, text := range model.asked() {
		if strings.Contains(text, "hunter2") || strings.Contains(text, "Zx81") {
			t.Errorf("a secret went out: %q", text)
		}
	}
	n := len(model.asked())
	found(t, s, ann, anglers)
	if len(model.asked()) != n {
		t.Error("a known query was asked for again")
	}
	if diff := cmp.Diff([]string{"acme/bot/ann", "acme/bot/bob"}, slices.Compact(slices.Sorted(slices.Values(model.who)))); diff != "" {
		t.Errorf("on behalf of (-want +got):\n%s", diff)
	}
}

// TestEmbedderChanges opens a store with another model or dimension: words work
// meanwhile, no vectors of two kinds are compared, and all become new.
func TestEmbedderChanges(t *testing.T) {
	tests := []struct {
		name       string
		model      string
		dim        int
		dimensions int
		want       string
	}{
		{"another model", "b", 6, 0, "b 6 2"},
		{"another dimension, asked for", "a", 8, 8, "a 8 2"},
		{"another dimension, unasked", "a", 8, 0, "a 8 2"},
		{"both", "b", 7, 7, "b 7 2"},
		{"neither", "a", 6, 6, "a 6 2"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "memory.db")
			old := &fakeEmbedder{dim: 6}
			ann := scopeOf(t, "ann")
			s := openStore(t, old.with(path, "a"))
			add(t, s, ann, NewItem{Content: trout})
			add(t, s, ann, NewItem{Content: salary})
			awaitVectors(t, s, "a 6 2")
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}

			model := &fakeEmbedder{dim: test.dim, err: errors.New("not now")}
			s = openStore(t, func(cfg *Config) {
				model.with(path, test.model)(cfg)
				cfg.Embedder.Dimensions = test.dimensions
			})
			warm(t, s, ann)
			if diff := cmp.Diff([]string{trout}, contents(recall(t, s, ann, "Was there a trout at the mill?").Items)); diff != "" {
				t.Errorf("by words (-want +got):\n%s", diff)
			}
			if got := vectorRows(t, s); got != "a 6 2" {
				t.Errorf("vectors are gone before there are new ones: %s", got)
			}
			table := tableOf(t, s, ann)
			table.mu.RLock()
			query := outerOf(quantized([]float32{1, 0, 0.1, 0, 0, 0}))
			query.dim = test.dim
			for _, o := range table.outers {
				if o.comparable(query) && test.name != "neither" {
					t.Error("a vector of another kind can be compared")
				}
			}
			table.mu.RUnlock()

			model.fail(nil)
			if diff := cmp.Diff([]string{trout}, found(t, s, ann, anglers)); test.name == "neither" && diff != "" {
				t.Errorf("by meaning (-want +got):\n%s", diff)
			}
			awaitVectors(t, s, test.want)
			if diff := cmp.Diff([]string{trout}, found(t, s, ann, anglers)); diff != "" {
				t.Errorf("by meaning (-want +got):\n%s", diff)
			}
		})
	}
}

// tableOf returns the scope's table, which is there.
func tableOf(t *testing.T, s *Store, scope Scope) *table {
	t.Helper()
	s.index.mu.RLock()
	defer s.index.mu.RUnlock()
	table := s.index.find(scope)
	if table == nil {
		t.Fatal("no table")
	}

	return table
}

// TestEmbedderForgets deletes vectors with their memories, one that is on its way
// too.
func TestEmbedderForgets(t *testing.T) {
	model := &fakeEmbedder{dim: 6}
	held, release := make(chan struct{}), make(chan struct{})
	var hold sync.Once
	s := openStore(t, func(cfg *Config) {
		cfg.Embedder = &Embedder{Model: "a", MinCosine: 0.6, Embed: func(ctx context.Context, q Question, texts []string) ([][]float32, error) {
			hold.Do(func() {
				close(held)
				<-release
			})

			return model.embed(ctx, q, texts)
		}}
	})
	ann := scopeOf(t, "ann")
	warm(t, s, ann)
	first := add(t, s, ann, NewItem{Content: trout})
	<-held
	if _, err := s.Forget(t.Context(), ann, first.ID); err != nil {
		t.Fatal(err)
	}
	add(t, s, ann, NewItem{Content: salary}) // It takes the row.
	close(release)
	awaitVectors(t, s, "a 6 1")
	if got := found(t, s, ann, anglers); len(got) != 0 {
		t.Errorf("by the vector of what was forgotten there is %q", got)
	}
	if _, err := s.ForgetUser(t.Context(), "acme", "ann", ""); err != nil {
		t.Fatal(err)
	}
	if got := vectorRows(t, s); got != "" {
		t.Errorf("vectors stay: %s", got)
	}
}

// TestEmbedderFails tries again, and learns and recalls meanwhile.
func TestEmbedderFails(t *testing.T) {
	model := &fakeEmbedder{dim: 6, err: errors.New("no")}
	s := openStore(t, model.with("", "a"))
	ann := scopeOf(t, "ann")
	add(t, s, ann, NewItem{Content: trout})
	warm(t, s, ann)
	if diff := cmp.Diff([]string{trout}, contents(recall(t, s, ann, "Was there a trout at the mill?").Items)); diff != "" {
		t.Errorf("by words (-want +got):\n%s", diff)
	}
	await(t, "a failure", func() bool { return s.EmbeddingsLost() > 0 })
	for i := range 2 * maxAsked {
		recall(t, s, ann, anglers+strings.Repeat(" again", i))
	}
	if n := s.Unembedded(); n > maxAsked {
		t.Errorf("%d queries wait", n)
	}
	if s.EmbeddingsLost() < maxAsked-1 {
		t.Errorf("%d are counted as lost", s.EmbeddingsLost())
	}
	model.fail(nil)
	awaitVectors(t, s, "a 6 1")
}

// TestQueryVectors bounds those in RAM.
func TestQueryVectors(t *testing.T) {
	e := &embedder{cache: map[[32]byte]outer{}}
	o := outerOf(make([]byte, maxDim))
	for i := range 2 * queryBytes / maxDim {
		e.keep([32]byte{byte(i), byte(i >> 8)}, o)
	}
	if e.bytes > queryBytes || int64(len(e.cache))*o.bytes() != e.bytes || len(e.cache) < 100 {
		t.Errorf("%d vectors take %d bytes", len(e.cache), e.bytes)
	}
}
