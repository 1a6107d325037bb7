// Package accesslog writes one line for each request: common log format, the same with four more columns, or JSON with the field names
// of Traefik.
//
// In flow finished Records; out flow lines, to a file, standard output or an OpenTelemetry collector. A line is encoded on the request's
// goroutine into recycled memory and left for the goroutine that writes, so that nothing is kept of a request that others may change.
// A request never waits for it: lines that a full disk, a closed pipe or a slow reader keeps from being written are dropped and counted.
// Credentials are never written unless the configuration names their header, and nothing that a client sends begins a line of its own.
package accesslog
