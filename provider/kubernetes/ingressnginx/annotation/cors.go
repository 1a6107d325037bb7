package annotation

import "strings"

// The values of the headers of CORS when no annotation sets them.
const (
	corsMethods = "GET, PUT, POST, DELETE, PATCH, OPTIONS"
	corsHeaders = "DNT,Keep-Alive,User-Agent,X-Requested-With,If-Modified-Since,Cache-Control,Content-Type,Range," +
		"Authorization"
	corsMaxAge = 1728000
)

// cors reads the annotations about cross-origin requests.
func (r *reading) cors() {
	if !r.flagOr("enable-cors", false) {
		r.idle("enable-cors", "cors-allow-origin", "cors-allow-headers", "cors-allow-methods", "cors-allow-credentials",
			"cors-expose-headers", "cors-max-age")
		return
	}
	out := &CORS{Origins: []string{"*"}, Methods: corsMethods, Headers: corsHeaders, MaxAge: corsMaxAge}
	r.options.CORS = out
	if text, state := r.text("cors-allow-origin", originChars); state == valid {
		out.Origins = origins(text)
		if len(out.Origins) == 0 {
			r.set("cors-allow-origin", Different,
				"no origin is valid: ingress-nginx allows all origins, Sluice none. An origin has a scheme")
		}
	}
	if text, state := r.text("cors-allow-headers", headerChars.spaced); state == valid {
		out.Headers = text
	}
	if text, state := r.text("cors-allow-methods", spacedTo(methodList)); state == valid && methodList(text) {
		out.Methods = text
	}
	if text, state := r.text("cors-expose-headers", spacedTo(exposedList)); state == valid && exposedList(text) {
		out.ExposeHeaders = text
	}
	out.Credentials = r.flagOr("cors-allow-credentials", true)
	out.MaxAge = r.anyNumberOr("cors-max-age", corsMaxAge)
}

// originChars reports whether a text is * or looks like a list of origins, which may lack their scheme.
func originChars(text string) bool {
	text = strings.ReplaceAll(text, " ", "")
	if text == "*" {
		return true
	}
	for item := range strings.SplitSeq(text, ",") {
		if !originLike(item, false) {
			return false
		}
	}
	return true
}

// origins returns the origins of a list that are valid; "*" alone when it is among them.
func origins(text string) []string {
	var found []string
	for _, item := range list(text) {
		if item == "*" {
			return []string{"*"}
		}
		if item == "null" || originLike(item, true) {
			found = append(found, item)
		}
	}
	return found
}

// originLike reports whether a text is an origin: a scheme in small letters, a host that may begin with "*.", a port.
func originLike(text string, scheme bool) bool {
	host := text
	if name, rest, given := strings.Cut(text, "://"); given {
		if name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz") != "" {
			return false
		}
		host = rest
	} else if scheme {
		return false
	}
	host, port, given := strings.Cut(strings.TrimPrefix(host, "*."), ":")
	return charset("-.").holds(host) && (!given || port != "" && strings.Trim(port, "0123456789") == "")
}

// methodList reports whether a text is a list of words that a comma, one white space, or both divide.
func methodList(text string) bool {
	return divided(text, func(item string) bool { return charset("").holds(item) && !strings.ContainsAny(item, "0123456789") })
}

// exposedList is as methodList, for names of headers and *.
func exposedList(text string) bool {
	return divided(text, charset("-_*").holds)
}

// divided reports whether a text consists of items, each of which a comma and one white space may follow.
func divided(text string, test func(string) bool) bool {
	if text == "" {
		return false
	}
	for text != "" {
		end := strings.IndexAny(text, ", \t\n\f\r")
		if end < 0 {
			end = len(text)
		}
		if end == 0 || !test(text[:end]) {
			return false
		}
		text = strings.TrimPrefix(text[end:], ",")
		if text != "" && strings.IndexByte(" \t\n\f\r", text[0]) >= 0 {
			text = text[1:]
		}
	}
	return true
}

// spacedTo is a test that does not regard spaces, and refuses line breaks.
func spacedTo(test func(string) bool) func(string) bool {
	return func(text string) bool {
		return !strings.ContainsAny(text, "\r\n") && test(strings.ReplaceAll(text, " ", ""))
	}
}
