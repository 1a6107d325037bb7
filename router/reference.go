package router

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
)

// errMissing marks a reference to an object that nobody declares (yet).
var errMissing = errors.New("does not exist")

// Qualify returns name@provider; a name that already holds @ stays as it is.
func Qualify(name, provider string) string {
	if strings.Contains(name, "@") {
		return name
	}
	return name + "@" + provider
}

// providerOf returns the part of a qualified name behind @.
func providerOf(name string) string {
	if at := strings.LastIndexByte(name, '@'); at >= 0 {
		return name[at+1:]
	}
	return ""
}

// because wraps the fault of an object that another one refers to, naming it. A cycle is told once, however long the way
// to it is.
func because(ref dynamic.Ref, err error) error {
	if errors.Is(err, errMissing) && errors.Unwrap(err) == nil { // The object itself, and not one that it refers to.
		return fmt.Errorf("%s %w", ref, err)
	}
	if circle, ok := errors.AsType[*cycle](err); ok {
		return fmt.Errorf("%s %w", ref, circle)
	}
	return fmt.Errorf("%s: %w", ref, err)
}

// cycle is the fault of objects that refer to each other in a circle.
type cycle struct{ names []string }

// Error says how the circle goes, beginning with the first of its names.
func (c *cycle) Error() string {
	return "refers to itself: " + strings.Join(append(c.names, c.names[0]), " -> ")
}

// recursion returns the circle that closes when the last object of the stack refers to the one of this name.
func recursion(stack []string, name string) error {
	circle := slices.Clone(stack[slices.Index(stack, name):])
	first := slices.Index(circle, slices.Min(circle))
	return &cycle{names: slices.Concat(circle[first:], circle[:first])}
}
