package client

import (
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/http1/wire"
	"github.com/sluiceproxy/sluice/httpio"
)

const (
	// atOnceBytes is the largest piece that is written before anything is read where a write can't be kept from
	// waiting. Every connection takes that much, whether the endpoint reads or not.
	atOnceBytes = 8 << 10
	// lastWords is how long the response may take of an endpoint that has stopped reading.
	lastWords = time.Second
)

// prepareBody takes into out what can be read of a body with a length without waiting: all of it, if it is small and
// has come.
func (rt *RoundTrip) prepareBody() error {
	body := rt.request.Body
	now, ok := body.(httpio.ReadyReader)
	// NewRequest sets GetBody for bodies that are in memory.
	if !ok && rt.request.GetBody == nil {
		return nil
	}
	rt.makeRoom()
	for rt.framing.rest > 0 && len(rt.out) < cap(rt.out) {
		var n int
		var err error
		free := rt.out[len(rt.out):min(int64(cap(rt.out)), int64(len(rt.out))+rt.framing.rest)]
		if ok {
			n, err = now.ReadNow(free)
		} else {
			n, err = body.Read(free)
		}
		rt.out = rt.out[:len(rt.out)+n]
		rt.framing.rest -= int64(n)
		switch {
		case rt.framing.rest == 0:
			rt.whole = true
		case err == io.EOF: //nolint:errorlint // io.EOF is never wrapped
			return &RequestBodyError{Err: errBodyShort}
		case err != nil:
			return &RequestBodyError{Err: err}
		case n == 0:
			return nil
		}
	}
	return nil
}

// makeRoom moves out to a larger buffer when the body does not fit behind the head.
func (rt *RoundTrip) makeRoom() {
	if size := int64(len(rt.out)) + rt.framing.rest; size > int64(cap(rt.out)) && len(rt.out) < copyBytes {
		rt.medium = rt.upstream.resources.buffers.medium()
		rt.out = append(rt.medium[:0], rt.out...)
	}
}

// send writes what is at hand of the request. What would have to be waited for is left to another goroutine, so that
// the response is read whatever the endpoint does first.
func (rt *RoundTrip) send() error {
	if rt.framing.long {
		rt.startUpload(nil)
		return nil
	}
	cc := rt.cc
	var n int
	var err error
	switch {
	case cc.tcp != nil && cc.probe != nil:
		n, err = cc.probe.writeNow(rt.out)
	case len(rt.out) <= atOnceBytes:
		n, err = cc.conn.Write(rt.out)
	}
	rt.sent = rt.sent || n > 0
	rest := rt.out[n:]
	switch {
	case err != nil && n == 0:
		return err
	case err != nil:
		// The endpoint may have answered before it closed the connection.
		rt.broken = err
		rt.limit(lastWords)
	case len(rest) == 0 && rt.whole:
		if rt.framing.length == 0 {
			// A head can be made again.
			rt.freeOut()
		}
		rt.closeRequest()
		rt.wrote(nil)
		rt.limit(rt.upstream.config.ResponseHeaderTimeout)
	case len(rest) == 0 && rt.framing.expects:
		rt.limit(rt.upstream.config.ContinueTimeout)
	default:
		rt.framing.expects = false
		rt.startUpload(rest)
	}
	return nil
}

// limit bounds the time until the response's head is there; 0 does not. Once it is there, limit does nothing.
func (rt *RoundTrip) limit(wait time.Duration) {
	if wait <= 0 {
		return
	}
	rt.hold.Lock()
	defer rt.hold.Unlock()
	if rt.headed || rt.cc == nil {
		return
	}
	rt.limited = true
	// A connection that takes no deadline is closed, which reading finds out.
	_ = rt.cc.conn.SetReadDeadline(time.Now().Add(wait))
}

// unlimit takes the bound on the time back, for good when the head is there.
func (rt *RoundTrip) unlimit(headed bool) {
	rt.hold.Lock()
	defer rt.hold.Unlock()
	rt.headed = headed
	if rt.limited {
		rt.limited = false
		_ = rt.cc.conn.SetReadDeadline(time.Time{})
	}
}

// upload sends what was not at hand of a request, on a goroutine of its own, while the response is awaited or read.
type upload struct {
	call *RoundTrip
	cc   *clientConn
	from *http.Request
	// out is what of the head and of a body at hand is still to be written, smallBuf or mediumBuf its memory.
	out    []byte
	small  *smallBuf
	medium *mediumBuf
	// head is closed once a long head has been written, or could not be; nil for others.
	head chan struct{}
	// left is how much of the body is to come, or -1 for chunks.
	left int64
	once sync.Once

	// last says that the body has been read to its end, and only the last write may be on its way.
	last atomic.Bool
	// source is why the body could not be read.
	source atomic.Pointer[RequestBodyError]
	// done is closed at the end; complete says by then whether everything was written.
	done     chan struct{}
	complete bool
}

// startUpload begins to send out, and the body behind it unless that is in out.
func (rt *RoundTrip) startUpload(out []byte) {
	rt.sent = true
	u := &upload{
		call: rt, cc: rt.cc, from: rt.request, out: out, small: rt.small, medium: rt.medium, left: rt.framing.rest,
		done: make(chan struct{}),
	}
	if rt.framing.long {
		u.head = make(chan struct{})
	}
	rt.upload = u
	rt.small, rt.medium, rt.out = nil, nil, nil
	go u.run()
}

