package expression

import (
	"math"
	"strings"
)

// Spec describes a matcher of a language.
type Spec[V any] struct {
	// Name is the documented spelling.
	Name string
	// Min and Max bound the number of arguments; Max may be [Unbounded].
	Min, Max int
	// Build makes the matcher, or several joined by operators. No argument is empty. The message of its fault does not
	// name the matcher.
	Build func(args []string, b *Budget) (Node[V], *Fault)
}

// Unbounded is the Max of a [Spec] that takes any number of arguments.
const Unbounded = math.MaxInt

// Language lists the matchers of a rule language in the order of its documentation.
type Language[V any] []Spec[V]

// Names returns the documented names of the matchers.
func (l Language[V]) Names() []string {
	names := make([]string, len(l))
	for i := range l {
		names[i] = l[i].Name
	}
	return names
}

// find returns a matcher by its written name, or nil. Four spellings are accepted.
func (l Language[V]) find(written string) *Spec[V] {
	for i := range l {
		name := l[i].Name
		if len(name) != len(written) || !strings.EqualFold(name, written) {
			continue
		}
		lower := strings.ToLower(name)
		switch written {
		case name, lower, strings.ToUpper(name), strings.ToUpper(lower[:1]) + lower[1:]:
			return &l[i]
		}
	}
	return nil
}
