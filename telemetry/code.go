package telemetry

import "net/http"

// Code is the stable name of why Sluice itself answered a request, or gave up on it. Names are never reused for
// something else; they appear in the access log (ErrorCode), in traces (sluice.error.code) and in
// docs/operations.md.
type Code string

// The codes.
const (
	// CodeNoRouter means that no router matches (404).
	CodeNoRouter Code = "no_router"
	// CodeDiscovery means that no router matches, and that the source of further ones did not answer in time (503).
	CodeDiscovery Code = "discovery_timeout"
	// CodeRouterDisabled means that the router is quarantined (503).
	CodeRouterDisabled Code = "router_disabled"
	// CodeMisdirected means that the connection was accepted with other TLS options than those of the router (421).
	CodeMisdirected Code = "misdirected"
	// CodeTooEarly means that the request came in early data (0-RTT) and may not be repeated (425).
	CodeTooEarly Code = "too_early"
	// CodeUnguarded means that api.requireAuth closed a router to the API without authentication (403).
	CodeUnguarded Code = "unguarded_api"
	// CodeBadRequest means that the request is invalid (400).
	CodeBadRequest Code = "bad_request"
	// CodeHeaderTooLarge means that the header has too many fields or bytes (431).
	CodeHeaderTooLarge Code = "header_too_large"
	// CodeBodyTooLarge means that the body is longer than it may be (413).
	CodeBodyTooLarge Code = "body_too_large"
	// CodeBodyTimeout means that the client did not send its request in time (408).
	CodeBodyTimeout Code = "request_timeout"
	// CodeClientLeft means that the client closed the connection before the response was complete (499).
	CodeClientLeft Code = "client_left"
	// CodeNoEndpoint means that the service has no endpoint that is available (503).
	CodeNoEndpoint Code = "no_endpoint"
	// CodeNoEnvironment means that an environment service has no subset for the tag of the request (503).
	CodeNoEnvironment Code = "no_environment"
	// CodeSaturated means that a limit of the service is reached, also one that adaptiveConcurrency has found, or that no
	// descriptor is left but those in reserve (503).
	CodeSaturated Code = "saturated"
	// CodeOverloaded means that Sluice is overloaded and refuses requests of the router's priority class (503), or has
	// ended one that held much memory (503, or an incomplete response).
	CodeOverloaded Code = "overloaded"
	// CodeUnreachable means that no connection to the endpoint could be made (502).
	CodeUnreachable Code = "endpoint_unreachable"
	// CodeBroken means that the endpoint closed the connection early or sent an invalid response (502, or an
	// incomplete response).
	CodeBroken Code = "endpoint_broken"
	// CodeTimeout means that the endpoint took too long (504).
	CodeTimeout Code = "endpoint_timeout"
	// CodeUnauthorized means that a middleware did not accept the credentials (401).
	CodeUnauthorized Code = "unauthorized"
	// CodeForbidden means that a middleware does not allow this client (403).
	CodeForbidden Code = "forbidden"
	// CodeLimited means that a middleware limits the client (429).
	CodeLimited Code = "rate_limited"
	// CodeTripped means that a circuit breaker is open (503).
	CodeTripped Code = "circuit_open"
	// CodeMiddleware means that a middleware answered for another reason.
	CodeMiddleware Code = "middleware"
	// CodePanic means that a handler panicked (500), which is a fault of Sluice.
	CodePanic Code = "panic"
)

// CodeFor returns the default code for a response with this status that Sluice generated itself.
func CodeFor(status int) Code {
	switch status {
	case http.StatusBadRequest:
		return CodeBadRequest
	case http.StatusUnauthorized:
		return CodeUnauthorized
	case http.StatusForbidden:
		return CodeForbidden
	case http.StatusRequestTimeout:
		return CodeBodyTimeout
	case http.StatusRequestEntityTooLarge:
		return CodeBodyTooLarge
	case http.StatusTooEarly:
		return CodeTooEarly
	case http.StatusTooManyRequests:
		return CodeLimited
	case http.StatusRequestHeaderFieldsTooLarge:
		return CodeHeaderTooLarge
	case StatusClientClosedRequest:
		return CodeClientLeft
	case http.StatusGatewayTimeout:
		return CodeTimeout
	}
	return CodeMiddleware
}
