package regexrewrite

import (
	"github.com/sluiceproxy/sluice/nginx/uri"
	"github.com/sluiceproxy/sluice/nginx/variable"
)

// writer writes replacements with the values of a request.
type writer struct {
	values variable.Values
	// quoted is set when the path of the request has a percent-encoding or a plus sign: only then nginx escapes captures
	// in queries and URLs.
	quoted bool
}

// text returns a template with its values. The captures are escaped on request.
func (w *writer) text(template variable.Template, escape bool) string {
	var text []byte
	template.Parts(func(literal string) {
		text = append(text, literal...)
	}, func(v variable.Variable) {
		value := w.values.Value(v)
		if escape && w.quoted && v.Kind == variable.Capture {
			text = uri.AppendEscapedArgs(text, value)
		} else {
			text = append(text, value...)
		}
	})
	return string(text)
}

// query returns the new query.
func (w *writer) query(rw *RegexRewrite, received string) string {
	text := ""
	if rw.hasQuery {
		text = string(uri.AppendValid(nil, w.text(rw.query, true), ""))
	}
	if !rw.keeps || received == "" {
		return text
	}
	if rw.hasQuery {
		return text + "&" + received
	}
	return received
}

// unescaped decodes the printable characters of a URL from "&" on, up to the query, as nginx does for redirections. A
// malformed encoding loses its percent sign and the digit that it has.
func unescaped(target string) string {
	text := make([]byte, 0, len(target))
	for i := 0; i < len(target); i++ {
		c := target[i]
		if c == '?' {
			return string(append(text, target[i:]...))
		}
		if c != '%' {
			text = append(text, c)
			continue
		}
		digits := target[i+1 : min(i+3, len(target))]
		high, low := digit(digits, 0), digit(digits, 1)
		switch decoded := byte(high<<4 | low); {
		case high < 0:
			text = append(text, digits[:min(1, len(digits))]...)
			i++
			continue
		case low < 0:
			// Nothing of it is left.
		case decoded == '?':
			return string(append(append(text, decoded), target[i+3:]...))
		case decoded > '%' && decoded < 0x7f:
			text = append(text, decoded)
		default:
			text = append(text, target[i:i+3]...)
		}
		i += 2
	}
	return string(text)
}

// digit returns the value of a hexadecimal digit, -1 for anything else.
func digit(text string, at int) int {
	if at >= len(text) {
		return -1
	}
	return uri.Digit(text[at])
}
