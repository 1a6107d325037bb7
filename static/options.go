package static

import (
	"slices"
	"strings"
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
	options := newSchema().collect(nil)
	slices.SortFunc(options, func(a, b Option) int { return strings.Compare(a.Path, b.Path) })
	return options
}

// collect appends o and what is below it.
func (o *option) collect(options []Option) []Option {
	switch o.shape {
	case section:
		if (o.optional || len(o.children) == 0) && o.Path != "" && !strings.HasSuffix(o.Path, ">") {
			options = append(options, o.Option)
		}
	case named:
	default:
		options = append(options, o.Option)
	}
	for _, child := range o.children {
		options = child.collect(options)
	}
	if o.element != nil {
		options = o.element.collect(options)
	}
	return options
}
