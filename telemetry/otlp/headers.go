package otlp

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// tokens are the characters of a header's name beside letters and digits (RFC 9110 section 5.6.2).
const tokens = "!#$%&'*+-.^_`|~"

// checkHeaders returns an error that names a header which cannot be sent, without its value.
func checkHeaders(option string, headers map[string]string) error {
	for name, value := range headers {
		if name == "" || strings.ContainsFunc(name, func(r rune) bool {
			return !isLetterOrDigit(r) && !strings.ContainsRune(tokens, r)
		}) {
			return fmt.Errorf("%s.headers: %q is not the name of a header", option, name)
		}
		if ofTheConnection(name) {
			return fmt.Errorf("%s.headers.%s: is no header that may be chosen", option, name)
		}
		if strings.EqualFold(name, "Connection") &&
			!strings.EqualFold(value, "close") && !strings.EqualFold(value, "keep-alive") {
			return fmt.Errorf("%s.headers.%s: can be close or keep-alive alone", option, name)
		}
		if strings.ContainsFunc(value, func(r rune) bool { return (r < ' ' && r != '\t') || r == 0x7f }) {
			return fmt.Errorf("%s.headers.%s: the value has control characters", option, name)
		}
	}
	return nil
}

// checkMetadata returns an error that names a header which gRPC, which is stricter, cannot send, without its value.
func checkMetadata(headers map[string]string) error {
	for name, value := range headers {
		lower := strings.ToLower(name)
		switch {
		case ofGRPC(lower):
			return fmt.Errorf("grpc.headers.%s: is no header that may be chosen", name)
		case strings.ContainsFunc(lower, func(r rune) bool { return !isLetterOrDigit(r) && !strings.ContainsRune("_-.", r) }):
			return fmt.Errorf("grpc.headers: %q is not the name of a header of gRPC, "+
				"which has no more than letters, digits, dots, hyphens and underscores", name)
		case !strings.HasSuffix(lower, "-bin") &&
			strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }):
			return fmt.Errorf("grpc.headers.%s: the value has other characters than visible ASCII and spaces", name)
		}
	}
	return nil
}

// ofGRPC reports whether a header, in lower case, is written by gRPC alone, which would ignore the options, or
// is one that a message of HTTP/2 must not have (RFC 9113 section 8.2.2).
func ofGRPC(name string) bool {
	return strings.HasPrefix(name, "grpc-") ||
		slices.Contains([]string{
			"content-type", "content-encoding", "user-agent", "te",
			"connection", "keep-alive", "proxy-connection", "upgrade",
		}, name)
}

// ofTheConnection reports whether a header is written by net/http alone, which would ignore the options or
// refuse each batch.
func ofTheConnection(name string) bool {
	switch http.CanonicalHeaderKey(name) {
	case "Host", "Content-Length", "Transfer-Encoding", "Trailer", "Te", "Upgrade":
		return true
	}
	return false
}

func isLetterOrDigit(r rune) bool {
	return ('a' <= r && r <= 'z') || ('A' <= r && r <= 'Z') || ('0' <= r && r <= '9')
}

// shortestSecret is the length in bytes from which a header's value is searched for in texts: a tenant called 1
// is none.
const shortestSecret = 4

// secrets are the values of the headers as they are sent, and their parts where a value has several (Bearer and
// a token), beside what else is given. The longest come first, so that none of them hides a part of another.
func secrets(headers map[string]string, others ...string) []string {
	out := others
	for _, value := range headers {
		out = append(out, strings.TrimSpace(value))
		if parts := strings.Fields(value); len(parts) > 1 {
			out = append(out, parts[1:]...)
		}
	}
	out = slices.DeleteFunc(out, func(s string) bool { return len(s) < shortestSecret })
	slices.SortFunc(out, func(a, b string) int { return len(b) - len(a) })
	return out
}
