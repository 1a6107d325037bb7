// Package health asks endpoints whether they are well.
//
// In flow the option healthCheck of a service, which becomes a Check, and Targets, each an endpoint with the transport
// that reaches it; out flow Verdicts, by a call for the first one and for each change. A Prober runs any number of Probes:
// at most so many at a time as it was made for, the others in the order in which they are due, and none twice at once. A
// probe that waits for its time holds a timer and no goroutine. The package never decides who gets requests, never shares a
// connection with the traffic that it judges, and keeps none: each check dials, asks and hangs up.
//
// # When
//
// The first check is made at once and decides alone; until it has ended nothing is known, and nobody is called. From then
// on fall failures in a row take an endpoint down and rise successes in a row bring it up. A check begins an interval after
// the last one began, unhealthyInterval where the verdict is down, more or less at random by up to jitter percent. A check
// that takes longer than that misses its turn rather than to run late.
//
// # Mode http
//
// The request has the method, path, headers and hostname of the option, and goes to the port and by the scheme that it
// names, or to those of the server. hostname is the Host header alone: TLS asks for the name in the server's URL. Any
// status from 200 to 399 is well, or the one that status names. The response's body is read, up to 4 KiB and for a moment,
// and not looked at.
//
// Redirects are followed when they lead to the same endpoint, that is to the scheme and authority that were asked; one
// that leads elsewhere counts by its own status, since whoever answers there says nothing about the endpoint. Traefik
// follows everywhere.
//
// # Mode grpc
//
// The endpoint is asked for the health of the whole server with grpc.health.v1.Health/Check over HTTP/2, with TLS for the
// scheme https and without for all others, and must answer SERVING. A server without that service is not well. hostname
// and headers become authority and metadata; path, method, status and followRedirects are options of mode http and mean
// nothing here, as with Traefik.
package health
