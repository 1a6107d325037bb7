package wire

// ValidToken reports whether s is a token (RFC 9110, section 5.6.2), as methods and names of fields are.
func ValidToken(s string) bool { return token(s) }

// ValidValue reports whether s may be the value of a field: it holds no control character but tabs (RFC 9110, section 5.5).
func ValidValue(s string) bool {
	for i := range len(s) {
		if isControl(s[i]) {
			return false
		}
	}
	return true
}

// ValidHost reports whether s consists of what an authority is made of, user information apart (RFC 3986, section 3.2).
func ValidHost(s string) bool {
	for i := range len(s) {
		if !isHost(s[i]) {
			return false
		}
	}
	return true
}
