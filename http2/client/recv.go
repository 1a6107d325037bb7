package client

import (
	"io"
	"net/http"
	"sync/atomic"

	http1 "github.com/sluiceproxy/sluice/http1/client"
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
	// pieces hold the bytes from the offset first of the first one to the offset last of the last one.
	pieces      []*piece
	first, last int
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

// add takes bytes.
func (b *received) add(p []byte) {
	for len(p) > 0 {
		if len(b.pieces) == 0 || b.last == pieceBytes {
			b.pieces, b.last = append(b.pieces, b.exchange.upstream.resources.pools.piece()), 0
		}
		n := copy(b.pieces[len(b.pieces)-1][b.last:], p)
		b.last += n
		p = p[n:]
	}
}

// take copies what is there.
func (b *received) take(p []byte) (n int) {
	for n < len(p) && len(b.pieces) > 0 {
		m := copy(p[n:], b.pieces[0][b.first:b.end()])
		n += m
		if b.first += m; b.first == b.end() {
			b.drop()
		}
	}
	return n
}

// end is where the first piece ends.
func (b *received) end() int {
	if len(b.pieces) == 1 {
		return b.last
	}
	return pieceBytes
}

// drop gives the first piece back.
func (b *received) drop() {
	b.exchange.upstream.resources.pools.putPiece(b.pieces[0])
	b.pieces[0] = nil
	b.pieces, b.first = b.pieces[1:], 0
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
	left := 0
	for len(b.pieces) > 0 {
		left += b.end() - b.first
		b.drop()
	}
	b.pieces = nil
	c := b.exchange.conn
	c.credit += int64(left)
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
	n := rt.recv.take(p)
	rt.recv.use(n)
	c.out.start()
	if n > 0 {
		err = nil
		if rt.recv.ended && len(rt.recv.pieces) == 0 {
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
		case len(rt.recv.pieces) > 0:
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
func (rt *RoundTrip) move(w io.Writer, waits httpio.WaitNotifier) (written int64, err error) {
	c, b := rt.conn, &rt.recv
	c.mutex.Lock()
	end := rt.awaitBody(waits)
	if end != nil {
		c.mutex.Unlock()
		_ = rt.finish(end) // It is in fault.
		return 0, nil
	}
	pieces, first, last := b.pieces, b.first, b.last
	b.pieces, b.first, b.last = nil, 0, 0
	c.mutex.Unlock()
	pool := &rt.upstream.resources.pools
	taken := 0
	for i, one := range pieces {
		end := pieceBytes
		if i == len(pieces)-1 {
			end = last
		}
		taken += end - first
		if err == nil {
			var n int
			n, err = w.Write(one[first:end])
			if written += int64(n); err == nil && n < end-first {
				err = io.ErrShortWrite
			}
		}
		first = 0
		pool.putPiece(one)
		pieces[i] = nil
	}
	c.mutex.Lock()
	if len(b.pieces) == 0 {
		b.pieces = pieces[:0]
	}
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
		return written, rt.fault
	}
	return written, nil
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
