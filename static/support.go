package static

import (
	"strconv"

	"github.com/sluiceproxy/sluice/document"
)

// Support says what Sluice does with an option that is configured.
type Support string

// The classes of options. They are the values of the support tag on a field; a field without the tag is Supported
// unless a field above it says otherwise.
const (
	// Supported options do what they say.
	Supported Support = ""
	// Ignored options are known and not supported yet; without them something behaves otherwise, which is a warning.
	Ignored Support = "warn"
	// Inert options are known and have no effect, by design; they are logged on level DEBUG.
	Inert Support = "inert"
	// Refused options are known and not supported yet, and starting without them would do harm:
	// protection or whole sets of routes would be missing. They stop the start.
	Refused Support = "refuse"
)

// String returns the class as the reference shows it.
func (s Support) String() string {
	switch s {
	case Ignored:
		return "not yet (warning)"
	case Inert:
		return "no effect"
	case Refused:
		return "not yet (refused)"
	default:
		return "yes"
	}
}

// severity is that of a finding about a configured option of the class.
func (s Support) severity() Severity {
	switch s {
	case Refused:
		return Error
	case Ignored:
		return Warning
	default:
		return Debug
	}
}

// reason is what a finding about a configured option of the class says; why may be empty.
func (s Support) reason(why string) string {
	var text string
	switch s {
	case Refused:
		text = "is not supported yet, and Sluice does not start with it"
	case Ignored:
		text = "is not supported yet and is ignored"
	default:
		text = "has no effect in Sluice"
	}
	if why != "" {
		text += ": " + why
	}
	return text
}

// classify reports every option at or below a field that is written and not supported. above is the class that has been
// reported for what is around the field.
func (l *loader) classify(o *option, field *document.Field, path string, above Support) {
	node := field.Value
	if o.unset(node) {
		return
	}
	if o.Support != above {
		above = o.Support
		if above != Supported {
			l.report(above.severity(), node.Source, field.Line, path, above.reason(o.Why))
		}
	}
	for i := range node.Fields {
		key := node.Fields[i].Key
		if child := o.child(key); child != nil {
			name := document.ShowKey(key)
			if o.shape == section {
				name = child.name
			}
			l.classify(child, &node.Fields[i], join(path, name), above)
		}
	}
	if o.shape == listed {
		for i, item := range node.Items {
			l.classify(o.element, &document.Field{Line: item.Line, Value: item}, join(path, index(i)), above)
		}
	}
}

// unset reports whether the node of an option leaves its default: a section is switched off, or a value is empty.
func (o *option) unset(node *document.Node) bool {
	switch {
	case node.Kind == document.Null:
		return o.shape != section || !o.optional
	case node.Kind == document.Scalar && o.shape == section:
		on, err := strconv.ParseBool(node.Value)
		return o.optional && err == nil && !on
	default:
		return (o.shape == scalar || o.shape == scalars) && node.Value == "" && len(node.Items) == 0
	}
}
