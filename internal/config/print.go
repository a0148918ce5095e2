package config

import (
	"fmt"
	"io"
	"reflect"
	"strconv"

	"go.yaml.in/yaml/v4"
)

// Print writes the effective configuration as YAML, each value with its source as a comment: default, file:line,
// env NAME or flag. What it writes, [Load] reads back to an equal Config. A configuration names the places of its
// secrets and never holds them, so there is nothing in it to hide; a [secret.Text] would print as [redacted].
func (l *Loaded) Print(w io.Writer) error {
	// Long values stay on their line, so that the comment stands beside them.
	data, err := yaml.Dump(l.node("", reflect.ValueOf(l.Config)), yaml.WithLineWidth(-1))
	if err != nil {
		return fmt.Errorf("printing configuration: %w", err)
	}
	if _, err := w.Write(data); err != nil {
		return fmt.Errorf("printing configuration: %w", err)
	}
	return nil
}

// node renders the part v of the configuration, found at path.
func (l *Loaded) node(path string, v reflect.Value) *yaml.Node {
	switch {
	case isLeaf(v.Type()):
		return l.leafNode(path, v)
	case v.Kind() == reflect.Slice:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for i := range v.Len() {
			n.Content = append(n.Content, l.node(join(path, strconv.Itoa(i)), v.Index(i)))
		}
		return l.emptyAsFlow(path, n)
	}
	n := &yaml.Node{Kind: yaml.MappingNode}
	add := func(key string, value reflect.Value) {
		if value.Kind() == reflect.Pointer && value.IsNil() {
			return // not given, and no text says that
		}
		n.Content = append(n.Content, text(key), l.node(join(path, key), value))
	}
	if v.Kind() == reflect.Struct {
		for key, field := range structFields(v) {
			add(key, field)
		}
	} else {
		for _, key := range sortedKeys(v) {
			add(key, v.MapIndex(reflect.ValueOf(key)))
		}
	}
	return l.emptyAsFlow(path, n)
}

func (l *Loaded) leafNode(path string, v reflect.Value) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode}
	if v.Kind() == reflect.Slice {
		n = &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
		for i := range v.Len() {
			n.Content = append(n.Content, text(v.Index(i).String()))
		}
	} else {
		n.Value = format(v)
		if v.Kind() == reflect.String {
			n.Tag = "!!str" // quoted where it would read as something else
		}
	}
	n.LineComment = "# " + l.Sources[path].String()
	return n
}

// emptyAsFlow writes an empty mapping or list as {} or [], with its source.
func (l *Loaded) emptyAsFlow(path string, n *yaml.Node) *yaml.Node {
	if len(n.Content) == 0 {
		n.Style = yaml.FlowStyle
		n.LineComment = "# " + l.Sources[path].String()
	}
	return n
}

func text(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s} }
