package nginxcors

import "strings"

// origin is one of the allowed origins, in lower case. Without a wildcard it is tail alone; otherwise one label is
// between head and tail.
type origin struct {
	head, tail string
	wildcard   bool
}

// parseOrigin reads what ingress-nginx accepts: a scheme of lower-case letters, a host of letters, digits, "-" and ".",
// which may be empty and begin with "*.", and perhaps a port; or null.
func parseOrigin(text string) (origin, bool) {
	if text == "null" {
		return origin{tail: text}, true
	}
	scheme, host, found := strings.Cut(text, "://")
	if !found || scheme == "" || strings.Trim(scheme, "abcdefghijklmnopqrstuvwxyz") != "" {
		return origin{}, false
	}
	rest, wildcard := strings.CutPrefix(host, "*.")
	name, port, ported := strings.Cut(rest, ":")
	if ported && (port == "" || strings.Trim(port, "0123456789") != "") {
		return origin{}, false
	}
	for i := range len(name) {
		if !isLabel(name[i]) && name[i] != '.' {
			return origin{}, false
		}
	}
	if wildcard {
		return origin{head: scheme + "://", tail: strings.ToLower("." + rest), wildcard: true}, true
	}
	return origin{tail: strings.ToLower(text)}, true
}

// matches reports whether the origin of a request is this one. As in ingress-nginx, what comes before is not looked at:
// browsers send nothing there.
func (o *origin) matches(sent string) bool {
	at, found := cutSuffix(sent, o.tail)
	if !found || !o.wildcard {
		return found
	}
	begin := at
	for begin > 0 && isLabel(sent[begin-1]) {
		begin--
	}
	if begin == at {
		return false
	}
	_, found = cutSuffix(sent[:begin], o.head) // It ends with a byte that no label has.
	return found
}

// cutSuffix returns where a suffix begins, without regard to the case of ASCII letters. The suffix is in lower case.
func cutSuffix(text, suffix string) (at int, found bool) {
	at = len(text) - len(suffix)
	if at < 0 {
		return 0, false
	}
	for i := range len(suffix) {
		c := text[at+i]
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		if c != suffix[i] {
			return 0, false
		}
	}
	return at, true
}

// isLabel reports whether a byte can be in a label of a host.
func isLabel(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-'
}
