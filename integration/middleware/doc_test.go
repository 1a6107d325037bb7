// Package middleware tests middlewares through the built binary: what they keep over reloads, in Redis and between
// processes, what clients see of endpoints that fail, where a middleware may stand, and what is said about a definition
// that is wrong.
//
// In flow configurations as users write them and requests by real clients; out flow answers, logs, metrics and the API.
// What a single middleware does with its options is proved beside it, and that a chain of all of them changes nothing
// is proved in integration/protocol.
package middleware
