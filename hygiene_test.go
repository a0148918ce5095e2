package main

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/understudy-ai/understudy"

// domain are the packages that know one thing each. They know nothing of each
// other, of HTTP or of the configuration, so that each can be read, tested and
// replaced alone.
var domain = []string{"scoring", "memory", "ambient", "assemble", "ledger"}

// mayImport is the direction of the packages: what each may import of this
// module outside its tests. A new package must be added, which is the moment
// to think about its place.
var mayImport = map[string][]string{
	"":                    {"internal/cmd"},
	"internal/background": {},
	"internal/batch":      {},
	"internal/bench":      {"llmtest", "memory"},
	"internal/chat":       {},
	"internal/config":     {"internal/preset", "internal/secret"},
	"internal/embed":      {},
	"internal/journal":    {"internal/sqlite"},
	"internal/metrics":    {},
	"internal/otlp":       {},
	"internal/preset":     {},
	"internal/review":     {},
	"internal/secret":     {},
	"internal/sqlite":     {},
	"llmtest":             {},
	"scoring":             {"internal/chat", "internal/embed"},
	"assemble":            {"internal/chat"},
	"memory":              {"internal/batch", "internal/chat", "internal/embed", "internal/sqlite"},
	"ambient":             {"internal/background", "internal/batch", "internal/sqlite"},
	"ledger":              {"internal/batch", "internal/chat", "internal/sqlite"},
	"routing":             append([]string{"internal/chat"}, domain...),
	"internal/replay":     {"assemble", "internal/chat", "ledger", "routing", "scoring"},
	"proxy":               append([]string{"internal/background", "internal/chat", "internal/metrics", "internal/otlp", "internal/secret", "routing"}, domain...),
	"eval":                {"scoring"},
	"internal/cmd": append([]string{
		"eval", "internal/bench", "internal/chat", "internal/config", "internal/journal", "internal/metrics", "internal/otlp", "internal/preset", "internal/replay", "internal/review", "internal/secret", "internal/sqlite",
		"llmtest", "routing", "proxy",
	}, domain...),
}

// confined are the imports that only some packages may have outside their
// tests, with the reason.
var confined = []struct {
	prefix string
	in     []string
	reason string
}{
	{"github.com/gofiber/", []string{"proxy"}, "only proxy speaks HTTP to clients; the rest must not know by which server"},
	{"github.com/valyala/fasthttp", []string{"proxy"}, "only proxy speaks HTTP to clients; the rest must not know by which server"},
	{"modernc.org/sqlite", []string{"internal/sqlite"}, "pragmas and migrations are set in one place"},
	{"github.com/dgraph-io/ristretto", []string{"memory"}, "one cache, bounded by its bytes, beside what fills it"},
	{"github.com/prometheus/", []string{"internal/metrics"}, "one registry, one list of names, labels of low cardinality"},
	{"github.com/openai/openai-go", nil, "the API is never declared as structs: requests are bytes; the SDK is a client for tests"},
	{"github.com/google/go-cmp", nil, "made for tests"},
	{"github.com/rogpeppe/go-internal", nil, "made for tests"},
	{"go.uber.org/goleak", nil, "made for tests"},
	{"testing", nil, "made for tests"},
}

const (
	maxFunction = 80  // Lines. More is more than one thing.
	maxFile     = 600 // Lines. More is more than one concern.
)

// source is a parsed Go file of this module or of the one in tools.
type source struct {
	path string // From the root, with slashes.
	dir  string // "" is the root.
	test bool
	ast  *ast.File
	set  *token.FileSet
}

// at is where something stands, for messages.
func (s *source) at(n ast.Node) string {
	return fmt.Sprintf("%s:%d", s.path, s.set.Position(n.Pos()).Line)
}

func (s *source) lines(n ast.Node) int {
	return s.set.Position(n.End()).Line - s.set.Position(n.Pos()).Line + 1
}

// sources returns every Go file of the tree.
func sources(t *testing.T) []*source {
	t.Helper()
	all, err := parseTree()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 50 {
		t.Fatalf("found %d files only", len(all))
	}
	return all
}

// parseTree does so once for all tests.
var parseTree = sync.OnceValues(func() (all []*source, err error) {
	err = filepath.WalkDir(".", func(name string, e fs.DirEntry, err error) error {
		switch base := path.Base(filepath.ToSlash(name)); {
		case err != nil:
			return err
		case e.IsDir() && name != "." && (strings.HasPrefix(base, ".") || base == "testdata" || base == "node_modules"):
			return fs.SkipDir
		case e.IsDir() || !strings.HasSuffix(base, ".go"):
			return nil
		}
		s := &source{path: filepath.ToSlash(name), test: strings.HasSuffix(name, "_test.go"), set: token.NewFileSet()}
		if s.dir = path.Dir(s.path); s.dir == "." {
			s.dir = ""
		}
		s.ast, err = parser.ParseFile(s.set, name, nil, parser.ParseComments)
		all = append(all, s)
		return err
	})
	return all, err
})

func TestPackagesAreExplained(t *testing.T) {
	explained := map[string]bool{}
	for _, s := range sources(t) {
		if !s.test {
			explained[s.dir] = explained[s.dir] || s.ast.Doc != nil
		}
	}
	for dir, ok := range explained {
		if !ok {
			t.Errorf("package %q has no comment: one says what it does, and what it does not, where a reader starts", dir)
		}
	}
}

