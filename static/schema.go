package static

import (
	"encoding"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/sluiceproxy/sluice/document"
)

// shape is the form in which an option is written.
type shape int

const (
	section shape = iota // a struct: options below it
	named                // a map: names chosen by the user, with element below each
	listed               // a list of sections
	scalars              // a list of values
	scalar               // one value
	free                 // anything at all
)

// option is one node of the tree of everything that can be configured, as the types declare it.
type option struct {
	Option

	name     string // as it is spelled, "<name>" below a map, "[0]" below a list
	shape    shape
	optional bool      // a pointer: writing the section alone means something
	children []*option // of a section
	element  *option   // below a map or a list of sections
}

// newSchema derives the tree from the type of Configuration.
func newSchema() *option {
	var configuration Configuration
	configuration.SetDefaults()
	return (&option{}).describe(reflect.ValueOf(configuration))
}

// describe completes o, whose name and tags are set, by the type and the default of value.
func (o *option) describe(value reflect.Value) *option {
	if value.Kind() == reflect.Pointer {
		o.optional = true
		if value.IsNil() {
			value = withDefaults(value.Type().Elem())
		}
		value = value.Elem()
	}
	switch t := value.Type(); {
	case t == reflect.TypeFor[FreeForm]():
		o.shape, o.Type = free, "anything"
	case t.Kind() == reflect.Struct && !isText(t):
		o.shape, o.Type = section, "section"
		for i := range t.NumField() {
			o.children = append(o.children, o.below(t.Field(i)).describe(value.Field(i)))
		}
	case t.Kind() == reflect.Map:
		o.shape = named
		o.element = o.below(reflect.StructField{Name: "<name>"}).describe(withDefaults(t.Elem()).Elem())
		o.element.Description = o.Description
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct && !isText(t.Elem()):
		o.shape, o.Type = listed, "list of sections"
		o.element = o.below(reflect.StructField{Name: "[0]"}).describe(withDefaults(t.Elem()).Elem())
	case t.Kind() == reflect.Slice:
		o.shape, o.Type = scalars, "list of "+typeName(t.Elem())
		defaults := make([]string, value.Len())
		for i := range defaults {
			defaults[i] = render(value.Index(i))
		}
		o.Default = strings.Join(defaults, ", ")
	default:
		o.shape, o.Type, o.Default = scalar, typeName(t), render(value)
	}
	return o
}

// below returns the option of a field below o, which inherits the class of o unless it has its own.
func (o *option) below(field reflect.StructField) *option {
	child := &option{name: field.Name, Option: Option{
		Description: field.Tag.Get("description"),
		Values:      strings.FieldsFunc(field.Tag.Get("enum"), func(r rune) bool { return r == ',' }),
		Support:     o.Support,
		Why:         o.Why,
	}}
	if key, ok := field.Tag.Lookup("json"); ok {
		child.name = key
	}
	if support, ok := field.Tag.Lookup("support"); ok {
		child.Support, child.Why = Support(support), field.Tag.Get("why")
	}
	child.Path = join(o.Path, child.name)
	return child
}

// withDefaults returns a pointer to a new value with its defaults.
func withDefaults(typ reflect.Type) reflect.Value {
	value := reflect.New(typ)
	if d, ok := value.Interface().(document.Defaulter); ok {
		d.SetDefaults()
	}
	return value
}

// isText reports whether values of a type are written as text.
func isText(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// typeName names the type of a value.
func typeName(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[Duration]():
		return "duration"
	case isText(t):
		return "string"
	case t.Kind() == reflect.Int64:
		return "int"
	case t.Kind() == reflect.Float64:
		return "float"
	}
	return t.Kind().String()
}

// render returns a default as it would be written.
func render(value reflect.Value) string {
	switch {
	case value.Type() == reflect.TypeFor[Duration]():
		return shortDuration(time.Duration(value.Int()))
	case value.Kind() == reflect.Float64:
		return strconv.FormatFloat(value.Float(), 'f', -1, 64)
	}
	return fmt.Sprint(value.Interface())
}

// shortDuration renders a duration without the units that are zero.
func shortDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// child returns the option of that name below a section or a map, or nil.
func (o *option) child(name string) *option {
	if o.shape == named {
		return o.element
	}
	for _, child := range o.children {
		if strings.EqualFold(child.name, name) {
			return child
		}
	}
	return nil
}

// names returns the names of the options below a section.
func (o *option) names() []string {
	names := make([]string, len(o.children))
	for i, child := range o.children {
		names[i] = child.name
	}
	return names
}

// accepts reports whether what a source has written for a section, a map or a list can be one, so that another source
// can add to it; node may be nil.
func (o *option) accepts(node *document.Node) bool {
	switch {
	case node == nil, node.Kind == document.Null:
		return true
	case node.Kind == document.Scalar:
		_, err := strconv.ParseBool(node.Value)
		return o.optional && o.shape == section && err == nil
	case node.Kind == document.List:
		return o.shape == listed
	default:
		return o.shape == section || o.shape == named
	}
}

// index is the name of an element of a list.
func index(i int) string { return "[" + strconv.Itoa(i) + "]" }
