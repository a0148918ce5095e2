package config

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
)

// Options says where a configuration comes from. Each source wins over those before it.
type Options struct {
	// Path of a YAML file. Empty: no file.
	Path string
	// Env holds NAME=value pairs, as os.Environ returns them.
	Env []string
	// Flags maps a dotted key, such as limits.smart_budget or models.0.tier, to its value.
	Flags map[string]string
}

// Loaded is a valid configuration, and where it came from.
type Loaded struct {
	Config Config
	// Warnings are for people: what was ignored and why.
	Warnings []string
	// Sources maps the dotted key of each value, and of each section, that is not a default to its source.
	Sources map[string]Source
}

// flagSource is the name of the source that flags have in common.
const flagSource = "flag"

// Source is where a value came from. The zero Source is the default.
type Source struct {
	// Name is a file, "env NAME" or "flag".
	Name string
	// Line and Column count from 1 and are set for files.
	Line, Column int
}

// String returns "default", "file:line", "env NAME" or "flag".
func (s Source) String() string {
	switch {
	case s.Name == "":
		return "default"
	case s.Line == 0:
		return s.Name
	default:
		return fmt.Sprintf("%s:%d", s.Name, s.Line)
	}
}

// rank orders sources by precedence: default, file, environment, flag.
func (s Source) rank() int {
	switch {
	case s.Name == "":
		return 0
	case s.Line > 0:
		return 1
	case s.Name == flagSource:
		return 3
	default:
		return 2
	}
}

// position is String with the column, for errors.
func (s Source) position() string {
	if s.Line == 0 {
		return s.String()
	}
	return fmt.Sprintf("%s:%d", s.String(), s.Column)
}

// Load reads the sources over [Default] and validates the result. Its error joins every problem found, one a line,
// each with its position or variable. What the sources say is checked first; the rules of [Config.Validate] are
// checked only when all of it could be read, since they would otherwise blame the gaps.
//
// Some defaults depend on what is given:
//   - A model without an id is called by its name.
//   - Where a stronger source changes base_url, the default api_key_env is dropped: OpenAI's key is not for another
//     server. Of api_key_env and api_key_file, the one from the stronger source holds.
//   - A default profile that names a model which is no longer in models is dropped, and a default process type that
//     does so takes the active profile's standard (channel, branch) or light model. So a file that brings models of
//     its own must define at least the active profile.
func Load(o Options) (*Loaded, error) {
	if o.Path == "" {
		return load("", nil, o.Env, o.Flags)
	}
	data, err := os.ReadFile(o.Path)
	if err != nil {
		return nil, fmt.Errorf("reading configuration: %w", err)
	}
	return load(o.Path, data, o.Env, o.Flags)
}

func load(file string, data []byte, env []string, flags map[string]string) (*Loaded, error) {
	l := &Loaded{Config: Default(), Sources: map[string]Source{}}
	problems := l.readFile(file, data)
	problems = append(problems, l.readEnv(env)...)
	problems = append(problems, l.readFlags(flags)...)
	if len(problems) == 0 {
		l.settle()
		for _, p := range l.Config.problems() {
			p.at = l.locate(p.key)
			problems = append(problems, p)
		}
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return l, nil
}

func (l *Loaded) readFile(file string, data []byte) []error {
	d := decoder{file: file, sources: l.Sources}
	if root := d.document(data); root != nil && len(d.problems) == 0 {
		d.value("", root, reflect.ValueOf(&l.Config).Elem())
	}
	return d.problems
}

// locate returns the position of key, or else of the nearest mapping around it that has one.
func (l *Loaded) locate(key string) string {
	for {
		if s, ok := l.Sources[key]; ok {
			return s.position()
		}
		end := strings.LastIndexByte(key, '.')
		if end < 0 {
			return ""
		}
		key = key[:end]
	}
}

// settle applies the defaults that depend on other values. Load describes them.
func (l *Loaded) settle() {
	c := &l.Config
	for i := range c.Models {
		if c.Models[i].ID == "" {
			c.Models[i].ID = c.Models[i].Name
		}
	}
	for name, u := range c.Upstreams {
		u.BaseURL = strings.TrimRight(u.BaseURL, "/")
		l.settleKey("upstreams."+name, &u)
		c.Upstreams[name] = u
	}
	l.settleRouting()
}

// settleKey drops the place of an API key that a stronger source has made void, and names that source for it.
func (l *Loaded) settleKey(key string, u *Upstream) {
	url, env, file := l.Sources[key+".base_url"], l.Sources[key+".api_key_env"], l.Sources[key+".api_key_file"]
	shipped := defaultUpstream()
	both := u.APIKeyEnv != "" && u.APIKeyFile != ""
	moved := u.BaseURL != shipped.BaseURL && u.APIKeyEnv == shipped.APIKeyEnv
	switch {
	case both && file.rank() > env.rank():
		u.APIKeyEnv, l.Sources[key+".api_key_env"] = "", file
	case both && env.rank() > file.rank():
		u.APIKeyFile, l.Sources[key+".api_key_file"] = "", env
	case moved && url.rank() > env.rank():
		u.APIKeyEnv, l.Sources[key+".api_key_env"] = "", url
	}
}

func (l *Loaded) settleRouting() {
	r := &l.Config.Routing
	for name := range r.Profiles {
		key := "routing.profiles." + name
		if !l.Config.fits(name) && !l.given(key, key+".light", key+".standard", key+".heavy") {
			delete(r.Profiles, name)
		}
	}
	known := l.Config.modelNames()
	active, usable := r.Profiles[r.Profile], l.Config.fits(r.Profile)
	for process, model := range r.ProcessTypes {
		switch {
		case known[model] || l.given("routing.process_types."+process):
		case !usable: // the profile is the problem to report, and not what follows from it
			delete(r.ProcessTypes, process)
		case process == "channel" || process == "branch":
			r.ProcessTypes[process] = active.Standard
		default:
			r.ProcessTypes[process] = active.Light
		}
	}
}

// given reports whether any of the keys has a value that is not the default.
func (l *Loaded) given(keys ...string) bool {
	for _, key := range keys {
		if _, ok := l.Sources[key]; ok {
			return true
		}
	}
	return false
}
