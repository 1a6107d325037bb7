package tracing

import (
	"net/url"
	"strings"
)

// redacted replaces a value that is not shown.
const redacted = "REDACTED"

// query shows the parameters of a request's query.
type query struct{ safe map[string]bool }

func newQuery(safe []string) query {
	out := query{safe: make(map[string]bool, len(safe))}
	for _, name := range safe {
		out.safe[name] = true
	}
	return out
}

// show returns the query with the values of those parameters that are safe; a parameter without a value has no
// more than the word. It stops at the length to which texts are cut.
func (q query) show(raw string) string {
	var out strings.Builder
	for part := range strings.SplitSeq(raw, "&") {
		if out.Len() > maxValue {
			break
		}
		if out.Len() > 0 {
			out.WriteByte('&')
		}
		out.WriteString(q.part(part))
	}
	return clean(out.String())
}

func (q query) part(part string) string {
	name, value, _ := strings.Cut(part, "=")
	plain, err := url.QueryUnescape(name)
	switch {
	case err != nil || part == "" || strings.Contains(part, ";"):
		return redacted // A semicolon separates too, to some.
	case q.safe[plain]:
		return part
	case strings.Trim(value, "=") == "":
		return redacted // It may be a token alone, which in Base64 may end in =.
	}
	return name + "=" + redacted
}
