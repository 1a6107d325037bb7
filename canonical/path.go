package canonical

import (
	"path"
	"strings"
)

// isPlain reports whether s certainly needs no change: only characters that need no encoding, no empty segment, dot
// segment or segment of parameters alone. It may return false for such an s.
func isPlain(s string) bool {
	slash := false
	for i := range len(s) {
		c := s[i]
		if !isPath(c) || slash && (c == '.' || c == '/' || c == ';') {
			return false
		}
		slash = c == '/'
	}
	return true
}

// normalize decodes the encodings of unreserved characters, writes the others in upper case, and encodes characters
// that are invalid raw. It allocates only for changes.
func normalize(s string, allowed EncodedCharacters) (string, error) {
	var short [128]byte // sufficient for most paths
	var out []byte
	for i := 0; i < len(s); i++ {
		c, width, plain := s[i], 1, true
		switch {
		case isPath(c):
		case c == '%':
			decoded, ok := decodeAt(s, i)
			if !ok {
				return "", refuse("the path has an invalid percent-encoding")
			}
			c, width, plain = decoded, 3, isUnreserved(decoded)
		case c == '#':
			return "", refuse("the path has a fragment")
		case c <= ' ' || c == 0x7f:
			return "", refuse("the path has a space or control character")
		default:
			plain = false
		}
		if !plain && !allowed.allows(c) {
			return "", refuse("the path has an encoded character that is not allowed")
		}
		same := plain == (width == 1) && (width == 1 || isUpperHex(s[i+1]) && isUpperHex(s[i+2]))
		if out == nil && !same {
			out = append(short[:0], s[:i]...)
		}
		if out != nil {
			out = appendPath(out, c, plain)
		}
		i += width - 1
	}
	if out == nil {
		return s, nil
	}
	return string(out), nil
}

func appendPath(out []byte, c byte, plain bool) []byte {
	if plain {
		return append(out, c)
	}
	return appendEncoded(out, c)
}

func isUpperHex(c byte) bool { return c < 'a' }

// route derives the routing path from an escaped path. It allocates only when something is decoded.
func route(escaped string) string {
	at := strings.IndexByte(escaped, '%')
	if at < 0 {
		return escaped
	}
	var short [128]byte
	var out []byte
	for i := at; i < len(escaped); i++ {
		c := escaped[i]
		decoded, ok := byte(0), false
		if c == '%' {
			decoded, ok = decodeAt(escaped, i)
		}
		kept := !ok || isReserved(decoded) && isUpperHex(escaped[i+1]) && isUpperHex(escaped[i+2])
		if out == nil && !kept {
			out = append(short[:0], escaped[:i]...)
		}
		switch {
		case !ok:
			out = appendUnlessNil(out, c)
			continue
		case out != nil && isReserved(decoded):
			out = appendEncoded(out, decoded)
		default:
			out = appendUnlessNil(out, decoded)
		}
		i += 2
	}
	if out == nil {
		return escaped
	}
	return string(out)
}

func appendUnlessNil(out []byte, c byte) []byte {
	if out == nil {
		return nil
	}
	return append(out, c)
}

// segments is the classification of a path's segments.
type segments int

const (
	tidy           segments = iota // none of the following
	unclean                        // an empty segment inside, or a dot segment
	onlyParameters                 // a segment that begins with ";"
	dotParameter                   // "." or ".." followed by ";"
)

// inspect returns the highest class among the segments of an escaped path that begins with a slash. A trailing slash is
// tidy.
func inspect(s string) segments {
	found := tidy
	for i := range len(s) {
		if s[i] != '/' {
			continue
		}
		rest := s[i+1:]
		if rest != "" && rest[0] == '/' {
			found = max(found, unclean)
			continue
		}
		found = max(found, classify(rest))
	}
	return found
}

// classify returns the class of the first segment of rest, in which an empty segment is tidy.
func classify(rest string) segments {
	switch {
	case rest == "":
		return tidy
	case rest[0] == ';':
		return onlyParameters
	case rest[0] != '.':
		return tidy
	}
	rest = strings.TrimPrefix(rest[1:], ".")
	switch {
	case rest == "" || rest[0] == '/':
		return unclean
	case rest[0] == ';':
		return dotParameter
	}
	return tidy
}

// hasDotSegment reports whether s has a dot segment, with or without a parameter.
func hasDotSegment(s string) bool {
	for i := range len(s) {
		if s[i] != '/' {
			continue
		}
		if class := classify(s[i+1:]); class == unclean || class == dotParameter {
			return true
		}
	}
	return false
}

// clean removes dot segments and empty segments. It keeps a trailing slash and adds none, as url.URL.JoinPath:
// "/a/b/.." becomes "/a".
func clean(s string) string {
	cleaned := path.Clean(s)
	if cleaned != "/" && strings.HasSuffix(s, "/") {
		return cleaned + "/"
	}
	return cleaned
}
