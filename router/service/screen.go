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
)

// errDiscarded ends an answer that is not for the client.
var errDiscarded = errors.New("another service answers")

// maxInterims is how many informational responses wait for the final one; others are left out.
const maxInterims = 32

// screen is the writer of an answer that the client gets, unless its status is one of those that are discarded. Until the
// status is known, informational responses wait. After that an answer is passed on as it comes, or thrown away.
type screen struct {
	writer  http.ResponseWriter
	control *http.ResponseController
	codes   *dynamic.StatusCodes
	body    *kept
	// reader is who reads the body for this answer.
	reader *reader
	cancel func()
	// before is the header as it was.
	before   http.Header
	interims []interim
	// decided says that the status is known, discarded that the client does not get the answer.
	decided   bool
	discarded bool
	drained   int
	timer     *time.Timer
	// scratch is the header of a discarded answer.
	scratch http.Header

	// mutex guards over, which says that the answer has ended: from then on nobody moves the deadlines of the connection.
	mutex       sync.Mutex
	over        bool
	interrupted bool
	// gaveUp says that the reader was told to wait no longer.
	gaveUp bool
}

// interim is an informational response.
type interim struct {
	status int
	header http.Header
}

func newScreen(w http.ResponseWriter, codes *dynamic.StatusCodes, cancel func()) *screen {
	s := &screen{writer: w, control: http.NewResponseController(w), codes: codes, cancel: cancel}
	if header := w.Header(); len(header) > 0 {
		s.before = header.Clone()
	}
	return s
}

// serve lets a handler answer. A discarded answer may break off.
func (s *screen) serve(handler http.Handler, r *http.Request) {
	defer s.end()
	handler.ServeHTTP(s, r)
}

// end closes the writer for whom the handler left behind.
func (s *screen) end() {
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

// Header returns the header of the answer.
func (s *screen) Header() http.Header {
	if s.discarded {
		return s.scratch
	}
	return s.writer.Header()
}

// WriteHeader decides on the first final status; informational ones wait for it.
func (s *screen) WriteHeader(status int) {
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

// decide tells whether the client gets the answer.
func (s *screen) decide(status int) bool {
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

// begin decides on an answer whose header is not written before its body.
func (s *screen) begin() {
	if !s.decided {
		s.WriteHeader(http.StatusOK)
	}
}

// drain takes what nobody gets, until it is too much.
func (s *screen) drain(n int) (int, error) {
	if s.drained += n; s.drained > drainBytes {
		return 0, errDiscarded
	}
	return n, nil
}

// Write writes a part of the body.
func (s *screen) Write(p []byte) (int, error) {
	if s.begin(); s.discarded {
		return s.drain(len(p))
	}
	return s.writer.Write(p)
}

// WriteString writes a part of the body.
func (s *screen) WriteString(text string) (int, error) {
	if s.begin(); s.discarded {
		return s.drain(len(text))
	}
	return io.WriteString(s.writer, text)
}

// ReadFrom writes what source has to say, from socket to socket where the server can.
func (s *screen) ReadFrom(source io.Reader) (int64, error) {
	if s.begin(); !s.discarded {
		if direct, ok := s.writer.(io.ReaderFrom); ok {
			return direct.ReadFrom(source)
		}
		return io.Copy(struct{ io.Writer }{s.writer}, source)
	}
	return io.Copy(struct{ io.Writer }{s}, source)
}

// Splices reports whether ReadFrom keeps nothing back that Flush would have to send.
func (s *screen) Splices() bool {
	splicer, ok := s.writer.(interface{ Splices() bool })
	return ok && s.decided && !s.discarded && splicer.Splices()
}

// Flush sends what has been written so far.
func (s *screen) Flush() { _ = s.FlushError() }

// FlushError sends what has been written so far.
func (s *screen) FlushError() error {
	if s.begin(); s.discarded {
		return nil
	}
	return s.control.Flush()
}

// Hijack takes the connection over, which decides for this answer.
func (s *screen) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if s.discarded {
		return nil, nil, errDiscarded
	}
	connection, buffers, err := s.control.Hijack()
	s.decided = s.decided || err == nil
	return connection, buffers, err
}

// EnableFullDuplex allows to read the body after the answer has begun.
func (s *screen) EnableFullDuplex() error { return s.control.EnableFullDuplex() }

// SetReadDeadline sets until when the body is waited for. One that has passed ends the wait of this answer's reader, and where the
// deadline would end the body itself nothing else.
func (s *screen) SetReadDeadline(deadline time.Time) error {
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

// SetWriteDeadline sets until when the response may be written.
func (s *screen) SetWriteDeadline(deadline time.Time) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.over || s.discarded {
		return errDiscarded
	}
	return s.control.SetWriteDeadline(deadline)
}
