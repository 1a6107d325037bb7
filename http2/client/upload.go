package client

import (
	"io"
	"sync"
	"sync/atomic"
	"time"

	http1 "github.com/sluiceproxy/sluice/http1/client"
	"github.com/sluiceproxy/sluice/http2/wire"
	"github.com/sluiceproxy/sluice/httpio"
)

// takeBody takes what can be read of the body without waiting: all of it, if it is small and has come.
func (rt *RoundTrip) takeBody() error {
	if rt.whole || rt.out.expects {
		return nil
	}
	body := rt.request.Body
	now, ok := body.(httpio.ReadyReader)
	// NewRequest sets GetBody for bodies that are in memory.
	if !ok && rt.request.GetBody == nil {
		return nil
	}
	pools := &rt.upstream.resources.pools
	var room []byte
	if rt.length > headBytes {
		rt.large = pools.Read()
		room = rt.large[:]
	} else {
		rt.small = pools.head()
		room = rt.small[:]
	}
	for len(room) > len(rt.atHand) && !rt.whole {
		free := room[len(rt.atHand):]
		if rt.rest >= 0 {
			free = free[:min(int64(len(free)), max(rt.rest, 1))]
		}
		var n int
		var err error
		if ok {
			n, err = now.ReadNow(free)
		} else {
			n, err = body.Read(free)
		}
		rt.atHand = room[:len(rt.atHand)+n]
		rt.taken = rt.taken || n > 0 || err != nil
		if err := rt.count(n, err); err != nil {
			return err
		}
		if n == 0 && err == nil {
			return nil
		}
	}
	return nil
}

// count counts bytes of the body that were read, and notes its end. The error is an [http1.RequestBodyError].
func (rt *RoundTrip) count(n int, err error) error {
	if rt.rest >= 0 {
		if rt.rest -= int64(n); rt.rest < 0 {
			return &http1.RequestBodyError{Err: errBodyLong}
		}
	}
	switch {
	case err == io.EOF && rt.rest > 0: //nolint:errorlint // io.EOF is never wrapped
		return &http1.RequestBodyError{Err: errBodyShort}
	case err == io.EOF: //nolint:errorlint // io.EOF is never wrapped
		rt.whole = true
	case err != nil:
		return &http1.RequestBodyError{Err: err}
	case rt.rest == 0 && rt.request.Trailer == nil:
		rt.whole = true
	}
	return nil
}

// freeBody gives the memory of the body at hand back.
func (rt *RoundTrip) freeBody() {
	pools := &rt.upstream.resources.pools
	if rt.small != nil {
		pools.putHead(rt.small)
	}
	if rt.large != nil {
		pools.PutRead(rt.large)
	}
	rt.small, rt.large, rt.atHand = nil, nil, nil
}

// sendHead queues the head. The mutex of the connection is held.
func (rt *RoundTrip) sendHead() {
	c := rt.conn
	var flags wire.Flags
	if rt.length == 0 {
		flags = wire.EndStream
		rt.sentEnd = true
	}
	rt.sendBlock(rt.out.block, flags)
	rt.sendWindow = c.initialWindow
}

// sendBlock queues a head or trailers. The mutex of the connection is held.
func (rt *RoundTrip) sendBlock(block []byte, flags wire.Flags) {
	c := rt.conn
	if c.tableUpdate {
		c.tableUpdate = false
		block = append(wire.AppendTableSize(make([]byte, 0, 1+len(block)), 0), block...)
	}
	b := c.out.room()
	kind := wire.Headers
	for len(block) > wire.MinMaxFrame {
		b = append(wire.AppendHeader(b, wire.MinMaxFrame, kind, flags, rt.id), block[:wire.MinMaxFrame]...)
		block, kind, flags = block[wire.MinMaxFrame:], wire.Continuation, 0
	}
	b = append(wire.AppendHeader(b, len(block), kind, flags|wire.EndHeaders, rt.id), block...)
	c.out.set(b)
}

// sendSome queues what the windows and the room admit of p, as the end of the stream where last says so, and returns
// the rest. The mutex of the connection is held.
func (rt *RoundTrip) sendSome(p []byte, last bool) []byte {
	c := rt.conn
	for {
		// Windows and room may be below 0, which the end of a body without bytes does not need.
		n := int(max(min(int64(min(len(p), c.maxFrame, c.out.free())), rt.sendWindow, c.sendWindow), 0))
		if n == 0 && (len(p) > 0 || !last || rt.sentEnd) {
			return p
		}
		var flags wire.Flags
		if last && n == len(p) {
			flags = wire.EndStream
			rt.sentEnd = true
		}
		b := wire.AppendHeader(c.out.room(), n, wire.Data, flags, rt.id)
		c.out.set(append(b, p[:n]...))
		p = p[n:]
		rt.sendWindow -= int64(n)
		c.sendWindow -= int64(n)
		c.answered.Add(1)
	}
}

