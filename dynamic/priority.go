package dynamic

import "fmt"

// PriorityClass is the importance of the requests of a router while Sluice is overloaded: those of lower classes are
// refused first. Classes compare with <; the zero value is PriorityDefault.
type PriorityClass int8

// The priority classes, from the least important one.
const (
	// PriorityLow is for requests that are refused first: batch jobs, prefetching, crawlers.
	PriorityLow PriorityClass = iota - 1
	// PriorityDefault is that of routers that declare none.
	PriorityDefault
	// PriorityHigh is for requests that are refused last.
	PriorityHigh
	// PriorityCritical is for requests that are never refused because of overload.
	PriorityCritical
)

// ParsePriorityClass returns the class of a name: low, default, high or critical. The empty name is default. Any other
// is an error, with PriorityDefault.
func ParsePriorityClass(name string) (PriorityClass, error) {
	switch name {
	case "low":
		return PriorityLow, nil
	case "", "default":
		return PriorityDefault, nil
	case "high":
		return PriorityHigh, nil
	case "critical":
		return PriorityCritical, nil
	}
	return PriorityDefault, fmt.Errorf("priorityClass %q is none of low, default, high, critical", name)
}

// String returns the name of the class; that of a value which is no class is its number.
func (c PriorityClass) String() string {
	switch c {
	case PriorityLow:
		return "low"
	case PriorityDefault:
		return "default"
	case PriorityHigh:
		return "high"
	case PriorityCritical:
		return "critical"
	}
	return fmt.Sprintf("PriorityClass(%d)", int8(c))
}
