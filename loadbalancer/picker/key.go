package picker

import (
	"net/http"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/nginx/variable"
)

// of returns the key of a request, empty when it has none. Values are taken as they were sent: nothing is
// decoded, except for the path, which is the decoded one.
func (h *Hash) of(r *Request) string {
	if r.HTTP == nil || h.Source == dynamic.HashClientIP {
		return r.Client
	}
	switch h.Source {
	case dynamic.HashHeader:
		if h.Name == "Host" {
			return r.HTTP.Host
		}
		return firstOf(r.HTTP.Header[h.Name])
	case dynamic.HashCookie:
		return cookie(r.HTTP.Header, h.Name)
	case dynamic.HashQuery:
		return parameter(r.HTTP.URL.RawQuery, h.Name)
	case dynamic.HashPath:
		return r.HTTP.URL.Path
	}
	return ""
}

// template returns the parsed text of the source expression.
func (h *Hash) template() (variable.Template, error) {
	return variable.ParseLive(h.Expression)
}

// expressionValues has the values of variables for a request. It is the Request itself, so that no memory is needed.
type expressionValues Request

// Value implements variable.Values.
func (v *expressionValues) Value(of variable.Variable) string {
	return variable.ValueOf(v.HTTP, v.Client, of)
}

func firstOf(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

// cookie returns the value of the first cookie of a name, without quotes around it (RFC 6265, section 4.1.1).
func cookie(header http.Header, name string) string {
	for _, line := range header["Cookie"] {
		for line != "" {
			var pair string
			pair, line, _ = strings.Cut(line, ";")
			key, value, _ := strings.Cut(pair, "=")
			if strings.Trim(key, " \t") == name {
				return strings.Trim(strings.Trim(value, " \t"), `"`)
			}
		}
	}
	return ""
}

// parameter returns the value of the first query parameter of a name.
func parameter(query, name string) string {
	for query != "" {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		if key, value, _ := strings.Cut(pair, "="); decodesTo(key, name) {
			return value
		}
	}
	return ""
}

// decodesTo reports whether the percent-encoded name of a parameter decodes to a text, without allocating.
func decodesTo(encoded, text string) bool {
	for len(encoded) > 0 {
		if text == "" {
			return false
		}
		c, size := encoded[0], 1
		switch {
		case c == '+':
			c = ' '
		case c == '%' && len(encoded) > 2 && hex(encoded[1]) < 16 && hex(encoded[2]) < 16:
			c, size = hex(encoded[1])<<4|hex(encoded[2]), 3
		}
		if c != text[0] {
			return false
		}
		encoded, text = encoded[size:], text[1:]
	}
	return text == ""
}

// hex returns the value of a hexadecimal digit, and 16 for anything else.
func hex(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10
	}
	return 16
}
