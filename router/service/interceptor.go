package service

import (
	"bufio"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/httpio"
)

// errDiscarded is returned to the handler of a discarded response.
var errDiscarded = errors.New("another service answers")

// maxInterims is how many informational responses are held back; more are dropped.
const maxInterims = 32

// responseInterceptor is a response writer that passes a response on, unless its status is one of the codes:
// then the response is discarded. Informational responses are held back until the status is known.
type responseInterceptor struct {
	writer  http.ResponseWriter
	control *http.ResponseController
	codes   *dynamic.StatusCodes
	body    *replayBody
	// reader is the request body of this attempt.
	reader *reader
	cancel func()
	// before is the header before the handler ran.
	before   http.Header
	interims []interim
	// decided says that the status is known, discarded that the client does not get the response.
	decided   bool
	discarded bool
	drained   int
	timer     *time.Timer
	// scratch is the header of a discarded response.
	scratch http.Header

	// mutex guards over, which says that the handler has returned: from then on the connection's deadlines are
	// not changed.
	mutex       sync.Mutex
	over        bool
	interrupted bool
	// gaveUp says that the reader's givenUp is closed.
	gaveUp bool
}

// interim is an informational response.
type interim struct {
	status int
	header http.Header
}

func newResponseInterceptor(w http.ResponseWriter, codes *dynamic.StatusCodes, cancel func()) *responseInterceptor {
	s := &responseInterceptor{writer: w, control: http.NewResponseController(w), codes: codes, cancel: cancel}
	if header := w.Header(); len(header) > 0 {
		s.before = header.Clone()
	}
	return s
}

// serve runs a handler. A discarded response may break off.
func (s *responseInterceptor) serve(handler http.Handler, r *http.Request) {
	defer s.end()
	handler.ServeHTTP(s, r)
}

// end closes the writer for goroutines that the handler left running.
func (s *responseInterceptor) end() {
	if s.timer != nil {
		s.timer.Stop()
	}
	s.mutex.Lock()
	s.over = true
	s.mutex.Unlock()
	if !s.discarded {
		return
	}
	header := s.writer.Header()
	clear(header)
	maps.Copy(header, s.before)
	if cause := recover(); cause != nil && cause != http.ErrAbortHandler { //nolint:errorlint // net/http compares the value of a panic the same way.
		panic(cause)
	}
}

// Header returns the header of the response.
func (s *responseInterceptor) Header() http.Header {
	if s.discarded {
		return s.scratch
	}
	return s.writer.Header()
}

// WriteHeader decides on the first final status; informational ones wait for it.
func (s *responseInterceptor) WriteHeader(status int) {
	if s.decided {
		if !s.discarded {
			s.writer.WriteHeader(status)
		}
		return
	}
	if status < http.StatusOK && status != http.StatusSwitchingProtocols {
		if len(s.interims) < maxInterims {
			s.interims = append(s.interims, interim{status, s.writer.Header().Clone()})
		}
		return
	}
	if s.decide(status) {
		s.writer.WriteHeader(status)
	}
}

// decide reports whether the client gets the response.
func (s *responseInterceptor) decide(status int) bool {
	s.decided = true
	if s.codes.Contains(status) && status >= http.StatusOK && (s.body == nil || s.body.settle()) {
		s.discarded, s.scratch = true, http.Header{}
		s.timer = time.AfterFunc(drainTime, s.cancel)
		return false
	}
	if s.body != nil {
		s.body.forgo()
	}
	if len(s.interims) == 0 {
		return true
	}
	header := s.writer.Header()
	final := maps.Clone(header)
	for _, one := range s.interims {
		clear(header)
		maps.Copy(header, one.header)
		s.writer.WriteHeader(one.status)
	}
	clear(header)
	maps.Copy(header, final)
	return true
}

// begin decides on a response whose header is not written before its body.
func (s *responseInterceptor) begin() {
	if !s.decided {
		s.WriteHeader(http.StatusOK)
	}
}

// drain accepts a part of a discarded body, up to drainBytes.
func (s *responseInterceptor) drain(n int) (int, error) {
	if s.drained += n; s.drained > drainBytes {
		return 0, errDiscarded
	}
	return n, nil
}

// Write writes a part of the body.
func (s *responseInterceptor) Write(p []byte) (int, error) {
	if s.begin(); s.discarded {
		return s.drain(len(p))
	}
	return s.writer.Write(p)
}

// WriteString writes a part of the body.
func (s *responseInterceptor) WriteString(text string) (int, error) {
	if s.begin(); s.discarded {
		return s.drain(len(text))
	}
	return io.WriteString(s.writer, text)
}

// ReadFrom copies the source to the body, from socket to socket where the server can.
func (s *responseInterceptor) ReadFrom(source io.Reader) (int64, error) {
	if s.begin(); !s.discarded {
		return httpio.ReadFrom(s.writer, source)
	}
	return io.Copy(httpio.OnlyWriter{Writer: s}, source)
}

// Splices reports whether ReadFrom buffers nothing that Flush would have to send.
func (s *responseInterceptor) Splices() bool {
	return s.decided && !s.discarded && httpio.Splices(s.writer)
}

// Flush sends what has been written so far.
func (s *responseInterceptor) Flush() { _ = s.FlushError() }

// FlushError sends what has been written so far.
func (s *responseInterceptor) FlushError() error {
	if s.begin(); s.discarded {
		return nil
	}
	return s.control.Flush()
}

// Hijack takes over the connection, which commits to this response.
func (s *responseInterceptor) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if s.discarded {
		return nil, nil, errDiscarded
	}
	connection, buffers, err := s.control.Hijack()
	s.decided = s.decided || err == nil
	return connection, buffers, err
}

// EnableFullDuplex allows reading the body after the response has begun.
func (s *responseInterceptor) EnableFullDuplex() error { return s.control.EnableFullDuplex() }

// SetReadDeadline sets the read deadline of the body. A deadline in the past ends only the pending read of this
// attempt's reader, if the body can't survive a real deadline.
func (s *responseInterceptor) SetReadDeadline(deadline time.Time) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.over {
		return errDiscarded
	}
	if s.reader != nil && s.reader.givenUp != nil && !deadline.IsZero() && !deadline.After(time.Now()) {
		if !s.gaveUp {
			s.gaveUp = true
			close(s.reader.givenUp)
		}
		return nil
	}
	s.interrupted = true
	return s.control.SetReadDeadline(deadline)
}

// SetWriteDeadline sets the write deadline of the response.
func (s *responseInterceptor) SetWriteDeadline(deadline time.Time) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.over || s.discarded {
		return errDiscarded
	}
	return s.control.SetWriteDeadline(deadline)
}
