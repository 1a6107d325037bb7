package wire

import "encoding/binary"

// charset is a set of ASCII characters as two words of bits.
type charset struct{ lo, hi uint64 }

func (s charset) has(c byte) bool {
	if c < 64 {
		return s.lo>>c&1 != 0
	}
	return c < 128 && s.hi>>(c-64)&1 != 0
}

const (
	digitsLo  = (1<<10 - 1) << '0'
	lettersHi = (1<<26-1)<<('A'-64) | (1<<26-1)<<('a'-64)

	// Characters that net/url leaves unencoded in a path, so that Path is sufficient.
	plainLo = digitsLo | 1<<'-' | 1<<'.' | 1<<'$' | 1<<'&' | 1<<'+' | 1<<',' | 1<<'/' | 1<<':' | 1<<';' | 1<<'='
	plainHi = lettersHi | 1<<('_'-64) | 1<<('~'-64) | 1<<('@'-64)
)

func isPlain(c byte) bool { return charset{plainLo, plainHi}.has(c) }

// isControl reports whether c is invalid in a field value.
func isControl(c byte) bool { return c < ' ' && c != '\t' || c == 0x7f }

// token reports whether s is a token.
func token[T string | []byte](s T) bool {
	for i := range len(s) {
		if lowerToken[s[i]] == 0 {
			return false
		}
	}
	return len(s) > 0
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// suspicious reports whether one of eight bytes may be a control character; tabs are among the suspects.
func suspicious(x uint64) bool {
	deletes := x ^ ones*0x7f
	return ((x-ones*0x20)&^x|(deletes-ones)&^deletes)&highs != 0
}

// checkValue refuses control characters (RFC 9110, section 5.5).
func checkValue(b []byte) error {
	for ; len(b) >= 8; b = b[8:] {
		if suspicious(binary.LittleEndian.Uint64(b)) {
			if err := checkBytes(b[:8]); err != nil {
				return err
			}
		}
	}
	return checkBytes(b)
}

func checkBytes(b []byte) error {
	for _, c := range b {
		if isControl(c) {
			if c == '\r' {
				return ErrBareCR
			}
			return ErrValue
		}
	}
	return nil
}

// trim returns where the value in b[from:to] begins and ends without the optional white space around it.
func trim(b []byte, from, to int) (int, int) {
	for from < to && (b[from] == ' ' || b[from] == '\t') {
		from++
	}
	for from < to && (b[to-1] == ' ' || b[to-1] == '\t') {
		to--
	}
	return from, to
}
