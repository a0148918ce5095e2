package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudy-ai/understudy/internal/secret"
)

func TestUpstreamAPIKey(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	getenv := func(name string) string {
		return map[string]string{"SET": "sk-env", "PADDED": " sk-env\n", "BROKEN": "sk-en\nv", "FOREIGN": "sk-ključ"}[name]
	}
	tests := []struct {
		name     string
		upstream Upstream
		want     secret.Text
		wantErr  string
	}{
		{name: "none", want: ""},
		{name: "variable", upstream: Upstream{APIKeyEnv: "SET"}, want: "sk-env"},
		{name: "variable with white space", upstream: Upstream{APIKeyEnv: "PADDED"}, want: "sk-env"},
		{name: "variable that is not set", upstream: Upstream{APIKeyEnv: "UNSET"}, want: ""},
		{name: "line break inside", upstream: Upstream{APIKeyEnv: "BROKEN"}, wantErr: "$BROKEN"},
		{name: "not ASCII", upstream: Upstream{APIKeyEnv: "FOREIGN"}, wantErr: "$FOREIGN"},
		{name: "file", upstream: Upstream{APIKeyFile: file("key", "sk-file\n")}, want: "sk-file"},
		{name: "empty file", upstream: Upstream{APIKeyFile: file("empty", "\n")}, wantErr: "the file is empty"},
		{name: "two lines in a file", upstream: Upstream{APIKeyFile: file("two", "sk-a\nsk-b\n")}, wantErr: "two"},
		{name: "no file", upstream: Upstream{APIKeyFile: filepath.Join(dir, "gone")}, wantErr: "gone"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.upstream.APIKey(getenv)
			if string(got) != string(tt.want) {
				t.Errorf("key = %q, want %q", string(got), string(tt.want))
			}
			switch {
			case (err != nil) != (tt.wantErr != ""):
				t.Errorf("error = %v, want %q in it", err, tt.wantErr)
			case err != nil && (!strings.Contains(err.Error(), tt.wantErr) || strings.Contains(err.Error(), "sk-")):
				t.Errorf("error = %v, want %q in it and no key", err, tt.wantErr)
			}
		})
	}
}
