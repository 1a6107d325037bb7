package document

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Kind is the shape of a node.
type Kind uint8

// The shapes of nodes.
const (
	// Null is an absent value: a YAML key without a value, or an empty document.
	Null Kind = iota
	// Scalar is a string, an integer, a float or a bool.
	Scalar
	// List is a sequence of nodes.
	List
	// Map is a sequence of keys with nodes.
	Map
)

// String returns the kind as in problems.
func (k Kind) String() string {
	switch k {
	case Null:
		return "nothing"
	case Scalar:
		return "a single value"
	case List:
		return "a list"
	case Map:
		return "a map"
	}
	return "unknown"
}

// Type is the type of a scalar.
type Type uint8

// The types of scalars. Dates and times are strings.
const (
	// String is text, quoted or not.
	String Type = iota
	// Int is an integer in any base of the language.
	Int
	// Float is a number with a fraction or an exponent.
	Float
	// Bool is true or false.
	Bool
)

// Node is one value of a document. Nodes are shared by YAML aliases and must not be modified.
type Node struct {
	// Kind decides which of the fields below are set.
	Kind Kind
	// Type is the type of a Scalar.
	Type Type
	// Line and Column are where the value starts, from 1; a column counts characters in YAML and bytes in TOML. An aliased
	// value is at its anchor.
	Line, Column int
	// Source names where the value was written when that is not the document, such as "flag --log.level".
	Source string
	// Value is a Scalar as text: the content of a string, other scalars as they are written.
	Value string
	// Dotted is set for a Map that dotted keys of TOML make, such as a in a.b = 1.
	Dotted bool
	// Items are the elements of a List.
	Items []*Node
	// Fields are the entries of a Map, in order.
	Fields []Field

	// size is the number of nodes below and including this one, height the number of levels.
	size, height int32
}

// Field is one entry of a map.
type Field struct {
	// Key is the key as it is written.
	Key string
	// Line is the line of the key, from 1.
	Line int
	// Value is never nil.
	Value *Node
}

// Get returns the first entry whose key equals key ignoring case, or nil.
func (n *Node) Get(key string) *Field {
	if n == nil {
		return nil
	}
	for i := range n.Fields {
		if strings.EqualFold(n.Fields[i].Key, key) {
			return &n.Fields[i]
		}
	}
	return nil
}

// With returns a copy of a map in which the entry that Get finds has the value, or to which a new one was added.
// A node of another kind, and nil, count as a map without entries.
func (n *Node) With(key string, value *Node) *Node {
	if n == nil || n.Kind != Map {
		n = &Node{Kind: Map, Source: value.Source}
	}
	out := *n
	out.Fields = slices.Clone(n.Fields)
	if field := out.Get(key); field != nil {
		if field.Value = value; value.Source != "" {
			field.Line = 0
		}
	} else {
		out.Fields = append(out.Fields, Field{Key: key, Line: value.Line, Value: value})
	}
	return &out
}

// Split takes the entries whose keys are among the given ones, ignoring case, out of a map: rest is a copy without
// them. Without such entries rest is the node itself.
func (n *Node) Split(keys []string) (rest *Node, taken []Field) {
	var others []Field
	for _, field := range n.Fields {
		if slices.ContainsFunc(keys, func(key string) bool { return strings.EqualFold(key, field.Key) }) {
			taken = append(taken, field)
		} else {
			others = append(others, field)
		}
	}
	if len(taken) == 0 {
		return n, nil
	}
	out := *n
	out.Fields = others
	return out.closed(), taken
}

// WithItem returns a copy of a list in which the element at index is the value; elements that are missing before it
// are Null nodes of the same source. A node of another kind, and nil, count as a list without elements.
func (n *Node) WithItem(index int, value *Node) *Node {
	if n == nil || n.Kind != List {
		n = &Node{Kind: List, Source: value.Source}
	}
	out := *n
	out.Items = slices.Clone(n.Items)
	for len(out.Items) <= index {
		out.Items = append(out.Items, &Node{Source: value.Source})
	}
	out.Items[index] = value
	return &out
}

// place is where something was written.
type place struct {
	line   int
	source string
}

func (n *Node) place() place { return place{n.Line, n.Source} }

func (f *Field) place() place { return place{f.Line, f.Value.Source} }

// AppendIdentity appends an encoding of the value to dst. Two nodes have the same encoding exactly if they have the
// same keys in the same order and the same values, regardless of position and layout. It is used as a cache key for
// translations.
func (n *Node) AppendIdentity(dst []byte) []byte {
	switch n.Kind {
	case Null:
		dst = append(dst, 'n')
	case Scalar:
		dst = append(dst, 's', '0'+byte(n.Type))
		dst = appendText(dst, n.Value)
	case List:
		dst = append(dst, '[')
		for _, item := range n.Items {
			dst = item.AppendIdentity(dst)
		}
		dst = append(dst, ']')
	case Map:
		dst = append(dst, '{')
		for i := range n.Fields {
			dst = appendText(append(dst, 'k'), n.Fields[i].Key)
			dst = n.Fields[i].Value.AppendIdentity(dst)
		}
		dst = append(dst, '}')
	}
	return dst
}

// appendText writes the length before the text, so that the encoding is unambiguous.
func appendText(dst []byte, text string) []byte {
	dst = strconv.AppendInt(dst, int64(len(text)), 10)
	dst = append(dst, ':')
	return append(dst, text...)
}

// Int returns an integer: one that is written as such in any base, a float without a fraction, or a string of decimal
// digits. It is an error for everything else and beyond 64 bits.
func (n *Node) Int() (int64, error) {
	if n.Kind != Scalar {
		return 0, fmt.Errorf("expected an integer, got %s", n.Kind)
	}
	switch n.Type {
	case Int:
		// YAML allows underscores that strconv does not (1__0).
		if v, err := strconv.ParseInt(strings.ReplaceAll(n.Value, "_", ""), 0, 64); err == nil {
			return v, nil
		}
	case Float:
		v, err := strconv.ParseFloat(strings.ReplaceAll(n.Value, "_", ""), 64)
		if err == nil && v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int64(v), nil
		}
	case String:
		if v, err := strconv.ParseInt(strings.TrimSpace(n.Value), 10, 64); err == nil {
			return v, nil
		}
	case Bool:
	}
	return 0, fmt.Errorf("expected an integer, got %s", quote(n.Value))
}

// quote shortens a value that, by the expected type, is not a secret.
func quote(text string) string {
	const most = 40
	if len(text) > most {
		return strconv.Quote(strings.ToValidUTF8(text[:most], "")) + "..."
	}
	return strconv.Quote(text)
}

// closed computes size and height and returns the node.
func (n *Node) closed() *Node {
	n.size, n.height = 1, 1
	for _, item := range n.Items {
		n.add(item)
	}
	for i := range n.Fields {
		n.add(n.Fields[i].Value)
	}
	return n
}

func (n *Node) add(child *Node) {
	n.size += min(child.size, math.MaxInt32-n.size)
	n.height = max(n.height, child.height+1)
}
