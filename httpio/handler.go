package httpio

import "net/http"

// NoRetainer is a handler that keeps no part of a request, of its URL and header, or of its response writer once
// ServeHTTP has returned. Strings and the context do not count. A middleware has the method if the handlers that it
// returns keep nothing themselves.
type NoRetainer interface {
	// NoRetain does nothing; its presence is the statement.
	NoRetain()
}

// Retains reports whether a handler may keep a part of a request: it is no [NoRetainer].
func Retains(handler http.Handler) bool {
	_, ok := handler.(NoRetainer)
	return !ok
}

// TraceInjector is a handler that sends the trace context to the endpoint by itself, so that it need not be in the
// request's header.
type TraceInjector interface {
	// InjectsTrace does nothing; its presence is the statement.
	InjectsTrace()
}
