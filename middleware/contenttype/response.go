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

// responseWriter holds the head of one response until the first bytes of its body, a flush or the end.
type responseWriter struct {
	http.ResponseWriter
	// state is decided, the held status, or 0 before a status. It is atomic because a handler's goroutine may still write
	// after the handler has returned; the server's writer refuses such writes.
	state atomic.Int32
	// head is the header at the time of WriteHeader. Later changes are for trailers.
	head http.Header
}

// reset prepares the writer for reuse.
func (w *responseWriter) reset() {
	w.ResponseWriter, w.head = nil, nil
	w.state.Store(0)
}

// WriteHeader holds the status if the type is to be detected.
func (w *responseWriter) WriteHeader(status int) {
	switch {
	case w.state.Load() == decided || status < http.StatusOK && status != http.StatusSwitchingProtocols:
		w.ResponseWriter.WriteHeader(status)
	case !detects(status, w.Header()):
		w.decide(nil)
		w.ResponseWriter.WriteHeader(status)
	case w.state.CompareAndSwap(0, int32(status)):
		w.head = maps.Clone(w.Header())
	}
}

// Write detects the type.
func (w *responseWriter) Write(body []byte) (int, error) {
	if w.state.Load() != decided {
		if len(body) == 0 {
			w.WriteHeader(http.StatusOK)
			return 0, nil
		}
		w.decide(body)
	}
	return w.ResponseWriter.Write(body)
}

// WriteString is Write.
func (w *responseWriter) WriteString(body string) (int, error) {
	if w.state.Load() != decided {
		return w.Write([]byte(body))
	}
	return io.WriteString(w.ResponseWriter, body)
}

// ReadFrom detects the type from the first bytes, and then lets the server splice the rest if it can.
func (w *responseWriter) ReadFrom(body io.Reader) (int64, error) {
	begun := 0
	if w.state.Load() != decided {
		first := make([]byte, enough)
		var err error
		for begun == 0 && err == nil {
			begun, err = body.Read(first)
		}
		if begun > 0 {
			if n, failed := w.Write(first[:begun]); failed != nil {
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
	n, err := io.Copy(w.ResponseWriter, body)
	return int64(begun) + n, err
}

// Splices implements httpio.Splicer after detection.
func (w *responseWriter) Splices() bool {
	return w.state.Load() == decided && httpio.Splices(w.ResponseWriter)
}

// Flush sends the head, without a type if none was detected, and buffered data.
func (w *responseWriter) Flush() { _ = w.FlushError() }

// FlushError is Flush for http.ResponseController.
func (w *responseWriter) FlushError() error {
	w.decide(nil)
	return http.NewResponseController(w.ResponseWriter).Flush()
}

func (w *responseWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.decide(nil)
	return http.NewResponseController(w.ResponseWriter).Hijack()
}

// Unwrap returns the server's writer, for http.ResponseController.
func (w *responseWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// decide sends the held head, with the type that is detected from body, if any.
func (w *responseWriter) decide(body []byte) {
	status := w.state.Swap(decided)
	if status == decided {
		return
	}
	header := w.Header()
	if status == 0 {
		if len(body) > 0 && detects(http.StatusOK, header) {
			header["Content-Type"] = []string{http.DetectContentType(body)}
		}
		return
	}
	later := maps.Clone(header)
	replace(header, w.head)
	if len(body) > 0 {
		header["Content-Type"] = []string{http.DetectContentType(body)}
	}
	w.ResponseWriter.WriteHeader(int(status))
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
