package config

import (
	"bytes"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite golden files")

// wants returns the "# want: " lines of a file of the corpus.
func wants(t *testing.T, file string) []string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for line := range strings.Lines(string(data)) {
		if _, want, ok := strings.Cut(strings.TrimRight(line, "\r\n"), "# want: "); ok {
			list = append(list, want)
		}
	}
	if len(list) == 0 {
		t.Fatalf("%s wants nothing", file)
	}
	return list
}

// corpus runs f in a subtest for each file of a folder, which is the working directory meanwhile.
func corpus(t *testing.T, dir string, f func(t *testing.T, file string)) {
	t.Chdir(filepath.Join("testdata", dir))
	files, err := filepath.Glob("*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in %s: %v", dir, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(file, ".yaml"), func(t *testing.T) { f(t, file) })
	}
}

// Each bad file breaks one rule and says in its first lines what the error must be, to the letter.
func TestBadFiles(t *testing.T) {
	corpus(t, "bad", func(t *testing.T, file string) {
		_, err := Load(Options{Path: file})
		if err == nil {
			t.Fatal("Load succeeded")
		}
		if diff := cmp.Diff(wants(t, file), strings.Split(err.Error(), "\n")); diff != "" {
			t.Errorf("error (-want +got):\n%s", diff)
		}
		for _, secret := range []string{"Zm9vYmFy", "s3cret"} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("the error shows a secret: %v", err)
			}
		}
	})
}

// Each good file says in its first lines which values it gives and where they come from.
func TestGoodFiles(t *testing.T) {
	corpus(t, "good", func(t *testing.T, file string) {
		l, err := Load(Options{Path: file})
		if err != nil {
			t.Fatal(err)
		}
		if len(l.Warnings) > 0 {
			t.Errorf("warnings: %q", l.Warnings)
		}
		values := valuesOf(l)
		for _, want := range wants(t, file) {
			key, value, _ := strings.Cut(want, " ")
			got, ok := values[key]
			if !ok {
				got = "absent"
			}
			if got != value {
				t.Errorf("%s: got %q, want %q", key, got, value)
			}
		}
		printsBack(t, l)
	})
}

// valuesOf renders each leaf that is given or has a default as "= value (source)".
func valuesOf(l *Loaded) map[string]string {
	values := map[string]string{}
	for _, f := range leaves(&l.Config) {
		source := " (" + l.Sources[f.path].String() + ")"
		switch v := f.value.Interface().(type) {
		case []string:
			values[f.path] = "= [" + strings.Join(v, ", ") + "]" + source
		case *float64:
			if v != nil {
				values[f.path] = "= " + format(f.value) + source
			}
		default:
			values[f.path] = "= " + format(f.value) + source
		}
	}
	return values
}

// printsBack wants the printed form of l to load to an equal configuration.
func printsBack(t *testing.T, l *Loaded) {
	t.Helper()
	var b bytes.Buffer
	if err := l.Print(&b); err != nil {
		t.Fatal(err)
	}
	again, err := load("printed.yaml", b.Bytes(), nil, nil)
	if err != nil {
		t.Fatalf("loading what Print wrote: %v\n%s", err, b.String())
	}
	if diff := cmp.Diff(canonical(l), canonical(again)); diff != "" {
		t.Errorf("Print and Load change the configuration (-before +after):\n%s", diff)
	}
}

// canonical is the values without their sources, in which nil and empty lists are the same.
func canonical(l *Loaded) map[string]string {
	return valuesOf(&Loaded{Config: l.Config})
}

func TestLoadMissingFile(t *testing.T) {
	_, err := Load(Options{Path: filepath.Join(t.TempDir(), "none.yaml")})
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "none.yaml") {
		t.Errorf("Load = %v, want an error that names the missing file", err)
	}
}

