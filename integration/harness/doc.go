// Package harness starts the built Sluice as a user would, with backends behind it and clients before it.
//
// In flow the text of a static configuration and of dynamic files; out flow a running process whose addresses, log and
// memory can be asked for, an in-process Backend that speaks HTTP/1.1, HTTP/2, h2c, gRPC, WebSocket and server-sent
// events, clients of each protocol, and certificates that both ends trust. A process that panics, reports a data race
// or does not end with exit code 0 fails the test that started it.
//
// It never looks into the packages of the product, and never listens anywhere but on loopback.
package harness
