// Package protocol tests the built binary on every combination of the client's protocol, the upstream's protocol, and
// what is between the two (nothing, a middleware that edits every response, a chain of middlewares without effect),
// with the same expectations. Tests use real clients or raw bytes, and compare what a Backend and the client received.
package protocol