func TestLoadPrecedence(t *testing.T) {
	const file = "limits: {smart_budget: 1s}\nmemory: {queue: 2}\nagents: {a-b: {profile: eco}}\n"
	tests := []struct {
		name  string
		env   []string
		flags map[string]string
		key   string
		want  string
	}{
		{name: "default", key: "memory.turn_ttl", want: "= 2160h (default)"},
		{name: "file over default", key: "limits.smart_budget", want: "= 1s (f.yaml:1)"},
		{
			name: "env over file", env: []string{"UNDERSTUDY_LIMITS_SMART_BUDGET=2s"},
			key: "limits.smart_budget", want: "= 2s (env UNDERSTUDY_LIMITS_SMART_BUDGET)",
		},
		{
			name: "flag over env", env: []string{"UNDERSTUDY_LIMITS_SMART_BUDGET=2s"},
			flags: map[string]string{"limits.smart_budget": "3s"},
			key:   "limits.smart_budget", want: "= 3s (flag)",
		},
		{
			name: "the last of two equal names", env: []string{"UNDERSTUDY_MEMORY_QUEUE=3", "UNDERSTUDY_MEMORY_QUEUE=4"},
			key: "memory.queue", want: "= 4 (env UNDERSTUDY_MEMORY_QUEUE)",
		},
		{
			name: "entry of a map", env: []string{"UNDERSTUDY_UPSTREAMS_DEFAULT_TIMEOUTS_IDLE=9s"},
			key: "upstreams.default.timeouts.idle", want: "= 9s (env UNDERSTUDY_UPSTREAMS_DEFAULT_TIMEOUTS_IDLE)",
		},
		{
			name: "entry that the file made", env: []string{"UNDERSTUDY_AGENTS_A_B_PROFILE=premium"},
			key: "agents.a-b.profile", want: "= premium (env UNDERSTUDY_AGENTS_A_B_PROFILE)",
		},
		{
			name: "value of a map", env: []string{"UNDERSTUDY_ROUTING_PROMPT_ROUTING_WEIGHTS_MULTI_STEP=0.5"},
			key:  "routing.prompt_routing.weights.multi_step",
			want: "= 0.5 (env UNDERSTUDY_ROUTING_PROMPT_ROUTING_WEIGHTS_MULTI_STEP)",
		},
		{
			name: "entry of a list", flags: map[string]string{"models.2.price.input": "1.5"},
			key: "models.2.price.input", want: "= 1.5 (flag)",
		},
		{
			name: "list", env: []string{"UNDERSTUDY_ROUTING_PROMPT_ROUTING_PROCESS_TYPES=channel, worker,"},
			key:  "routing.prompt_routing.process_types",
			want: "= [channel, worker] (env UNDERSTUDY_ROUTING_PROMPT_ROUTING_PROCESS_TYPES)",
		},
		{
			name: "empty list", flags: map[string]string{"routing.prompt_routing.process_types": ""},
			key: "routing.prompt_routing.process_types", want: "= [] (flag)",
		},
		{
			name: "value with an equals sign", env: []string{"UNDERSTUDY_DATA_DIR=a=b"},
			key: "data_dir", want: "= a=b (env UNDERSTUDY_DATA_DIR)",
		},
		{
			name: "name of its own", env: []string{"UNDERSTUDY_PROMPT_ASSEMBLER=0"},
			key: "assemble.enabled", want: "= false (env UNDERSTUDY_PROMPT_ASSEMBLER)",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l, err := load("f.yaml", []byte(file), tt.env, tt.flags)
			if err != nil {
				t.Fatal(err)
			}
			if got := valuesOf(l)[tt.key]; got != tt.want {
				t.Errorf("%s: got %q, want %q", tt.key, got, tt.want)
			}
			if len(l.Warnings) > 0 {
				t.Errorf("warnings: %q", l.Warnings)
			}
		})
	}
}

// The place of an API key belongs to a server, and there is one place.
func TestLoadAPIKeyPlace(t *testing.T) {
	const (
		shipped  = "upstreams: {default: {base_url: https://api.openai.com/v1, api_key_env: OPENAI_API_KEY}}"
		own      = "upstreams: {default: {base_url: http://127.0.0.1:4000/v1, api_key_env: LITELLM_KEY}}"
		withFile = "upstreams: {default: {api_key_file: key.txt}}"
		moved    = "UNDERSTUDY_UPSTREAMS_DEFAULT_BASE_URL=http://127.0.0.1:4001/v1"
	)
	tests := []struct {
		name     string
		file     string
		env      string
		wantEnv  string
		wantFile string
	}{
		{name: "default", wantEnv: "OPENAI_API_KEY"},
		{name: "default moved by a variable", env: moved},
		{name: "file moved by a variable", file: shipped, env: moved},
		{name: "own key moved by a variable", file: own, env: moved, wantEnv: "LITELLM_KEY"},
		{name: "not moved by the same URL", env: "UNDERSTUDY_UPSTREAMS_DEFAULT_BASE_URL=https://api.openai.com/v1/", wantEnv: "OPENAI_API_KEY"},
		{name: "file over default", file: withFile, wantFile: "key.txt"},
		{name: "variable over file", file: own, env: "UNDERSTUDY_UPSTREAMS_DEFAULT_API_KEY_FILE=k", wantFile: "k"},
		{name: "variable the other way", file: withFile, env: "UNDERSTUDY_UPSTREAMS_DEFAULT_API_KEY_ENV=K", wantEnv: "K"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l, err := load("f.yaml", []byte(tt.file), []string{tt.env}, nil)
			if err != nil {
				t.Fatal(err)
			}
			u := l.Config.Upstreams["default"]
			if u.APIKeyEnv != tt.wantEnv || u.APIKeyFile != tt.wantFile {
				t.Errorf("api_key_env, api_key_file = %q, %q, want %q, %q", u.APIKeyEnv, u.APIKeyFile, tt.wantEnv, tt.wantFile)
			}
		})
	}
}

