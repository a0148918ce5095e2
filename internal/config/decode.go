package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"reflect"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// decoder lays one YAML document over a configuration. It collects problems and goes on, so that a user sees all of
// them at once, and notes the source of each key that the document sets.
//
// The rules: mappings merge over what is there, key by key; lists and scalars replace it; a key without a value
// (everything below it commented out) changes nothing. Anchors and aliases work, merge keys (<<) do not.
type decoder struct {
	file     string
	sources  map[string]Source
	problems []error
}

func (d *decoder) add(n *yaml.Node, format string, args ...any) {
	at := Source{Name: d.file, Line: n.Line, Column: n.Column}
	d.problems = append(d.problems, problem{at: at.position(), text: fmt.Sprintf(format, args...)})
}

// document returns the root node of data, or nil when there is none.
func (d *decoder) document(data []byte) *yaml.Node {
	loader, err := yaml.NewLoader(bytes.NewReader(data))
	if err != nil {
		d.syntax(err)
		return nil
	}
	var first, second yaml.Node
	if err := loader.Load(&first); err != nil {
		d.syntax(err)
		return nil
	}
	if err := loader.Load(&second); err == nil {
		d.add(&second, "a second document starts here, and a configuration is one document")
	} else {
		d.syntax(err)
	}
	return first.Content[0]
}

// syntax records what the YAML parser says, in the same form as everything else.
func (d *decoder) syntax(err error) {
	if errors.Is(err, io.EOF) {
		return
	}
	var bad *yaml.LoadError
	if !errors.As(err, &bad) || bad.Mark.Line == 0 {
		d.add(&yaml.Node{}, "invalid YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
		return
	}
	text := bad.Message
	if bad.ContextMsg != "" {
		text += " " + bad.ContextMsg
	}
	d.add(&yaml.Node{Line: bad.Mark.Line, Column: bad.Mark.Column}, "invalid YAML: %s", text)
}

// value sets v, the part of the configuration at path, from n.
func (d *decoder) value(path string, n *yaml.Node, v reflect.Value) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.ShortTag() == "!!null" {
		d.null(path, n, v)
		return
	}
	if path != "" {
		d.sources[path] = Source{Name: d.file, Line: n.Line, Column: n.Column}
	}
	kind := v.Kind()
	switch {
	case n.Kind == yaml.MappingNode && kind == reflect.Struct:
		d.structure(path, n, v)
	case n.Kind == yaml.MappingNode && kind == reflect.Map:
		d.mapping(path, n, v)
	case n.Kind == yaml.SequenceNode && kind == reflect.Slice:
		d.list(path, n, v)
	case n.Kind == yaml.ScalarNode && isLeaf(v.Type()) && kind != reflect.Slice:
		if err := parse(v, n.Value); err != nil {
			d.add(n, "%s: %v", path, err)
		}
	default:
		d.add(n, "%sexpected %s, got %s", prefix(path), describe(v.Type()), describeNode(n))
	}
}

// null handles a key without a value: it leaves sections, lists and prices as they are, but text has to be "".
func (d *decoder) null(path string, n *yaml.Node, v reflect.Value) {
	if isLeaf(v.Type()) && v.Kind() != reflect.Pointer && v.Kind() != reflect.Slice {
		d.add(n, "%s: expected %s, got nothing", path, describe(v.Type()))
	}
}

func (d *decoder) structure(path string, n *yaml.Node, v reflect.Value) {
	fields := map[string]reflect.Value{}
	var known []string
	for name, field := range structFields(v) {
		fields[name] = field
		known = append(known, name)
	}
	for key, value := range d.pairs(n) {
		field, ok := fields[key.Value]
		if !ok {
			d.add(key, "unknown key %q%s%s", clip(key.Value), inside(path), hint(key.Value, known))
			continue
		}
		d.value(join(path, key.Value), value, field)
	}
}

// mapping merges n into the map v. An entry that is new starts from its type's defaults.
func (d *decoder) mapping(path string, n *yaml.Node, v reflect.Value) {
	if v.IsNil() {
		v.Set(reflect.MakeMap(v.Type()))
	}
	for key, value := range d.pairs(n) {
		name := reflect.ValueOf(key.Value)
		entry := reflect.New(v.Type().Elem()).Elem()
		if old := v.MapIndex(name); old.IsValid() {
			entry.Set(old)
		} else {
			setDefaults(entry)
		}
		d.value(join(path, key.Value), value, entry)
		v.SetMapIndex(name, entry)
	}
}

func (d *decoder) list(path string, n *yaml.Node, v reflect.Value) {
	items := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	for i, item := range n.Content {
		setDefaults(items.Index(i))
		d.value(join(path, strconv.Itoa(i)), item, items.Index(i))
	}
	v.Set(items)
}

// pairs yields the keys and values of a mapping, without the keys that are no plain text or were there before.
func (d *decoder) pairs(n *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(key, value *yaml.Node) bool) {
		seen := map[string]int{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			first, repeated := seen[key.Value]
			switch {
			case key.Kind != yaml.ScalarNode:
				d.add(key, "expected a plain key, got %s", describeNode(key))
			case key.ShortTag() == "!!merge":
				d.add(key, "merge keys (<<) are not supported; an alias to a whole value is")
			case repeated:
				d.add(key, "key %q was already given in line %d", clip(key.Value), first)
			default:
				seen[key.Value] = key.Line
				if !yield(key, value) {
					return
				}
			}
		}
	}
}

func describeNode(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	default:
		return strconv.Quote(clip(n.Value))
	}
}

// setDefaults fills a new entry of a map or list, if its type has defaults of its own.
func setDefaults(v reflect.Value) {
	if d, ok := v.Addr().Interface().(interface{ setDefaults() }); ok {
		d.setDefaults()
	}
}
