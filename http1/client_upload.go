package http1

import (
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/http1/wire"
)

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
func (c *RoundTrip) startUpload(out []byte) {
	c.sent = true
	u := &upload{
		call: c, cc: c.cc, from: c.request, out: out, small: c.small, medium: c.medium, left: c.framing.rest,
		done: make(chan struct{}),
	}
	if c.framing.long {
		u.head = make(chan struct{})
	}
	c.upload = u
	c.small, c.medium, c.out = nil, nil, nil
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
	pool := &u.cc.upstream.client.buffers
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
	pool := &u.cc.upstream.client.buffers
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
