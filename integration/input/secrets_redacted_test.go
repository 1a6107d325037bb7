package input

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/immutable"
)

// filled returns a configuration in which every list and every map has one element, and every text is the result of
// text for its path. key is the key of maps whose values may be secrets.
func filled(key string, text func(path string) string) *dynamic.Configuration {
	config := &dynamic.Configuration{}
	fill(reflect.ValueOf(config).Elem(), "", key, text)
	return config
}

func fill(value reflect.Value, path, key string, text func(path string) string) {
	switch value.Kind() {
	case reflect.String:
		value.SetString(text(path))
	case reflect.Interface:
		value.Set(reflect.ValueOf(text(path)))
	case reflect.Pointer:
		value.Set(reflect.New(value.Type().Elem()))
		fill(value.Elem(), path, key, text)
	case reflect.Slice:
		value.Set(reflect.MakeSlice(value.Type(), 1, 1))
		fill(value.Index(0), path+"[]", key, text)
	case reflect.Map:
		element := reflect.New(value.Type().Elem()).Elem()
		fill(element, path+"{}", key, text)
		value.Set(reflect.MakeMap(value.Type()))
		name := "name@file"
		if mayHold(fields()[path+"{}"]) {
			name = key
		}
		value.SetMapIndex(reflect.ValueOf(name), element)
	case reflect.Struct:
		if of, ok := elements(value.Type()); ok {
			element := reflect.New(of).Elem()
			fill(element, path+"{}", key, text)
			edit, name := reflect.ValueOf(new(immutable.Edit)), reflect.ValueOf("name@file")
			value.Addr().MethodByName("Set").Call([]reflect.Value{edit, name, element})
			return
		}
		for field := range value.Type().Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			switch {
			case name == "-":
			case field.Anonymous:
				fill(value.FieldByIndex(field.Index), path, key, text)
			default:
				fill(value.FieldByIndex(field.Index), strings.TrimPrefix(path+"."+name, "."), key, text)
			}
		}
	}
}

// TestRedactedCopiesHaveNoSecrets plants the secret, in every form, in every field that may hold one, and searches the
// API's output. Other fields are shown unchanged.
func TestRedactedCopiesHaveNoSecrets(t *testing.T) {
	t.Parallel()
	known := fields()
	const open = "shown as it is"
	for _, holds := range []string{secretive, keyed, listed, located} {
		for _, written := range writings(holds) {
			config := filled(key(written), func(path string) string {
				if known[path] == holds {
					return written
				}
				return open
			})
			redacted := dynamic.Redacted(config)
			text, err := json.Marshal(redacted)
			if err != nil {
				t.Fatal(err)
			}
			if half := secret[:len(secret)/2]; strings.Contains(string(text), half) {
				t.Errorf("%q is shown: %s", written, around(string(text), half))
			}
			leaves(reflect.TypeFor[dynamic.Configuration](), reflect.ValueOf(redacted), "",
				func(path string, value reflect.Value) {
					if shown := shown(value); value.IsValid() && !mayHold(known[path]) && shown != open {
						t.Errorf("%s shows %q, although it holds no secret", path, shown)
					}
				})
		}
	}
}

func shown(value reflect.Value) string {
	if value.IsValid() && value.Kind() == reflect.Interface {
		value = value.Elem()
	}
	if !value.IsValid() || value.Kind() != reflect.String {
		return ""
	}
	return value.String()
}

// around returns the neighbourhood of a part of a text.
func around(text, part string) string {
	at := strings.Index(text, part)
	return text[max(0, at-100):min(len(text), at+100)]
}
