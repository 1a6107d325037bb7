package document

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// isScalar reports whether values of a type are written as one scalar.
func isScalar(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Struct, reflect.Map, reflect.Slice, reflect.Pointer, reflect.Interface, reflect.Array:
		return reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
	default:
		return true
	}
}

// isDuration reports whether a type is time.Duration, or by its name a type like it that counts in seconds.
func isDuration(t reflect.Type) bool {
	return t.Kind() == reflect.Int64 && t.Name() == "Duration"
}

func (r *run) duration(node *Node, target reflect.Value, path string, rules *rules) {
	what := `a duration such as "10s" or whole seconds`
	if rules.ranged {
		what += ", not negative"
	}
	if node.Kind != Scalar || node.Type == Bool {
		r.expected(node, path, what)
		return
	}
	unit := time.Second
	if target.Type() == reflect.TypeFor[time.Duration]() {
		unit = time.Nanosecond
	}
	parsed, err := time.ParseDuration(strings.TrimSpace(node.Value))
	if count, noInteger := node.Int(); noInteger == nil {
		if count > math.MaxInt64/int64(unit) || count < math.MinInt64/int64(unit) {
			r.problem(node.place(), path, "%s is too long for a duration", quote(node.Value))
			return
		}
		parsed, err = time.Duration(count)*unit, nil
	}
	if err != nil || !rules.allows(int64(parsed)) {
		r.expected(node, path, what)
		return
	}
	target.SetInt(int64(parsed))
}

// expected reports a value of the wrong type.
func (r *run) expected(node *Node, path, what string) {
	got := node.Kind.String()
	if node.Kind == Scalar {
		got = quote(node.Value)
	}
	r.problem(node.place(), path, "expected %s, got %s", what, got)
}

func (r *run) text(node *Node, target encoding.TextUnmarshaler, path string) {
	if node.Kind != Scalar {
		r.problem(node.place(), path, "expected a single value, got %s", node.Kind)
		return
	}
	if err := target.UnmarshalText([]byte(node.Value)); err != nil {
		r.problem(node.place(), path, "%v", err)
	}
}

// chosen fills a string that has a choice of values.
func (r *run) chosen(node *Node, target reflect.Value, path string, choice []string) {
	if node.Kind == Scalar && node.Value == "" {
		return
	}
	for _, value := range choice {
		if node.Kind == Scalar && strings.EqualFold(value, node.Value) {
			target.SetString(value)
			return
		}
	}
	r.expected(node, path, "one of "+strings.Join(choice, ", "))
}

func (r *run) scalar(node *Node, target reflect.Value, path string, rules *rules) {
	switch target.Kind() {
	case reflect.String:
		switch {
		case len(rules.enum) > 0:
			r.chosen(node, target, path, rules.enum)
		case node.Kind != Scalar:
			r.problem(node.place(), path, "expected a string, got %s", node.Kind)
		default:
			target.SetString(node.Value)
		}
	case reflect.Bool:
		value, err := parseBool(node)
		if err != nil {
			r.expected(node, path, "true or false")
			return
		}
		target.SetBool(value)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		r.integer(node, target, path, rules)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		r.unsigned(node, target, path)
	case reflect.Float32, reflect.Float64:
		value, err := parseFloat(node)
		if err != nil || target.OverflowFloat(value) || math.IsNaN(value) || math.IsInf(value, 0) {
			r.expected(node, path, "a number")
			return
		}
		target.SetFloat(value)
	default:
		r.problem(node.place(), path, "cannot be given in a document")
	}
}

func (r *run) integer(node *Node, target reflect.Value, path string, rules *rules) {
	value, err := node.Int()
	switch {
	case err != nil || !rules.allows(value):
		r.expected(node, path, rules.integers())
	case target.OverflowInt(value):
		r.expected(node, path, fmt.Sprintf("an integer of at most %d bits", target.Type().Bits()))
	default:
		target.SetInt(value)
	}
}

func (r *run) unsigned(node *Node, target reflect.Value, path string) {
	value, err := node.Int()
	switch {
	case err != nil || value < 0:
		r.expected(node, path, "an integer that is not negative")
	case target.OverflowUint(uint64(value)):
		r.expected(node, path, fmt.Sprintf("an integer of at most %d bits", target.Type().Bits()))
	default:
		target.SetUint(uint64(value))
	}
}

// parseBool accepts a bool, or a string or number that strconv accepts, as Traefik does.
func parseBool(node *Node) (bool, error) {
	if node.Kind != Scalar {
		return false, fmt.Errorf("expected true or false, got %s", node.Kind)
	}
	return strconv.ParseBool(strings.TrimSpace(node.Value))
}

func parseFloat(node *Node) (float64, error) {
	if node.Kind != Scalar || node.Type == Bool {
		return 0, fmt.Errorf("expected a number, got %s", node.Kind)
	}
	if value, err := node.Int(); err == nil {
		return float64(value), nil
	}
	text := strings.ReplaceAll(node.Value, "_", "")
	// YAML writes the special values with a dot.
	return strconv.ParseFloat(strings.Replace(text, ".inf", "inf", 1), 64)
}

// native converts a node to map[string]any, []any, string, int64, float64, bool or nil, for free-form options.
func (r *run) native(node *Node, path string) any {
	switch node.Kind {
	case Map:
		out := make(map[string]any, len(node.Fields))
		for i := range node.Fields {
			field := &node.Fields[i]
			at := joinKey(path, field.Key)
			if _, twice := out[field.Key]; twice {
				r.problem(field.place(), at, "is given twice")
				continue
			}
			out[field.Key] = r.native(field.Value, at)
		}
		return out
	case List:
		out := make([]any, 0, len(node.Items))
		for i, item := range node.Items {
			out = append(out, r.native(item, joinIndex(path, i)))
		}
		return out
	case Scalar:
		return r.nativeScalar(node, path)
	case Null:
	}
	return nil
}

func (r *run) nativeScalar(node *Node, path string) any {
	var (
		value any = node.Value
		err   error
	)
	switch node.Type {
	case Int:
		value, err = node.Int()
	case Float:
		value, err = parseFloat(node)
	case Bool:
		value, err = parseBool(node)
	case String:
	}
	if err != nil {
		r.problem(node.place(), path, "%v", err)
	}
	return value
}
