// Package protocol tests what travels through the built binary: each behaviour on every combination of the client's
// protocol, the upstream's protocol, and what stands between the two (nothing, a middleware that edits every response,
// a chain of middlewares that must not be noticed), with the same expectations everywhere.
//
// In flow requests by real clients, or raw bytes; out flow what a Backend saw and what the client got. It never asks
// how the product did it.
package protocol
