// Package middleware tests middlewares in the built binary: their state over reloads, in Redis and between processes,
// what clients get from failing endpoints, the places where a middleware may be used, and the findings on invalid
// definitions. The options of a middleware are tested in its package, and a chain of all of them in
// integration/protocol.
package middleware
