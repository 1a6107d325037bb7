package tracing

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// captured are the headers that become attributes.
type captured struct{ request, response []header }

// header is a header and the name of its attribute.
type header struct{ name, key string }

func newCaptured(request, response []string) (captured, error) {
	var out captured
	var err error
	if out.request, err = headers("capturedRequestHeaders", "http.request.header.", request); err != nil {
		return captured{}, err
	}
	out.response, err = headers("capturedResponseHeaders", "http.response.header.", response)
	return out, err
}

func headers(option, prefix string, names []string) ([]header, error) {
	var out []header
	for _, name := range names {
		if name == "" || strings.ContainsAny(name, " \t\r\n:,;\"") {
			return nil, fmt.Errorf("%s: %q is not the name of a header", option, name)
		}
		if option == "capturedRequestHeaders" && strings.EqualFold(name, "User-Agent") {
			continue // It is an attribute of its own.
		}
		one := header{name: http.CanonicalHeaderKey(name), key: prefix + strings.ToLower(name)}
		if !slices.Contains(out, one) {
			out = append(out, one)
		}
	}
	return out, nil
}
