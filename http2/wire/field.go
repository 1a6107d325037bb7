package wire

import (
	"strconv"

	"golang.org/x/net/http2/hpack"
)

// The first bits of representations (RFC 7541, section 6), and how many bits of the byte are left for a number.
const (
	indexed        = 0x80
	indexedBits    = 7
	withoutIndex   = 0x00
	neverIndexed   = 0x10
	literalBits    = 4
	huffman        = 0x80
	stringBits     = 7
	statusOKIndex  = 8
	statusIndex    = 8
	maxStatusIndex = 14
	// contentLengthIndex is the index of the name.
	contentLengthIndex = 28
)

// AppendStatus appends the pseudo-header field :status (section 8.3.2).
func AppendStatus(b []byte, status int) []byte {
	switch status {
	case 200:
		return append(b, indexed|statusOKIndex)
	case 204:
		return append(b, indexed|9)
	case 206:
		return append(b, indexed|10)
	case 304:
		return append(b, indexed|11)
	case 400:
		return append(b, indexed|12)
	case 404:
		return append(b, indexed|13)
	case 500:
		return append(b, indexed|maxStatusIndex)
	}
	b = append(b, withoutIndex|statusIndex, 3)
	return append(b, '0'+byte(status/100%10), '0'+byte(status/10%10), '0'+byte(status%10))
}

// AppendField appends a field as a literal that the peer does not keep. The name is made lower case; one in the static
// table (RFC 7541, appendix A) is an index.
func AppendField(b []byte, name, value string) []byte {
	first := byte(withoutIndex)
	if sensitive(name, value) {
		first = neverIndexed
	}
	if index := staticIndex(name); index != 0 {
		b = appendNumber(b, first, literalBits, index)
	} else {
		b = append(b, first)
		b = appendName(b, name)
	}
	return appendString(b, value)
}

// sensitive reports whether intermediaries must not keep a field (RFC 7541, section 7.1.3): credentials, and values
// that are short enough to be guessed.
func sensitive(name, value string) bool {
	switch len(name) {
	case len("Authorization"):
		return name == "Authorization"
	case len("Cookie"):
		return name == "Cookie" && len(value) < 20
	case len("Set-Cookie"):
		return name == "Set-Cookie"
	case len("Proxy-Authorization"):
		return name == "Proxy-Authorization"
	}
	return false
}

// appendNumber appends an integer (RFC 7541, section 5.1).
func appendNumber(b []byte, first byte, bits int, n int) []byte {
	limit := 1<<bits - 1
	if n < limit {
		return append(b, first|byte(n))
	}
	b = append(b, first|byte(limit))
	for n -= limit; n >= 0x80; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}

// appendName appends a name in lower case. Names are short, and rarely sent that are not in the static table, so that
// they are not compressed.
func appendName(b []byte, name string) []byte {
	b = appendNumber(b, 0, stringBits, len(name))
	for i := range len(name) {
		c := name[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		b = append(b, c)
	}
	return b
}

// leastHuffman is the length below which a value is not compressed.
const leastHuffman = 16

// appendString appends a value (RFC 7541, section 5.2), compressed where that makes it shorter.
func appendString(b []byte, value string) []byte {
	if len(value) >= leastHuffman {
		if n := int(hpack.HuffmanEncodeLength(value)); n < len(value) { //nolint:gosec // of a string
			return hpack.AppendHuffmanString(appendNumber(b, huffman, stringBits, n), value)
		}
	}
	return append(appendNumber(b, 0, stringBits, len(value)), value...)
}

// AppendTableSize appends an update of the size of the dynamic table (RFC 7541, section 6.3).
func AppendTableSize(b []byte, size int) []byte { return appendNumber(b, 0x20, 5, size) }

// AppendLength appends the field content-length.
func AppendLength(b []byte, length int64) []byte {
	var room [20]byte
	digits := strconv.AppendInt(room[:0], length, 10)
	b = appendNumber(b, withoutIndex, literalBits, contentLengthIndex)
	return append(append(b, byte(len(digits))), digits...)
}

// The indices of the static table for what begins a request (RFC 7541, appendix A).
const (
	authorityIndex = 1
	getIndex       = 2
	postIndex      = 3
	rootIndex      = 4
	httpIndex      = 6
	httpsIndex     = 7
)

// AppendMethod appends the pseudo-header field :method (section 8.3.1).
func AppendMethod(b []byte, method string) []byte {
	switch method {
	case "GET":
		return append(b, indexed|getIndex)
	case "POST":
		return append(b, indexed|postIndex)
	}
	return appendString(append(b, withoutIndex|getIndex), method)
}

// AppendScheme appends the pseudo-header field :scheme, http or https.
func AppendScheme(b []byte, secure bool) []byte {
	if secure {
		return append(b, indexed|httpsIndex)
	}
	return append(b, indexed|httpIndex)
}

// AppendAuthority appends the pseudo-header field :authority.
func AppendAuthority(b []byte, authority string) []byte {
	return appendString(append(b, withoutIndex|authorityIndex), authority)
}

// AppendPath appends the pseudo-header field :path.
func AppendPath(b []byte, path string) []byte {
	if path == "/" {
		return append(b, indexed|rootIndex)
	}
	return appendString(append(b, withoutIndex|rootIndex), path)
}
