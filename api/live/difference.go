package live

import (
	"cmp"
	"encoding"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sluiceproxy/sluice/dynamic"
)

const (
	// maxDifferences is the maximum number of listed differences of one object.
	maxDifferences = 100
	// maxShown is the maximum length of a shown value, in bytes.
	maxShown = 1000
	// hidden replaces values that the redacted copy does not have.
	hidden = "xxxx"
)

// Difference is one value that differs between two versions of an object. A changed secret is xxxx on both sides.
type Difference struct {
	// Path is the path of the value, like loadBalancer.servers[0].url.
	Path string `json:"path"`
	// Before and After are the redacted values: strings (at most 1000 bytes), numbers or booleans, or null if absent.
	Before any `json:"before"`
	After  any `json:"after"`
}

// differences compares two versions of an object; one may be nil. The original values decide whether they differ;
// everything shown, also map keys in paths, comes from the redacted copies.
func differences(before, after any) (list []Difference, more int) {
	was, is := leavesOf(before), leavesOf(after)
	paths := slices.Collect(maps.Keys(was))
	for path := range is {
		if _, both := was[path]; !both {
			paths = append(paths, path)
		}
	}
	slices.SortFunc(paths, comparePaths)
	list = []Difference{}
	for _, path := range paths {
		old, now := was[path], is[path]
		if old.plain == now.plain {
			continue
		}
		if len(list) == maxDifferences {
			more++
			continue
		}
		list = append(list, Difference{Path: cmp.Or(old.path, now.path), Before: old.shown(), After: now.shown()})
	}
	return list, more
}

// comparePaths compares paths so that the second element of a list comes before the tenth.
func comparePaths(a, b string) int {
	for a != "" && b != "" {
		x, y := digits(a), digits(b)
		if x > 0 && y > 0 {
			if order := cmp.Or(cmp.Compare(x, y), cmp.Compare(a[:x], b[:y])); order != 0 {
				return order
			}
			a, b = a[x:], b[y:]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

// digits returns the number of leading digits.
func digits(text string) int {
	return len(text) - len(strings.TrimLeft(text, "0123456789"))
}

// leaf is a value of an object and its counterpart in the redacted copy.
type leaf struct {
	plain, redacted any
	// path is the redacted path.
	path string
}

// shown returns the redacted value, or nil if there is none.
func (l leaf) shown() any {
	if l.plain == l.redacted {
		return shortened(l.plain)
	}
	if text, is := l.redacted.(string); is {
		return shortened(text)
	}
	return hidden // A redacted number has no marker of its own.
}

func shortened(value any) any {
	text, is := value.(string)
	if !is || len(text) <= maxShown {
		return value
	}
	cut := maxShown
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}

func leavesOf(object any) leaves {
	found := leaves{}
	if object != nil {
		found.collect(place{}, reflect.ValueOf(object), reflect.ValueOf(dynamic.Redacted(object)))
	}
	return found
}

// leaves maps paths to values of an object.
type leaves map[string]leaf

// place is the path of a value and its redacted form.
type place struct{ path, shown string }

func (p place) field(name, shown string) place {
	if p.path == "" {
		return place{name, shown}
	}
	return place{p.path + "." + name, p.shown + "." + shown}
}

func (p place) element(i int) place {
	index := "[" + strconv.Itoa(i) + "]"
	return place{p.path + index, p.shown + index}
}

func (l leaves) note(at place, plain, redacted any) {
	l[at.path] = leaf{plain: plain, redacted: redacted, path: at.shown}
}

// collect adds the values below a value. An empty section, list or map is a value too, since its presence may enable
// something. redacted is invalid if there is no counterpart.
func (l leaves) collect(at place, value, redacted reflect.Value) {
	for value.Kind() == reflect.Pointer || value.Kind() == reflect.Interface {
		if value.IsNil() {
			return
		}
		value = value.Elem()
		if redacted.IsValid() {
			redacted = redacted.Elem()
		}
	}
	if text, ok := written(value); ok {
		copied, _ := written(redacted)
		l.note(at, text, copied)
		return
	}
	switch value.Kind() {
	case reflect.Struct:
		l.collectStruct(at, value, redacted)
	case reflect.Map:
		l.collectMap(at, value, redacted)
	case reflect.Slice, reflect.Array:
		for i := range value.Len() {
			inner := reflect.Value{}
			if redacted.IsValid() && i < redacted.Len() {
				inner = redacted.Index(i)
			}
			l.collect(at.element(i), value.Index(i), inner)
		}
		if value.Len() == 0 && (value.Kind() == reflect.Array || !value.IsNil()) {
			l.note(at, "[]", "[]")
		}
	case reflect.Func, reflect.Chan, reflect.UnsafePointer, reflect.Invalid: // Not used by any model.
	case reflect.String: // Named string types are shown as strings.
		copied := any(hidden)
		if redacted.IsValid() {
			copied = redacted.String()
		}
		l.note(at, value.String(), copied)
	default:
		copied := any(hidden)
		if redacted.IsValid() {
			copied = redacted.Interface()
		}
		l.note(at, value.Interface(), copied)
	}
}

func (l leaves) collectMap(at place, value, redacted reflect.Value) {
	for key, element := range value.Seq2() {
		name, shown, inner := fmt.Sprint(key.Interface()), hidden, reflect.Value{}
		if redacted.IsValid() {
			if inner = redacted.MapIndex(key); inner.IsValid() {
				shown = name
			}
		}
		l.collect(at.field(name, shown), element, inner)
	}
	if value.Len() == 0 && !value.IsNil() {
		l.note(at, "{}", "{}")
	}
}

// collectStruct adds the fields. Zero values of fields with omitempty are skipped, as in a file.
func (l leaves) collectStruct(at place, value, redacted reflect.Value) {
	before := len(l)
	for field := range value.Type().Fields() {
		if !field.IsExported() {
			continue
		}
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		optional := strings.Contains(options, "omitempty")
		switch name {
		case "":
			name = field.Name
		case "-": // Not part of the declared form.
			name, optional = strings.ToLower(field.Name[:1])+field.Name[1:], true
		}
		inner, copied := value.FieldByIndex(field.Index), reflect.Value{}
		if optional && inner.IsZero() {
			continue
		}
		if redacted.IsValid() {
			copied = redacted.FieldByIndex(field.Index)
		}
		if field.Anonymous {
			l.collect(at, inner, copied)
		} else {
			l.collect(at.field(name, name), inner, copied)
		}
	}
	if len(l) == before && at.path != "" {
		l.note(at, "{}", "{}")
	}
}

// written returns the text of a value that has a text form: a duration, an address.
func written(value reflect.Value) (string, bool) {
	if !value.IsValid() || !value.CanInterface() {
		return hidden, false
	}
	known, is := value.Interface().(encoding.TextMarshaler)
	if !is {
		return "", false
	}
	text, err := known.MarshalText()
	return string(text), err == nil
}
