package forwardauth

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"strconv"

	"github.com/sluiceproxy/sluice/middleware/answer"
	"github.com/sluiceproxy/sluice/telemetry"
)

// firstBytes is how much memory is taken at first for a body whose length is announced, however long.
const firstBytes = 64 << 10

// receive reads the body of a request if the authentication server is to be shown it, and leaves the service the
// same. It is not ok when the request has been answered.
func (f *ForwardAuth) receive(w http.ResponseWriter, r *http.Request) (body []byte, ok bool) {
	s := f.settings
	// What follows a CONNECT is a tunnel, which has no end.
	if !s.forwardBody || r.Body == nil || r.Body == http.NoBody || r.Method == http.MethodConnect {
		return nil, true
	}
	limit := s.maxBody
	if limit < 0 {
		limit = math.MaxInt64 - 1
	}
	if r.ContentLength > limit {
		f.refuse(w, r, f.bodyReason())
		return nil, false
	}
	var read bytes.Buffer
	if r.ContentLength > 0 {
		read.Grow(int(min(r.ContentLength, firstBytes)) + bytes.MinRead)
	}
	if _, err := read.ReadFrom(&limited{reader: r.Body, left: limit}); err != nil {
		f.unreadable(w, r, err)
		return nil, false
	}
	body = read.Bytes()
	again(r, body)
	return body, true
}

func (f *ForwardAuth) bodyReason() string {
	return "the request's body is larger than maxBodySize, " + strconv.FormatInt(f.settings.maxBody, 10)
}

// again gives a request the body that was read from it.
func again(r *http.Request, body []byte) {
	// The body has been read; no 100 Continue is needed.
	delete(r.Header, "Expect")
	if !hasTrailer(r.Trailer) {
		r.ContentLength, r.TransferEncoding = int64(len(body)), nil
		if len(body) == 0 {
			r.Body = http.NoBody
			return
		}
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
}

// hasTrailer reports whether a body came with trailers, which travel with chunks only (RFC 9112 section 7.1).
func hasTrailer(trailer http.Header) bool {
	for _, values := range trailer {
		if len(values) > 0 {
			return true
		}
	}
	return false
}

// unreadable answers a request whose body could not be had.
func (f *ForwardAuth) unreadable(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, errTooLarge) {
		f.refuse(w, r, f.bodyReason())
		return
	}
	reason := "reading the request's body: " + err.Error()
	status := bodyStatus(err)
	if r.Context().Err() != nil && status == http.StatusBadRequest {
		status = telemetry.StatusClientClosedRequest
	}
	if status == telemetry.StatusClientClosedRequest {
		answer.Note(r, f.name, reason)
		telemetry.RecordFrom(r.Context()).Status = status
		return
	}
	answer.Refuse(w, r, status, f.name, reason)
}

// bodyStatus returns the answer to a request whose body can't be read.
func bodyStatus(err error) int {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return http.StatusRequestEntityTooLarge
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return http.StatusGatewayTimeout
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() || errors.Is(err, os.ErrDeadlineExceeded) {
		return http.StatusRequestTimeout
	}
	if _, ok := errors.AsType[*net.OpError](err); ok || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, context.Canceled) {
		return telemetry.StatusClientClosedRequest
	}
	return http.StatusBadRequest
}
