package wire

import "net/http"

// ValidToken reports whether s is a token (RFC 9110, section 5.6.2), as methods and names of fields are.
func ValidToken(s string) bool { return token(s) }

// ValidValue reports whether s may be the value of a field: it holds no control character but tabs (RFC 9110, section
// 5.5).
func ValidValue(s string) bool {
	for ; len(s) >= 8; s = s[8:] {
		if suspicious(word(s)) && !valid(s[:8]) {
			return false
		}
	}
	return valid(s)
}

func valid(s string) bool {
	for i := range len(s) {
		if isControl(s[i]) {
			return false
		}
	}
	return true
}

// word returns the first eight bytes of s as one number. The compiler makes one load of it.
func word(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// Idempotent reports whether a request with the method may be sent again without a different effect (RFC 9110, section
// 9.2.2). An empty method is GET.
func Idempotent(method string) bool {
	switch method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return true
	}
	return false
}
