package static

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/traefik/paerser/parser"
)

// listSeparator stands between the elements of a list on their way to the decoder. No value contains it: elements that do are refused.
const listSeparator = "\x00"

// decode checks everything below root and fills the configuration from it, once.
// What does not convert is reported and left at its default.
func decode(root *setting, configuration *Configuration, r *report) {
	node := &parser.Node{Name: "sluice", Kind: reflect.Pointer}
	d := decoder{report: r}
	d.sectionNode(root, node, Supported)
	if err := parser.Fill(configuration, node, parser.FillerOpts{RawSliceSeparator: listSeparator}); err != nil {
		r.fail(origin{}, "", "the configuration does not decode: %s", err)
	}
}

// decoder turns settings into the nodes that paerser fills types from.
type decoder struct {
	report *report
}

// node returns the node of a setting, or nil when there is nothing to decode.
// above is the class that has been reported for what is around the setting.
func (d decoder) node(s *setting, above Support) *parser.Node {
	if s.removed || s.blank() {
		return nil
	}
	if s.option.support != above {
		above = s.option.support
		if above != Supported {
			d.report.add(above.severity(), s.origin, s.path, above.reason(s.option.why))
		}
	}
	node := &parser.Node{Name: s.name, FieldName: s.option.field}
	switch s.option.shape {
	case section:
		d.sectionNode(s, node, above)
	case named:
		d.sectionNode(s, node, above)
		if len(node.Children) == 0 {
			return nil
		}
	case listed:
		d.checkIndices(s)
		d.sectionNode(s, node, above)
	case scalars:
		value, ok := d.list(s)
		if !ok {
			return nil
		}
		node.Value = value
	case scalar:
		value, ok := d.value(s.option, s.items[0].text, s.origin, s.path)
		if !ok {
			return nil
		}
		node.Value = value
	case free:
	}
	return node
}

// sectionNode adds the nodes of everything below s.
func (d decoder) sectionNode(s *setting, node *parser.Node, above Support) {
	for _, child := range s.children {
		if below := d.node(child, above); below != nil {
			node.Children = append(node.Children, below)
		}
	}
}

// checkIndices puts the elements of a list in order and reports the first gap.
func (d decoder) checkIndices(s *setting) {
	number := func(c *setting) int {
		i, err := strconv.Atoi(strings.Trim(c.name, "[]"))
		if err != nil {
			return math.MaxInt
		}
		return i
	}
	slices.SortStableFunc(s.children, func(a, b *setting) int { return number(a) - number(b) })
	for i, child := range s.children {
		if child.name != index(i) {
			d.report.fail(child.origin, child.path, "is given, but %s%s is not", s.path, index(i))
			return
		}
	}
}

// blank reports whether nothing was written for a value: it was named without one, or its text is empty where text
// means nothing.
func (s *setting) blank() bool {
	switch s.option.shape {
	case scalar:
		if len(s.items) == 0 {
			return true
		}
		return s.items[0].text == "" && (len(s.option.limits.enum) > 0 || s.option.support != Supported)
	case scalars:
		return !s.written || len(s.items) == 0 && s.option.support != Supported
	default:
		return false
	}
}

// list encodes the elements of a list of values: the separator, the kind that the decoder skips, and the elements.
func (d decoder) list(s *setting) (string, bool) {
	var b strings.Builder
	b.WriteString(listSeparator)
	b.WriteString(strconv.Itoa(int(s.option.typ.Kind())))
	good := true
	for i, element := range s.items {
		from := s.origin
		if element.line > 0 {
			from.line = element.line
		}
		value, ok := d.value(s.option, element.text, from, s.path+index(i))
		if ok && strings.Contains(value, listSeparator) {
			d.report.fail(from, s.path+index(i), "contains a NUL character")
			ok = false
		}
		good = good && ok
		b.WriteString(listSeparator)
		b.WriteString(value)
	}
	return b.String(), good
}

// value checks one value and returns it in the form that the decoder takes.
func (d decoder) value(o *option, text string, from origin, path string) (string, bool) {
	if len(o.limits.enum) > 0 {
		for _, allowed := range o.limits.enum {
			if strings.EqualFold(allowed, text) {
				return allowed, true
			}
		}
		d.wrong(o, text, from, path)
		return "", false
	}
	if err := convert(o, text); err != nil {
		d.wrong(o, text, from, path)
		return "", false
	}
	return text, true
}

func (d decoder) wrong(o *option, text string, from origin, path string) {
	d.report.fail(from, path, "expected %s, got %s", o.expected(), shorten(text))
}

// convert tries the conversion of one value, and its limits.
func convert(o *option, text string) error {
	if o.typ == reflect.TypeFor[Duration]() {
		duration, err := parseDuration(text)
		if err == nil && o.limits.ranged && duration < 0 {
			return fmt.Errorf("%s is negative", duration)
		}
		return err
	}
	var err error
	switch o.typ.Kind() {
	case reflect.Bool:
		_, err = strconv.ParseBool(text)
	case reflect.Int, reflect.Int64:
		var v int64
		v, err = strconv.ParseInt(text, 10, 64)
		if err == nil && o.limits.ranged && (v < o.limits.min || v > o.limits.max) {
			return fmt.Errorf("%d is out of range", v)
		}
	case reflect.Float64:
		var v float64
		v, err = strconv.ParseFloat(text, 64)
		if err == nil && (math.IsNaN(v) || math.IsInf(v, 0)) {
			return fmt.Errorf("%v is no number", v)
		}
	default:
	}
	return err
}

// parseDuration reads a duration; an integer counts seconds.
func parseDuration(text string) (time.Duration, error) {
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.ParseDuration(text)
	}
	const most = int64(math.MaxInt64 / time.Second)
	if seconds > most || seconds < -most {
		return 0, fmt.Errorf("%d seconds are too long", seconds)
	}
	return time.Duration(seconds) * time.Second, nil
}

// shorten quotes the beginning of a value.
func shorten(text string) string {
	const most = 60
	if len(text) > most {
		return strconv.Quote(strings.ToValidUTF8(text[:most], "")) + "..."
	}
	return strconv.Quote(text)
}
