package static

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Option describes one static option.
type Option struct {
	// Path is the name of the option with dots, such as entryPoints.<name>.address; <name> is chosen by the user, and
	// [0] is an element of a list.
	Path string
	// Type is section, bool, int, float, duration, string, a list of one of these, or anything.
	Type string
	// Default is what applies when the option is not written; it is empty for nothing.
	Default string
	// Description is one sentence; options that are not supported may have none.
	Description string
	// Values lists what may be written when that is a choice.
	Values []string
	// Support says what Sluice does with the option.
	Support Support
	// Why says what the class means for this option; it may be empty.
	Why string
}

// Options returns every option in the order of its path. A section is an option of its own when writing it alone means
// something, as api does.
func Options() []Option {
	var options []Option
	collect(newSchema(), "", &options)
	slices.SortFunc(options, func(a, b Option) int { return strings.Compare(a.Path, b.Path) })
	return options
}

// collect appends what is below o.
func collect(o *option, path string, options *[]Option) {
	switch {
	case o.shape == section && (o.optional || len(o.children) == 0) && path != "" && !strings.HasSuffix(path, ">"):
		*options = append(*options, o.describe(path, "section", ""))
	case o.shape == listed:
		*options = append(*options, o.describe(path, "list of sections", ""))
	case o.shape == scalar || o.shape == scalars:
		*options = append(*options, o.describe(path, o.typeName(), o.defaultText()))
	case o.shape == named && o.element.shape != section:
		*options = append(*options, o.describe(path+".<name>", o.element.typeName(), ""))
		return
	}
	for _, child := range o.children {
		collect(child, strings.TrimPrefix(path+"."+child.name, "."), options)
	}
	switch o.shape {
	case named:
		collect(o.element, path+".<name>", options)
	case listed:
		collect(o.element, path+"[0]", options)
	default:
	}
}

func (o *option) describe(path, typ, def string) Option {
	return Option{
		Path:        path,
		Type:        typ,
		Default:     def,
		Description: o.description,
		Values:      o.limits.enum,
		Support:     o.support,
		Why:         o.why,
	}
}

// typeName names the type of a value.
func (o *option) typeName() string {
	var name string
	switch {
	case o.shape == free:
		return "anything"
	case o.typ == reflect.TypeFor[Duration]():
		name = "duration"
	case o.typ.Kind() == reflect.Int || o.typ.Kind() == reflect.Int64:
		name = "int"
	case o.typ.Kind() == reflect.Float64:
		name = "float"
	default:
		name = o.typ.Kind().String()
	}
	if o.shape == scalars {
		return "list of " + name
	}
	return name
}

// defaultText renders the default as it would be written.
func (o *option) defaultText() string {
	if o.shape != scalars {
		return renderValue(o.def)
	}
	parts := make([]string, o.def.Len())
	for i := range parts {
		parts[i] = renderValue(o.def.Index(i))
	}
	return strings.Join(parts, ", ")
}

func renderValue(value reflect.Value) string {
	if value.Type() == reflect.TypeFor[Duration]() {
		return shortDuration(time.Duration(value.Int()))
	}
	if value.Kind() == reflect.Float64 {
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
