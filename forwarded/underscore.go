package forwarded

import (
	"fmt"
	"net/http"
	"strings"
)

// Underscore is the handling of request headers with "_" in their name (underscoreHeadersStrategy). Managed headers are
// not affected: their aliases are always removed.
type Underscore int

const (
	// UnderscoreKeep forwards them, the default.
	UnderscoreKeep Underscore = iota
	// UnderscoreDelete removes them before routing.
	UnderscoreDelete
	// UnderscoreReject refuses the request with 400.
	UnderscoreReject
)

// ParseUnderscore parses the option's value: keep, delete, reject, or empty for keep.
func ParseUnderscore(value string) (Underscore, error) {
	switch value {
	case "", "keep":
		return UnderscoreKeep, nil
	case "delete":
		return UnderscoreDelete, nil
	case "reject":
		return UnderscoreReject, nil
	}
	return 0, fmt.Errorf("underscoreHeadersStrategy %q is not one of keep, delete, reject", value)
}

// String returns the option's value.
func (u Underscore) String() string {
	switch u {
	case UnderscoreDelete:
		return "delete"
	case UnderscoreReject:
		return "reject"
	}
	return "keep"
}

// Apply applies the strategy to headers or trailers of a request, and reports whether the request may be served.
func (u Underscore) Apply(h http.Header) bool {
	if u == UnderscoreKeep {
		return true
	}
	for name := range h {
		if !hasUnderscore(name) {
			continue
		}
		if u == UnderscoreReject {
			return false
		}
		delete(h, name)
	}
	return true
}

func hasUnderscore(name string) bool { return strings.IndexByte(name, '_') >= 0 }
