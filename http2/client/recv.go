package client

import (
	"io"
	"net/http"
	"sync/atomic"

	http1 "github.com/sluiceproxy/sluice/http1/client"
	"github.com/sluiceproxy/sluice/http2/buffer"
	"github.com/sluiceproxy/sluice/http2/wire"
	"github.com/sluiceproxy/sluice/httpio"
)

const (
	// streamWindow is SETTINGS_INITIAL_WINDOW_SIZE, and grownWindow how much more an endpoint may have on its way for a
	// response that is read, as long as maxWindows admits it.
	streamWindow = wire.DefaultWindow
	grownWindow  = 192 << 10
	// maxWindows bounds what windows hold in all beyond streamWindow.
	maxWindows = 256 << 20
)

// windows is the memory of windows that have grown.
type windows struct{ used atomic.Int64 }

// grow takes memory for one window; it is false where there is none.
func (w *windows) grow() bool {
	if w.used.Add(grownWindow) <= maxWindows {
		return true
	}
	w.used.Add(-grownWindow)
	return false
}

func (w *windows) shrink() { w.used.Add(-grownWindow) }

// received is what has come of a response and was not read. The mutex of the connection guards it.
type received struct {
	exchange *RoundTrip
	// came is what has come and was not read.
	came buffer.Body
	// declared is what is still to come by Content-Length, or -1.
	declared int64
	// window is what the endpoint may still send, credit what was read of that and not given back.
	window, credit int64
	grown          bool
	// ended says that the endpoint has sent END_STREAM.
	ended bool
	// trailers came with the end.
	trailers http.Header
}

// expect counts DATA of so many bytes of the window, and of the body.
func (b *received) expect(length, bytes int) error {
	rt := b.exchange
	if b.window -= int64(length); b.window < 0 {
		return wire.StreamFault(rt.id, wire.FlowControlError, "DATA beyond the window of the stream (section 6.9)")
	}
	switch {
	case !rt.headed:
		return wire.StreamFault(rt.id, wire.ProtocolError, "DATA before the head of the response (section 8.1)")
	case b.ended:
		return wire.StreamFault(rt.id, wire.StreamClosed, "DATA behind the end of the response (section 5.1)")
	}
	b.credit += int64(length - bytes)
	if b.declared >= 0 {
		if b.declared -= int64(bytes); b.declared < 0 {
			return wire.StreamFault(rt.id, wire.ProtocolError, "a body longer than content-length (section 8.1.1)")
		}
	}
	return nil
}

// use counts bytes as read, and gives the endpoint back what is worth a frame.
func (b *received) use(n int) {
	rt := b.exchange
	c := rt.conn
	c.credit += int64(n)
	c.giveCredit()
	if b.credit += int64(n); b.ended || rt.failure != nil || c.out.err != nil {
		return
	}
	if !b.grown && b.credit >= streamWindow/4 && rt.upstream.resources.windows.grow() {
		b.grown = true
		b.credit += grownWindow
	}
	if b.credit < streamWindow/2 {
		return
	}
	c.out.set(wire.AppendWindowUpdate(c.out.room(), rt.id, int32(b.credit))) //nolint:gosec // below the window
	b.window += b.credit
	b.credit = 0
}

// release drops what was not read.
func (b *received) release() {
	c := b.exchange.conn
	c.credit += int64(b.came.Len())
	b.came.Release(&b.exchange.upstream.resources.pools.Pools)
	c.giveCredit()
	if b.grown {
		b.grown = false
		b.exchange.upstream.resources.windows.shrink()
	}
}

// responseBody is the body of a RoundTrip's response. One goroutine reads it; any other may close it meanwhile.
type responseBody RoundTrip

// Read reads the next piece. The error at the end is io.EOF, together with the last bytes.
func (b *responseBody) Read(p []byte) (int, error) {
	rt := (*RoundTrip)(b)
	rt.mutex.Lock()
	defer rt.mutex.Unlock()
	if rt.ended {
		return 0, rt.fault
	}
	if len(p) == 0 {
		return 0, nil
	}
	c := rt.conn
	c.mutex.Lock()
	err := rt.awaitBody(nil)
	n := rt.recv.came.Take(&rt.upstream.resources.pools.Pools, p)
	rt.recv.use(n)
	c.out.start()
	if n > 0 {
		err = nil
		if rt.recv.ended && rt.recv.came.Empty() {
			err = io.EOF
		}
	}
	c.mutex.Unlock()
	if err != nil {
		err = rt.finish(err)
	}
	return n, err
}

