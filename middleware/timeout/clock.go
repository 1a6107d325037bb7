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
	// idleClient is idle while the client owes the rest of its body, and nobody has answered.
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

// exchange is one request with the time that it has left.
type exchange struct {
	scope   scope
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
	// reading says that somebody waits for the client's body; begun that the final response has begun; cut that it is over with it.
	reading, begun, cut atomic.Bool

	// mutex keeps the timer apart from the beginning of the response and from the end of the handler.
	mutex sync.Mutex
	// hijacked is the connection, where it speaks another protocol.
	hijacked net.Conn
	ended    bool
	// over is the limit that was over, which is set once.
	over atomic.Uint32
}

// start begins to count the time of a request.
func (t *Timeout) start(w http.ResponseWriter, r *http.Request) *exchange {
	x := &exchange{timeout: t, control: *http.NewResponseController(w), start: time.Now()}
	x.writer = writer{ResponseWriter: w, exchange: x}
	x.scope.open(r.Context())
	x.request = r.WithContext(&x.scope)
	if r.Body != nil && r.Body != http.NoBody {
		x.body = body{ReadCloser: r.Body, exchange: x}
		x.request.Body = &x.body
		if t.request > 0 || t.idle > 0 {
			// The route says how long a client may take, in place of the entrypoint. A server that can't tell keeps to its own limits.
			_ = x.control.SetReadDeadline(time.Time{})
		}
	}
	_, wait := x.due(0)
	// The timer must be in place before it can fire.
	x.mutex.Lock()
	defer x.mutex.Unlock()
	x.timer = time.AfterFunc(wait, x.tick)
	return x
}

// since returns the time since the start.
func (x *exchange) since() time.Duration { return time.Since(x.start) }

// touch notes that bytes move.
func (x *exchange) touch() {
	if x.timeout.idle > 0 {
		x.moved.Store(int64(x.since()))
	}
}

// due returns the limit that is over, or none and when to look again; 0 is never. That is never later than a pause of idle from now, so
// that nobody has to move the timer when a pause begins.
func (x *exchange) due(now time.Duration) (over limit, wait time.Duration) {
	t := x.timeout
	begun, reading := x.begun.Load(), x.reading.Load()
	check := func(l limit, left time.Duration) {
		switch {
		case left <= 0 && over == none:
			over = l
		case wait == 0 || left < wait:
			wait = left
		}
	}
	if t.request > 0 && x.hijacked == nil {
		check(request, t.request-now)
	}
	if t.response > 0 && !begun {
		left := t.response
		if !reading {
			left -= now - time.Duration(x.received.Load())
		}
		check(responseHeader, left)
	}
	if t.idle > 0 {
		left := t.idle
		// What the endpoint takes to answer is a matter of responseHeader, where that is set.
		if begun || reading || t.response == 0 {
			left -= now - time.Duration(x.moved.Load())
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
func (x *exchange) tick() {
	x.mutex.Lock()
	defer x.mutex.Unlock()
	switch {
	case x.ended:
	case x.passed() != none:
		// Who was interrupted while it waited for the client goes on.
		x.scope.end(errOver)
	default:
		over, wait := x.due(x.since())
		if over != none {
			x.over.Store(uint32(over))
			x.timeout.over[over].Add(1)
			x.expire()
		} else if wait > 0 {
			x.timer.Reset(wait)
		}
	}
}

// past is a deadline that is over.
var past = time.Unix(1, 0)

// leave is how long a handler has to answer a client that was idle, before its context ends.
const leave = time.Second

// expire ends what goes on. The mutex is held.
func (x *exchange) expire() {
	if x.begun.Load() {
		x.cut.Store(true)
		// Who writes may wait for the client.
		_ = x.control.SetWriteDeadline(past)
		if x.hijacked != nil {
			_ = x.hijacked.SetDeadline(past)
		}
	}
	if x.passed() == idleClient {
		// The client is to blame, which an endpoint must not be for the end of the context.
		x.timer.Reset(leave)
	} else {
		x.scope.end(errOver)
	}
	if x.reading.Load() {
		_ = x.control.SetReadDeadline(past)
	}
}

// begin notes that the final response begins, and reports whether it may: one that is no failure comes too late once the time is over.
func (x *exchange) begin(status int) bool {
	if x.begun.Load() {
		return true
	}
	x.mutex.Lock()
	defer x.mutex.Unlock()
	if x.passed() != none && status < http.StatusBadRequest {
		clear(x.writer.Header())
		return false
	}
	x.moved.Store(int64(x.since()))
	x.begun.Store(true)
	return true
}

// end ends the exchange for the timer, and returns the limit that was over.
func (x *exchange) end() limit {
	x.mutex.Lock()
	defer x.mutex.Unlock()
	x.ended = true
	x.timer.Stop()
	x.scope.close()
	return x.passed()
}

// passed returns the limit that was over, or none.
func (x *exchange) passed() limit { return limit(x.over.Load()) }

// take notes that the connection speaks another protocol from now on, for which idle alone counts.
func (x *exchange) take(connection net.Conn) net.Conn {
	x.mutex.Lock()
	defer x.mutex.Unlock()
	x.hijacked = connection
	if x.timeout.idle == 0 {
		x.timer.Stop()
		return connection
	}
	return &conn{Conn: connection, exchange: x}
}
