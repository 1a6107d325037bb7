package canonical

// charset is a set of ASCII characters as a bit mask. As a constant it needs no memory access and cannot be changed.
type charset struct{ lo, hi uint64 }

const (
	unreservedLo = (1<<10-1)<<'0' | 1<<'-' | 1<<'.'
	unreservedHi = (1<<26-1)<<('A'-64) | (1<<26-1)<<('a'-64) | 1<<('_'-64) | 1<<('~'-64)

	subDelimsLo = 1<<'!' | 1<<'$' | 1<<'&' | 1<<'\'' | 1<<'(' | 1<<')' | 1<<'*' | 1<<'+' | 1<<',' | 1<<';' | 1<<'='

	// Brackets are not path characters in RFC 3986, but browsers, WHATWG URL and net/url leave them unencoded.
	pathLo = unreservedLo | subDelimsLo | 1<<':' | 1<<'/'
	pathHi = unreservedHi | 1<<('@'-64) | 1<<('['-64) | 1<<(']'-64)

	// The percent sign counts as reserved: decoding it would change what follows it.
	reservedLo = subDelimsLo | 1<<':' | 1<<'/' | 1<<'?' | 1<<'#' | 1<<'%'
	reservedHi = 1<<('@'-64) | 1<<('['-64) | 1<<(']'-64)

	nameLo = unreservedLo | subDelimsLo

	hostLo = unreservedLo
	hostHi = (1<<26-1)<<('a'-64) | 1<<('_'-64)
)

func (s charset) has(c byte) bool {
	if c < 64 {
		return s.lo>>c&1 != 0
	}
	return c < 128 && s.hi>>(c-64)&1 != 0
}

// isUnreserved reports whether c is an unreserved character (RFC 3986 section 2.3).
func isUnreserved(c byte) bool { return charset{unreservedLo, unreservedHi}.has(c) }

// isPath reports whether c is valid unencoded in a path.
func isPath(c byte) bool { return charset{pathLo, pathHi}.has(c) }

// isReserved reports whether c keeps its encoding in a routing path (RFC 3986 section 2.2, and the percent sign).
func isReserved(c byte) bool { return charset{reservedLo, reservedHi}.has(c) }

// isName reports whether c is valid unencoded in a host name (RFC 3986 section 3.2.2, reg-name).
func isName(c byte) bool { return charset{nameLo, unreservedHi}.has(c) }

// isHost reports whether c is valid in a lower-case host name.
func isHost(c byte) bool { return charset{hostLo, hostHi}.has(c) }

const upperHex = "0123456789ABCDEF"

func unhex(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10, true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	}
	return 0, false
}

// decodeAt decodes the percent-encoding at s[i:].
func decodeAt(s string, i int) (byte, bool) {
	if i+2 >= len(s) {
		return 0, false
	}
	high, ok := unhex(s[i+1])
	if !ok {
		return 0, false
	}
	low, ok := unhex(s[i+2])
	return high<<4 | low, ok
}

func appendEncoded(buf []byte, c byte) []byte {
	return append(buf, '%', upperHex[c>>4], upperHex[c&15])
}
