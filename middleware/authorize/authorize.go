// Package authorize has what middlewares share that have another server decide whether a request may pass: reading a
// body that must still reach the service, and names of headers that such a server sets.
package authorize

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/telemetry"
)

// firstBytes is how much memory is taken at first for a body whose length is announced, however long.
const firstBytes = 64 << 10

// ErrTooLarge says that a body is longer than its limit.
var ErrTooLarge = errors.New("too large")

// ReadBody reads the body of a request and replaces it by what was read, so that it can be sent twice. It is nil
// without a body, and for CONNECT, whose tunnel has no end. Limit is in bytes; negative means none. The error is
// ErrTooLarge, or that of reading.
func ReadBody(r *http.Request, limit int64) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody || r.Method == http.MethodConnect {
		return nil, nil
	}
	if limit >= 0 && r.ContentLength > limit {
		return nil, ErrTooLarge
	}
	var read bytes.Buffer
	if r.ContentLength > 0 {
		read.Grow(int(min(r.ContentLength, firstBytes)) + bytes.MinRead)
	}
	if err := CopyLimited(&read, r.Body, limit); err != nil {
		return nil, err
	}
	replaceBody(r, read.Bytes())
	return read.Bytes(), nil
}

// CopyLimited copies a body. It fails with ErrTooLarge when there are more than limit bytes, unless that is negative.
func CopyLimited(to io.Writer, from io.Reader, limit int64) error {
	if limit < 0 || limit == math.MaxInt64 {
		limit = math.MaxInt64 - 1
	}
	n, err := io.Copy(to, io.LimitReader(from, limit+1))
	if n > limit {
		return ErrTooLarge
	}
	return err
}

// replaceBody gives a request the body that was read from it.
func replaceBody(r *http.Request, body []byte) {
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

// HeaderNames returns names in net/http's canonical spelling, without spaces around them, which lists in labels may
// have. Option is what an error begins with.
func HeaderNames(option string, names []string) ([]string, error) {
	var checked []string
	for _, name := range names {
		name = strings.TrimSpace(name)
		if !httpguts.ValidHeaderFieldName(name) {
			return nil, fmt.Errorf("%s: %q is no name of a header", option, name)
		}
		checked = append(checked, http.CanonicalHeaderKey(name))
	}
	return checked, nil
}

// SettableNames is HeaderNames for headers that a request goes on with, which must not be among those that
// [forwarded.FramesAs] reports.
func SettableNames(option string, names []string) ([]string, error) {
	names, err := HeaderNames(option, names)
	for _, name := range names {
		if forwarded.FramesAs(name) {
			return nil, fmt.Errorf("%s: %s frames a message or concerns one connection, and can't be set", option, name)
		}
	}
	return names, err
}

// ClientAddress returns the address of the client; empty when it is not known.
func ClientAddress(r *http.Request) string {
	if client := telemetry.RecordFrom(r.Context()).Client; client != "" {
		return client
	}
	if address, ok := forwarded.ClientAddr(r.RemoteAddr); ok {
		return address.String()
	}
	return ""
}
