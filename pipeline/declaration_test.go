package pipeline_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/pipeline"
)

// variant is one value of a type that differs in one place from another one.
type variant struct {
	path  string
	value reflect.Value
}

// variants returns values of a type that all differ from each other and from its zero: each pointer, slice and map is
// nil, empty (or points to zero) and filled once, and each other field has another value once. A struct that contains
// itself is varied on two levels; outer are the structs around the value.
func variants(t *testing.T, typ reflect.Type, path string, outer ...reflect.Type) []variant {
	t.Helper()
	switch typ.Kind() {
	case reflect.Pointer:
		result := []variant{{path + " pointing to zero", reflect.New(typ.Elem())}}
		for _, one := range variants(t, typ.Elem(), path, outer...) {
			pointer := reflect.New(typ.Elem())
			pointer.Elem().Set(one.value)
			result = append(result, variant{"*" + one.path, pointer})
		}
		return result
	case reflect.Struct:
		if typ == reflect.TypeFor[time.Time]() {
			return []variant{{path, reflect.ValueOf(time.Unix(1, 0))}}
		}
		return structVariants(t, typ, path, outer)
	case reflect.Slice:
		result := []variant{{path + " empty", reflect.MakeSlice(typ, 0, 0)}}
		zero := reflect.MakeSlice(typ, 1, 1)
		result = append(result, variant{path + "[zero]", zero}, variant{path + "[zero, zero]", reflect.MakeSlice(typ, 2, 2)})
		for _, one := range variants(t, typ.Elem(), path+"[0]", outer...) {
			filled := reflect.MakeSlice(typ, 1, 1)
			filled.Index(0).Set(one.value)
			result = append(result, variant{one.path, filled})
		}
		return result
	case reflect.Map:
		result := []variant{{path + " empty", reflect.MakeMap(typ)}}
		key := reflect.ValueOf("k").Convert(typ.Key())
		zero := reflect.MakeMap(typ)
		zero.SetMapIndex(key, reflect.Zero(typ.Elem()))
		result = append(result, variant{path + "{k: zero}", zero})
		for _, one := range variants(t, typ.Elem(), path+".k", outer...) {
			filled := reflect.MakeMap(typ)
			filled.SetMapIndex(key, one.value)
			result = append(result, variant{one.path, filled})
		}
		return result
	case reflect.Interface:
		return []variant{
			{path + " = string", reflect.ValueOf("x")},
			{path + " = false", reflect.ValueOf(false)},
			{path + " = 0", reflect.ValueOf(0)},
			{path + " = list", reflect.ValueOf([]any{"x"})},
			{path + " = map", reflect.ValueOf(map[string]any{"x": nil})},
		}
	}
	return []variant{{path, scalar(t, typ)}}
}

func structVariants(t *testing.T, typ reflect.Type, path string, outer []reflect.Type) []variant {
	t.Helper()
	var result []variant
	if len(outer) > 1 && outer[len(outer)-1] == typ && outer[len(outer)-2] == typ {
		return nil
	}
	outer = append(slices.Clip(outer), typ)
	for i := range typ.NumField() {
		field := typ.Field(i)
		if !field.IsExported() {
			t.Fatalf("%s.%s is not exported: whether it changed cannot be seen", path, field.Name)
		}
		if field.Tag.Get("hash") == "ignore" {
			continue
		}
		for _, one := range variants(t, field.Type, path+"."+field.Name, outer...) {
			value := reflect.New(typ).Elem()
			value.Field(i).Set(one.value)
			result = append(result, variant{one.path, value})
		}
	}
	return result
}

// scalar returns a value other than zero.
func scalar(t *testing.T, typ reflect.Type) reflect.Value {
	t.Helper()
	value := reflect.New(typ).Elem()
	switch {
	case value.CanInt():
		value.SetInt(1)
	case value.CanUint():
		value.SetUint(1)
	case value.CanFloat():
		value.SetFloat(1)
	case typ.Kind() == reflect.Bool:
		value.SetBool(true)
	case typ.Kind() == reflect.String:
		value.SetString("x")
	default:
		t.Fatalf("no value for %s", typ)
	}
	return value
}

// TestDedupMissesNoChange replaces each variant of each type by zero, back, and by each other variant of the same
// field: the object must count as changed, and an equal copy must not.
func TestDedupMissesNoChange(t *testing.T) {
	checkType[dynamic.Router](t)
	checkType[dynamic.Service](t)
	checkType[dynamic.Middleware](t)
	checkType[dynamic.ServersTransport](t)
	checkType[dynamic.TLSOptions](t)
	checkType[dynamic.TLSStore](t)
	checkType[dynamic.CertificateEntry](t)
}

func checkType[T any](t *testing.T) {
	typ := reflect.TypeFor[T]()
	t.Run(typ.Name(), func(t *testing.T) {
		all := []variant{{typ.Name() + " zero", reflect.Zero(typ)}}
		all = append(all, variants(t, typ, typ.Name())...)
		ref := dynamic.Ref{Kind: dynamic.KindRouter, Name: "x"}
		for _, one := range all {
			if !pipeline.Same(ref, pointerTo[T](one.value), pointerTo[T](one.value)) {
				t.Errorf("%s: an equal copy counts as a change", one.path)
			}
		}
		for i, from := range all {
			for j, to := range all {
				if i == j || (i > 0 && j > 0 && field(from.path) != field(to.path)) {
					continue
				}
				if pipeline.Same(ref, pointerTo[T](from.value), pointerTo[T](to.value)) {
					t.Errorf("from %s to %s: the change was missed", from.path, to.path)
				}
			}
		}
	})
}

// field returns the part of a path that names the outermost field.
func field(path string) string {
	path = strings.TrimLeft(path, "*")
	if dot := strings.IndexByte(path, '.'); dot >= 0 {
		path = path[dot+1:]
	}
	if end := strings.IndexAny(path, ".[{* "); end >= 0 {
		path = path[:end]
	}
	return path
}

func pointerTo[T any](value reflect.Value) *T {
	pointer := reflect.New(value.Type())
	pointer.Elem().Set(value)
	return pointer.Interface().(*T)
}
