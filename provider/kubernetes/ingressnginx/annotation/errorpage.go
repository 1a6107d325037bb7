package annotation

import (
	"regexp"
	"strings"
)

// errorPage reports whether a text is a named location, or a URL or path of plain segments, with a final slash at most.
func errorPage(text string) bool {
	text = strings.ReplaceAll(text, " ", "")
	if name, named := strings.CutPrefix(text, "@"); named {
		return name != "" && wordChars.holds(name)
	}
	host, path := text, ""
	rest, scheme := strings.CutPrefix(text, "https://")
	if !scheme {
		rest, scheme = strings.CutPrefix(text, "http://")
	}
	if slash := strings.IndexByte(rest, '/'); slash >= 0 {
		host, path = rest[:slash], rest[slash:]
	} else {
		host = rest
	}
	if scheme && host == "" || host != "" && !hostPort(host) {
		return false
	}
	path = strings.TrimSuffix(path, "/")
	if path == "" {
		return true
	}
	for segment := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		if segment == "" || !fileChars.holds(segment) {
			return false
		}
	}
	return true
}

// hostPort reports whether a text is a host of letters, digits, dots and dashes, which may have a port.
func hostPort(text string) bool {
	host, port, given := strings.Cut(text, ":")
	return host != "" && charset("-.").holds(host) && (!given || port != "" && strings.Trim(port, "0123456789") == "")
}

// commonName reports whether a text is CN= with an expression that ingress-nginx can compile.
func commonName(text string) bool {
	pattern, given := strings.CutPrefix(text, "CN=")
	if !given {
		return false
	}
	_, err := regexp.Compile(pattern)
	return err == nil
}
