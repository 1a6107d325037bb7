package wire

import (
	"net/http"
)

const (
	// maxChunkLine bounds the line before a chunk, with its extensions.
	maxChunkLine = 4096
	// maxChunkExcess bounds the bytes of all chunk lines of a body beyond what useful chunks have.
	maxChunkExcess = 16 << 10
	// maxTrailerBytes and maxTrailerFields bound a trailer section.
	maxTrailerBytes  = 16 << 10
	maxTrailerFields = 100
	// sizeDigits is how many digits the size of a chunk has at most: 2^60 bytes.
	sizeDigits = 15
)

type chunkState uint8

const (
	atSize chunkState = iota
	inSize
	inBlank
	inExtension
	afterLine
	inData
	afterData
	afterDataCR
	inTrailer
	atEnd
)

// Chunked decodes a body in chunks (RFC 9112, section 7.1). The zero value is at the beginning of a body. It looks at
// bytes that its caller has read and reads none itself.
type Chunked struct {
	state  chunkState
	digits int
	line   int
	excess int64
	left   int64
	scan   Scanner
	tail   []byte
	err    error
	// Trailer has the trailers of a body that has ended; nil without any. Fields that must not be trailers are left
	// out.
	Trailer http.Header
}

// Done reports whether the body has ended; what follows belongs to the next message.
func (c *Chunked) Done() bool { return c.state == atEnd }

// Pending returns how many bytes of the current chunk's data are missing. While it is positive, that many bytes may be
// read from the connection without Decode, and are reported to Took.
func (c *Chunked) Pending() int64 {
	if c.state == inData {
		return c.left
	}
	return 0
}

// Took counts n bytes of data, at most Pending, that the caller took past Decode.
func (c *Chunked) Took(n int) {
	c.left -= int64(n)
	if c.left == 0 {
		c.state = afterData
	}
}

// Decode takes bytes from src and puts data into dst. It returns how many it took and put, and stops when dst is full,
// src is used up, or the body has ended. With an empty dst it goes on to the next data or the end. The error is an
// [*Error], and stays.
func (c *Chunked) Decode(dst, src []byte) (put, took int, err error) {
	if c.err != nil {
		return 0, 0, c.err
	}
	for took < len(src) && c.state != atEnd {
		if c.state == inData {
			if put == len(dst) {
				break
			}
			n := int(min(int64(min(len(dst)-put, len(src)-took)), c.left))
			copy(dst[put:], src[took:took+n])
			put, took = put+n, took+n
			c.Took(n)
			continue
		}
		if c.state == inTrailer {
			var n int
			n, c.err = c.trailer(src[took:])
			took += n
		} else {
			c.err = c.step(src[took])
			took++
		}
		if c.err != nil {
			return put, took, c.err
		}
	}
	return put, took, nil
}

// step takes one byte of what is around the data.
func (c *Chunked) step(b byte) error {
	switch c.state {
	case afterData:
		c.state = afterDataCR
		return expect(b, '\r')
	case afterDataCR:
		c.state = atSize
		return expect(b, '\n')
	case atSize:
		c.state, c.digits, c.line, c.left = inSize, 0, 0, 0
	}
	if c.line++; c.line > maxChunkLine {
		return ErrChunkExtension
	}
	switch c.state {
	case inSize:
		return c.size(b)
	case inBlank:
		return c.blank(b)
	case inExtension:
		return c.extension(b)
	}
	if b != '\n' {
		return ErrBareCR
	}
	return c.endLine()
}

func expect(b, wanted byte) error {
	if b != wanted {
		return ErrChunkEnd
	}
	return nil
}

func (c *Chunked) size(b byte) error {
	if value, ok := unhex(b); ok {
		if c.digits++; c.digits > sizeDigits {
			return ErrChunkSize
		}
		c.left = c.left<<4 | int64(value)
		return nil
	}
	if c.digits == 0 {
		return ErrChunkSize
	}
	switch b {
	case '\r':
		c.state = afterLine
	case ';':
		c.state = inExtension
	case ' ', '\t':
		c.state = inBlank
	case '\n':
		return ErrBareLF
	default:
		return ErrChunkSize
	}
	return nil
}

// blank skips white space, which is valid only before a semicolon.
func (c *Chunked) blank(b byte) error {
	switch b {
	case ' ', '\t':
	case ';':
		c.state = inExtension
	default:
		return ErrChunkSize
	}
	return nil
}

func (c *Chunked) extension(b byte) error {
	switch {
	case b == '\r':
		c.state = afterLine
	case b == '\n':
		return ErrBareLF
	case isControl(b):
		return ErrChunkExtension
	}
	return nil
}

// endLine begins the data of a chunk. A body that consists of chunk lines more than of data is an attack
// (CVE-2023-39326).
func (c *Chunked) endLine() error {
	if c.left == 0 {
		c.state = inTrailer
		return nil
	}
	const useful = 16
	c.excess = max(c.excess+int64(c.line)-useful-2*min(c.left, maxChunkExcess), 0)
	if c.excess > maxChunkExcess {
		return ErrChunkExtension
	}
	c.state = inData
	return nil
}

// trailer takes bytes of the trailer section up to its end.
func (c *Chunked) trailer(b []byte) (took int, err error) {
	before := len(c.tail)
	if before == 0 && len(b) >= 2 && b[0] == '\r' && b[1] == '\n' {
		c.state = atEnd
		return 2, nil
	}
	room := min(len(b), maxTrailerBytes+1-before)
	c.tail = append(c.tail, b[:room]...)
	// A trailer section has no first line, so that its first field takes the place of it.
	end, err := c.scan.Scan(c.tail, Limits{HeadBytes: maxTrailerBytes, Fields: maxTrailerFields})
	switch {
	case err == ErrBareLF: //nolint:errorlint // Scan wraps nothing
		return room, err
	case err != nil:
		return room, ErrTrailerTooLarge
	case end == 0:
		return room, nil
	}
	took = end - before
	err = c.take(c.tail[:end])
	c.tail = nil
	c.state = atEnd
	return took, err
}

func (c *Chunked) take(section []byte) error {
	fields, err := ParseFields(section)
	if err != nil {
		return err
	}
	for name := range fields {
		if ForbiddenTrailer(name) {
			delete(fields, name)
		}
	}
	if len(fields) > 0 {
		c.Trailer = fields
	}
	return nil
}

func unhex(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}
