package bench

import (
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/understudy-ai/understudy/memory"
)

// TestFill holds that requests meet the store that the report tells of, and
// that questions find something in it.
func TestFill(t *testing.T) {
	const perScope = 10
	path := filepath.Join(t.TempDir(), "memory.db")
	if err := fill(t.Context(), path, perScope); err != nil {
		t.Fatal(err)
	}
	store, err := memory.Open(t.Context(), memory.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if n, err := store.Count(t.Context()); n != scopes*perScope || err != nil {
		t.Errorf("the store holds %d memories, %v", n, err)
	}
	for scope := range scopes {
		sc, err := memory.NewScope("default", agentName(scope), userName(scope))
		if err != nil {
			t.Fatal(err)
		}
		found, err := store.Recall(t.Context(), sc, memory.Query{Text: "Who owns the " + components[2] + " of the " + projects[0] + "?"})
		if err != nil || len(found.Items) == 0 {
			t.Errorf("scope %d: %d found, %v", scope, len(found.Items), err)
		}
	}
}

func TestFactsDiffer(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 0))
	seen := make(map[string]bool)
	preferences := 0
	for i := range MaxMemories {
		item := fact(r, i)
		if seen[item.Content] {
			t.Errorf("twice: %s", item.Content)
		}
		seen[item.Content] = true
		if item.Type == memory.Preference {
			preferences++
		}
	}
	if preferences != MaxMemories/50 {
		t.Errorf("%d preferences", preferences)
	}
}
