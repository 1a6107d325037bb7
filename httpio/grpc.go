package httpio

import (
	"io"
	"net/http"
	"strconv"
	"strings"
)

// IsGRPC reports whether a request is a call of gRPC, by its content type; gRPC-Web is not.
func IsGRPC(r *http.Request) bool {
	values := r.Header["Content-Type"]
	if len(values) == 0 {
		return false
	}
	const grpc = "application/grpc"
	text := values[0]
	if len(text) < len(grpc) || !strings.EqualFold(text[:len(grpc)], grpc) {
		return false
	}
	return len(text) == len(grpc) || text[len(grpc)] == '+' || text[len(grpc)] == ';'
}

// GRPCStatus returns the status code of gRPC for a status that a proxy answers with, as clients of gRPC map it too.
func GRPCStatus(status int) int {
	const internal, unauthenticated, denied, unimplemented, unavailable, unknown = 13, 16, 7, 12, 14, 2
	switch status {
	case http.StatusBadRequest:
		return internal
	case http.StatusUnauthorized:
		return unauthenticated
	case http.StatusForbidden:
		return denied
	case http.StatusNotFound:
		return unimplemented
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return unavailable
	}
	return unknown
}

// StatusReader is a writer that decides by the status of a response, such as 503, and may replace the response. Errors
// reach it with their status, also those of calls of gRPC.
type StatusReader interface {
	// ReadsStatus does nothing.
	ReadsStatus()
}

// readsStatus reports whether a writer, or one below it, decides by the status.
func readsStatus(w http.ResponseWriter) bool {
	for {
		if _, reads := w.(StatusReader); reads {
			return true
		}
		above, wraps := w.(unwrapper)
		if !wraps {
			return false
		}
		w = above.Unwrap()
	}
}

// Error answers a request with a status and a text, and a call of gRPC with status 200, the status code of gRPC and the
// text without its final line break, as a response without messages has them, unless the writer is a [StatusReader]. It
// returns the status that it has sent. Headers that are set already are sent too, except for Content-Length.
func Error(w http.ResponseWriter, r *http.Request, status int, text string) int {
	header := w.Header()
	header.Del("Content-Length")
	if !IsGRPC(r) || readsStatus(w) {
		header.Set("Content-Type", "text/plain; charset=utf-8")
		header.Set("X-Content-Type-Options", "nosniff")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text) // the server notices a client that left
		return status
	}
	GRPCError(w, GRPCStatus(status), strings.TrimRight(text, "\r\n"))
	return http.StatusOK
}

// GRPCError answers a call of gRPC with status 200, a status code of gRPC (0 to 16) and a text, which may be empty, as
// a response without messages has them. Headers that are set already are sent too.
func GRPCError(w http.ResponseWriter, code int, text string) {
	header := w.Header()
	header.Set("Content-Type", "application/grpc")
	header.Set("Grpc-Status", strconv.Itoa(code))
	if text != "" {
		header.Set("Grpc-Message", grpcMessage(text))
	}
	w.WriteHeader(http.StatusOK)
}

// grpcMessage encodes a text for Grpc-Message: bytes other than printable ASCII, and the percent sign.
func grpcMessage(text string) string {
	const digits = "0123456789ABCDEF"
	var out strings.Builder
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '%' {
			out.WriteByte('%')
			out.WriteByte(digits[c>>4])
			out.WriteByte(digits[c&15])
		} else {
			out.WriteByte(c)
		}
	}
	return out.String()
}
