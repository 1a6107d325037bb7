package gotemplate

import (
	"reflect"
	"strings"
	"text/template"
	"text/template/parse"
)

// methods lists the methods of the values that functions return, such as times and versions, that templates may call.
// They read at most text that meter.load charges for, and return at most several times as much.
const methods = ` Abs Add AddDate After Before Compare Day Equal Format GreaterThan Hour Hours In IncMajor IncMinor
	IncPatch
	IsDST IsZero LessThan Local Location Major Metadata Microseconds Milliseconds Minor Minute Minutes Month Nanosecond
	Nanoseconds Original Patch Prerelease Round Second Seconds String Sub Truncate UTC Unix UnixMicro UnixMilli UnixNano
	Value Weekday Year YearDay `

// refusedMethods returns the names of all other methods of the values that functions or methods return.
func refusedMethods(known template.FuncMap) map[string]bool {
	refused, seen := map[string]bool{}, map[reflect.Type]bool{}
	var add func(function reflect.Type)
	add = func(function reflect.Type) {
		for result := range function.Outs() {
			if result.Kind() != reflect.Pointer {
				result = reflect.PointerTo(result)
			}
			if seen[result] || result.Elem().Kind() == reflect.Interface {
				continue
			}
			seen[result] = true
			for method := range result.Methods() {
				if within(method.Name, methods) {
					add(method.Type)
				} else {
					refused[method.Name] = true
				}
			}
		}
	}
	for _, function := range known {
		add(reflect.TypeOf(function))
	}
	return refused
}

// checkMethods returns an error if a template uses a refused method. The text is that which was parsed.
func checkMethods(tree *parse.Tree, text string, refused map[string]bool) (err error) {
	if tree == nil || tree.Root == nil {
		return nil
	}
	walk(tree.Root, func(node parse.Node) {
		var names []string
		switch n := node.(type) {
		case *parse.FieldNode:
			names = n.Ident
		case *parse.VariableNode:
			names = n.Ident[1:]
		case *parse.ChainNode:
			names = n.Field
		}
		for _, name := range names {
			if refused[name] && err == nil {
				line := 1 + strings.Count(text[:node.Position()], "\n")
				err = &Error{Line: line, Reason: "calls the method " + name + ", which templates may not call"}
			}
		}
	})
	return err
}
