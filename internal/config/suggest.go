package config

import (
	"fmt"
	"slices"
	"strings"
)

// hint returns how to go on after an unknown name: the nearest known one, or all of them when none is near.
func hint(name string, known []string) string {
	if near := nearest(name, known); near != "" {
		return fmt.Sprintf(", did you mean %q?", near)
	}
	if len(known) == 0 {
		return ""
	}
	return " (known: " + strings.Join(known, ", ") + ")"
}

// nearest returns the known name that is most like name, or "" when none is like it. Alike are names within a few
// edits (one, one more for every four characters, three at most), and else a name that starts with it (api_key:
// api_key_env).
func nearest(name string, known []string) string {
	best, least := "", min(3, 1+len(name)/4)+1
	for _, k := range known {
		if d := editDistance(name, k); d < least {
			best, least = k, d
		}
	}
	if best != "" || len(name) < 3 {
		return best
	}
	i := slices.IndexFunc(known, func(k string) bool { return strings.HasPrefix(k, name) })
	if i < 0 {
		return ""
	}
	return known[i]
}

// editDistance counts the insertions, deletions and substitutions of bytes that make b out of a (Levenshtein).
// Names far longer than any key of ours cost nothing: their distance is their length.
func editDistance(a, b string) int {
	if len(a) > 200 {
		return len(a)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
