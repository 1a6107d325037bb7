package canonical

import (
	"net/http"
	"strings"
)

// SoleOrigin returns the origin of a request. Browsers send one; several count as none, which is empty.
func SoleOrigin(header http.Header) string {
	if values := header["Origin"]; len(values) == 1 {
		return values[0]
	}
	return ""
}

// Origin reads an ASCII origin (RFC 6454 section 6.2): a scheme and a [ValidAuthority], both as they are written. The
// authority of the scheme file may be empty. It is not ok for null, which every sandboxed document has.
func Origin(text string) (scheme, authority string, ok bool) {
	scheme, authority, ok = strings.Cut(text, "://")
	if !ok || scheme == "" || scheme[0]|0x20 < 'a' || scheme[0]|0x20 > 'z' {
		return "", "", false
	}
	for i := range len(scheme) {
		if c := scheme[i]; (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && c != '+' && c != '-' && c != '.' {
			return "", "", false
		}
	}
	if authority == "" && strings.EqualFold(scheme, "file") || ValidAuthority(authority) {
		return scheme, authority, true
	}
	return "", "", false
}
