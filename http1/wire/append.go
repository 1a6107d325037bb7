package wire

import (
	"net/http"
	"strconv"
)

// AppendField appends a field line. A name that is not a token is left out. CR, LF and NUL in a value become spaces, so
// that no value can end its line (RFC 9110, section 5.5).
func AppendField(b []byte, name, value string) []byte {
	if !token(name) {
		return b
	}
	return appendField(b, name, value)
}

func appendField(b []byte, name, value string) []byte {
	b = append(b, name...)
	b = append(b, ": "...)
	start := len(b)
	b = append(b, value...)
	if !ValidValue(value) {
		blank(b[start:])
	}
	return append(b, "\r\n"...)
}

func blank(b []byte) {
	for i, c := range b {
		if c == '\r' || c == '\n' || c == 0 {
			b[i] = ' '
		}
	}
}

// AppendHeader appends the lines of all fields, in no particular order, except those whose name skip returns true for.
// A nil skip leaves nothing out.
func AppendHeader(b []byte, header http.Header, skip func(name string) bool) []byte {
	for name, values := range header {
		if len(values) == 0 || !token(name) || skip != nil && skip(name) {
			continue
		}
		for _, value := range values {
			b = appendField(b, name, value)
		}
	}
	return b
}

// AppendStatusLine appends the first line of a response. The reason is that of net/http for the status.
func AppendStatusLine(b []byte, minor, status int) []byte {
	if status == http.StatusOK && minor == 1 {
		return append(b, "HTTP/1.1 200 OK\r\n"...)
	}
	b = append(b, "HTTP/1."...)
	b = append(b, byte('0'+minor), ' ')
	b = strconv.AppendInt(b, int64(status), 10)
	b = append(b, ' ')
	if reason := http.StatusText(status); reason != "" {
		b = append(b, reason...)
	} else {
		b = append(b, "status code "...)
		b = strconv.AppendInt(b, int64(status), 10)
	}
	return append(b, "\r\n"...)
}

// AppendLength appends a Content-Length line.
func AppendLength(b []byte, n int64) []byte {
	b = append(b, "Content-Length: "...)
	b = strconv.AppendInt(b, n, 10)
	return append(b, "\r\n"...)
}

// AppendChunkSize appends the line before a chunk of n bytes, which is not 0. After the data follows CR LF.
func AppendChunkSize(b []byte, n int) []byte {
	b = strconv.AppendInt(b, int64(n), 16)
	return append(b, "\r\n"...)
}

// AppendLastChunk appends the end of a body in chunks, with trailers where there are any that may be sent.
func AppendLastChunk(b []byte, trailer http.Header) []byte {
	b = append(b, "0\r\n"...)
	b = AppendHeader(b, trailer, ForbiddenTrailer)
	return append(b, "\r\n"...)
}
