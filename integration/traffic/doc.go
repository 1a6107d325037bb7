// Package traffic has clients that send requests for as long as a test runs, and count those that fail: on new, kept
// and idle connections of HTTP/1.1, over HTTP/2 and HTTP/3, by WebSockets, TCP and UDP, with slow handshakes and
// uploads. None repeats a request that has failed.
//
// A test starts a [Load], does to the proxy what it is about, ends the load, and looks at its report. The backend
// behind the proxy is that of package harness.
package traffic
