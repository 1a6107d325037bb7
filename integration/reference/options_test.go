package reference

import (
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	ptypes "github.com/traefik/paerser/types"

	"github.com/sluiceproxy/sluice/document"
)

// option is one row of a reference page.
type option struct {
	// path is the option's name within its section, with dots; [0] is an element of a list, <name> a key of a map.
	path string
	kind string
	// standard is the default; required means that there is none, and empty that nothing is set.
	standard string
	meaning  string
}

// required marks an option without which its object is invalid.
const required = "required"

// reader lists the options of types.
type reader struct{ comments comments }

// options returns the options of a struct and of the structs in it, in the order of their declaration.
func (r reader) options(of reflect.Type, prefix string) (found []option) {
	object := reflect.New(of)
	if defaulted, ok := object.Interface().(document.Defaulter); ok {
		defaulted.SetDefaults()
	}
	for i := range of.NumField() {
		field := of.Field(i)
		name, rest, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case strings.Contains(rest, "inline"):
			found = append(found, r.options(field.Type, prefix)...)
			continue
		case name == "" || name == "-":
			continue
		}
		one := option{path: prefix + name, kind: kindOf(field.Type)}
		one.meaning, one.standard = r.meaning(of, field.Name), standardOf(object.Elem().Field(i))
		switch {
		case strings.HasSuffix(one.meaning, " Required."):
			one.meaning, one.standard = strings.TrimSuffix(one.meaning, " Required."), required
		case strings.Contains(one.meaning, "Default: "):
			one.standard = ""
		}
		inner := field.Type
		switch inner.Kind() {
		case reflect.Map:
			one.path += ".<name>"
		case reflect.Slice:
			if inner.Elem().Kind() == reflect.Struct {
				one.path += "[0]"
			}
			inner = inner.Elem()
		}
		found = append(found, one)
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct {
			found = append(found, r.options(inner, one.path+".")...)
		}
	}
	return found
}

// kindOf names the type of an option for readers.
func kindOf(of reflect.Type) string {
	switch {
	case of == reflect.TypeFor[ptypes.Duration]():
		return "duration"
	case of.Kind() == reflect.Pointer, of.Kind() == reflect.Map:
		return kindOf(of.Elem())
	case of.Kind() == reflect.Slice && kindOf(of.Elem()) == "section":
		return "list of sections"
	case of.Kind() == reflect.Slice:
		return "list of " + kindOf(of.Elem())
	case of.Kind() == reflect.Struct:
		return "section"
	case of.Kind() == reflect.Int64:
		return "int"
	case of.Kind() == reflect.Float64:
		return "number"
	}
	return of.Kind().String()
}

// standardOf prints the default of an option; empty where nothing is set.
func standardOf(value reflect.Value) string {
	if value.Kind() == reflect.Pointer {
		if value.IsNil() {
			return ""
		}
		value = value.Elem()
	}
	switch value.Kind() {
	case reflect.Struct, reflect.Map:
		return ""
	case reflect.Slice:
		var items []string
		for i := range value.Len() {
			items = append(items, value.Index(i).String())
		}
		return strings.Join(items, ", ")
	case reflect.Int64:
		if value.Type() == reflect.TypeFor[ptypes.Duration]() {
			return duration(time.Duration(value.Int()))
		}
		return strconv.FormatInt(value.Int(), 10)
	}
	return fmt.Sprint(value.Interface())
}

// duration prints 1m30s without units that are zero.
func duration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// humped matches names of Go fields with a capital inside, which words of a sentence do not have.
var humped = regexp.MustCompile(`\b([A-Z]+[a-z]+[A-Z]|[A-Z]{2,}[a-z])[A-Za-z0-9]*\b`)

// meaning makes a sentence for readers of the comment of a field: without the field's name in front, and with the names
// of options in place of those of fields.
func (r reader) meaning(of reflect.Type, field string) string {
	text, ok := strings.CutPrefix(r.comments[of.Name()][field], field)
	if !ok {
		return ""
	}
	text = strings.TrimPrefix(text, ",")
	for _, verb := range []string{" is ", " are "} {
		text = strings.TrimPrefix(text, verb)
	}
	text = strings.TrimSpace(text)
	text = humped.ReplaceAllStringFunc(text, func(name string) string {
		if other, found := of.FieldByName(name); found {
			key, _, _ := strings.Cut(other.Tag.Get("json"), ",")
			return "`" + key + "`"
		}
		return name
	})
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
