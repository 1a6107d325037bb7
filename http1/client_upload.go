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
	call *Call
	link *link
	from *http.Request
	// out is what of the head and of a body at hand is still to be written, page or expanse its memory.
	out     []byte
	page    *page
	expanse *expanse
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
func (c *Call) startUpload(out []byte) {
	c.sent = true
	u := &upload{
		call: c, link: c.link, from: c.request, out: out, page: c.page, expanse: c.expanse, left: c.framing.rest,
		done: make(chan struct{}),
	}
	c.upload = u
	c.page, c.expanse, c.out = nil, nil, nil
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

// close closes the request's body. Whoever comes second does not wait for the first.
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
	u.link.upstream.client.buffers.putPage(u.page)
	u.link.upstream.client.buffers.putExpanse(u.expanse)
	u.close()
	u.complete = err == nil
	if trace := u.call.trace; trace != nil && trace.WroteRequest != nil {
		trace.WroteRequest(wroteRequest(err))
	}
	switch {
	case u.source.Load() != nil:
		// The endpoint waits for the rest, and the response for the endpoint.
		u.link.abort()
	case err != nil:
		// The endpoint may have answered before it stopped reading.
		u.call.limit(lastWords)
	default:
		u.call.limit(u.link.upstream.config.ResponseHeaderTimeout)
	}
}

func (u *upload) send() error {
	if u.left == 0 {
		u.last.Store(true)
	}
	if len(u.out) > 0 {
		if _, err := u.link.conn.Write(u.out); err != nil {
			return err
		}
	}
	pool := &u.link.upstream.client.buffers
	buffer := pool.expanse()
	defer pool.putExpanse(buffer)
	if u.left < 0 {
		return u.chunks(buffer)
	}
	return u.fixed(buffer)
}

// fixed sends a body with a length.
func (u *upload) fixed(buffer *expanse) error {
	for u.left > 0 {
		n, err := u.read(buffer[:min(int64(len(buffer)), u.left)])
		if n > 0 {
			if u.left -= int64(n); u.left == 0 {
				u.last.Store(true)
			}
			if _, err := u.link.conn.Write(buffer[:n]); err != nil {
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

// chunkRoom is the room before the data of a chunk for its size, and behind it for the end of the line and the last chunk.
const chunkRoom = 16

// chunks sends a body whose length nobody knows, each piece as a chunk of its own.
func (u *upload) chunks(buffer *expanse) error {
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
			if _, err = u.link.conn.Write(out); err != nil {
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
