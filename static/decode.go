package static

import (
	"cmp"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/sluiceproxy/sluice/document"
)

// decode checks everything below root and fills the configuration from it, once.
// What does not convert is reported and left at its default.
func decode(root *setting, configuration *Configuration, r *report) {
	d := decoder{report: r}
	for _, problem := range d.document.Decode(d.section(root, Supported), configuration) {
		r.fail(origin{}, "", "the configuration does not decode: %s", problem)
	}
}

// decoder turns what is left of all sources, after it has been checked, into one document.
type decoder struct {
	report   *report
	document document.Decoder
}

// node returns the node of a setting, or nil when there is nothing to decode.
// above is the class that has been reported for what is around the setting.
func (d *decoder) node(s *setting, above Support) *document.Node {
	if s.removed || s.blank() {
		return nil
	}
	if s.option.support != above {
		above = s.option.support
		if above != Supported {
			d.report.add(above.severity(), s.origin, s.path, above.reason(s.option.why))
		}
	}
	switch s.option.shape {
	case named:
		if node := d.section(s, above); len(node.Fields) > 0 {
			return node
		}
		return nil
	case listed:
		d.checkIndices(s)
		return d.elements(s, above)
	case scalars:
		return d.list(s)
	case scalar:
		return d.value(s.option, s.items[0].text, s.origin, s.path)
	case section, free:
	}
	return d.section(s, above)
}

// section returns a map of everything below s.
func (d *decoder) section(s *setting, above Support) *document.Node {
	node := &document.Node{Kind: document.Map}
	for _, child := range s.children {
		if below := d.node(child, above); below != nil {
			node.Fields = append(node.Fields, document.Field{Key: child.name, Value: below})
		}
	}
	return node
}

// elements returns a list of the sections below s.
func (d *decoder) elements(s *setting, above Support) *document.Node {
	node := &document.Node{Kind: document.List}
	for _, child := range s.children {
		if below := d.node(child, above); below != nil {
			node.Items = append(node.Items, below)
		}
	}
	return node
}

// checkIndices puts the elements of a list in order and reports the first gap.
func (d *decoder) checkIndices(s *setting) {
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

// list returns the elements of a list of values, or nil when one of them is wrong.
func (d *decoder) list(s *setting) *document.Node {
	node := &document.Node{Kind: document.List}
	for i, element := range s.items {
		from := s.origin
		from.line = cmp.Or(element.line, from.line)
		if value := d.value(s.option, element.text, from, s.path+index(i)); value != nil {
			node.Items = append(node.Items, value)
		}
	}
	if len(node.Items) < len(s.items) {
		return nil
	}
	return node
}

// value returns one value, or nil when it is wrong.
func (d *decoder) value(o *option, text string, from origin, path string) *document.Node {
	if at := slices.IndexFunc(o.limits.enum, func(known string) bool { return strings.EqualFold(known, text) }); at >= 0 {
		text = o.limits.enum[at]
	} else if len(o.limits.enum) > 0 || !d.converts(o, text) {
		d.report.fail(from, path, "expected %s, got %s", o.expected(), shorten(text))
		return nil
	}
	return scalarNode(text)
}

func scalarNode(text string) *document.Node {
	return &document.Node{Kind: document.Scalar, Value: text}
}

// converts reports whether a text is a value of the option within its limits.
func (d *decoder) converts(o *option, text string) bool {
	value := reflect.New(o.typ)
	if len(d.document.Decode(scalarNode(text), value.Interface())) > 0 {
		return false
	}
	switch value = value.Elem(); {
	case value.CanFloat():
		return !math.IsNaN(value.Float()) && !math.IsInf(value.Float(), 0)
	case value.CanInt() && o.limits.ranged:
		return value.Int() >= o.limits.min && value.Int() <= o.limits.max
	}
	return true
}

// shorten quotes the beginning of a value.
func shorten(text string) string {
	const most = 60
	if len(text) > most {
		return strconv.Quote(strings.ToValidUTF8(text[:most], "")) + "..."
	}
	return strconv.Quote(text)
}
