package gotemplate

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"text/template/parse"

	"github.com/sluiceproxy/sluice/document"
)

// addDataMethods adds the methods of a type, and of all that its fields lead to, to those that templates may not call:
// nothing charges for them. A name that is also that of a field stays allowed.
func addDataMethods(refused map[string]bool, data reflect.Type) {
	if data == nil {
		return
	}
	d := dataTypes{seen: map[reflect.Type]bool{}, fields: map[string]bool{}}
	d.add(data)
	for one := range d.seen {
		for method := range reflect.PointerTo(one).Methods() {
			if !d.fields[method.Name] {
				refused[method.Name] = true
			}
		}
	}
}

// dataTypes are the types that a type leads to, and the names of their fields.
type dataTypes struct {
	seen   map[reflect.Type]bool
	fields map[string]bool
}

func (d *dataTypes) add(one reflect.Type) {
	if d.seen[one] || one.Kind() == reflect.Interface {
		return
	}
	d.seen[one] = true
	switch one.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		d.add(one.Elem())
	case reflect.Map:
		d.add(one.Key())
		d.add(one.Elem())
	case reflect.Struct:
		for field := range one.Fields() {
			if field.IsExported() {
				d.fields[field.Name] = true
				d.add(field.Type)
			}
		}
	}
}

// checkFields returns an error if a template uses a field that its data cannot have. What the dot is within range and
// with is not known, nor in templates that are defined within the template.
func checkFields(tree *parse.Tree, text string, options Options) error {
	if options.Data == nil || tree == nil || tree.Root == nil {
		return nil
	}
	c := fieldChecker{text: text, options: options}
	c.list(tree.Root, true)
	if c.err != nil {
		return c.err
	}
	return nil
}

type fieldChecker struct {
	text    string
	options Options
	err     *Error
}

// list checks a list of nodes; root is whether the dot is the data.
func (c *fieldChecker) list(list *parse.ListNode, root bool) {
	if list == nil {
		return
	}
	for _, node := range list.Nodes {
		switch n := node.(type) {
		case *parse.IfNode:
			c.branch(&n.BranchNode, root, root)
		case *parse.WithNode:
			c.branch(&n.BranchNode, root, false)
		case *parse.RangeNode:
			c.branch(&n.BranchNode, root, false)
		default:
			c.uses(node, root)
		}
	}
}

// branch checks a block; inside is whether the dot of its body is the data.
func (c *fieldChecker) branch(n *parse.BranchNode, root, inside bool) {
	c.uses(n.Pipe, root)
	c.list(n.List, inside)
	c.list(n.ElseList, root)
}

// uses checks the fields in a node without blocks.
func (c *fieldChecker) uses(node parse.Node, root bool) {
	walk(node, func(node parse.Node) {
		switch n := node.(type) {
		case *parse.FieldNode:
			if root {
				c.path(n, n.Ident)
			}
		case *parse.VariableNode:
			if n.Ident[0] == "$" {
				c.path(n, n.Ident[1:])
			}
		}
	})
}

// path checks a chain of fields of the data as far as their types are known.
func (c *fieldChecker) path(node parse.Node, names []string) {
	at := c.options.Data
	for i, name := range names {
		if at.Kind() == reflect.Pointer {
			at = at.Elem()
		}
		if at.Kind() != reflect.Struct || c.err != nil {
			return
		}
		field, ok := at.FieldByName(name)
		if !ok {
			c.err = c.missing(node, "."+strings.Join(names[:i+1], "."), name, at)
			return
		}
		at = field.Type
	}
}

// missing returns the error for a field that a type does not have.
func (c *fieldChecker) missing(node parse.Node, path, name string, in reflect.Type) *Error {
	out := &Error{Line: 1 + strings.Count(c.text[:node.Position()], "\n"), Reason: "uses a field that the data does not have"}
	if !isName(name) {
		return out
	}
	out.Reason = fmt.Sprintf("uses %s, which the data does not have", path)
	if why, ok := c.options.Absent[name]; ok && in == c.options.Data {
		out.Reason = fmt.Sprintf("uses %s, %s", path, why)
		return out
	}
	var known []string
	for field := range in.Fields() {
		known = append(known, field.Name)
	}
	slices.Sort(known)
	if near, ok := document.Nearest(name, known); ok {
		out.Reason += ", did you mean " + near + "?"
	}
	return out
}
