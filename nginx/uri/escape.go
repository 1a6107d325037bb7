package uri

import "strings"

const hex = "0123456789ABCDEF"

// Escape returns a decoded path as nginx sends it: bytes that may not be in a path, and "?", "#" and "%", are
// percent-encoded. Slashes, semicolons and other reserved characters are not.
func Escape(path string) string { return string(escape(nil, path, "#%?")) }

// AppendEscapedArgs appends a text as nginx escapes a capture in the query: as [Escape], and also "&", "+" and ";".
func AppendEscapedArgs(dst []byte, text string) []byte { return escape(dst, text, "#%?&+;") }

// AppendValid appends a text in which spaces, control characters, bytes that are not ASCII, and those of also are
// percent-encoded. Encodings stay as they are.
func AppendValid[T string | []byte](dst []byte, text T, also string) []byte {
	for i := range len(text) {
		c := text[i]
		dst = appendByte(dst, c, c <= ' ' || c >= 0x7f || strings.IndexByte(also, c) >= 0)
	}
	return dst
}

func escape(dst []byte, text, also string) []byte {
	for i := range len(text) {
		dst = appendByte(dst, text[i], invalid(text[i]) || strings.IndexByte(also, text[i]) >= 0)
	}
	return dst
}

func appendByte(dst []byte, c byte, escaped bool) []byte {
	if escaped {
		return append(dst, '%', hex[c>>4], hex[c&15])
	}
	return append(dst, c)
}

// invalid reports whether a byte can be nowhere in a URI (RFC 3986, appendix A).
func invalid(c byte) bool { return c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>\\^`{|}", c) >= 0 }
