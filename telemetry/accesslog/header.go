package accesslog

import (
	"net/http"
	"slices"
	"strings"
)

// A captured request is a list of texts: the value of X-Forwarded-For, and then the name and the value of each
// header that is logged, by name, once for each value. What is redacted is captured as that.
const capturedHeaders = 1

// capture appends the headers that are logged to captured.
func (h *headerModes) capture(captured []string, header http.Header) []string {
	if h.fallback == drop {
		for _, named := range h.logged {
			captured = appendValues(captured, named.name, header[named.name], named.mode)
		}
		return captured
	}
	begin := len(captured)
	for name, values := range header {
		if mode := h.of(name); mode != drop {
			captured = appendValues(captured, name, values, mode)
		}
	}
	sortPairs(captured[begin:])
	return captured
}

func appendValues(captured []string, name string, values []string, mode mode) []string {
	if mode == redact && len(values) > 0 {
		return append(captured, name, redacted)
	}
	for _, value := range values {
		captured = append(captured, name, value)
	}
	return captured
}

// sortPairs sorts names with their values by name, and leaves the values of one name in their order.
func sortPairs(pairs []string) {
	for i := 2; i < len(pairs); i += 2 {
		for j := i; j > 0 && pairs[j-2] > pairs[j]; j -= 2 {
			pairs[j-2], pairs[j-1], pairs[j], pairs[j+1] = pairs[j], pairs[j+1], pairs[j-2], pairs[j-1]
		}
	}
}

// appendCaptured appends captured headers as members of an object of JSON.
func appendCaptured(b []byte, captured []string) []byte {
	if len(captured) <= capturedHeaders {
		return b
	}
	pairs := captured[capturedHeaders:]
	for i := 0; i+1 < len(pairs); {
		name := pairs[i]
		b = appendHeaderKey(b, "request_", name)
		end := i + 2
		for end < len(pairs) && pairs[end] == name {
			end += 2
		}
		if end == i+2 {
			b = appendJSON(b, pairs[i+1])
		} else {
			var values []string
			for ; i < end; i += 2 {
				values = append(values, pairs[i+1])
			}
			b = appendJSON(b, strings.Join(values, ","))
		}
		i = end
	}
	return b
}

// appendHeaders appends the headers that are logged as members of an object of JSON. names is memory to sort in.
func (h *headerModes) appendHeaders(b []byte, prefix string, header http.Header, names *[]string) []byte {
	if h.fallback == drop {
		for _, named := range h.logged {
			b = appendHeader(b, prefix, named.name, header[named.name], named.mode)
		}
		return b
	}
	sorted := (*names)[:0]
	for name := range header {
		sorted = append(sorted, name)
	}
	slices.Sort(sorted)
	for _, name := range sorted {
		if mode := h.of(name); mode != drop {
			b = appendHeader(b, prefix, name, header[name], mode)
		}
	}
	clear(sorted)
	*names = sorted
	return b
}

func appendHeader(b []byte, prefix, name string, values []string, mode mode) []byte {
	if len(values) == 0 {
		return b
	}
	b = appendHeaderKey(b, prefix, name)
	switch {
	case mode == redact:
		return appendJSON(b, redacted)
	case len(values) == 1:
		return appendJSON(b, values[0])
	}
	return appendJSON(b, strings.Join(values, ","))
}

func appendHeaderKey(b []byte, prefix, name string) []byte {
	b = append(b, ',', '"')
	b = append(b, prefix...)
	b = appendText(b, name)
	return append(b, '"', ':')
}
