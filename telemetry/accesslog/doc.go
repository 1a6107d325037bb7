// Package accesslog writes one line for each request, and for each connection of a TCP router and session of a UDP
// router when it has ended: common log format, the same with four more columns, or JSON with the field names of
// Traefik.
//
// In flow finished Records; out flow lines, to a file, standard output or an OpenTelemetry collector. What a
// line is made of is copied when the request ends, and the goroutine that writes makes it, so that nothing is
// kept of a request that others may change. Where headers are logged, or the writer does not keep up, the
// request's goroutine makes it, in recycled memory. A request never waits for it: lines that a full disk, a
// closed pipe or a slow reader keeps from being written are dropped and counted. Credentials are never written
// unless the configuration names their header, and nothing that a client sends begins a line of its own.
package accesslog