func TestDirection(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || ownModule(s.dir) {
			continue
		}
		allowed, known := mayImport[s.dir]
		if !known {
			t.Errorf("%s: package %q has no place in the direction of the packages: add it to mayImport", s.path, s.dir)
		}
		for _, spec := range s.ast.Imports {
			name := strings.Trim(spec.Path.Value, `"`)
			if ours, ok := strings.CutPrefix(name, module+"/"); ok && !slices.Contains(allowed, ours) {
				t.Errorf("%s imports %s: %q may import %q of this module, so that what is below can be understood without what is above",
					s.at(spec), ours, s.dir, allowed)
			}
			for _, c := range confined {
				if strings.HasPrefix(name, c.prefix) && !slices.Contains(c.in, s.dir) {
					t.Errorf("%s imports %s: %s", s.at(spec), name, c.reason)
				}
			}
		}
	}
}

// ownModule reports whether a folder belongs to another module than the
// product's: tools, and what the product is compared with.
func ownModule(dir string) bool {
	top, _, _ := strings.Cut(dir, "/")
	_, err := os.Stat(filepath.Join(top, "go.mod"))
	return dir != "" && err == nil
}

var simulates = regexp.MustCompile(`^internal/(cmd/(demo|bench|evalscripted)[a-z]*\.go|bench/)`)

// TestSimulated holds that serving can't reach the simulated upstream.
func TestSimulated(t *testing.T) {
	for _, s := range sources(t) {
		for _, spec := range s.ast.Imports {
			if strings.Trim(spec.Path.Value, `"`) == module+"/llmtest" && !s.test && !simulates.MatchString(s.path) {
				t.Errorf("%s imports llmtest: simulated answers are for tests, the demo, the benchmark and eval -simulated", s.at(spec))
			}
		}
	}
}

func TestSizes(t *testing.T) {
	for _, s := range sources(t) {
		if n := s.set.Position(s.ast.FileEnd).Line; n > maxFile && !s.test {
			t.Errorf("%s has %d lines, more than %d: it holds more than one concern", s.path, n, maxFile)
		}
		for _, d := range s.ast.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && s.lines(f) > maxFunction && !s.test {
				t.Errorf("%s: %s has %d lines, more than %d: it does more than one thing", s.at(f), f.Name.Name, s.lines(f), maxFunction)
			}
		}
	}
}

var fileName = regexp.MustCompile(`^[a-z0-9]+(_(linux|darwin|windows|unix|amd64|arm64))*(_test)?\.go$`)

func TestFileNames(t *testing.T) {
	for _, s := range sources(t) {
		if !fileName.MatchString(path.Base(s.path)) {
			t.Errorf("%s: a file is named by its concern, in lower case; an underscore means a system or a test to the go command", s.path)
		}
	}
}

// forbidden are calls that no package but main may make outside its tests.
var forbidden = map[string]string{
	"panic":        "an error can be handled, and a request must never die of one",
	"os.Exit":      "it skips every deferred Close; return an error up to main",
	"log.Fatal":    "it skips every deferred Close; return an error up to main",
	"log.Fatalf":   "it skips every deferred Close; return an error up to main",
	"slog.Default": "a logger is handed in, so that tests and two instances don't share one",
}

func TestForbidden(t *testing.T) {
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Name.Name == "init" && n.Recv == nil {
					t.Errorf("%s: init runs before anyone can decide; use a constructor", s.at(n))
				}
			case *ast.CallExpr:
				name := callee(n)
				if reason, bad := forbidden[name]; bad && s.ast.Name.Name != "main" {
					t.Errorf("%s calls %s: %s", s.at(n), name, reason)
				}
			}
			return true
		})
	}
}

// callee is f for f(), and pkg.f for pkg.f().
func callee(c *ast.CallExpr) string {
	switch f := c.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		if x, ok := f.X.(*ast.Ident); ok {
			return x.Name + "." + f.Sel.Name
		}
	}
	return ""
}

func TestExportedIsDocumented(t *testing.T) {
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		for _, d := range s.ast.Decls {
			for _, id := range undocumented(d) {
				t.Errorf("%s: %s is exported and has no comment: what does it take, what does it give, in what units, and how can it fail?", s.at(id), id.Name)
			}
		}
	}
}

// ofErrors are methods that every error has and that mean the same in each.
var ofErrors = map[string]bool{"Error": true, "Unwrap": true}

// undocumented lists what a declaration exports without a comment. A group of
// constants or variables may have one together.
func undocumented(d ast.Decl) []*ast.Ident {
	var bare []*ast.Ident
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && d.Doc == nil && (d.Recv == nil || ast.IsExported(receiver(d)) && !ofErrors[d.Name.Name]) {
			bare = append(bare, d.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				if spec.Name.IsExported() && d.Doc == nil && spec.Doc == nil {
					bare = append(bare, spec.Name)
				}
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					if name.IsExported() && d.Doc == nil && spec.Doc == nil && spec.Comment == nil {
						bare = append(bare, name)
					}
				}
			}
		}
	}
	return bare
}

// receiver is the name of the type that a method belongs to.
func receiver(f *ast.FuncDecl) string {
	e := f.Recv.List[0].Type
	for {
		switch t := e.(type) {
		case *ast.StarExpr:
			e = t.X
		case *ast.IndexExpr:
			e = t.X
		case *ast.Ident:
			return t.Name
		default:
			return ""
		}
	}
}

// TestNoReplace reads the go.mod files: with a replace in it, go install of
// this module fails, and what is built is not what is named.
func TestNoReplace(t *testing.T) {
	nested, err := filepath.Glob("*/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(nested, "go.mod") {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for in := bufio.NewScanner(f); in.Scan(); {
			if strings.HasPrefix(strings.TrimSpace(in.Text()), "replace") {
				t.Errorf("%s: %q: go install would refuse this module", name, in.Text())
			}
		}
	}
}
