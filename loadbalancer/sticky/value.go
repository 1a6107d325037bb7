package sticky

import (
	"iter"
	"net/http"
	"strings"
)

// Values yields the values of all cookies of that name in the request, in order, without empty ones. A client
// with cookies for several paths or domains sends them all, and the first is not always the one of this
// service: use the first value that selects a member. It does not allocate.
func (c *Cookie) Values(r *http.Request) iter.Seq[string] {
	return func(yield func(string) bool) { c.each(r.Header["Cookie"], yield) }
}

// each reads Cookie fields (RFC 6265 section 4.2.1), several of which HTTP/2 allows.
func (c *Cookie) each(fields []string, yield func(string) bool) {
	if c.name == "" {
		return
	}
	for _, rest := range fields {
		for rest != "" {
			var pair string
			pair, rest, _ = strings.Cut(rest, ";")
			name, value, _ := strings.Cut(pair, "=")
			if strings.Trim(name, " \t") != c.name {
				continue
			}
			value = strings.Trim(value, " \t")
			if len(value) > 1 && value[0] == '"' && value[len(value)-1] == '"' {
				value = value[1 : len(value)-1]
			}
			if value != "" && !yield(value) {
				return
			}
		}
	}
}