func TestLoadOverrideErrors(t *testing.T) {
	const file = "agents: {a-b: {profile: eco}, a_b: {profile: eco}}\n"
	tests := []struct {
		name  string
		env   []string
		flags map[string]string
		want  string
	}{
		{
			name: "bad value of a variable", env: []string{"UNDERSTUDY_LIMITS_SMART_BUDGET=25"},
			want: `env UNDERSTUDY_LIMITS_SMART_BUDGET: limits.smart_budget: expected a duration such as 30s or 5m, got "25"`,
		},
		{
			name: "empty value of a variable", env: []string{"UNDERSTUDY_PROMPT_ASSEMBLER="},
			want: `env UNDERSTUDY_PROMPT_ASSEMBLER: assemble.enabled: expected true or false, got ""`,
		},
		{
			name: "rule broken by a variable", env: []string{"UNDERSTUDY_LISTEN=0.0.0.0:80"},
			want: `env UNDERSTUDY_LISTEN: listen: "0.0.0.0:80" can be reached from other machines, which auth.mode none ` +
				`does not allow: listen on 127.0.0.1, or set auth.mode to keys or passthrough`,
		},
		{
			name: "ambiguous variable", env: []string{"UNDERSTUDY_AGENTS_A_B_PROFILE=eco"},
			want: "env UNDERSTUDY_AGENTS_A_B_PROFILE: can mean agents.a-b.profile or agents.a_b.profile: set one of them in the file",
		},
		{
			name: "bad value of a flag", flags: map[string]string{"memory.queue": "x"},
			want: `flag: memory.queue: expected a whole number, got "x"`,
		},
		{
			name: "unknown flag", flags: map[string]string{"memory.que": "1"},
			want: `flag: unknown key "memory.que", did you mean memory.queue?`,
		},
		{
			name: "all at once", env: []string{"UNDERSTUDY_MEMORY_ENABLED=maybe"}, flags: map[string]string{"a": "1", "b": "2"},
			want: `env UNDERSTUDY_MEMORY_ENABLED: memory.enabled: expected true or false, got "maybe"` + "\n" +
				`flag: unknown key "a"` + "\n" + `flag: unknown key "b"`,
		},
		{
			name: "long value", flags: map[string]string{"memory.queue": strings.Repeat("9", 100)},
			want: `flag: memory.queue: expected a whole number, got "` + strings.Repeat("9", 60) + `…"`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := load("f.yaml", []byte(file), tt.env, tt.flags)
			if err == nil || err.Error() != tt.want {
				t.Errorf("load = %v, want %s", err, tt.want)
			}
		})
	}
}

func TestLoadWarnings(t *testing.T) {
	env := []string{
		"HOME=/root", "UNDERSTUDY=1",
		// What Kubernetes injects for a service called understudy.
		"UNDERSTUDY_PORT=tcp://10.0.0.1:8484", "UNDERSTUDY_PORT_8484_TCP_ADDR=10.0.0.1", "UNDERSTUDY_SERVICE_HOST=10.0.0.1",
		"UNDERSTUDY_LISTN=127.0.0.1:1", "UNDERSTUDY_UPSTREAMS_DEFAULT_API_KEY=sk-proj-Zm9vYmFy", "UNDERSTUDY_COLOUR=blue",
	}
	l, err := load("", nil, env, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"environment variable UNDERSTUDY_LISTN is not a setting, did you mean UNDERSTUDY_LISTEN?",
		"environment variable UNDERSTUDY_UPSTREAMS_DEFAULT_API_KEY is not a setting, did you mean UNDERSTUDY_UPSTREAMS_DEFAULT_API_KEY_ENV?",
		"environment variable UNDERSTUDY_COLOUR is not a setting",
	}
	if diff := cmp.Diff(want, l.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Default(), l.Config); diff != "" {
		t.Errorf("a variable that is no setting changed something (-want +got):\n%s", diff)
	}
}

func TestPrint(t *testing.T) {
	const file = "log:\n  level: debug\nmodels:\n  - name: \"007\"\n    price: {input: 0.25}\nrouting:\n  profiles:\n" +
		"    balanced: {light: \"007\", standard: \"007\", heavy: \"007\"}\n"
	l, err := load("my.yaml", []byte(file), []string{"UNDERSTUDY_MEMORY_TURN_TTL=36h30m"}, map[string]string{"listen": "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := l.Print(&b); err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "print.golden")
	if *update {
		if err := os.WriteFile(golden, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("Print (-want +got):\n%s", diff)
	}
	printsBack(t, l)
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestPrintWriteError(t *testing.T) {
	if err := loadText(t, "").Print(brokenWriter{}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Print = %v, want %v", err, os.ErrClosed)
	}
}
