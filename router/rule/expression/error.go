package expression

import "fmt"

// Error is an error of a rule with its position.
type Error struct {
	// Column is the position of the offending byte in the text, counted in bytes from 1. It is one past the last
	// byte when something is missing at the end.
	Column int
	// Message is the reason, without the position.
	Message string
}

// Error returns the position and the reason.
func (e *Error) Error() string { return fmt.Sprintf("column %d: %s", e.Column, e.Message) }

// Fault is an error of a matcher, without its position.
type Fault struct {
	// Arg is the number of the argument that is wrong, or -1 for the matcher as a whole.
	Arg int
	// Message is the reason.
	Message string
}

// Faultf blames one argument.
func Faultf(arg int, format string, values ...any) *Fault {
	return &Fault{Arg: arg, Message: fmt.Sprintf(format, values...)}
}
