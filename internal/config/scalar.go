package config

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// A leaf is a value that has no keys below it: text, number, boolean, duration, optional number, list of texts.
func isLeaf(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return false
	case reflect.Slice:
		return t.Elem().Kind() == reflect.String
	default:
		return true
	}
}

// describe names the kind of value that t takes, to stand after "expected".
func describe(t reflect.Type) string {
	if t == reflect.TypeFor[time.Duration]() {
		return "a duration such as 30s or 5m"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return describe(t.Elem())
	case reflect.Bool:
		return "true or false"
	case reflect.Int:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "a mapping"
	default:
		return "text"
	}
}

// parse sets the leaf v from text. A list is given with commas. On an error v keeps its value.
func parse(v reflect.Value, text string) error {
	var err error
	switch v.Kind() {
	case reflect.Pointer:
		target := reflect.New(v.Type().Elem())
		if err := parse(target.Elem(), text); err != nil {
			return err
		}
		v.Set(target)
	case reflect.Slice:
		v.Set(reflect.ValueOf(splitList(text)))
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		err = set(v.SetBool, text, strconv.ParseBool)
	case reflect.Float64:
		err = set(v.SetFloat, text, parseFloat)
	default:
		err = set(v.SetInt, text, intParser(v.Type()))
	}
	if err != nil {
		return fmt.Errorf("expected %s, got %q", describe(v.Type()), clip(text))
	}
	return nil
}

// set hands what parse makes of text to assign.
func set[T any](assign func(T), text string, parse func(string) (T, error)) error {
	value, err := parse(text)
	if err == nil {
		assign(value)
	}
	return err
}

func intParser(t reflect.Type) func(string) (int64, error) {
	if t != reflect.TypeFor[time.Duration]() {
		return func(text string) (int64, error) { return strconv.ParseInt(text, 10, t.Bits()) }
	}
	return func(text string) (int64, error) {
		d, err := time.ParseDuration(text)
		return int64(d), err
	}
}

func parseFloat(text string) (float64, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err == nil && (math.IsNaN(f) || math.IsInf(f, 0)) {
		err = strconv.ErrRange
	}
	return f, err
}

func splitList(text string) []string {
	list := []string{}
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			list = append(list, item)
		}
	}
	return list
}

// format is the inverse of parse for every leaf but lists.
func format(v reflect.Value) string {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if d, ok := v.Interface().(time.Duration); ok {
		return formatDuration(d)
	}
	return fmt.Sprint(v.Interface())
}

// formatDuration writes 30m and 2160h where the time package has 30m0s and 2160h0m0s.
func formatDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// clip bounds what an error repeats of a value.
func clip(text string) string {
	const most = 60
	if len(text) <= most {
		return text
	}
	return text[:most] + "…"
}
