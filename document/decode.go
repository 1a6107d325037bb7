package document

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Decoder fills Go values from nodes. It caches the layouts of struct types; the zero value is ready. It is not safe
// for concurrent use.
type Decoder struct {
	// Sections lets every struct behind a pointer be switched: a Null node and true make it with its defaults, false
	// leaves it out.
	Sections bool
	// Unknown returns the reason for an unknown key in the map at path, where known are the keys that it may have.
	// It is the function Unknown by default.
	Unknown func(path, key string, known []string) string

	layouts map[reflect.Type]*layout
}

// Decode is Decoder.Decode with a new Decoder.
func Decode(node *Node, into any) []Problem { return new(Decoder).Decode(node, into) }

// Decode fills the value that into points to from a node and returns all problems, by line. Valid parts are filled in
// even then. A Null node changes nothing.
//
//   - The json tag of a struct field is its key, compared ignoring case; a field tagged "-" has none. Embedded structs
//     without a name of their own add their fields. An unknown key is a problem that names the nearest known one.
//   - SetDefaults is called on structs that are created for a pointer, in a list or in a map, but not on into itself.
//     true makes a struct whose field has the tag label:"allowEmpty", false leaves it out.
//   - Keys of maps keep their case; two that differ only in case are a problem. In a map of strings a dotted key of
//     TOML is one key with dots.
//   - A list of scalars may be given as one string with commas.
//   - Integers and bools may be given as strings; a string accepts any scalar; a type named Duration accepts "1m30s" or
//     whole seconds (time.Duration: nanoseconds); encoding.TextUnmarshaler is used.
//   - The tag range:"MIN..MAX", of which MAX may be missing, limits integers and durations (in nanoseconds). The tag
//     enum:"a,b" lists the values of a string, compared ignoring case; an empty string changes nothing.
func (d *Decoder) Decode(node *Node, into any) []Problem {
	target := reflect.ValueOf(into)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		return []Problem{{Line: node.Line, Reason: fmt.Sprintf("cannot be decoded into %T, which is no pointer", into)}}
	}
	run := run{decoder: d}
	run.value(node, target.Elem(), "", &rules{})
	slices.SortStableFunc(run.problems, func(a, b Problem) int { return a.Line - b.Line })
	return run.problems
}

// run is one call of Decode.
type run struct {
	decoder  *Decoder
	problems []Problem
	// around are the structs that are being filled, outermost first.
	around []enclosing
}

// enclosing is a struct that is being filled.
type enclosing struct {
	path   string
	layout *layout
}

func (r *run) problem(at place, path, format string, args ...any) {
	r.problems = append(r.problems,
		Problem{Line: at.line, Source: at.source, Path: path, Reason: fmt.Sprintf(format, args...)})
}

// Defaulter is a struct that has defaults.
type Defaulter interface {
	// SetDefaults sets the defaults. It is called on a zero value, before decoding into it.
	SetDefaults()
}

// fresh returns a pointer to a new value with its defaults.
func fresh(t reflect.Type) reflect.Value {
	pointer := reflect.New(t)
	if d, ok := reflect.TypeAssert[Defaulter](pointer); ok {
		d.SetDefaults()
	}
	return pointer
}

// isSection reports whether a type is a struct behind a pointer that may be switched on and off.
func (r *run) isSection(t reflect.Type) bool {
	return r.decoder.Sections && t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct
}

// value fills one addressable value under the rules of its field.
func (r *run) value(node *Node, target reflect.Value, path string, rules *rules) {
	if node.Kind == Null {
		if r.isSection(target.Type()) && target.IsNil() {
			target.Set(fresh(target.Type().Elem()))
		}
		return
	}
	if target.Kind() == reflect.Pointer {
		r.pointer(node, target, path, rules)
		return
	}
	if isDuration(target.Type()) {
		r.duration(node, target, path, rules)
		return
	}
	if text, ok := reflect.TypeAssert[encoding.TextUnmarshaler](target.Addr()); ok {
		r.text(node, text, path)
		return
	}
	switch target.Kind() {
	case reflect.Struct:
		r.structure(node, target, path)
	case reflect.Map:
		r.mapping(node, target, path)
	case reflect.Slice:
		r.list(node, target, path, rules)
	case reflect.Interface:
		if target.NumMethod() > 0 {
			r.problem(node.place(), path, "cannot be given in a document")
			return
		}
		if native := r.native(node, path); native != nil {
			target.Set(reflect.ValueOf(native))
		}
	default:
		r.scalar(node, target, path, rules)
	}
}

func (r *run) pointer(node *Node, target reflect.Value, path string, rules *rules) {
	onOff := rules.onOff && target.Type().Elem().Kind() == reflect.Struct || r.isSection(target.Type())
	if onOff && node.Kind == Scalar {
		on, err := parseBool(node)
		if err != nil {
			r.problem(node.place(), path, "expected a map, true or false, got %s", quote(node.Value))
			return
		}
		target.SetZero()
		if on {
			target.Set(fresh(target.Type().Elem()))
		}
		return
	}
	// A fresh value is put in place only now, so that a value from SetDefaults of the parent is kept and not shared.
	if target.IsNil() {
		target.Set(fresh(target.Type().Elem()))
	}
	r.value(node, target.Elem(), path, rules)
}

