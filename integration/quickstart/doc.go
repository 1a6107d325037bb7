// Package quickstart proves that the example which `make run` starts does what it says.
//
// In flow the files of deploy/examples/quickstart and a binary that is built for the test; out flow failures.
// It listens on the example's own ports, on the loopback address, and never edits the example itself, only a copy.
package quickstart
