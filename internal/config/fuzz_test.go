package config

import (
	"os"
	"path/filepath"
	"testing"
)

// Whatever a file and a variable hold: an error, or a valid configuration that prints to an equal one.
func FuzzLoad(f *testing.F) {
	for _, pattern := range []string{"testdata/*/*.yaml", shippedFile} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data, "UNDERSTUDY_MEMORY_QUEUE=7")
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, variable string) {
		l, err := load("fuzz.yaml", data, []string{variable}, nil)
		if err != nil {
			return
		}
		if err := l.Config.Validate(); err != nil {
			t.Fatalf("load accepts what Validate refuses: %v", err)
		}
		printsBack(t, l)
	})
}
