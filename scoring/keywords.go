package scoring

import (
	"bufio"
	"bytes"
	"embed"
	"errors"
	"fmt"
	"maps"
	"slices"
)

//go:embed keywords/*.txt
var keywordFiles embed.FS

// keywords returns the entries of the built-in list of that name, in file order.
func keywords(name string) ([]string, error) {
	data, err := keywordFiles.ReadFile("keywords/" + name + ".txt")
	if err != nil {
		return nil, fmt.Errorf("reading keyword list: %w", err)
	}
	var entries []string
	for sc := bufio.NewScanner(bytes.NewReader(data)); sc.Scan(); {
		line := bytes.TrimSpace(sc.Bytes())
		if len(line) > 0 && line[0] != '#' {
			entries = append(entries, string(line))
		}
	}
	return entries, nil
}

// compileDimensions builds the matcher for the dimensions' keyword lists, as edited. Its groups are
// dimensions. The error joins the faults of all edits.
func compileDimensions(edits map[string]KeywordEdit) (*matcher, error) {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(edits)) {
		if d, ok := dimensionNamed(name); !ok {
			errs = append(errs, unknownDimension("keywords", name))
		} else if d == TokenCount {
			errs = append(errs, fmt.Errorf("keywords: %s has no keywords", name))
		}
	}
	m := &matcher{}
	for d := TokenCount + 1; d < NumDimensions; d++ {
		entries, err := keywords(d.String())
		if err != nil {
			return nil, err
		}
		edit := edits[d.String()]
		for _, gone := range edit.Remove {
			before := len(entries)
			entries = slices.DeleteFunc(entries, func(e string) bool { return spaced(e) == spaced(gone) })
			if len(entries) == before {
				errs = append(errs, fmt.Errorf("keywords: %s has no keyword %q to remove", d, gone))
			}
		}
		for _, entry := range slices.Concat(entries, edit.Add) {
			if err := m.add(int(d), entry); err != nil {
				errs = append(errs, fmt.Errorf("keywords: %s: %w", d, err))
			}
		}
	}
	return m, errors.Join(errs...)
}
