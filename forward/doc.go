// Package forward sends a client's request to an endpoint and writes the endpoint's response to the client.
//
// Input is a client's request, as the entrypoint and the middlewares left it, and the loadbalancer.Member that
// is to answer. Output is the endpoint's response, written to the client as it arrives, and a
// loadbalancer.Outcome. Hop-by-hop fields are removed (RFC 9110 section 7.6.1); bodies, trailers, informational
// responses and upgraded connections pass through without being buffered whole.
//
// An Error carries how far an attempt got: nothing sent, request sent, or response begun. Service is the
// http.Handler: it acquires a member, forwards, retries with another member where a retry.Policy allows it, and
// answers for endpoints that failed. Transport makes the connections to endpoints.
//
// Attempts run one after the other, each with a request derived anew from the client's. They share the replay
// buffer of the request body, which keeps what was read up to the policy's limit. Only the last attempt writes
// to the client.
//
// The package never chooses an endpoint, never retries once the client has seen a part of a response, never
// edits a path by itself, and never reveals the cause of a failure to a client: reasons go into the
// telemetry.Record.
package forward
