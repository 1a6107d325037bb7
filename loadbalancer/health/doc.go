// Package health runs active health checks.
//
// A Check is the definition (the option healthCheck of a service), a Target an endpoint with the transport that
// reaches it, and a Probe the repeated check of one target. A Prober runs any number of probes with a bounded number
// of concurrent checks, in the order in which they are due, and never two checks of one probe at once. A waiting probe
// holds a timer and no goroutine. Results are delivered by a callback: the first one and each change. Checks never
// share a connection with requests, and keep none: each check dials and closes.
//
// # Schedule
//
// The first check runs at once, and its result takes effect alone; before that there is no result. After that, fall
// consecutive failures take an endpoint down and rise consecutive successes bring it up. A check begins one interval
// after the previous one began, one unhealthyInterval when the endpoint is down, each changed at random by up to
// jitter percent. A check that takes longer than its interval skips a turn.
//
// # Mode http
//
// The request has the method, path, headers and hostname of the option, and uses its port and scheme, or those of the
// server. hostname sets the Host header only: TLS verifies the name in the server's URL. Any status from 200 to 399
// is healthy, or the one that status names. Up to 4 KiB of the response body are read for a short time and discarded.
//
// Redirects are followed to the same endpoint only, that is to the same scheme and authority. A redirect elsewhere
// counts by its own status, since the response of another server says nothing about the endpoint. Traefik follows all.
//
// # Mode grpc
//
// The check calls grpc.health.v1.Health/Check for the whole server over HTTP/2, with TLS for the scheme https and
// without for all others, and expects SERVING. A server without that service is unhealthy. hostname and headers set
// authority and metadata; path, method, status and followRedirects have no effect, as in Traefik.
//
// # Mode tcp
//
// The check connects as the transport does, with TLS where the server has it, sends what the option send has, and waits
// for an answer that begins with expect, however many pieces it comes in. Without expect a connection is enough. A
// transport that sends a PROXY header sends one here that names no client (LOCAL, or UNKNOWN in version 1).
package health
