package config

import (
	"iter"
	"maps"
	"reflect"
	"slices"
	"strconv"
)

// The configuration is walked by its yaml tags. A path is the keys from the root, with dots between them; the
// entries of a list are counted from 0: models.0.price.input.

// structFields yields the key and value of each field of the struct v, in the order of the declaration.
func structFields(v reflect.Value) iter.Seq2[string, reflect.Value] {
	return func(yield func(string, reflect.Value) bool) {
		for i := range v.NumField() {
			if !yield(v.Type().Field(i).Tag.Get("yaml"), v.Field(i)) {
				return
			}
		}
	}
}

// sortedKeys returns the keys of the map v, which are strings.
func sortedKeys(v reflect.Value) []string {
	keys := make([]string, 0, v.Len())
	for _, k := range v.MapKeys() {
		keys = append(keys, k.String())
	}
	slices.Sort(keys)
	return keys
}

// leaf is a settable value of a configuration.
type leaf struct {
	path  string
	value reflect.Value
	// store puts the value back into the maps that it is in, since entries of a map can't be set in place.
	store func()
}

// leaves lists every leaf of c, entries of maps and lists included.
func leaves(c *Config) []leaf {
	return appendLeaves(nil, leaf{value: reflect.ValueOf(c).Elem(), store: func() {}})
}

func appendLeaves(list []leaf, l leaf) []leaf {
	v := l.value
	switch {
	case isLeaf(v.Type()):
		return append(list, l)
	case v.Kind() == reflect.Struct:
		for name, field := range structFields(v) {
			list = appendLeaves(list, leaf{join(l.path, name), field, l.store})
		}
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			list = appendLeaves(list, leaf{join(l.path, strconv.Itoa(i)), v.Index(i), l.store})
		}
	default:
		for _, key := range sortedKeys(v) {
			name := reflect.ValueOf(key)
			entry := reflect.New(v.Type().Elem()).Elem()
			entry.Set(v.MapIndex(name))
			store := func() {
				v.SetMapIndex(name, entry)
				l.store()
			}
			list = appendLeaves(list, leaf{join(l.path, key), entry, store})
		}
	}
	return list
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// prefix returns "path: ", or nothing at the root.
func prefix(path string) string {
	if path == "" {
		return ""
	}
	return path + ": "
}

// inside returns " in path", or nothing at the root.
func inside(path string) string {
	if path == "" {
		return ""
	}
	return " in " + path
}

// names returns the keys of m in order.
func names[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
