package manifest

import (
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
)

// unknown reports the fields of an object that its kind does not have. A cluster drops them, so they are no error.
// node is the object in its document, of which the first line is line.
func (r *reader) unknown(object *unstructured.Unstructured, node *document.Node, line int) {
	known := kindOf(object)
	if known == nil {
		return
	}
	check := fieldCheck{report: func(at *document.Field, path string, names []string) {
		reason := path + ": unknown option"
		if near, ok := document.Nearest(at.Key, names); ok {
			reason += fmt.Sprintf(", did you mean %q?", near)
		}
		r.faults = append(r.faults, Fault{
			File: r.file, Line: line - 1 + at.Line, Object: describe(object), Reason: reason, Ignored: true,
		})
	}}
	check.check(node, reflect.TypeOf(known), "")
}

// kindOf returns an empty object of the kind of another one; nil for a kind that is not read.
func kindOf(object *unstructured.Unstructured) any {
	if typed := typeOf(object.GetAPIVersion(), object.GetKind()); typed != nil {
		return typed
	}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil
	}
	typed, err := scheme.New(object.GroupVersionKind())
	if err != nil {
		return nil
	}
	return typed
}

// fieldCheck compares documents with the types that they are decoded into.
type fieldCheck struct {
	report func(at *document.Field, path string, names []string)
}

// check reports the fields below a value that its type does not have. What decodes itself is left out.
func (f fieldCheck) check(node *document.Node, of reflect.Type, path string) {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	switch {
	case node.Kind == document.List && of.Kind() == reflect.Slice:
		for i, item := range node.Items {
			f.check(item, of.Elem(), fmt.Sprintf("%s[%d]", path, i))
		}
	case node.Kind == document.Map && of.Kind() == reflect.Map:
		for i := range node.Fields {
			f.check(node.Fields[i].Value, of.Elem(), below(path, node.Fields[i].Key))
		}
	case node.Kind == document.Map && of.Kind() == reflect.Struct:
		f.checkStruct(node, of, path)
	}
}

func (f fieldCheck) checkStruct(node *document.Node, of reflect.Type, path string) {
	types, names := map[string]reflect.Type{}, []string(nil)
	for _, field := range reflect.VisibleFields(of) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			types[name], names = field.Type, append(names, name)
		}
	}
	for i := range node.Fields {
		at := &node.Fields[i]
		inner := below(path, at.Key)
		switch of, known := types[at.Key]; {
		case len(names) == 0 || inner == "metadata" || inner == "status": // Clients and servers write these.
		case known:
			f.check(at.Value, of, inner)
		default:
			f.report(at, inner, names)
		}
	}
}

// below returns the path of a field.
func below(path, key string) string {
	if path == "" {
		return document.ShowKey(key)
	}
	return path + "." + document.ShowKey(key)
}
