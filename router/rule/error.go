package rule

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

// fault is an error of a matcher, without its position.
type fault struct {
	// arg is the number of the argument that is wrong, or -1 for the matcher as a whole.
	arg     int
	message string
}

// faultf blames one argument.
func faultf(arg int, format string, values ...any) *fault {
	return &fault{arg: arg, message: fmt.Sprintf(format, values...)}
}
