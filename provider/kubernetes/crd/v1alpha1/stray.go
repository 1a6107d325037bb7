package v1alpha1

import (
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/json"
)

// withoutStrays returns a document of a type without what is neither a number of 32 bits nor a string where one of both
// belongs. Other misfits are skipped; there, decoding ends, and all that comes behind, such as further routes, would be
// lost. It is false when there are none.
func withoutStrays(data []byte, of reflect.Type) (rest []byte, found bool) {
	var document any
	if json.Unmarshal(data, &document) != nil || !dropStrays(document, of) {
		return nil, false
	}
	rest, err := json.Marshal(document)
	return rest, err == nil
}

// dropStrays drops what has no place below a value, and reports whether there was any.
func dropStrays(value any, of reflect.Type) (found bool) {
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	switch value := value.(type) {
	case []any:
		if of.Kind() == reflect.Slice {
			for _, item := range value {
				found = dropStrays(item, of.Elem()) || found
			}
		}
	case map[string]any:
		if of.Kind() == reflect.Struct {
			for i := range of.NumField() {
				found = dropStray(value, of.Field(i)) || found
			}
		}
	}
	return found
}

// dropStray drops what has no place in a field.
func dropStray(from map[string]any, field reflect.StructField) (found bool) {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	if field.Anonymous && name == "" {
		return dropStrays(from, field.Type)
	}
	value, given := from[name]
	if !given {
		return false
	}
	switch field.Type {
	case reflect.TypeFor[intstr.IntOrString](), reflect.TypeFor[*intstr.IntOrString]():
		if fits(value) {
			return false
		}
		delete(from, name)
		return true
	}
	return dropStrays(value, field.Type)
}

// fits reports whether a value is a number of 32 bits, a string, or nothing.
func fits(value any) bool {
	switch value := value.(type) {
	case nil, string:
		return true
	case int64:
		return value == int64(int32(value))
	}
	return false
}
