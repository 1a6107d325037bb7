// Package cookies reads and removes one cookie of a request, as it is written, for middlewares that take something out
// of a cookie and do not pass it on. Unlike net/http it sees every pair, also those that net/http ignores.
package cookies

import (
	"net/http"
	"strings"
)

// Find returns the first and the last value of the cookie of a name, and how often it is there. Quotes around a value
// are not part of it.
func Find(header http.Header, name string) (first, last string, count int) {
	for _, line := range header["Cookie"] {
		for pair := range strings.SplitSeq(line, ";") {
			found, value := cut(pair)
			if found != name {
				continue
			}
			if count++; count == 1 {
				first = value
			}
			last = value
		}
	}
	return first, last, count
}

// Remove removes the cookie of a name, every time that it is there, and leaves the others in their order.
func Remove(header http.Header, name string) {
	var kept []string
	for _, line := range header["Cookie"] {
		var pairs []string
		for pair := range strings.SplitSeq(line, ";") {
			if found, _ := cut(pair); found != name {
				pairs = append(pairs, pair)
			}
		}
		if line = strings.Trim(strings.Join(pairs, ";"), " \t;"); line != "" {
			kept = append(kept, line)
		}
	}
	if len(kept) == 0 {
		delete(header, "Cookie")
		return
	}
	header["Cookie"] = kept
}

// cut returns the name and the value of a pair (RFC 6265 section 4.1.1).
func cut(pair string) (name, value string) {
	name, value, _ = strings.Cut(pair, "=")
	value = strings.Trim(value, " \t")
	if len(value) > 1 && value[0] == '"' && value[len(value)-1] == '"' {
		value = value[1 : len(value)-1]
	}
	return strings.Trim(name, " \t"), value
}
