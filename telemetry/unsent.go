package telemetry

import "errors"

// Unsent returns how many of a batch did not reach its collector: none without an error, as many as the error
// says where it has a method Unsent(batch int) int, otherwise all.
func Unsent(err error, batch int) int {
	if err == nil {
		return 0
	}
	if partly, ok := errors.AsType[interface {
		error
		Unsent(batch int) int
	}](err); ok {
		return partly.Unsent(batch)
	}
	return batch
}
