// Package uri normalises the path of a request, and escapes paths, as nginx does.
package uri

import (
	"bytes"
	"strings"
)

// Normalize returns the path by which nginx selects a location, its $uri: percent-encodings are decoded, then adjacent
// slashes are merged (merge_slashes), and dot segments are resolved. So encoded slashes and dots count as such. The
// target begins with a slash; what follows "?" or "#" is no part of it.
//
// It reports false for targets that nginx refuses with 400: other ones, those that leave the root, malformed or NUL
// encodings, and raw spaces or control characters. It allocates only for paths that are not normal already.
func Normalize(target string) (string, bool) {
	path, ok := pathOf(target)
	if !ok || !simple(path) {
		return normalize(path, ok)
	}
	return path, true
}

// pathOf cuts a target behind its path, and reports whether its bytes are those of a target.
func pathOf(target string) (string, bool) {
	if !strings.HasPrefix(target, "/") {
		return "", false
	}
	end := len(target)
	for i := range len(target) {
		switch c := target[i]; {
		case c <= ' ' || c == 0x7f:
			return "", false
		case (c == '?' || c == '#') && i < end:
			end = i
		}
	}
	return target[:end], true
}

// simple reports whether a path has no encodings, empty segments, or segments that begin with a dot.
func simple(path string) bool {
	for i := range len(path) {
		switch path[i] {
		case '%':
			return false
		case '/', '.':
			if i > 0 && path[i-1] == '/' {
				return false
			}
		}
	}
	return true
}

func normalize(path string, ok bool) (string, bool) {
	n := normalizer{out: make([]byte, 0, len(path))}
	for i := 0; ok && i < len(path); i++ {
		c := path[i]
		if c == '%' {
			if c, ok = decode(path[i+1:]); !ok {
				break
			}
			i += len("41")
		}
		ok = n.next(c)
	}
	if !ok || !n.end() {
		return "", false
	}
	return string(n.out), true
}

// decode returns the byte that two hexadecimal digits encode, unless it is NUL.
func decode(digits string) (byte, bool) {
	if len(digits) < 2 {
		return 0, false
	}
	high, low := Digit(digits[0]), Digit(digits[1])
	if high < 0 || low < 0 || high+low == 0 {
		return 0, false
	}
	return byte(high<<4 | low), true
}

// Digit returns the value of a hexadecimal digit; -1 for anything else.
func Digit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	default:
		return -1
	}
}

// normalizer takes the decoded bytes of a path. What it has written ends with the segment under way.
type normalizer struct{ out []byte }

// next takes a byte. It reports false where a segment ends that leaves the root.
func (n *normalizer) next(c byte) bool {
	if c != '/' {
		n.out = append(n.out, c)
		return true
	}
	if !n.end() {
		return false
	}
	if len(n.out) == 0 || n.out[len(n.out)-1] != '/' {
		n.out = append(n.out, '/')
	}
	return true
}

// end resolves the last segment if it is "." or "..".
func (n *normalizer) end() bool {
	text := string(n.out[max(len(n.out)-len("/.."), 0):])
	switch {
	case text == "/..":
		above := bytes.LastIndexByte(n.out[:len(n.out)-len("/..")], '/')
		if above < 0 {
			return false
		}
		n.out = n.out[:above+1]
	case strings.HasSuffix(text, "/."):
		n.out = n.out[:len(n.out)-len(".")]
	}
	return true
}
