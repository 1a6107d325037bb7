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
	// reason of a verdict gets, which names the objects on the way.
	maxNesting = 50
	// maxSteps is how many middlewares a router may have when all chains are laid flat: few chains that name each other
	// twice would be more than fits into memory.
	maxSteps = 500
	// maxBranches is how many services a service of services may have below it, each counted as often as it is named.
	maxBranches = 1000
)

// way is how the compiler came to the object that it builds.
type way struct {
	stack []dynamic.Ref
	on    map[dynamic.Ref]struct{}
}

func (w *way) enter(ref dynamic.Ref) {
	w.stack = append(w.stack, ref)
	w.on[ref] = struct{}{}
}

func (w *way) leave() {
	last := len(w.stack) - 1
	delete(w.on, w.stack[last])
	w.stack = w.stack[:last]
}

// circle returns the fault of an object that the way leads to a second time, nil for any other.
func (w *way) circle(ref dynamic.Ref) error {
	if _, again := w.on[ref]; !again {
		return nil
	}
	var names []string
	for _, one := range w.stack[slices.Index(w.stack, ref):] {
		names = append(names, one.Name)
	}
	first := slices.Index(names, slices.Min(names))
	return &nesting{"refers to itself: " + strings.Join(slices.Concat(names[first:], names[:first+1]), " -> ")}
}

// nesting is the fault of objects that refer to each other in a circle, or too often. It is reported once, however long
// the way to it is.
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
