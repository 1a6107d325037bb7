package inject

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// operation is one operation of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// MarshalJSON keeps the value null, which omitempty would leave out.
func (o operation) MarshalJSON() ([]byte, error) {
	if o.Op == opRemove {
		return json.Marshal(map[string]any{"op": o.Op, "path": o.Path})
	}
	return json.Marshal(map[string]any{"op": o.Op, "path": o.Path, "value": o.Value})
}

const opAdd, opRemove, opReplace = "add", "remove", "replace"

// maxMatrix bounds the product of the lengths of two lists that are compared element by element.
const maxMatrix = 250_000

// difference returns the operations that make the second JSON value of the first one, in order. Numbers are
// json.Number. Elements of a list that have the same name, or the same key, are the same element.
func difference(from, to any) []operation {
	d := differ{}
	d.compare("", from, to)
	return d.operations
}

type differ struct{ operations []operation }

func (d *differ) emit(op, path string, value any) {
	d.operations = append(d.operations, operation{op, path, value})
}

func (d *differ) compare(path string, from, to any) {
	switch from := from.(type) {
	case map[string]any:
		if to, ok := to.(map[string]any); ok {
			d.maps(path, from, to)
			return
		}
	case []any:
		if to, ok := to.([]any); ok {
			d.lists(path, from, to)
			return
		}
	default:
		if from == to { // Both are scalars, or one is not.
			return
		}
	}
	d.emit(opReplace, path, to)
}

func (d *differ) maps(path string, from, to map[string]any) {
	keys := slices.Sorted(maps.Keys(from))
	for key := range to {
		if _, ok := from[key]; !ok {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		before, had := from[key]
		after, has := to[key]
		below := path + "/" + escapePointer(key)
		switch {
		case !has:
			d.emit(opRemove, below, nil)
		case !had:
			d.emit(opAdd, below, after)
		default:
			d.compare(below, before, after)
		}
	}
}

// escapePointer escapes a key for a JSON pointer (RFC 6901).
func escapePointer(key string) string {
	return strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
}

// lists compares elements: those that are the same in both lists, in the same order, are compared in place, the others
// are removed and added.
func (d *differ) lists(path string, from, to []any) {
	head := 0
	for head < len(from) && head < len(to) && same(from[head], to[head]) {
		d.compare(index(path, head), from[head], to[head])
		head++
	}
	tail := 0
	for tail < len(from)-head && tail < len(to)-head && same(from[len(from)-1-tail], to[len(to)-1-tail]) {
		tail++
	}
	before, after := from[head:len(from)-tail], to[head:len(to)-tail]
	if len(before)*len(after) > maxMatrix {
		d.emit(opReplace, path, to)
		return
	}
	position := head + d.script(path, head, before, after)
	for i := range tail {
		d.compare(index(path, position+i), from[len(from)-tail+i], to[len(to)-tail+i])
	}
}

// script emits the operations for the elements behind position at, along a longest common subsequence, and returns how
// many elements there are afterwards.
func (d *differ) script(path string, at int, before, after []any) int {
	length := commonLengths(before, after)
	start := at
	i, j := 0, 0
	for i < len(before) || j < len(after) {
		switch {
		case i < len(before) && j < len(after) && same(before[i], after[j]):
			d.compare(index(path, at), before[i], after[j])
			i, j, at = i+1, j+1, at+1
		case j == len(after) || i < len(before) && length[i+1][j] >= length[i][j+1]:
			d.emit(opRemove, index(path, at), nil)
			i++
		default:
			d.emit(opAdd, index(path, at), after[j])
			j, at = j+1, at+1
		}
	}
	return at - start
}

// commonLengths returns the length of the longest common subsequence of before[i:] and after[j:] for all i and j.
func commonLengths(before, after []any) [][]int {
	length := make([][]int, len(before)+1)
	for i := range length {
		length[i] = make([]int, len(after)+1)
	}
	for i := len(before) - 1; i >= 0; i-- {
		for j := len(after) - 1; j >= 0; j-- {
			if same(before[i], after[j]) {
				length[i][j] = length[i+1][j+1] + 1
			} else {
				length[i][j] = max(length[i+1][j], length[i][j+1])
			}
		}
	}
	return length
}

// same reports whether two elements of lists stand for the same thing: objects by their name, or by the key that lists
// of pods have otherwise, other values by themselves.
func same(one, other any) bool {
	a, isMap := one.(map[string]any)
	b, areMaps := other.(map[string]any)
	if !isMap || !areMaps {
		return reflect.DeepEqual(one, other)
	}
	for _, key := range []string{"name", "mountPath", "containerPort"} {
		if value, ok := a[key]; ok {
			return reflect.DeepEqual(b[key], value)
		}
	}
	return reflect.DeepEqual(one, other)
}

func index(path string, at int) string { return path + "/" + strconv.Itoa(at) }
