// Package jsonpatch compares JSON values: its result is a JSON patch (RFC 6902), or the elements that two lists share.
//
// Values are what encoding/json decodes into an interface, with numbers as json.Number: map[string]any, []any, string,
// json.Number, bool and nil. The package is for the objects of Kubernetes, in whose lists elements have names: an
// element of the same name is the same element, so that a patch changes it in place.
package jsonpatch

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Operation is one operation of a JSON patch: add, remove or replace.
type Operation struct {
	Op string
	// Path is a JSON pointer (RFC 6901).
	Path string
	// Value is that of add and replace; it may be nil, which is null.
	Value any
}

// members are those of an operation as JSON; remove has no value, and that of the others may be null.
type members struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value *any   `json:"value,omitempty"`
}

func (o *Operation) members() members {
	out := members{Op: o.Op, Path: o.Path}
	if o.Op != opRemove {
		out.Value = &o.Value
	}
	return out
}

// MarshalJSON writes the members of the operation; remove has no value.
func (o Operation) MarshalJSON() ([]byte, error) { return json.Marshal(o.members()) }

// Marshal returns a patch as JSON: what json.Marshal returns, without encoding each operation by itself.
func Marshal(operations []Operation) ([]byte, error) {
	all := make([]members, len(operations))
	for i := range operations {
		all[i] = operations[i].members()
	}
	return json.Marshal(all)
}

const opAdd, opRemove, opReplace = "add", "remove", "replace"

// maxMatrix bounds the product of the lengths of two lists that are compared element by element.
const maxMatrix = 250_000

// Difference returns the operations that make the second value of the first one, in the order in which they are to be
// applied. It returns nil for equal values.
func Difference(from, to any) []Operation {
	d := differ{}
	d.compare(from, to)
	return d.operations
}

// differ compares values. Most values of two objects are equal: a path becomes a string only where they are not.
type differ struct {
	path       []byte // of the values that are compared
	operations []Operation
}

func (d *differ) emit(op string, value any) {
	d.operations = append(d.operations, Operation{op, string(d.path), value})
}

func (d *differ) compare(from, to any) {
	switch from := from.(type) {
	case map[string]any:
		if to, ok := to.(map[string]any); ok {
			d.maps(from, to)
			return
		}
	case []any:
		if to, ok := to.([]any); ok {
			d.lists(from, to)
			return
		}
	default:
		if from == to { // Both are scalars, or one is not.
			return
		}
	}
	d.emit(opReplace, to)
}

func (d *differ) maps(from, to map[string]any) {
	var keys []string
	for key, before := range from {
		if after, has := to[key]; !has || !sameText(before, after) {
			keys = append(keys, key)
		}
	}
	for key := range to {
		if _, had := from[key]; !had {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	length := len(d.path)
	for _, key := range keys {
		before, had := from[key]
		after, has := to[key]
		d.path = append(append(d.path, '/'), escapePointer(key)...)
		switch {
		case !has:
			d.emit(opRemove, nil)
		case !had:
			d.emit(opAdd, after)
		default:
			d.compare(before, after)
		}
		d.path = d.path[:length]
	}
}

// sameText reports whether two values are the same string.
func sameText(one, other any) bool {
	a, ok := one.(string)
	b, both := other.(string)
	return ok && both && a == b
}

// escapePointer escapes a key for a JSON pointer (RFC 6901).
func escapePointer(key string) string {
	return strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
}

// lists compares elements: those that both lists have, in the same order, are compared in place, the others are removed
// and added.
func (d *differ) lists(from, to []any) {
	pairs, ok := Pairs(from, to)
	if !ok {
		d.emit(opReplace, to)
		return
	}
	i, at := 0, 0 // at is the position in the list as it has become, and in to.
	length := len(d.path)
	for _, pair := range append(pairs, Pair{len(from), len(to)}) {
		for ; i < pair.From; i++ {
			d.index(at)
			d.emit(opRemove, nil)
			d.path = d.path[:length]
		}
		for ; at < pair.To; at++ {
			d.index(at)
			d.emit(opAdd, to[at])
			d.path = d.path[:length]
		}
		if i < len(from) {
			d.index(at)
			d.compare(from[i], to[at])
			d.path = d.path[:length]
			i, at = i+1, at+1
		}
	}
}

// index extends the path by the position of an element.
func (d *differ) index(at int) { d.path = strconv.AppendInt(append(d.path, '/'), int64(at), 10) }

// Pair has the indexes of an element that two lists share.
type Pair struct{ From, To int }

// Pairs returns a longest common subsequence of two lists, in order. ok is false when the lists are too different and
// too long to be compared.
func Pairs(from, to []any) (pairs []Pair, ok bool) {
	head := 0
	for head < len(from) && head < len(to) && same(from[head], to[head]) {
		pairs = append(pairs, Pair{head, head})
		head++
	}
	tail := 0
	for tail < len(from)-head && tail < len(to)-head && same(from[len(from)-1-tail], to[len(to)-1-tail]) {
		tail++
	}
	before, after := from[head:len(from)-tail], to[head:len(to)-tail]
	if len(before)*len(after) > maxMatrix {
		return nil, false
	}
	var length [][]int
	if len(before) > 0 && len(after) > 0 {
		length = commonLengths(before, after)
	}
	for i, j := 0, 0; i < len(before) && j < len(after); {
		switch {
		case same(before[i], after[j]):
			pairs = append(pairs, Pair{head + i, head + j})
			i, j = i+1, j+1
		case length[i+1][j] >= length[i][j+1]:
			i++
		default:
			j++
		}
	}
	for i := range tail {
		pairs = append(pairs, Pair{len(from) - tail + i, len(to) - tail + i})
	}
	return pairs, true
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

// same reports whether two elements of lists stand for the same thing: objects by their name, by the key that lists of
// pods have otherwise, or by their kind and name in a List, other values by themselves.
func same(one, other any) bool {
	a, isMap := one.(map[string]any)
	b, areMaps := other.(map[string]any)
	if !isMap || !areMaps {
		return reflect.DeepEqual(one, other)
	}
	for _, key := range []string{"name", "mountPath", "containerPort"} {
		if value, ok := a[key]; ok {
			return sameText(b[key], value) || reflect.DeepEqual(b[key], value)
		}
	}
	if kind, ok := a["kind"].(string); ok {
		return b["kind"] == kind && identity(a) == identity(b)
	}
	return reflect.DeepEqual(one, other)
}

// identity returns the namespace and the name of an object.
func identity(object map[string]any) [3]string {
	metadata, ok := object["metadata"].(map[string]any)
	if !ok {
		return [3]string{}
	}
	var out [3]string
	for i, key := range []string{"namespace", "name", "generateName"} {
		if value, ok := metadata[key].(string); ok {
			out[i] = value
		}
	}
	return out
}
