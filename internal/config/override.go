package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

const envPrefix = "UNDERSTUDY_"

// envName returns the variable that sets the value at path: limits.smart_budget is UNDERSTUDY_LIMITS_SMART_BUDGET.
func envName(path string) string {
	return envPrefix + strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		default:
			return '_'
		}
	}, path)
}

// fromKubernetes reports whether name is one of those that Kubernetes puts into the containers of a namespace that
// has a service called understudy.
func fromKubernetes(name string) bool {
	return name == "UNDERSTUDY_PORT" || strings.HasPrefix(name, "UNDERSTUDY_PORT_") || strings.HasPrefix(name, "UNDERSTUDY_SERVICE_")
}

// readEnv sets values from variables. A variable that is no setting is a warning; a value that is wrong is an error.
func (l *Loaded) readEnv(env []string) []error {
	byName := map[string][]leaf{}
	for _, f := range leaves(&l.Config) {
		byName[envName(f.path)] = append(byName[envName(f.path)], f)
		if f.path == "assemble.enabled" { // the switch has a well-known name of its own
			byName[envPrefix+"PROMPT_ASSEMBLER"] = []leaf{f}
		}
	}
	var problems []error
	for _, pair := range env {
		name, value, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, envPrefix) || fromKubernetes(name) {
			continue
		}
		source := Source{Name: "env " + name}
		switch found := byName[name]; len(found) {
		case 0:
			l.Warnings = append(l.Warnings, "environment variable "+name+" is not a setting"+nearName(name, names(byName)))
		case 1:
			problems = append(problems, l.override(found[0], value, source)...)
		default:
			text := fmt.Sprintf("can mean %s or %s: set one of them in the file", found[0].path, found[1].path)
			problems = append(problems, problem{at: source.position(), text: text})
		}
	}
	return problems
}

// readFlags sets values by dotted key.
func (l *Loaded) readFlags(flags map[string]string) []error {
	byPath := map[string]leaf{}
	for _, f := range leaves(&l.Config) {
		byPath[f.path] = f
	}
	var problems []error
	for _, path := range slices.Sorted(maps.Keys(flags)) {
		source := Source{Name: flagSource}
		f, ok := byPath[path]
		if !ok {
			text := fmt.Sprintf("unknown key %q%s", path, nearName(path, names(byPath)))
			problems = append(problems, problem{at: source.position(), text: text})
			continue
		}
		problems = append(problems, l.override(f, flags[path], source)...)
	}
	return problems
}

// override sets one leaf and notes the source.
func (l *Loaded) override(f leaf, text string, source Source) []error {
	if err := parse(f.value, text); err != nil {
		return []error{problem{at: source.position(), key: f.path, text: err.Error()}}
	}
	f.store()
	l.Sources[f.path] = source
	return nil
}

// nearName is hint without the list of all names, which are too many here.
func nearName(name string, known []string) string {
	if near := nearest(name, known); near != "" {
		return fmt.Sprintf(", did you mean %s?", near)
	}
	return ""
}
