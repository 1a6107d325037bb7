package router

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
)

// errMissing marks a reference to an object that is not declared (yet).
var errMissing = errors.New("does not exist")

// lacking is the fault of an object whose provider did not find what it refers to (yet).
type lacking struct{ text string }

// Error returns the provider's reason.
func (l *lacking) Error() string { return l.text }

// Unwrap lets the fault count as a reference to an object that is not declared.
func (l *lacking) Unwrap() error { return errMissing }

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

// because wraps the fault of an object that another one refers to, naming it.
func because(ref dynamic.Ref, err error) error {
	if absent(err) {
		return &coded{dynamic.MissingCode(ref.Kind), fmt.Errorf("%s %w", ref, err), ref}
	}
	if fault, ok := errors.AsType[*nesting](err); ok {
		return &coded{dynamic.CodeReferenceLoop, fmt.Errorf("%s %w", ref, fault), ref}
	}
	cause := ref
	if deeper, ok := errors.AsType[*coded](err); ok && deeper.cause != (dynamic.Ref{}) {
		cause = deeper.cause
	}
	return &coded{dynamic.CodeInvalidReference, fmt.Errorf("%s: %w", ref, err), cause}
}

// coded is a fault with the code of its verdict.
type coded struct {
	code dynamic.Code
	error
	// cause is the object whose fault or absence this is; the zero value for the object's own fault.
	cause dynamic.Ref
}

// Unwrap returns the fault without the code.
func (c *coded) Unwrap() error { return c.error }
