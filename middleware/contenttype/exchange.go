package contenttype

import (
	"bufio"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/sluiceproxy/sluice/httpio"
)

// decided is the state after the head is sent, or if the body is not needed.
const decided = -1

// enough is the number of bytes used for detection (WHATWG MIME Sniffing, section 5).
const enough = 512

// exchange holds the head of one response until the first bytes of its body, a flush or the end.
type exchange struct {
	http.ResponseWriter
	// state is decided, the held status, or 0 before a status. It is atomic because a handler's goroutine may still write
	// after the handler has returned; the server's writer refuses such writes.
	state atomic.Int32
	// head is the header at the time of WriteHeader. Later changes are for trailers.
	head http.Header
}

// reset prepares the exchange for reuse.
func (e *exchange) reset() {
	e.ResponseWriter, e.head = nil, nil
	e.state.Store(0)
}

// WriteHeader holds the status if the type is to be detected.
func (e *exchange) WriteHeader(status int) {
	switch {
	case e.state.Load() == decided || status < http.StatusOK && status != http.StatusSwitchingProtocols:
		e.ResponseWriter.WriteHeader(status)
	case !detects(status, e.Header()):
		e.decide(nil)
		e.ResponseWriter.WriteHeader(status)
	case e.state.CompareAndSwap(0, int32(status)):
		e.head = maps.Clone(e.Header())
	}
}

// Write detects the type.
func (e *exchange) Write(body []byte) (int, error) {
	if e.state.Load() != decided {
		if len(body) == 0 {
			e.WriteHeader(http.StatusOK)
			return 0, nil
		}
		e.decide(body)
	}
	return e.ResponseWriter.Write(body)
}

// WriteString is Write.
func (e *exchange) WriteString(body string) (int, error) {
	if e.state.Load() != decided {
		return e.Write([]byte(body))
	}
	return io.WriteString(e.ResponseWriter, body)
}

// ReadFrom detects the type from the first bytes, and then lets the server splice the rest if it can.
func (e *exchange) ReadFrom(body io.Reader) (int64, error) {
	begun := 0
	if e.state.Load() != decided {
		first := make([]byte, enough)
		var err error
		for begun == 0 && err == nil {
			begun, err = body.Read(first)
		}
		if begun > 0 {
			if n, failed := e.Write(first[:begun]); failed != nil {
				return int64(n), failed
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return int64(begun), nil
		case err != nil:
			return int64(begun), err
		}
	}
	n, err := io.Copy(e.ResponseWriter, body)
	return int64(begun) + n, err
}

// Splices implements httpio.Splicer after detection.
func (e *exchange) Splices() bool {
	return e.state.Load() == decided && httpio.Splices(e.ResponseWriter)
}

// Flush sends the head, without a type if none was detected, and buffered data.
func (e *exchange) Flush() { _ = e.FlushError() }

// FlushError is Flush for http.ResponseController.
func (e *exchange) FlushError() error {
	e.decide(nil)
	return http.NewResponseController(e.ResponseWriter).Flush()
}

func (e *exchange) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	e.decide(nil)
	return http.NewResponseController(e.ResponseWriter).Hijack()
}

// Unwrap returns the server's writer, for http.ResponseController.
func (e *exchange) Unwrap() http.ResponseWriter { return e.ResponseWriter }

// decide sends the held head, with the type that is detected from body, if any.
func (e *exchange) decide(body []byte) {
	status := e.state.Swap(decided)
	if status == decided {
		return
	}
	header := e.Header()
	if status == 0 {
		if len(body) > 0 && detects(http.StatusOK, header) {
			header["Content-Type"] = []string{http.DetectContentType(body)}
		}
		return
	}
	later := maps.Clone(header)
	replace(header, e.head)
	if len(body) > 0 {
		header["Content-Type"] = []string{http.DetectContentType(body)}
	}
	e.ResponseWriter.WriteHeader(int(status))
	replace(header, later)
}

func replace(header, by http.Header) {
	clear(header)
	maps.Copy(header, by)
}

func isNamed(value string) bool { return value != "" }

// detects reports whether the type of a response is to be detected.
func detects(status int, header http.Header) bool {
	switch status {
	case http.StatusNoContent, http.StatusResetContent, http.StatusPartialContent, http.StatusNotModified,
		http.StatusSwitchingProtocols:
		return false
	}
	// A nil value disables detection by servers.
	if len(header["Content-Type"]) > 0 || slices.ContainsFunc(header["Content-Encoding"], isNamed) ||
		len(header["Content-Range"]) > 0 {
		return false
	}
	if length := header["Content-Length"]; len(length) == 1 && length[0] == "0" {
		return false
	}
	for _, option := range header["X-Content-Type-Options"] {
		if strings.EqualFold(strings.TrimSpace(option), "nosniff") {
			return false
		}
	}
	return true
}
