package secret

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

func TestTextNeverShows(t *testing.T) {
	const value = "sk-plain"
	holder := struct{ Key Text }{value}
	var logged bytes.Buffer
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("m", "key", Text(value), "holder", holder)
	asJSON, err := json.Marshal(holder)
	if err != nil {
		t.Fatal(err)
	}
	asYAML, err := yaml.Dump(holder)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		got  string
	}{
		{name: "String", got: Text(value).String()},
		{name: "GoString", got: Text(value).GoString()},
		{name: "%v", got: fmt.Sprintf("%v", holder)},
		{name: "%+v", got: fmt.Sprintf("%+v", holder)},
		{name: "%#v", got: fmt.Sprintf("%#v", holder)},
		{name: "%s", got: fmt.Sprintf("%s", holder)},
		{name: "%q", got: fmt.Sprintf("%q", holder)},
		{name: "%x", got: fmt.Sprintf("%x", holder)},
		{name: "pointer", got: fmt.Sprintf("%v", &holder)},
		{name: "JSON", got: string(asJSON)},
		{name: "YAML", got: string(asYAML)},
		{name: "slog", got: logged.String()},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			shown := strings.Contains(tt.got, value) || strings.Contains(tt.got, fmt.Sprintf("%x", value))
			if shown || !strings.Contains(tt.got, "[redacted]") {
				t.Errorf("got %q, want [redacted] in place of the secret", tt.got)
			}
		})
	}
}