// awaitBody waits until there is something of the body, and returns its end or why there is none. The mutex of the
// connection is held, but for the wait.
func (rt *RoundTrip) awaitBody(waits httpio.WaitNotifier) error {
	for first := true; ; first = false {
		switch {
		case !rt.recv.came.Empty():
			return nil
		case rt.failure != nil:
			return rt.failure
		case rt.recv.ended:
			return io.EOF
		}
		if first && waits != nil {
			rt.conn.mutex.Unlock()
			waits.Waiting()
			rt.conn.mutex.Lock()
			continue
		}
		rt.changed.Wait()
	}
}

// finish ends the exchange at the end of its body, or because that has failed, and returns what Read says.
func (rt *RoundTrip) finish(err error) error {
	if err == io.EOF { //nolint:errorlint // as awaitBody returns it
		rt.takeTrailers()
		rt.fault = io.EOF
		rt.end()
		return io.EOF
	}
	rt.fault = rt.reason(err)
	rt.end()
	return rt.fault
}

// takeTrailers makes the trailers visible.
func (rt *RoundTrip) takeTrailers() {
	if rt.response.Trailer == nil {
		rt.response.Trailer = rt.recv.trailers
		return
	}
	for name, values := range rt.recv.trailers {
		rt.response.Trailer[name] = values
	}
}

// Ready reports whether all that is left of the body is in memory.
func (b *responseBody) Ready() bool {
	rt := (*RoundTrip)(b)
	rt.mutex.Lock()
	defer rt.mutex.Unlock()
	if rt.ended {
		return false
	}
	rt.conn.mutex.Lock()
	defer rt.conn.mutex.Unlock()
	return rt.recv.ended && rt.failure == nil
}

// WriteTo writes the rest of the body to w. Errors of w are an [http1.DestinationError]. An [httpio.WaitNotifier] is
// called before the body waits for the endpoint.
func (b *responseBody) WriteTo(w io.Writer) (int64, error) {
	rt := (*RoundTrip)(b)
	rt.mutex.Lock()
	defer rt.mutex.Unlock()
	waits, _ := w.(httpio.WaitNotifier)
	var written int64
	for !rt.ended {
		n, err := rt.move(w, waits)
		written += n
		if err != nil {
			return written, err
		}
	}
	if rt.fault == io.EOF { //nolint:errorlint // io.EOF is never wrapped
		return written, nil
	}
	return written, rt.fault
}

// move writes what is there of the body to w, and ends the exchange at the body's end. Its error is that of w.
func (rt *RoundTrip) move(w io.Writer, waits httpio.WaitNotifier) (int64, error) {
	c, b := rt.conn, &rt.recv
	c.mutex.Lock()
	end := rt.awaitBody(waits)
	if end != nil {
		c.mutex.Unlock()
		_ = rt.finish(end) // It is in fault.
		return 0, nil
	}
	b.came.Move(&rt.moving)
	c.mutex.Unlock()
	taken := rt.moving.Len()
	n, err := rt.moving.WriteTo(&rt.upstream.resources.pools.Pools, w)
	c.mutex.Lock()
	if err == nil {
		b.use(taken)
	} else {
		c.credit += int64(taken)
		c.giveCredit()
	}
	c.out.start()
	c.mutex.Unlock()
	if err != nil {
		rt.fault = &http1.DestinationError{Err: err}
		rt.end()
		return int64(n), rt.fault
	}
	return int64(n), nil
}

// Close ends the exchange. A stream whose response has not ended is reset.
func (b *responseBody) Close() error {
	rt := (*RoundTrip)(b)
	if !rt.mutex.TryLock() {
		// A Read is waiting.
		rt.interrupt(http.ErrBodyReadAfterClose)
		rt.mutex.Lock()
	}
	defer rt.mutex.Unlock()
	if !rt.ended {
		rt.end()
		rt.fault = http.ErrBodyReadAfterClose
	}
	if rt.fault == io.EOF { //nolint:errorlint // io.EOF is never wrapped
		rt.fault = http.ErrBodyReadAfterClose
	}
	return nil
}