func (r *run) structure(node *Node, target reflect.Value, path string) {
	if node.Kind != Map {
		r.problem(node.place(), path, "expected a map, got %s", node.Kind)
		return
	}
	layout := r.decoder.layout(target.Type())
	r.around = append(r.around, enclosing{path, layout})
	defer func() { r.around = r.around[:len(r.around)-1] }()
	seen := make(map[string]int, len(node.Fields))
	for i := range node.Fields {
		field := &node.Fields[i]
		folded := strings.ToLower(field.Key)
		if first, twice := seen[folded]; twice {
			r.problem(field.place(), joinKey(path, field.Key), "is given twice, first on line %d", first)
			continue
		}
		seen[folded] = field.Line
		known, ok := layout.keys[folded]
		if !ok {
			r.problem(field.place(), joinKey(path, field.Key), "%s", r.unknown(target.Type(), path, field.Key, layout.names))
			continue
		}
		r.value(field.Value, target.FieldByIndex(known.index), joinKey(path, known.name), &known.rules)
	}
}

// unknown returns the reason for an unknown key of a struct: with the nearest known one, or the place that has the key.
func (r *run) unknown(of reflect.Type, path, key string, known []string) string {
	if r.decoder.Unknown != nil {
		return r.decoder.Unknown(path, key, known)
	}
	if _, near := Nearest(key, known); !near {
		if place := r.placeOf(of, key); place != "" {
			return "unknown option here; it belongs " + place
		}
	}
	return Unknown(key, known)
}

// Unknown returns the reason for an unknown key, with the nearest known one.
func Unknown(key string, known []string) string {
	if name, ok := Nearest(key, known); ok {
		return fmt.Sprintf("unknown option, did you mean %q?", name)
	}
	return "unknown option"
}

func (r *run) mapping(node *Node, target reflect.Value, path string) {
	t := target.Type()
	if node.Kind != Map {
		r.problem(node.place(), path, "expected a map, got %s", node.Kind)
		return
	}
	if t.Key().Kind() != reflect.String {
		r.problem(node.place(), path, "cannot be given in a document")
		return
	}
	if target.IsNil() {
		target.Set(reflect.MakeMapWithSize(t, len(node.Fields)))
	}
	fields := node.Fields
	if t.Elem().Kind() == reflect.String {
		fields = undotted(fields)
	}
	seen := make(map[string]int, len(fields))
	for i := range fields {
		field := &fields[i]
		at := joinKey(path, field.Key)
		folded := strings.ToLower(field.Key)
		if first, twice := seen[folded]; twice {
			r.problem(field.place(), at, "is given twice, first on line %d", first)
			continue
		}
		seen[folded] = field.Line
		element := r.element(field.Value, t.Elem(), field.place(), at, &rules{})
		if element.IsValid() {
			target.SetMapIndex(reflect.ValueOf(field.Key).Convert(t.Key()), element)
		}
	}
}

// undotted returns the entries of a map of strings, whose keys may contain dots: those below dotted keys of TOML have
// the whole key.
func undotted(fields []Field) []Field {
	if !slices.ContainsFunc(fields, func(field Field) bool { return field.Value.Dotted }) {
		return fields
	}
	var out []Field
	for _, field := range fields {
		if !field.Value.Dotted {
			out = append(out, field)
			continue
		}
		for _, below := range undotted(field.Value.Fields) {
			below.Key = field.Key + "." + below.Key
			out = append(out, below)
		}
	}
	return out
}

// element makes one value of a list or a map, or the zero reflect.Value, which also stands for a section that is
// switched off or is refused: no list and no map holds a nil pointer.
func (r *run) element(node *Node, t reflect.Type, at place, path string, rules *rules) reflect.Value {
	if node.Kind == Null && t.Kind() != reflect.String && t.Kind() != reflect.Interface && !r.isSection(t) {
		r.problem(at, path, "has no value")
		return reflect.Value{}
	}
	element := fresh(t).Elem()
	r.value(node, element, path, rules)
	if r.isSection(t) && element.IsNil() {
		return reflect.Value{}
	}
	return element
}

func (r *run) list(node *Node, target reflect.Value, path string, rules *rules) {
	t := target.Type()
	items := node.Items
	switch {
	case node.Kind == Scalar && isScalar(t.Elem()):
		items = splitList(node)
	case node.Kind != List:
		r.problem(node.place(), path, "expected a list, got %s", node.Kind)
		return
	}
	out := reflect.MakeSlice(t, 0, len(items))
	for i, item := range items {
		at := joinIndex(path, i)
		if item.Kind == Null {
			r.problem(item.place(), at, "has no value")
			continue
		}
		if element := r.element(item, t.Elem(), item.place(), at, rules); element.IsValid() {
			out = reflect.Append(out, element)
		}
	}
	target.Set(out)
}

// splitList splits "a, b".
func splitList(node *Node) []*Node {
	if node.Type != String {
		return []*Node{node}
	}
	var items []*Node
	for _, part := range SplitList(node.Value) {
		item := &Node{Kind: Scalar, Line: node.Line, Column: node.Column, Source: node.Source, Value: part}
		items = append(items, item.closed())
	}
	return items
}

// SplitList splits a text at commas. Spaces around elements and empty elements are removed.
func SplitList(text string) []string {
	var elements []string
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			elements = append(elements, part)
		}
	}
	return elements
}
