// Package forward carries one exchange with one endpoint.
//
// In flow a client's request, as the entrypoint and the middlewares left it, and the loadbalancer.Member that shall
// answer; out flow the endpoint's response, written to the client as it comes, and a loadbalancer.Outcome. What belongs
// to one connection only stays on it (RFC 9110 section 7.6.1); bodies, trailers, informational responses and upgraded
// connections pass through without being collected.
//
// Forward tells by its error how far an exchange got: nothing sent, request sent, or response begun. Service is the
// http.Handler around it: it acquires a member, forwards, tries again with another where a retry.Policy allows it, and answers for
// endpoints that could not. Transport makes the connections to endpoints.
//
// Tries are exchanges one after the other, each with a request made anew from the client's. What they share is the source of the body,
// which keeps what was read as far as the policy says. Only the last one writes to the client.
//
// The package never chooses an endpoint, never tries again what the client has seen a part of, never edits a path by itself, and never
// tells a client why something failed: reasons go into the telemetry.Record.
package forward
