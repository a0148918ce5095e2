package config

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const shippedFile = "../../config.yaml"

func TestDefaultIsValid(t *testing.T) {
	c := Default()
	if err := c.Validate(); err != nil {
		t.Errorf("Default().Validate() = %v", err)
	}
}

func TestDefaultIsFresh(t *testing.T) {
	changed := Default()
	changed.Routing.Profiles["eco"] = Profile{}
	changed.Routing.PromptRouting.Weights["token_count"] = 9
	changed.Models[0].Name = "other"
	if diff := cmp.Diff(loadText(t, "").Config, Default()); diff != "" {
		t.Errorf("a change of one Default() shows in the next (-want +got):\n%s", diff)
	}
}

// The shipped file is the reference that people read: it must say what the code does, and name every key there is.
func TestShippedFile(t *testing.T) {
	shipped, err := Load(Options{Path: shippedFile})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Default(), shipped.Config); diff != "" {
		t.Errorf("config.yaml differs from Default() (-default +file):\n%s", diff)
	}
	examples := loadText(t, shippedExamples(t))
	if len(examples.Warnings) > 0 {
		t.Errorf("the examples in config.yaml warn: %q", examples.Warnings)
	}
	for _, pattern := range keyPatterns("", reflect.TypeFor[Config]()) {
		key := regexp.MustCompile("^" + pattern + "$")
		if !slices.ContainsFunc(slices.Concat(names(shipped.Sources), names(examples.Sources)), key.MatchString) {
			t.Errorf("config.yaml does not show %s", pattern)
		}
	}
}

// keyPatterns returns an expression for the dotted key of each leaf below a type.
func keyPatterns(path string, typ reflect.Type) []string {
	switch {
	case isLeaf(typ):
		return []string{path}
	case typ.Kind() == reflect.Struct:
		var all []string
		for name, field := range structFields(reflect.Zero(typ)) {
			all = append(all, keyPatterns(join(path, name), field.Type())...)
		}
		return all
	default:
		return keyPatterns(join(path, "[^.]+"), typ.Elem())
	}
}

// shippedExamples returns the commented-out settings of the shipped file: a key, or deeper indentation, stands
// right behind their "#", where prose has one space.
func shippedExamples(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(shippedFile)
	if err != nil {
		t.Fatal(err)
	}
	example := regexp.MustCompile(`(?m)^#((?:[a-z]|  ).*)$`)
	var b strings.Builder
	for _, m := range example.FindAllStringSubmatch(string(data), -1) {
		b.WriteString(m[1] + "\n")
	}
	return b.String()
}

// Every field needs a key, and no two of a struct the same.
func TestEveryFieldHasAKey(t *testing.T) {
	c := loadText(t, shippedExamples(t)).Config
	seen := map[string]bool{}
	for _, f := range leaves(&c) {
		if strings.Contains("."+f.path+".", "..") || seen[f.path] {
			t.Errorf("key %q is empty in part, or there twice", f.path)
		}
		seen[f.path] = true
	}
}

func loadText(t *testing.T, text string) *Loaded {
	t.Helper()
	l, err := load("test.yaml", []byte(text), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return l
}