// endSent notes that the whole request is queued. The mutex of the connection is held.
func (rt *RoundTrip) endSent() {
	if rt.recv.ended {
		rt.conn.forget(rt)
		return
	}
	rt.limitHead()
}

// limitHead bounds the wait for the head of the response. The mutex of the connection is held.
func (rt *RoundTrip) limitHead() {
	timeout := rt.upstream.config.ResponseHeaderTimeout
	if timeout <= 0 || rt.headed || rt.stopped {
		return
	}
	c, id := rt.conn, rt.id
	rt.timer = time.AfterFunc(timeout, func() {
		c.mutex.Lock()
		defer c.mutex.Unlock()
		if c.streams[id] == rt && !rt.headed { // The memory is not another request's.
			c.doubt(rt)
			c.reset(rt, wire.Cancel, errHeadTimeout)
			c.out.start()
		}
	})
}

// upload sends what was not at hand of a request's body, on a goroutine of its own, while the response is awaited or
// read.
type upload struct {
	exchange *RoundTrip
	conn     *clientConn
	once     sync.Once
	// last says that the body has been read to its end.
	last atomic.Bool
	// source is why the body could not be read.
	source atomic.Pointer[http1.RequestBodyError]
	// done is closed at the end.
	done chan struct{}
}

// startUpload begins to send the rest of the body behind rest, which the windows have not admitted. The mutex of the
// connection is held.
func (rt *RoundTrip) startUpload(rest []byte) {
	u := &upload{exchange: rt, conn: rt.conn, done: make(chan struct{})}
	u.last.Store(rt.whole)
	rt.upload = u
	go u.run(rest)
}

// close closes the request's body. A second call does not wait for the first.
func (u *upload) close() {
	u.once.Do(func() { _ = u.exchange.request.Body.Close() })
}

func (u *upload) run(rest []byte) {
	defer close(u.done)
	err := u.send(rest)
	u.close()
	rt, c := u.exchange, u.conn
	c.mutex.Lock()
	defer c.mutex.Unlock()
	switch source := u.source.Load(); {
	case err == nil:
		rt.endSent()
	case source != nil:
		// The endpoint waits for the rest, and the response for the endpoint.
		c.reset(rt, wire.Cancel, source)
	}
	c.out.start()
}

// send sends the rest and what follows it.
func (u *upload) send(rest []byte) error {
	rt := u.exchange
	if err := u.awaitContinue(); err != nil {
		return err
	}
	if err := u.put(rest, rt.whole); err != nil || rt.whole {
		return err
	}
	pools := &rt.upstream.resources.pools
	buffer := pools.Read()
	defer pools.PutRead(buffer)
	for !rt.whole {
		room := buffer[:]
		if rt.rest >= 0 {
			room = room[:min(int64(len(room)), max(rt.rest, 1))]
		}
		n, err := rt.request.Body.Read(room)
		if err := rt.count(n, err); err != nil {
			var source *http1.RequestBodyError
			source, _ = err.(*http1.RequestBodyError) //nolint:errorlint // as count returns it
			u.source.Store(source)
			return err
		}
		if rt.whole {
			u.last.Store(true)
		}
		if err := u.put(room[:n], rt.whole); err != nil {
			return err
		}
	}
	return nil
}

// put sends a piece of the body, and with last its end, with the trailers.
func (u *upload) put(p []byte, last bool) error {
	rt, c := u.exchange, u.conn
	var trailers []byte
	if last {
		trailers = appendTrailers(rt.request.Trailer)
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for {
		if rt.stopped {
			return errFinished
		}
		if p = rt.sendSome(p, last && len(trailers) == 0); len(p) == 0 {
			break
		}
		c.out.start()
		c.out.await(rt)
	}
	if last && len(trailers) > 0 {
		rt.sendBlock(trailers, wire.EndStream)
		rt.sentEnd = true
	}
	c.out.start()
	return nil
}

// awaitContinue waits for 100 Continue where the request expects it, for a final response, or for ContinueTimeout.
func (u *upload) awaitContinue() error {
	rt, c := u.exchange, u.conn
	if !rt.out.expects {
		return nil
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	over := false
	timer := time.AfterFunc(rt.upstream.config.ContinueTimeout, func() {
		c.mutex.Lock()
		defer c.mutex.Unlock()
		over = true
		rt.sendable.Signal()
	})
	defer timer.Stop()
	for !rt.continued && !over && !rt.stopped && !rt.headed {
		rt.sendable.Wait()
	}
	if rt.stopped || rt.headed && !rt.continued {
		return errFinished // The endpoint has answered without the body.
	}
	return nil
}
