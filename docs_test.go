package main_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"github.com/understudy-ai/understudy/internal/config"
	"github.com/understudy-ai/understudy/ledger"
)

func readDoc(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// configKeys lists the keys below path, with NAME for what a mapping is keyed by and N for a place in a list.
func configKeys(path string, typ reflect.Type) []string {
	below := func(key string) string { return strings.TrimPrefix(path+"."+key, ".") }
	switch {
	case typ.Kind() == reflect.Map:
		return configKeys(below("NAME"), typ.Elem())
	case typ.Kind() == reflect.Slice && typ.Elem().Kind() == reflect.Struct:
		return configKeys(below("N"), typ.Elem())
	case typ.Kind() != reflect.Struct:
		return []string{path}
	}
	var keys []string
	for i := range typ.NumField() {
		f := typ.Field(i)
		keys = append(keys, configKeys(below(f.Tag.Get("yaml")), f.Type)...)
	}
	return keys
}

// keyRow is a row of a table of docs/CONFIGURATION.md: key, and default if it has one.
var keyRow = regexp.MustCompile("(?m)^\\| `([a-z_A-Z.0-9]+)` \\| (?:`([^`]*)`|–) \\|")

func TestConfigurationListsEveryKey(t *testing.T) {
	var got []string
	for _, row := range keyRow.FindAllStringSubmatch(readDoc(t, "docs/CONFIGURATION.md"), -1) {
		got = append(got, row[1])
	}
	want := configKeys("", reflect.TypeFor[config.Config]())
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("keys of docs/CONFIGURATION.md (-want +got):\n%s", diff)
	}
}

func TestConfigurationNamesRealDefaults(t *testing.T) {
	flags := map[string]string{}
	for _, row := range keyRow.FindAllStringSubmatch(readDoc(t, "docs/CONFIGURATION.md"), -1) {
		if row[2] != "" {
			flags[strings.Replace(row[1], "upstreams.NAME", "upstreams.default", 1)] = row[2]
		}
	}
	loaded, err := config.Load(config.Options{Flags: flags})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(config.Default(), loaded.Config); diff != "" {
		t.Errorf("defaults of docs/CONFIGURATION.md (-want +got):\n%s", diff)
	}
	if len(flags) < 30 {
		t.Errorf("only %d defaults found", len(flags))
	}
}

// Every variable that a document or the image names must be a setting.
func TestVariablesAreSettings(t *testing.T) {
	variable := regexp.MustCompile(`UNDERSTUDY_[A-Z0-9_]+`)
	for _, path := range []string{"README.md", "docs/CONFIGURATION.md", "docs/API.md", "Dockerfile", "config.yaml"} {
		for _, name := range variable.FindAllString(readDoc(t, path), -1) {
			// An empty value may be wrong for the setting; what is no setting at all is a warning.
			loaded, err := config.Load(config.Options{Env: []string{name + "="}})
			if err == nil && len(loaded.Warnings) > 0 {
				t.Errorf("%s: %s", path, loaded.Warnings[0])
			}
		}
	}
}

// goFile parses a source file.
func goFile(t *testing.T, path string) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// literal returns the value of a string literal, or of the one that ends a sum, and "" for anything else.
func literal(e ast.Expr) string {
	if sum, ok := e.(*ast.BinaryExpr); ok {
		e = sum.Y
	}
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return ""
	}
	s, _ := strconv.Unquote(lit.Value) // the parser has accepted it
	return s
}

// constants returns the text constants of a file whose names begin with prefix.
func constants(t *testing.T, path, prefix string) []string {
	var values []string
	ast.Inspect(goFile(t, path), func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if ok && strings.HasPrefix(spec.Names[0].Name, prefix) && len(spec.Values) == 1 && literal(spec.Values[0]) != "" {
			values = append(values, literal(spec.Values[0]))
		}
		return true
	})
	return values
}

// firstArguments returns the texts that calls of one of the functions or methods in a file have in front.
func firstArguments(t *testing.T, path string, functions ...string) []string {
	var values []string
	ast.Inspect(goFile(t, path), func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) == 0 || literal(call.Args[0]) == "" {
			return true
		}
		name := ""
		switch f := call.Fun.(type) {
		case *ast.Ident:
			name = f.Name
		case *ast.SelectorExpr:
			name = f.Sel.Name
		}
		if slices.Contains(functions, name) {
			values = append(values, literal(call.Args[0]))
		}
		return true
	})
	return values
}

