package router

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
)

const (
	// maxNesting is how deep chains of middlewares, and services of services, may refer to others. It bounds how long the
	// reason of a verdict gets, which names the objects in between.
	maxNesting = 50
	// maxSteps is how many middlewares a router may have when all chains are expanded: a few chains that name each other
	// twice would not fit into memory.
	maxSteps = 500
	// maxBranches is how many services a service of services may have below it, each counted as often as it is named.
	maxBranches = 1000
)

// referenceStack holds the references that lead to the object which is being built.
type referenceStack struct {
	stack []dynamic.Ref
	on    map[dynamic.Ref]struct{}
}

func (s *referenceStack) push(ref dynamic.Ref) {
	s.stack = append(s.stack, ref)
	s.on[ref] = struct{}{}
}

func (s *referenceStack) pop() {
	last := len(s.stack) - 1
	delete(s.on, s.stack[last])
	s.stack = s.stack[:last]
}

// cycle returns an error for an object that is on the stack already, and nil for any other.
func (s *referenceStack) cycle(ref dynamic.Ref) error {
	if _, again := s.on[ref]; !again {
		return nil
	}
	var names []string
	for _, one := range s.stack[slices.Index(s.stack, ref):] {
		names = append(names, one.Name)
	}
	first := slices.Index(names, slices.Min(names))
	return &nesting{"refers to itself: " + strings.Join(slices.Concat(names[first:], names[:first+1]), " -> ")}
}

// nesting is the error of objects that refer to each other in a cycle, or too often. It is reported once, however long
// the chain of references is.
type nesting struct{ text string }

// Error returns the fault without the name of the object.
func (n *nesting) Error() string { return n.text }

// tooDeep returns the fault of an object whose references go deeper than maxNesting, else nil.
func tooDeep(depth int) error {
	if depth <= maxNesting {
		return nil
	}
	return &nesting{fmt.Sprintf("refers to others more than %d deep", maxNesting)}
}

// tooMany returns the fault of an object that comes to more of something than is good, else nil.
func tooMany(what string, count, most int) error {
	if count <= most {
		return nil
	}
	return &nesting{fmt.Sprintf("has more than %d %s", most, what)}
}

// absent reports whether an error says that the object itself does not exist, and not one that it refers to.
func absent(err error) bool { return errors.Is(err, errMissing) && errors.Unwrap(err) == nil }
