package tcp

import (
	"cmp"
	"fmt"
	"time"

	"github.com/sluiceproxy/sluice/router/rule/expression"
	"github.com/sluiceproxy/sluice/router/tcp/rule"
)

// catchAllPriority is that of a router for HostSNI(`*`) which names none: less than the length of any other rule.
const catchAllPriority = -1

// Route is one rule with its place in the order and whatever it leads to. It must not change once it is in a table.
type Route[T any] struct {
	// Name identifies the route in messages; among routes of equal priority and position the lower one wins.
	Name string
	// Rule decides which connections the route takes; it is never nil.
	Rule *rule.Rule
	// Priority orders routes first, higher ones win. See [Priority].
	Priority int
	// Created orders routes of equal priority, older ones win; Position those of the same time, lower ones win.
	Created  time.Time
	Position int
	// Value is what the route leads to.
	Value T
}

// Priority returns the priority of a router: the declared one if it is not 0, else the length of the rule in bytes, or
// -1 for a rule that is HostSNI(`*`) alone. It is an error to declare one above [expression.MaxPriority].
func Priority(declared int, r *rule.Rule) (int, error) {
	switch {
	case declared > expression.MaxPriority:
		return 0, fmt.Errorf("priority %d is above %d", declared, expression.MaxPriority)
	case declared != 0:
		return declared, nil
	case r.IsCatchAll():
		return catchAllPriority, nil
	default:
		return r.Length(), nil
	}
}

// Compare returns a negative number when r comes before other in the global order: by priority down, creation
// time, position and name up.
func (r *Route[T]) Compare(other *Route[T]) int {
	return cmp.Or(
		cmp.Compare(other.Priority, r.Priority),
		r.Created.Compare(other.Created),
		cmp.Compare(r.Position, other.Position),
		cmp.Compare(r.Name, other.Name),
	)
}
