package write

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/sluiceproxy/sluice/document"
)

// encode returns what a manifest has for an object of the dynamic configuration: maps, lists and scalars by their names
// in JSON. What is zero is left out, unless the default is another value.
func encode(object any) map[string]any {
	out, _ := encoded(reflect.ValueOf(object)).(map[string]any)
	if out == nil {
		out = map[string]any{}
	}
	return out
}

func encoded(value reflect.Value) any {
	switch value.Kind() {
	case reflect.Pointer, reflect.Interface:
		if value.IsNil() {
			return nil
		}
		return encoded(value.Elem())
	default:
	}
	if own, ok := value.Interface().(json.Marshaler); ok {
		return decoded(own)
	}
	switch value.Kind() {
	case reflect.Struct:
		return encodedStruct(value)
	case reflect.Slice, reflect.Array:
		list := make([]any, 0, value.Len())
		for i := range value.Len() {
			list = append(list, encoded(value.Index(i)))
		}
		return list
	case reflect.Map:
		entries := map[string]any{}
		for _, key := range value.MapKeys() {
			entries[key.String()] = encoded(value.MapIndex(key))
		}
		return entries
	default:
		return value.Interface()
	}
}

// decoded returns what a type writes about itself.
func decoded(own json.Marshaler) any {
	text, err := own.MarshalJSON()
	if err != nil {
		return nil
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		return nil
	}
	return out
}

func encodedStruct(value reflect.Value) map[string]any {
	out := map[string]any{}
	defaults := reflect.New(value.Type())
	if defaulted, ok := defaults.Interface().(document.Defaulter); ok {
		defaulted.SetDefaults()
	}
	for i := range value.NumField() {
		field := value.Type().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		inner := value.Field(i)
		if !field.IsExported() || name == "-" || isNil(inner) || inner.IsZero() && defaults.Elem().Field(i).IsZero() {
			continue
		}
		if field.Anonymous && name == "" {
			for option, below := range encodedStruct(inner) {
				out[option] = below
			}
			continue
		}
		out[name] = encoded(inner)
	}
	return out
}

func isNil(value reflect.Value) bool {
	switch value.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Map:
		return value.IsNil()
	default:
		return false
	}
}
