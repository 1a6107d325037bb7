package crd

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/dynamic"
)

// tree makes a document of the spec of a manifest, so that it is decoded like a file. What is absent from the manifest
// is absent from the document: nil pointers, lists and maps, and zero values of fields with omitempty. What is given as
// zero behind a pointer, and a list that is given empty, stays. Nodes have no lines, and belong to the caller.
func tree(spec any) (*document.Node, error) {
	node, err := treeOf(reflect.ValueOf(spec))
	if node == nil {
		node = &document.Node{Kind: document.Null}
	}
	return node, err
}

// treeOf returns nil for a value that is absent.
func treeOf(value reflect.Value) (*document.Node, error) {
	switch value.Kind() {
	case reflect.Invalid:
		return nil, nil
	case reflect.Pointer, reflect.Interface:
		if value.IsNil() {
			return nil, nil
		}
		return treeOf(value.Elem())
	default:
	}
	if own, ok := reflect.TypeAssert[json.Marshaler](value); ok {
		return treeOfJSON(own)
	}
	switch value.Kind() {
	case reflect.Struct:
		node := &document.Node{Kind: document.Map}
		return node, addFields(node, value)
	case reflect.Map:
		return treeOfMap(value)
	case reflect.Slice, reflect.Array:
		return treeOfList(value)
	default:
		return treeOfScalar(value), nil
	}
}

// addFields adds the fields of a struct, and those of structs that are embedded in it, under their json names.
func addFields(node *document.Node, value reflect.Value) error {
	for i := range value.NumField() {
		inner := value.Field(i)
		if isNil(inner) {
			continue // Nearly all of them; what follows costs more.
		}
		field := value.Type().Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous && name == "" && inner.Kind() == reflect.Struct:
			if err := addFields(node, inner); err != nil {
				return err
			}
			continue
		case !field.IsExported() || name == "-" || isAbsent(inner, options):
			continue
		case name == "":
			name = field.Name
		}
		below, err := treeOf(inner)
		if err != nil {
			return err
		}
		if below != nil {
			node.Fields = append(node.Fields, document.Field{Key: name, Value: below})
		}
	}
	return nil
}

func isNil(value reflect.Value) bool {
	switch value.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Map:
		return value.IsNil()
	default:
		return false
	}
}

// isAbsent recognises an option that is not nil and was not given: encoding/json would leave out an empty list too, but
// an empty list says something that no list does not.
func isAbsent(value reflect.Value, options string) bool {
	if value.Kind() == reflect.Slice || value.Kind() == reflect.Map {
		return false
	}
	return (strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero")) && value.IsZero()
}

func treeOfMap(value reflect.Value) (*document.Node, error) {
	if value.IsNil() {
		return nil, nil
	}
	keys := value.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	node := &document.Node{Kind: document.Map, Fields: make([]document.Field, 0, len(keys))}
	for _, key := range keys {
		below, err := treeOf(value.MapIndex(key))
		if err != nil {
			return nil, err
		}
		node.Fields = append(node.Fields, document.Field{Key: key.String(), Value: orNull(below)})
	}
	return node, nil
}

func treeOfList(value reflect.Value) (*document.Node, error) {
	if value.Kind() == reflect.Slice && value.IsNil() {
		return nil, nil
	}
	node := &document.Node{Kind: document.List, Items: make([]*document.Node, 0, value.Len())}
	for i := range value.Len() {
		below, err := treeOf(value.Index(i))
		if err != nil {
			return nil, err
		}
		node.Items = append(node.Items, orNull(below))
	}
	return node, nil
}

func orNull(node *document.Node) *document.Node {
	if node == nil {
		return &document.Node{Kind: document.Null}
	}
	return node
}

func treeOfScalar(value reflect.Value) *document.Node {
	node := &document.Node{Kind: document.Scalar}
	switch {
	case value.Kind() == reflect.String:
		node.Value = value.String()
	case value.Kind() == reflect.Bool:
		node.Type, node.Value = document.Bool, strconv.FormatBool(value.Bool())
	case value.CanInt():
		node.Type, node.Value = document.Int, strconv.FormatInt(value.Int(), 10)
	case value.CanUint():
		node.Type, node.Value = document.Int, strconv.FormatUint(value.Uint(), 10)
	case value.CanFloat():
		node.Type, node.Value = document.Float, strconv.FormatFloat(value.Float(), 'g', -1, 64)
	default:
		return nil
	}
	return node
}

// treeOfJSON reads what a type writes about itself: numbers or strings, and free objects.
func treeOfJSON(own json.Marshaler) (*document.Node, error) {
	text, err := own.MarshalJSON()
	if err != nil {
		return nil, err
	}
	reader := json.NewDecoder(bytes.NewReader(text))
	reader.UseNumber()
	var value any
	if err := reader.Decode(&value); err != nil {
		return nil, err
	}
	return treeOfValue(value), nil
}

func treeOfValue(value any) *document.Node {
	switch typed := value.(type) {
	case nil:
		return nil
	case json.Number:
		node := &document.Node{Kind: document.Scalar, Type: document.Int, Value: typed.String()}
		if strings.ContainsAny(node.Value, ".eE") {
			node.Type = document.Float
		}
		return node
	case []any:
		node := &document.Node{Kind: document.List, Items: make([]*document.Node, 0, len(typed))}
		for _, item := range typed {
			node.Items = append(node.Items, orNull(treeOfValue(item)))
		}
		return node
	case map[string]any:
		node := &document.Node{Kind: document.Map, Fields: make([]document.Field, 0, len(typed))}
		for key, item := range typed {
			node.Fields = append(node.Fields, document.Field{Key: key, Value: orNull(treeOfValue(item))})
		}
		slices.SortFunc(node.Fields, func(a, b document.Field) int { return strings.Compare(a.Key, b.Key) })
		return node
	default:
		return treeOfScalar(reflect.ValueOf(value))
	}
}

// take removes the value at a path from a document and returns it; nil when it is not there. It is for options that
// manifests spell otherwise than files.
func take(node *document.Node, path ...string) *document.Node {
	for i, key := range path {
		at := slices.IndexFunc(node.Fields, func(field document.Field) bool { return field.Key == key })
		if at < 0 {
			return nil
		}
		below := node.Fields[at].Value
		if i == len(path)-1 {
			node.Fields = slices.Delete(node.Fields, at, at+1)
			return below
		}
		node = below
	}
	return nil
}

// mostFindings is how many mistakes of one object are named.
const mostFindings = 10

// decode makes a dynamic object of a document, as the same text in a file would, and says what is wrong with it.
func decode[T any](values *document.Decoder, node *document.Node) (*T, []string) {
	object, problems := dynamic.DecodeObject[T](values, node)
	var reasons []string
	for i, problem := range problems {
		if i == mostFindings {
			return object, append(reasons, "has "+strconv.Itoa(len(problems)-i)+" more mistakes")
		}
		// A manifest that has come through the API server has no lines.
		reasons = append(reasons, strings.TrimSuffix(problem.String(), ", first on line 0"))
	}
	return object, reasons
}
