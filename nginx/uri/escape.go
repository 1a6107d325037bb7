package uri

const hex = "0123456789ABCDEF"

// Escape returns a decoded path as nginx sends it: bytes that may not be in a path, and "?", "#" and "%", are
// percent-encoded. Slashes, semicolons and other reserved characters are not.
func Escape(path string) string { return string(AppendEscaped(nil, path)) }

// AppendEscaped appends what [Escape] returns.
func AppendEscaped(dst []byte, path string) []byte { return escape(dst, path, "#%?") }

// AppendEscapedArgs appends a text as nginx escapes a capture in the query: as [Escape], and also "&", "+" and ";".
func AppendEscapedArgs(dst []byte, text string) []byte { return escape(dst, text, "#%?&+;") }

func escape(dst []byte, text, also string) []byte {
	for i := range len(text) {
		if c := text[i]; invalid(c) || contains(also, c) {
			dst = append(dst, '%', hex[c>>4], hex[c&15])
		} else {
			dst = append(dst, c)
		}
	}
	return dst
}

// invalid reports whether a byte can be nowhere in a URI (RFC 3986, appendix A).
func invalid(c byte) bool { return c <= ' ' || c >= 0x7f || contains("\"<>\\^`{|}", c) }

func contains(set string, c byte) bool {
	for i := range len(set) {
		if set[i] == c {
			return true
		}
	}
	return false
}
