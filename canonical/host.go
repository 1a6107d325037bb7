package canonical

import (
	"net/netip"
	"strings"
)

// maxPort is the largest number of a port.
const maxPort = 1<<16 - 1

// ValidAuthority reports whether a Host, an :authority or the authority of a target names a host as RFC 3986 section
// 3.2 writes it: a name of unreserved characters, sub-delimiters and percent-encodings, or an IPv6 address in brackets,
// and behind it perhaps a colon and a port of decimal digits, none or up to 65535. User information, a zone, an
// IPvFuture address, and the empty host are not valid. It does not allocate for what is valid, and looks at each byte
// of a name once.
//
// A name that is valid can still be one that no rule compares: see [Host].
func ValidAuthority(authority string) bool {
	host, _, ok := split(authority)
	if !ok || host[0] != '[' {
		return ok
	}
	_, ok = address(host)
	return ok
}

// Host returns the canonical host of a Host header, an authority or a rule's argument: lower case, without the port,
// without one trailing dot, and an IPv6 literal without brackets in the form of RFC 5952. It is not ok for what is no
// [ValidAuthority], empty labels, and characters other than ASCII letters, digits, "-", "_", "." (an internationalised
// name arrives in its "xn--" form). A host that is canonical already costs no allocation.
func Host(hostport string) (host string, ok bool) {
	host, _, ok = split(hostport)
	if !ok {
		return "", false
	}
	if host[0] == '[' {
		return literal(host)
	}
	return name(host)
}

// Port returns the port of a Host header or authority as written, or "" when there is none or it is no
// [ValidAuthority].
func Port(hostport string) string {
	if !ValidAuthority(hostport) {
		return ""
	}
	_, port, _ := split(hostport)
	return port
}

// split cuts a valid authority into host and port. A literal keeps its brackets and is not checked.
func split(authority string) (host, port string, ok bool) {
	end := 0
	if strings.HasPrefix(authority, "[") {
		end = strings.IndexByte(authority, ']') + 1
	} else {
		end = nameEnd(authority)
	}
	if end == 0 {
		return "", "", false
	}
	host, port = authority[:end], authority[end:]
	if port == "" {
		return host, "", true
	}
	if port[0] != ':' || !validPort(port[1:]) {
		return "", "", false
	}
	return host, port[1:], true
}

// nameEnd returns the end of the name at the beginning of s (RFC 3986 section 3.2.2, reg-name).
func nameEnd(s string) int {
	i := 0
	for i < len(s) {
		if isName(s[i]) {
			i++
			continue
		}
		if _, encoded := decodeAt(s, i); s[i] != '%' || !encoded {
			return i
		}
		i += len("%00")
	}
	return i
}

// validPort accepts the empty port that RFC 3986 section 3.2.3 allows.
func validPort(port string) bool {
	n := 0
	for i := range len(port) {
		if port[i] < '0' || port[i] > '9' {
			return false
		}
		if n = 10*n + int(port[i]-'0'); n > maxPort {
			return false
		}
	}
	return true
}

// address parses the IPv6 address in brackets.
func address(bracketed string) (netip.Addr, bool) {
	text := bracketed[1 : len(bracketed)-1]
	if strings.IndexByte(text, '%') >= 0 {
		return netip.Addr{}, false // A zone is valid on one machine only (RFC 6874 section 1).
	}
	addr, err := netip.ParseAddr(text)
	return addr, err == nil && addr.Is6()
}

func literal(bracketed string) (string, bool) {
	addr, ok := address(bracketed)
	if !ok {
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
