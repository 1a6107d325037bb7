package telemetry

import "net/http"

// RegisteredMethod returns the method where it is one of RFC 9110, section 9, or PATCH (RFC 5789), and
// otherwise "_OTHER" and false, as OpenTelemetry's semantic conventions have it: clients must not make names of
// spans and series.
func RegisteredMethod(method string) (string, bool) {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodConnect,
		http.MethodOptions, http.MethodTrace:
		return method, true
	}
	return "_OTHER", false
}