// ended reports whether the upload ends within a time.
func (u *upload) ended(within time.Duration) bool {
	select {
	case <-u.done:
		return true
	default:
	}
	if within <= 0 {
		return false
	}
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-u.done:
		return true
	case <-timer.C:
		return false
	}
}

// close closes the request's body. A second call does not wait for the first.
func (u *upload) close() {
	u.once.Do(func() {
		if u.from.Body != nil { // A head alone may be too large to be written at once.
			_ = u.from.Body.Close()
		}
	})
}

func (u *upload) run() {
	defer close(u.done)
	err := u.send()
	u.close()
	u.complete = err == nil
	if trace := u.call.trace; trace != nil && trace.WroteRequest != nil {
		trace.WroteRequest(wroteRequest(err))
	}
	switch {
	case u.source.Load() != nil:
		// The endpoint waits for the rest, and the response for the endpoint.
		u.cc.abort()
	case err != nil:
		// The endpoint may have answered before it stopped reading.
		u.call.limit(lastWords)
	default:
		u.call.limit(u.cc.upstream.config.ResponseHeaderTimeout)
	}
}

func (u *upload) send() error {
	if u.left == 0 && u.head == nil {
		u.last.Store(true)
	}
	if err := u.sendOut(); err != nil || u.left == 0 && u.head == nil {
		return err
	}
	pool := &u.cc.upstream.resources.buffers
	buffer := pool.medium()
	defer pool.putMedium(buffer)
	if err := u.sendHead(buffer); err != nil {
		return err
	}
	if u.left < 0 {
		return u.chunks(buffer)
	}
	return u.fixed(buffer)
}

// sendOut writes what is ready to be written, and gives its memory back.
func (u *upload) sendOut() error {
	var err error
	if len(u.out) > 0 {
		_, err = u.cc.conn.Write(u.out)
	}
	u.freeOut()
	return err
}

func (u *upload) freeOut() {
	pool := &u.cc.upstream.resources.buffers
	pool.putSmall(u.small)
	pool.putMedium(u.medium)
	u.small, u.medium, u.out = nil, nil, nil
}

// sendHead writes a long head in pieces of the buffer. The head has been checked.
func (u *upload) sendHead(buffer *mediumBuf) error {
	if u.head == nil {
		return nil
	}
	defer close(u.head)
	last, _, err := u.call.appendRequest(buffer[:0], u.from, u.cc.conn)
	if err != nil {
		return err
	}
	if u.left == 0 {
		u.last.Store(true)
	}
	_, err = u.cc.conn.Write(last)
	return err
}

// fixed sends a body with a length.
func (u *upload) fixed(buffer *mediumBuf) error {
	for u.left > 0 {
		n, err := u.read(buffer[:min(int64(len(buffer)), u.left)])
		if n > 0 {
			if u.left -= int64(n); u.left == 0 {
				u.last.Store(true)
			}
			if _, err := u.cc.conn.Write(buffer[:n]); err != nil {
				return err
			}
		}
		if u.left > 0 && err == io.EOF { //nolint:errorlint // io.EOF is never wrapped
			err = u.failed(errBodyShort)
		}
		if u.left > 0 && err != nil {
			return err
		}
	}
	return nil
}

// chunkRoom is the room before the data of a chunk for its size, and behind it for the end of the line and the last
// chunk.
const chunkRoom = 16

// chunks sends a body of unknown length, each piece as a chunk of its own.
func (u *upload) chunks(buffer *mediumBuf) error {
	data := buffer[chunkRoom : len(buffer)-chunkRoom]
	for {
		n, end, err := u.piece(data)
		if err != nil {
			return err
		}
		out := buffer[chunkRoom:chunkRoom]
		if n > 0 {
			var size [chunkRoom]byte
			line := wire.AppendChunkSize(size[:0], n)
			start := chunkRoom - len(line)
			copy(buffer[start:], line)
			out = append(buffer[start:chunkRoom+n], "\r\n"...)
		}
		if end {
			u.last.Store(true)
			out = wire.AppendLastChunk(out, u.from.Trailer)
		}
		if len(out) > 0 {
			if _, err = u.cc.conn.Write(out); err != nil {
				return err
			}
		}
		if end {
			return nil
		}
	}
}

// piece reads a piece of a body in chunks, and says whether it is the last.
func (u *upload) piece(p []byte) (n int, end bool, err error) {
	if n, err = u.read(p); err == io.EOF { //nolint:errorlint // as read returns it
		return n, true, nil
	}
	return n, false, err
}

// read reads a piece of the body. Its errors are io.EOF and a *RequestBodyError.
func (u *upload) read(p []byte) (int, error) {
	n, err := u.from.Body.Read(p)
	if err == nil || err == io.EOF {
		return n, err
	}
	return n, u.failed(err)
}

func (u *upload) failed(err error) error {
	failure := &RequestBodyError{Err: err}
	u.source.Store(failure)
	return failure
}
