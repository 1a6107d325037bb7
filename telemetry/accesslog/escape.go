package accesslog

import (
	"unicode"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// plain reports whether a byte needs no escape in a string of JSON and in a quoted column.
func plain(c byte) bool { return c-' ' < 0x7f-' ' && c != '"' && c != '\\' }

// hidden reports whether a character beyond ASCII is one that moves the cursor, ends a line or turns the
// direction of what follows, so that a terminal would show something else than what is there.
func hidden(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// appendJSON appends a text as a string of JSON (RFC 8259, section 7).
func appendJSON(b []byte, text string) []byte {
	return append(appendText(append(b, '"'), text), '"')
}

// appendText appends a text escaped as the inside of a JSON string, always on one line. Bytes that are no UTF-8
// become U+FFFD each.
func appendText(b []byte, text string) []byte {
	first := plainPart(text)
	if first == len(text) {
		return append(b, text...)
	}
	return appendEscaped(append(b, text[:first]...), text[first:])
}

// plainPart returns how many bytes at the beginning of a text need no escape. Eight bytes at a time are looked
// at: the high bit of one is set where it is beyond ASCII already, or where one of the subtractions borrows
// from it. A borrow that reaches a byte comes from a special one before it, so that no special byte is missed
// and only the place has to be found again.
func plainPart(text string) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; len(text)-i >= 8; i += 8 {
		chunk := text[i : i+8]
		w := uint64(chunk[0]) | uint64(chunk[1])<<8 | uint64(chunk[2])<<16 | uint64(chunk[3])<<24 |
			uint64(chunk[4])<<32 | uint64(chunk[5])<<40 | uint64(chunk[6])<<48 | uint64(chunk[7])<<56
		quote, backslash, del := w^(ones*'"'), w^(ones*'\\'), w^(ones*0x7f)
		if (w|(w-ones*' ')&^w|(quote-ones)&^quote|(backslash-ones)&^backslash|(del-ones)&^del)&highs != 0 {
			break
		}
	}
	for i < len(text) && plain(text[i]) {
		i++
	}
	return i
}

// appendEscaped appends a text that may need escapes.
func appendEscaped(b []byte, text string) []byte {
	begin := 0
	for i := 0; i < len(text); {
		c := text[i]
		if plain(c) {
			i++
			continue
		}
		r, size := rune(c), 1
		if c >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(text[i:])
			if !(r == utf8.RuneError && size == 1) && !hidden(r) {
				i += size
				continue
			}
		}
		b = append(b, text[begin:i]...)
		b = appendEscape(b, r)
		i += size
		begin = i
	}
	return append(b, text[begin:]...)
}

// appendEscape appends the escape of a character of JSON.
func appendEscape(b []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(b, '\\', byte(r))
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	}
	if r > 0xffff {
		r -= 0x10000
		b = appendUnit(b, 0xd800+(r>>10))
		r = 0xdc00 + (r & 0x3ff)
	}
	return appendUnit(b, r)
}

func appendUnit(b []byte, r rune) []byte {
	return append(b, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}

// place is the kind of column of a text in a line of the common format.
type place uint8

const (
	// quoted is a column between quotes, word one of several words between quotes, bare a column without quotes.
	quoted place = iota
	word
	bare
)

// takes reports whether a plain ASCII character needs no escape in the place: white space would end it, and a bracket
// would make a bare column one that ends with a bracket, as that of the time does.
func (p place) takes(c byte) bool {
	switch c {
	case ' ':
		return p == quoted
	case '[', ']':
		return p != bare
	}
	return true
}

// appendColumn appends a text to a line of the common format. What the place does not take, control characters
// and bytes that are no UTF-8 are written as \xHH, as Apache's httpd does it; quotes and backslashes are
// preceded by a backslash.
func appendColumn(b []byte, text string, in place) []byte {
	for i := 0; i < len(text); {
		c := text[i]
		if plain(c) && in.takes(c) {
			b = append(b, c)
			i++
			continue
		}
		size := 1
		if c >= utf8.RuneSelf {
			var r rune
			if r, size = utf8.DecodeRuneInString(text[i:]); !(r == utf8.RuneError && size == 1) && !hidden(r) &&
				(in == quoted || !unicode.IsSpace(r)) {
				b = append(b, text[i:i+size]...)
				i += size
				continue
			}
		}
		if c == '"' || c == '\\' {
			b = append(b, '\\', c)
		} else {
			for _, c := range []byte(text[i : i+size]) {
				b = append(b, '\\', 'x', hexDigits[c>>4], hexDigits[c&15])
			}
		}
		i += size
	}
	return b
}
