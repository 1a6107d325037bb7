// Package quickstart tests a copy of the example that `make run` starts, deploy/examples/quickstart, on its own ports
// on the loopback address.
package quickstart
