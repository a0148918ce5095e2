package cmd

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/understudy-ai/understudy/ambient"
	"github.com/understudy-ai/understudy/memory"
)

// TestForgetErasesSurroundings holds that forgetting a user while no server runs takes them from the store of what
// surrounds conversations, too.
func TestForgetErasesSurroundings(t *testing.T) {
	dir := t.TempDir()
	mem, err := memory.Open(t.Context(), memory.Config{Path: filepath.Join(dir, memoryFile)})
	if err != nil {
		t.Fatal(err)
	}
	if err := mem.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, ambientFile)
	store, err := ambient.Open(t.Context(), ambient.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	scope, err := ambient.NewScope("default", "default", "U1", "C1", false)
	if err != nil {
		t.Fatal(err)
	}
	store.Hear(scope, ambient.Heard{Session: "day", Placed: true, NewTurn: true, Voices: []ambient.Voice{{Name: "Okonkwo", User: true, Text: "okapis"}}, At: time.Now()})
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	has := func() bool {
		t.Helper()
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Contains(raw, []byte("Okonkwo")) || bytes.Contains(raw, []byte("okapis"))
	}
	if !has() {
		t.Fatal("the file has nothing of them to begin with")
	}
	config := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(config, []byte("data_dir: "+dir+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, talk strings.Builder
	if code := Main([]string{"memory", "forget", "-config", config, "-user", "U1"}, IO{Out: &out, Err: &talk}); code != 0 {
		t.Fatalf("forget exits with %d: %s", code, talk.String())
	}
	if has() {
		t.Error("the file still has them")
	}
}

// TestKnown holds which memories tell of a person: their own for themselves, of the workspace's those that name them,
// what matters most first, nothing that is history.
func TestKnown(t *testing.T) {
	store, err := memory.Open(t.Context(), memory.Config{Path: filepath.Join(t.TempDir(), memoryFile)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	add := func(user string, typ memory.Type, content string) {
		t.Helper()
		scope, err := memory.NewScope("default", "default", user)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.Add(t.Context(), scope, memory.NewItem{Type: typ, Content: content}); err != nil {
			t.Fatal(err)
		}
	}
	add("U1", memory.Fact, "Keeps bees at home.")
	add("U1", memory.Decision, "Will give the talk in May.")
	add("U2", memory.Fact, "Sarah Chen owes me lunch.")
	add("", memory.Fact, "Sarah Chen owns the sync layer.")
	add("", memory.Fact, "Sarah Chenault runs the office.")
	add("", memory.Fact, "Sarah left, and Chen stayed.")
	a := &app{memory: store}
	for _, tt := range []struct {
		name string
		whom ambient.Whom
		want []ambient.Known
	}{
		{"their own", ambient.Whom{User: "U1", Limit: 5}, []ambient.Known{{Type: "decision", Content: "Will give the talk in May."}, {Type: "fact", Content: "Keeps bees at home."}}},
		{"the strongest", ambient.Whom{User: "U1", Limit: 1}, []ambient.Known{{Type: "decision", Content: "Will give the talk in May."}}},
		{"by name", ambient.Whom{Names: []string{"sarah chen"}, Limit: 5}, []ambient.Known{{Type: "fact", Content: "Sarah Chen owns the sync layer."}}},
		{"nobody", ambient.Whom{Limit: 5}, nil},
		{"another tenant's", ambient.Whom{Tenant: "other", User: "U1", Limit: 5}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.whom.Tenant == "" {
				tt.whom.Tenant = "default"
			}
			tt.whom.Agent = "default"
			if diff := cmp.Diff(tt.want, a.known(t.Context(), tt.whom)); diff != "" {
				t.Errorf("known(%+v) (-want +got):\n%s", tt.whom, diff)
			}
		})
	}
}
