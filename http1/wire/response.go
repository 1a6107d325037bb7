package wire

import "bytes"

// Response is the head of a response.
type Response struct {
	Message
	// Status is between 100 and 999.
	Status int
	// Reason is the text behind the status, often empty.
	Reason string
}

// Parse reads a complete head, as [Scanner.Scan] has delimited it, into r, which must be new apart from Values. The
// names in b change their case; nothing of r points into b. The error is an [*Error].
func (r *Response) Parse(b []byte) error {
	end := bytes.IndexByte(b, '\n')
	if end < 1 || b[end-1] != '\r' {
		return ErrBareLF
	}
	line := b[:end-1]
	status, err := statusLine(line)
	if err != nil {
		return err
	}
	r.Status = status
	if r.Minor, err = version(line[:versionBytes]); err != nil {
		return err
	}
	var fixed [stackSpans]span
	_, err = r.fields(b, end+1, fixed[:0], func(text string) error {
		if len(line) > versionBytes+5 {
			r.Reason = text[versionBytes+5 : end-1]
		}
		return nil
	})
	return err
}

// statusLine reads "HTTP/1.1 200 OK"; the reason may be missing, with or without the space before it.
func statusLine(line []byte) (status int, err error) {
	const digits = versionBytes + 1
	if len(line) < digits+3 || line[versionBytes] != ' ' || len(line) > digits+3 && line[digits+3] != ' ' {
		return 0, ErrStatusLine
	}
	for _, c := range line[digits : digits+3] {
		if !digit(c) {
			return 0, ErrStatusLine
		}
		status = 10*status + int(c-'0')
	}
	if status < 100 {
		return 0, ErrStatusLine
	}
	return status, checkValue(line[digits+3:])
}

// Framing is how the end of a body is determined.
type Framing int

const (
	// NoBody is a message that ends with its head.
	NoBody Framing = iota
	// FixedLength is a body of Message.Length bytes.
	FixedLength
	// ChunkedBody is a body in chunks.
	ChunkedBody
	// UntilClose is a body that ends with the connection.
	UntilClose
)

// Framing returns where the body of a request ends (RFC 9112, section 6.3).
func (r *Request) Framing() Framing {
	switch {
	case r.Chunked:
		return ChunkedBody
	case r.Length > 0:
		return FixedLength
	}
	return NoBody
}

// Framing returns where the body of a response to a method ends (RFC 9112, section 6.3). The answer to a successful
// CONNECT, and what follows 101, is no body: the caller must look at those before.
func (r *Response) Framing(method string) Framing {
	switch {
	case method == "HEAD" || BodilessStatus(r.Status):
		return NoBody
	case r.Chunked:
		return ChunkedBody
	case r.Length > 0:
		return FixedLength
	case r.Length == 0:
		return NoBody
	}
	return UntilClose
}

// BodilessStatus reports whether a response with this status never has a body: 1xx, 204 and 304.
func BodilessStatus(status int) bool {
	return status < 200 || status == 204 || status == 304
}
