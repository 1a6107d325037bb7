// Package harness runs the built Sluice for tests, with backends behind it and clients before it.
//
// Start writes a static configuration and dynamic files and starts a process, whose addresses, log and memory can be
// read. Backend is an in-process endpoint with HTTP/1.1, HTTP/2, h2c, gRPC, WebSocket and server-sent events, Client a
// client of each protocol, and Authority issues certificates for both. A process that panics, reports a data race or
// does not end with exit code 0 fails its test.
//
// It imports no package of the product, and everything listens on loopback.
package harness
