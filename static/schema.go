package static

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

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
	name        string // as it is spelled, "<name>" below a map, "[0]" below a list
	field       string // name of the Go field
	shape       shape
	typ         reflect.Type // of the value, or of one value of a list
	optional    bool         // a pointer: writing the section alone means something
	support     Support
	why         string // why the option is refused or ignored
	description string
	limits      limits
	def         reflect.Value // the default
	children    []*option     // of a section
	element     *option       // below a map or a list of sections
}

// limits narrows the values of a type.
type limits struct {
	enum   []string
	ranged bool
	min    int64
	max    int64
}

// newSchema derives the tree from the type of Configuration.
func newSchema() *option {
	var configuration Configuration
	configuration.SetDefaults()
	return describe(reflect.ValueOf(configuration), &option{})
}

// describe completes o, whose name and tags are set, by the type and the default of value.
func describe(value reflect.Value, o *option) *option {
	if value.Kind() == reflect.Pointer {
		o.optional = true
		if value.IsNil() {
			value = withDefaults(value.Type().Elem())
		}
		value = value.Elem()
	}
	o.typ, o.def = value.Type(), value
	switch value.Kind() {
	case reflect.Struct:
		o.shape = section
		describeFields(value, o)
		if value.Type() == reflect.TypeFor[FreeForm]() {
			o.shape = free
		}
	case reflect.Map:
		o.shape = named
		o.element = describeElement(value.Type().Elem(), o, "<name>")
	case reflect.Slice:
		o.typ = value.Type().Elem()
		o.shape = scalars
		if o.typ.Kind() == reflect.Struct {
			o.shape = listed
			o.element = describeElement(o.typ, o, "[0]")
		}
	default:
		o.shape = scalar
	}
	return o
}

// describeFields adds the fields of a struct as options below o.
func describeFields(value reflect.Value, o *option) {
	for i := range value.NumField() {
		field := value.Type().Field(i)
		child := &option{
			name:        field.Tag.Get("json"),
			field:       field.Name,
			support:     o.support,
			why:         o.why,
			description: field.Tag.Get("description"),
			limits:      parseLimits(field.Tag),
		}
		if support, ok := field.Tag.Lookup("support"); ok {
			child.support, child.why = Support(support), field.Tag.Get("why")
		}
		o.children = append(o.children, describe(value.Field(i), child))
	}
}

// describeElement describes what is below a map or a list.
func describeElement(typ reflect.Type, parent *option, name string) *option {
	element := &option{name: name, support: parent.support, why: parent.why}
	if typ.Kind() == reflect.Pointer {
		element.optional = true
		typ = typ.Elem()
	}
	return describe(withDefaults(typ).Elem(), element)
}

// withDefaults returns a pointer to a new value with its defaults.
func withDefaults(typ reflect.Type) reflect.Value {
	value := reflect.New(typ)
	if d, ok := value.Interface().(document.Defaulter); ok {
		d.SetDefaults()
	}
	return value
}

// parseLimits reads the tags enum:"a,b" and range:"MIN..MAX", in which MAX may be missing.
func parseLimits(tag reflect.StructTag) limits {
	var l limits
	if enum := tag.Get("enum"); enum != "" {
		l.enum = strings.Split(enum, ",")
	}
	if text, ok := tag.Lookup("range"); ok {
		low, high, _ := strings.Cut(text, "..")
		l.ranged, l.min, l.max = true, 0, 1<<63-1
		if v, err := strconv.ParseInt(low, 10, 64); err == nil {
			l.min = v
		}
		if v, err := strconv.ParseInt(high, 10, 64); err == nil {
			l.max = v
		}
	}
	return l
}

// child returns the option of that name below a section, or nil.
func (o *option) child(name string) *option {
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

// expected says what a value of the option looks like.
func (o *option) expected() string {
	if len(o.limits.enum) > 0 {
		return "one of " + strings.Join(o.limits.enum, ", ")
	}
	switch o.shape {
	case section, named:
		return "a map of options"
	case listed:
		return "a list"
	case scalars:
		return "a list, each element " + o.expectedValue()
	default:
		return o.expectedValue()
	}
}

func (o *option) expectedValue() string {
	if o.typ == reflect.TypeFor[Duration]() {
		text := "a duration such as 10s or 1m30s, or a number of seconds"
		if o.limits.ranged {
			text += ", not negative"
		}
		return text
	}
	switch o.typ.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "an integer" + o.limits.suffix()
	case reflect.Float64:
		return "a number"
	default:
		return "text"
	}
}

// suffix describes the range of an integer.
func (l limits) suffix() string {
	switch {
	case !l.ranged:
		return ""
	case l.max == 1<<63-1:
		return fmt.Sprintf(" of at least %d", l.min)
	default:
		return fmt.Sprintf(" from %d to %d", l.min, l.max)
	}
}
