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

// exchange is one request with the time that it has left.
type exchange struct {
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
func (t *Timeout) start(w http.ResponseWriter, r *http.Request) *exchange {
	x := &exchange{timeout: t, control: *http.NewResponseController(w), start: time.Now()}
	x.writer.exchange, x.writer.Decider = x, &x.writer
	x.writer.Reset(w)
	x.ctx.open(r.Context())
	x.request = r.WithContext(&x.ctx)
	if r.Body != nil && r.Body != http.NoBody {
		x.body = body{ReadCloser: r.Body, exchange: x}
		x.request.Body = &x.body
		if t.request > 0 || t.idle > 0 {
			// The route's limits replace those of the entrypoint. A server without deadlines keeps its own.
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

// touch records that bytes move.
func (x *exchange) touch() {
	if x.timeout.idle > 0 {
		x.moved.Store(int64(x.since()))
	}
}

// due returns the limit that is exceeded, or none and the time until the next check; 0 is never. That time is at most
// idle, so that the timer need not be moved when a pause begins.
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
		// The handler has had its time to answer for an idle client.
		x.ctx.end(errOver)
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
		x.cut = true
		x.writer.End(errCut)
		// A Write may wait for the client.
		_ = x.control.SetWriteDeadline(past)
		if x.hijacked != nil {
			_ = x.hijacked.SetDeadline(past)
		}
	}
	if x.passed() == idleClient {
		// The end of the context would count as a failure of the endpoint.
		x.timer.Reset(leave)
	} else {
		x.ctx.end(errOver)
	}
	if x.reading.Load() {
		_ = x.control.SetReadDeadline(past)
	}
}

// begin records that the final response begins, and reports whether it may: once the time is over, only an error
// response may.
func (x *exchange) begin(status int) bool {
	if x.begun.Load() {
		return true
	}
	x.mutex.Lock()
	defer x.mutex.Unlock()
	if x.passed() != none && status < http.StatusBadRequest {
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
	x.ctx.close()
	return x.passed()
}

// passed returns the limit that was over, or none.
func (x *exchange) passed() limit { return limit(x.over.Load()) }

// take records that the connection speaks another protocol from now on, to which idle alone applies.
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
