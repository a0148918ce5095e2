package cmd

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"
)

// TestDemo plays the demo as a program reads it.
func TestDemo(t *testing.T) {
	noLeaks(t)
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	var out, talk bytes.Buffer
	if code := Main([]string{"demo", "-json"}, IO{Out: &out, Err: &talk}); code != 0 {
		t.Fatalf("demo exits with %d: %s", code, &talk)
	}
	var rows []demoRow
	for in := json.NewDecoder(&out); in.More(); {
		var row demoRow
		if err := in.Decode(&row); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	if len(rows) != 12 {
		t.Fatalf("%d turns, want 12", len(rows))
	}
	checkMoney(t, rows)
	if i := find(rows, func(r demoRow) bool { return r.Streamed }); i < 0 || rows[i].Answer == "" {
		t.Error("no turn was streamed")
	}
	recalls := find(rows, func(r demoRow) bool { return strings.HasPrefix(r.Said, "Which database") })
	if r := rows[recalls]; r.Memories < 1 || !strings.Contains(r.Answer, "PostgreSQL") {
		t.Errorf("turn %d used %d memories and says %q, want the decision in it", r.Turn, r.Memories, r.Answer)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// checkMoney wants each turn's account to add up, and the whole to save.
func checkMoney(t *testing.T, rows []demoRow) {
	t.Helper()
	var saved float64
	for _, r := range rows {
		if r.Cost <= 0 || math.Abs(r.Baseline-r.Cost-r.Saved) > 1e-12 {
			t.Errorf("turn %d: baseline %v − cost %v is not saved %v", r.Turn, r.Baseline, r.Cost, r.Saved)
		}
		saved += r.Saved
	}
	if saved <= 0 {
		t.Errorf("saved %v in all, want more than nothing", saved)
	}
}

func find(rows []demoRow, f func(demoRow) bool) int {
	for i, r := range rows {
		if f(r) {
			return i
		}
	}
	return -1
}
