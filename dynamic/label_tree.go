package dynamic

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/traefik/paerser/parser"

	"github.com/sluiceproxy/sluice/document"
)

// grow makes a tree of the valid labels. The values in paerser's tree are the indexes of the labels, so that every node
// refers to its label.
func (l *labelling) grow() {
	places := map[string]string{}
	for i, one := range l.labels {
		if reason := unsound(one.path); reason != "" {
			l.out.Wrong = append(l.out.Wrong, "label "+brief(one.written)+": "+reason)
			continue
		}
		places[labelRoot+"."+one.path] = strconv.Itoa(i)
	}
	l.roots = map[string]*document.Node{}
	tree, err := parser.DecodeToNode(places, labelRoot)
	if err != nil {
		l.out.Wrong = append(l.out.Wrong, "labels: "+err.Error())
		return
	}
	if tree == nil {
		return
	}
	for _, child := range tree.Children {
		node := l.node(child)
		l.roots[strings.ToLower(child.Name)] = node
		l.root(child.Name, node)
	}
}

// node turns a node of paerser's tree into the one that a file would have in its place.
func (l *labelling) node(from *parser.Node) *document.Node {
	out := &document.Node{Kind: document.Map}
	if place, err := strconv.Atoi(from.Value); err == nil {
		out.Line, out.Value = place+1, l.labels[place].value
		if len(from.Children) == 0 || !switchedOn(out.Value) {
			out.Kind = document.Scalar
			return out
		}
	}
	if items := l.items(from); items != nil {
		return &document.Node{Kind: document.List, Line: items[0].Line, Items: items}
	}
	for _, child := range from.Children {
		value := l.node(child)
		out.Fields = append(out.Fields, document.Field{Key: child.Name, Line: value.Line, Value: value})
		if out.Line == 0 {
			out.Line = value.Line
		}
	}
	return out
}

// switchedOn reports whether the value of a key leaves what is below it in force.
func switchedOn(value string) bool { return value == "" || strings.EqualFold(value, "true") }

// items returns the elements of a list in the order of their numbers; nil when the node is no list.
func (l *labelling) items(from *parser.Node) []*document.Node {
	type element struct {
		number int
		node   *document.Node
	}
	var elements []element
	for _, child := range from.Children {
		number, err := strconv.Atoi(strings.Trim(child.Name, "[]"))
		if err != nil || !strings.HasPrefix(child.Name, "[") {
			return nil
		}
		elements = append(elements, element{number, l.node(child)})
	}
	slices.SortStableFunc(elements, func(a, b element) int { return cmp.Compare(a.number, b.number) })
	var out []*document.Node
	for _, one := range elements {
		out = append(out, one.node)
	}
	return out
}

// presence sets keys without a value whose presence enables something (tls, sticky, compress) to true.
func presence(node *document.Node, t reflect.Type) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	for _, item := range node.Items {
		presence(item, t)
	}
	if t.Kind() != reflect.Struct {
		return
	}
	for i := range node.Fields {
		field, ok := fieldOf(t, node.Fields[i].Key)
		if !ok {
			continue
		}
		value := node.Fields[i].Value
		if value.Kind == document.Scalar && value.Value == "" && field.Tag.Get("label") == "allowEmpty" {
			value.Value = "true"
		}
		presence(value, field.Type)
	}
}

// fieldOf finds the field of a struct by its key.
func fieldOf(t reflect.Type, key string) (reflect.StructField, bool) {
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name != "-" && strings.EqualFold(cmp.Or(name, t.Field(i).Name), key) {
			return t.Field(i), true
		}
	}
	return reflect.StructField{}, false
}
