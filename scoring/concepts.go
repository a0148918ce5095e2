package scoring

import (
	"bufio"
	"bytes"
	"embed"
	"fmt"
	"strings"
)

//go:embed concepts/*.txt
var conceptFiles embed.FS

// conceptNames are those of the concepts: kinds of word that mean the same in every language, what a prompt asks for or
// of what. Each is a list in concepts/ by language. Weights know them by this order.
var conceptNames = [...]string{
	"greet", "lookup", "translate", "explain", "compare", "rework", "compose", // an answer of some lines or paragraphs
	"snippet", "fix", // programming
	"design", "system", // large things to be made
	"prove", "maths",
	"demand", "advanced", // how good it has to be; subjects hard by themselves
}

const numConcepts = len(conceptNames)

// addConcepts puts the lists of concepts into m, as groups behind the dimensions.
func addConcepts(m *matcher) error {
	for c, name := range conceptNames {
		data, err := conceptFiles.ReadFile("concepts/" + name + ".txt")
		if err != nil {
			return fmt.Errorf("reading list of concepts: %w", err)
		}
		seen := map[string]bool{} // languages share words
		for sc := bufio.NewScanner(bytes.NewReader(data)); sc.Scan(); {
			_, entries, ok := strings.Cut(sc.Text(), ": ")
			if strings.HasPrefix(sc.Text(), "#") || !ok {
				continue
			}
			for entry := range strings.SplitSeq(entries, ", ") {
				if key := spaced(entry); seen[key] {
					continue
				} else {
					seen[key] = true
				}
				if err := m.add(int(NumDimensions)+c, entry); err != nil {
					return fmt.Errorf("reading list of concepts %s: %w", name, err)
				}
			}
		}
	}
	return nil
}