func TestAPIListsEverything(t *testing.T) {
	prefixed := func(prefix string, names []string) []string {
		for i := range names {
			names[i] = prefix + names[i]
		}
		return names
	}
	var metrics []string
	for _, path := range []string{"internal/metrics/metrics.go", "internal/cmd/app.go"} {
		metrics = append(metrics, firstArguments(t, path, "counters", "histogram", "histograms", "opts", "Gauge", "Counter")...)
	}
	doc := readDoc(t, "docs/API.md")
	for _, tt := range []struct {
		name  string
		least int // fewer mean that this test no longer finds them
		want  []string
	}{
		{"headers", 26, constants(t, "proxy/identity.go", "header")},
		{"routes", 10, firstArguments(t, "proxy/server.go", "Get", "Post", "All", "Group")},
		{"ambient routes", 2, prefixed("/api", firstArguments(t, "proxy/ambient.go", "Get", "Post", "Delete"))},
		{"errors", 13, constants(t, "internal/chat/errors.go", "Code")},
		{"outcomes", 8, constants(t, "ledger/entry.go", "Outcome")},
		{"reasons", 10, constants(t, "routing/reason.go", "reason")},
		{"metrics", 20, prefixed("understudy_", metrics)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, want := range tt.want {
				whole := regexp.MustCompile("[`/]" + regexp.QuoteMeta(strings.TrimPrefix(want, "/")) + "[`?]")
				if !whole.MatchString(doc) {
					t.Errorf("docs/API.md does not name %s", want)
				}
			}
			if len(tt.want) < tt.least {
				t.Errorf("found %q, want %d or more", tt.want, tt.least)
			}
		})
	}
}

func TestLinksLeadSomewhere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]+)[^):]*\)`)
	var docs []string
	for _, pattern := range []string{"*.md", "docs/*.md", "deploy/*/*.md", "examples/*/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		docs = append(docs, found...)
	}
	for _, doc := range docs {
		for _, m := range link.FindAllStringSubmatch(readDoc(t, doc), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(doc), m[1])); err != nil {
				t.Errorf("%s links to %s: %v", doc, m[1], err)
			}
		}
	}
}

// litellmModel is an entry of LiteLLM's model_list, as far as it has to agree with ours.
type litellmModel struct {
	Name   string `yaml:"model_name"`
	Params struct {
		Input  float64 `yaml:"input_cost_per_token"`
		Output float64 `yaml:"output_cost_per_token"`
	} `yaml:"litellm_params"`
}

func TestLiteLLMPair(t *testing.T) {
	loaded, err := config.Load(config.Options{Path: "deploy/litellm/understudy.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	var theirs struct {
		Models []litellmModel `yaml:"model_list"`
	}
	if err := yaml.Unmarshal([]byte(readDoc(t, "deploy/litellm/litellm-config.yaml")), &theirs); err != nil {
		t.Fatal(err)
	}
	prices, err := ledger.BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	if len(loaded.Config.Models) != len(theirs.Models) {
		t.Errorf("%d models here, %d there", len(loaded.Config.Models), len(theirs.Models))
	}
	for _, m := range loaded.Config.Models {
		i := slices.IndexFunc(theirs.Models, func(l litellmModel) bool { return l.Name == m.ID })
		if i < 0 {
			t.Errorf("LiteLLM has no model_name %q", m.ID)
			continue
		}
		_, listed := prices.Lookup(m.ID)
		given := m.Price.Input != nil && m.Price.Output != nil
		if !listed && !given {
			t.Errorf("%s has no price", m.ID)
		}
		if !given {
			continue
		}
		// LiteLLM counts by the token, we by the million. What it reports goes before what we reckon.
		p := theirs.Models[i].Params
		perMillion := []float64{p.Input * 1e6, p.Output * 1e6}
		if diff := cmp.Diff([]float64{*m.Price.Input, *m.Price.Output}, perMillion, roughly); diff != "" {
			t.Errorf("prices of %s (-ours +LiteLLM's):\n%s", m.ID, diff)
		}
	}
}

// roughly takes no notice of the last bits of a float.
var roughly = cmp.Comparer(func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 })
