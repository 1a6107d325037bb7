package timeout

import (
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// limit is one of the limits.
type limit uint8

const (
	none limit = iota
	request
	responseHeader
	idle
	// idleClient is idle while the rest of the client's body is awaited and no response has begun.
	idleClient
	limits
)

// status returns what is answered where no response has begun.
func (l limit) status() int {
	if l == idleClient {
		return http.StatusRequestTimeout
	}
	return http.StatusGatewayTimeout
}

// requestState is one request with the time that it has left.
type requestState struct {
	ctx     requestContext
	writer  writer
	body    body
	timeout *Timeout
	request *http.Request
	control http.ResponseController
	start   time.Time
	timer   *time.Timer
	// completed says that the handler has returned.
	completed bool

	// moved is when a byte of a body moved last, received when one came from the client, both since start.
	moved, received atomic.Int64
	// reading says that a Read of the client's body is pending, begun that the final response has begun.
	reading, begun atomic.Bool

	// mutex serializes the timer with the beginning of the response and with the end of the handler.
	mutex sync.Mutex
	// hijacked is the connection, where it speaks another protocol.
	hijacked net.Conn
	// ended says that the handler has ended, cut that the response was cut after it had begun.
	ended, cut bool
	// over is the limit that was exceeded. It is set once.
	over atomic.Uint32
}

// start begins to count the time of a request.
func (t *Timeout) start(w http.ResponseWriter, r *http.Request) *requestState {
	s := &requestState{timeout: t, control: *http.NewResponseController(w), start: time.Now()}
	s.writer.state, s.writer.Decider = s, &s.writer
	s.writer.Reset(w)
	s.ctx.open(r.Context())
	s.request = r.WithContext(&s.ctx)
	if r.Body != nil && r.Body != http.NoBody {
		s.body = body{ReadCloser: r.Body, state: s}
		s.request.Body = &s.body
		if t.request > 0 || t.idle > 0 {
			// The route's limits replace those of the entrypoint. A server without deadlines keeps its own.
			_ = s.control.SetReadDeadline(time.Time{})
		}
	}
	_, wait := s.due(0)
	// The timer must be in place before it can fire.
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.timer = time.AfterFunc(wait, s.tick)
	return s
}

// since returns the time since the start.
func (s *requestState) since() time.Duration { return time.Since(s.start) }

// touch records that bytes move.
func (s *requestState) touch() {
	if s.timeout.idle > 0 {
		s.moved.Store(int64(s.since()))
	}
}

// due returns the limit that is exceeded, or none and the time until the next check; 0 is never. That time is at most
// idle, so that the timer need not be moved when a pause begins.
func (s *requestState) due(now time.Duration) (over limit, wait time.Duration) {
	t := s.timeout
	begun, reading := s.begun.Load(), s.reading.Load()
	check := func(l limit, left time.Duration) {
		switch {
		case left <= 0 && over == none:
			over = l
		case wait == 0 || left < wait:
			wait = left
		}
	}
	if t.request > 0 && s.hijacked == nil {
		check(request, t.request-now)
	}
	if t.response > 0 && !begun {
		left := t.response
		if !reading {
			left -= now - time.Duration(s.received.Load())
		}
		check(responseHeader, left)
	}
	if t.idle > 0 {
		left := t.idle
		// What the endpoint takes to answer is a matter of responseHeader, where that is set.
		if begun || reading || t.response == 0 {
			left -= now - time.Duration(s.moved.Load())
		}
		l := idle
		if reading && !begun {
			l = idleClient
		}
		check(l, left)
	}
	return over, wait
}

// tick looks whether the time is over.
func (s *requestState) tick() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	switch {
	case s.ended:
	case s.passed() != none:
		// The handler has had its time to answer for an idle client.
		s.ctx.end(errOver)
	default:
		over, wait := s.due(s.since())
		if over != none {
			s.over.Store(uint32(over))
			s.timeout.over[over].Add(1)
			s.expire()
		} else if wait > 0 {
			s.timer.Reset(wait)
		}
	}
}

// past is a deadline that is over.
var past = time.Unix(1, 0)

// leave is how long a handler has to answer a client that was idle, before its context ends.
const leave = time.Second

// expire ends what goes on. The mutex is held.
func (s *requestState) expire() {
	if s.begun.Load() {
		s.cut = true
		s.writer.End(errCut)
		// A Write may wait for the client.
		_ = s.control.SetWriteDeadline(past)
		if s.hijacked != nil {
			_ = s.hijacked.SetDeadline(past)
		}
	}
	if s.passed() == idleClient {
		// The end of the context would count as a failure of the endpoint.
		s.timer.Reset(leave)
	} else {
		s.ctx.end(errOver)
	}
	if s.reading.Load() {
		_ = s.control.SetReadDeadline(past)
	}
}

// begin records that the final response begins, and reports whether it may: once the time is over, only an error
// response may.
func (s *requestState) begin(status int) bool {
	if s.begun.Load() {
		return true
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.passed() != none && status < http.StatusBadRequest {
		return false
	}
	s.moved.Store(int64(s.since()))
	s.begun.Store(true)
	return true
}

// end ends the request for the timer, and returns the limit that was over.
func (s *requestState) end() limit {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.ended = true
	s.timer.Stop()
	s.ctx.close()
	return s.passed()
}

// passed returns the limit that was over, or none.
func (s *requestState) passed() limit { return limit(s.over.Load()) }

// take records that the connection speaks another protocol from now on, to which idle alone applies. If the time was
// over while the connection was taken from the server, it has ended.
func (s *requestState) take(connection net.Conn) net.Conn {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.hijacked = connection
	if s.passed() != none {
		_ = connection.Close() // A deadline would not outlast that of the protocol.
	}
	if s.timeout.idle == 0 {
		s.timer.Stop()
		return connection
	}
	return &conn{Conn: connection, state: s}
}
