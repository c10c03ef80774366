package vector

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// Parse reads JSON and keeps the digits of its numbers.
func Parse(text []byte) any {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		panic(Skip(err.Error()))
	}
	return value
}

// Keys returns the keys of a map in order.
func Keys[K ~string, V any](of map[K]V) []string {
	keys := make([]string, 0, len(of))
	for key := range of {
		keys = append(keys, string(key))
	}
	sort.Strings(keys)
	return keys
}

// Difference returns the first place where two values differ, with both, or an empty text. In a partial comparison, objects
// may have more fields on the expected side.
func Difference(got, expected any, partial bool, at string) string {
	switch g := got.(type) {
	case Object:
		e, ok := expected.(Object)
		if !ok {
			break
		}
		for _, key := range Keys(g) {
			value, ok := e[key]
			if !ok {
				return fmt.Sprintf("%s.%s: got %s, expected none", at, key, Text(g[key]))
			}
			if where := Difference(g[key], value, partial, at+"."+key); where != "" {
				return where
			}
		}
		for _, key := range Keys(e) {
			if _, ok := g[key]; !ok && !partial {
				return fmt.Sprintf("%s.%s: got none, expected %s", at, key, Text(e[key]))
			}
		}
		return ""
	case []any:
		e, ok := expected.([]any)
		if !ok || len(e) != len(g) {
			break
		}
		for i := range g {
			if where := Difference(g[i], e[i], partial, fmt.Sprintf("%s[%d]", at, i)); where != "" {
				return where
			}
		}
		return ""
	case json.Number:
		if e, ok := expected.(json.Number); ok && sameNumber(string(g), string(e)) {
			return ""
		}
	default:
		if got == expected {
			return ""
		}
	}
	return fmt.Sprintf("%s: got %s, expected %s", at, Text(got), Text(expected))
}

func sameNumber(a, b string) bool {
	if a == b {
		return true
	}
	if !strings.ContainsAny(a+b, ".eE") {
		return a == "-0" && b == "0" || a == "0" && b == "-0"
	}
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	return errX == nil && errY == nil && x == y
}
