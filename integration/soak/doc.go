// Package soak runs the built binary for a long time under all protocols at a time while its configuration changes,
// new processes take its sockets over, certificates are replaced, and hostile clients do what they can: keep-alive and
// new connections of HTTP/1.1, HTTP/2 with and without TLS, HTTP/3, WebSockets and gRPC, to endpoints of HTTP/1.1,
// HTTP/2 and h2c, and clients of TCP and UDP. No request may fail, and neither memory nor descriptors nor goroutines
// may grow, also not from one process to the next.
//
// TEST_SOAK is how long it runs: twenty seconds by default, which finds failed requests and leaks of connections;
// growth of memory is judged from ten minutes on. TEST_SOAK_UPGRADE is the time between two processes, by default a
// quarter of the run, and 20 minutes at most. TEST_SOAK_PACE (100ms) is the time from one exchange of a client to the
// next one. TEST_SOAK_OUT is a file for the samples.
package soak
