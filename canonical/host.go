package canonical

import (
	"net/netip"
	"strconv"
	"strings"
)

// Host returns the canonical host of a Host header, an authority or a rule's argument: lower case, without the port, without one
// trailing dot, and an IPv6 literal without brackets in the form of RFC 5952. It is not ok for an empty host, user information, a
// zone, an IPv6 literal without brackets, empty labels, a port out of range, and characters other than ASCII letters, digits,
// "-", "_", "." (an internationalised name arrives in its "xn--" form). A host that is canonical already costs no allocation.
func Host(hostport string) (host string, ok bool) {
	host, port, ok := split(hostport)
	if !ok || !validPort(port) {
		return "", false
	}
	if strings.HasPrefix(host, "[") {
		return literal(host)
	}
	return name(host)
}

// Port returns the port of a Host header or authority as written, or "" when there is none or it is not between 0 and 65535.
func Port(hostport string) string {
	_, port, ok := split(hostport)
	if !ok || !validPort(port) {
		return ""
	}
	return port
}

// split cuts the port off; the brackets of a literal stay.
func split(hostport string) (host, port string, ok bool) {
	if strings.HasPrefix(hostport, "[") {
		end := strings.IndexByte(hostport, ']')
		if end < 0 {
			return "", "", false
		}
		host, port = hostport[:end+1], hostport[end+1:]
		if port == "" {
			return host, "", true
		}
		return host, port[1:], port[0] == ':'
	}
	host, port, _ = strings.Cut(hostport, ":")
	return host, port, true
}

// validPort accepts no port, and the empty port that RFC 3986 section 3.2.3 allows.
func validPort(port string) bool {
	if port == "" {
		return true
	}
	if port[0] < '0' || port[0] > '9' {
		return false
	}
	_, err := strconv.ParseUint(port, 10, 16)
	return err == nil
}

func literal(bracketed string) (string, bool) {
	addr, err := netip.ParseAddr(bracketed[1 : len(bracketed)-1])
	if err != nil || !addr.Is6() || addr.Zone() != "" {
		return "", false
	}
	text := addr.String()
	if given := bracketed[1 : len(bracketed)-1]; given == text {
		return given, true
	}
	return text, true
}

func name(host string) (string, bool) {
	host = strings.TrimSuffix(host, ".")
	if host == "" {
		return "", false
	}
	upper, dot := false, true
	for i := range len(host) {
		c := host[i]
		if 'A' <= c && c <= 'Z' {
			upper = true
			c += 'a' - 'A'
		}
		if !isHost(c) || c == '.' && dot {
			return "", false
		}
		dot = c == '.'
	}
	if dot {
		return "", false
	}
	if upper {
		return strings.ToLower(host), true
	}
	return host, true
}
