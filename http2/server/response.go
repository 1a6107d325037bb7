package server

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	http1wire "github.com/sluiceproxy/sluice/http1/wire"
	"github.com/sluiceproxy/sluice/http2/wire"
	"github.com/sluiceproxy/sluice/httpio/websocket"
)

const (
	// headroom is what is left free before the fields of a head, for those that are known last.
	headroom = 96
	// largeBytes is how large a write is that is not worth copying into the buffer of the response.
	largeBytes = 2 << 10
)

// response is the response of an exchange. Until its head is sent, buffer holds the fields and the beginning of the
// body.
type response struct {
	header http.Header
	// shown says that Header has been called.
	shown atomic.Bool
	// status is the final status, or 0, and written is what of the body was accepted.
	status  atomic.Int32
	written atomic.Int64

	buf    *writeBuffer
	buffer []byte
	// from is where in buffer the head begins, body where the body does.
	from, body int

	// committed says that the head is complete, begun that it has been handed over.
	committed, begun bool
	// length is what the handler declared, or -1; bodiless says that there is no body.
	length   int64
	bodiless bool
	dated    bool
	last     bool
	// trailers are the names of announced trailers; late says that there are others, with http.TrailerPrefix.
	trailers []string
	// delivered is how many bytes of the body were handed over to the connection.
	delivered int64
	// timer ends the stream at the deadline for writing.
	timer *time.Timer
}

// fields returns the header, or nil if it was never used.
func (r *response) fields() http.Header {
	if r.shown.Load() {
		return r.header
	}
	return nil
}

// begin notes the final status, and puts the fields into the buffer as they are now, and those of the list behind them.
func (x *exchange) begin(status int, list []http1wire.Field) {
	r := &x.response
	if x.tunnel != nil {
		status = websocket.Unopened(status)
	}
	r.status.Store(int32(status)) //nolint:gosec // three digits
	r.length = -1
	r.bodiless = x.head || http1wire.BodilessStatus(status)
	r.buf = x.conn.server.pool.write()
	b := r.buf[:headroom]
	for name, values := range r.fields() {
		for _, value := range values {
			if !x.frames(name, value) {
				b = appendField(b, name, value)
			}
		}
	}
	for i := range list {
		if !x.frames(list[i].Name, list[i].Value) {
			b = appendField(b, list[i].Name, list[i].Value)
		}
	}
	r.buffer, r.body = b, len(b)
}

// appendField appends a field. A name that is not a token is left out, and what no value may hold becomes spaces (RFC
// 9113, section 8.2.1).
func appendField(b []byte, name, value string) []byte {
	if !http1wire.ValidToken(name) {
		return b
	}
	if !http1wire.ValidValue(value) {
		value = strings.Map(func(c rune) rune {
			if c < ' ' && c != '\t' || c == 0x7f {
				return ' '
			}
			return c
		}, value)
	}
	return wire.AppendField(b, name, value)
}

// frames looks at a field of the response, and reports whether it is not sent as it is.
func (x *exchange) frames(name, value string) bool {
	r := &x.response
	switch name {
	case "Content-Length":
		if length, ok := http1wire.ParseLength(value); ok {
			r.length = length
		}
		return true
	case "Connection":
		if http1wire.HasToken(value, "close") {
			r.last = true
		}
		return true
	case "Transfer-Encoding", "Keep-Alive", "Proxy-Connection", "Upgrade":
		return true // RFC 9113, section 8.2.2
	case "Content-Type":
		return r.status.Load() == http.StatusNotModified
	case "Date":
		r.dated = true
	case "Trailer":
		for one := range strings.SplitSeq(value, ",") {
			one = http.CanonicalHeaderKey(strings.Trim(one, " \t"))
			if one != "" && !http1wire.ForbiddenTrailer(one) && !slices.Contains(r.trailers, one) {
				r.trailers = append(r.trailers, one)
			}
		}
	default:
		return strings.HasPrefix(name, http.TrailerPrefix)
	}
	return false
}

// commit completes the head. final says that all of the body is in the buffer.
func (x *exchange) commit(final bool) {
	r := &x.response
	r.committed = true
	status := int(r.status.Load())
	switch written := r.written.Load(); {
	case http1wire.BodilessStatus(status):
		r.length = -1
	case r.length < 0 && final && (written > 0 || !x.head):
		r.length = written
	}
	var room [headroom]byte
	b := wire.AppendStatus(room[:0], status)
	if !r.dated {
		b = x.conn.server.date.append(b, time.Now())
	}
	if r.length >= 0 {
		b = wire.AppendLength(b, r.length)
	}
	r.from = headroom - len(b)
	copy(r.buffer[r.from:], b)
}

// push takes a part of the body.
func (x *exchange) push(p []byte) error {
	r := &x.response
	if !r.committed {
		if len(r.buffer)+len(p) <= max(writeBytes, cap(r.buffer)) {
			r.buffer = append(r.buffer, p...)
			return nil
		}
		x.commit(false)
	}
	if len(p) < largeBytes && len(r.buffer)+len(p) <= max(writeBytes, cap(r.buffer)) {
		r.buffer = append(r.buffer, p...)
		return nil
	}
	return x.send(p)
}

// send hands over what is in the buffer, and then p.
func (x *exchange) send(p []byte) error {
	r, c := &x.response, x.conn
	if !r.committed {
		x.commit(false)
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	x.body.relaxed = true
	if x.failure != nil {
		return x.failure
	}
	x.sendHead(false)
	for _, part := range [...][]byte{r.buffer[r.body:], p} {
		if err := x.sendBody(part, false); err != nil {
			return err
		}
	}
	r.buffer, r.from, r.body = r.buffer[:0], 0, 0
	c.out.start()
	return x.failure
}

// sendHead hands over the head, unless it has been. The mutex is held.
func (x *exchange) sendHead(last bool) {
	r := &x.response
	if r.begun {
		return
	}
	r.begun = true
	x.sendBlock(r.buffer[r.from:r.body], last)
}

// sendBlock hands over a head or trailers. The mutex is held.
func (x *exchange) sendBlock(block []byte, last bool) {
	c := x.conn
	b := c.out.room()
	var flags wire.Flags
	if last {
		flags = wire.EndStream
	}
	if c.tableUpdate {
		c.tableUpdate = false
		block = append(wire.AppendTableSize(make([]byte, 0, 1+len(block)), 0), block...)
	}
	kind := wire.Headers
	for len(block) > c.maxFrame {
		b = append(wire.AppendHeader(b, c.maxFrame, kind, flags, x.id), block[:c.maxFrame]...)
		block, kind, flags = block[c.maxFrame:], wire.Continuation, 0
	}
	b = append(wire.AppendHeader(b, len(block), kind, flags|wire.EndHeaders, x.id), block...)
	c.out.set(b)
}

// flush sends what there is.
func (x *exchange) flush() error {
	if x.response.committed && len(x.response.buffer) == 0 {
		return nil
	}
	return x.send(nil)
}

// complete sends the end of the response, after which the exchange belongs to the connection. On an error it does not.
func (x *exchange) complete() error {
	r, c := &x.response, x.conn
	if x.hijacked {
		x.conn.mutex.Lock()
		defer x.conn.mutex.Unlock()
		x.body.discard()
		return x.conn.endTunnel(x)
	}
	if r.status.Load() == 0 {
		x.begin(http.StatusOK, nil)
	}
	var trailers []byte
	if header := r.fields(); len(header) > 0 && !r.bodiless {
		trailers = r.appendTrailers(header)
	}
	if !r.committed {
		x.commit(true)
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	x.body.discard()
	if x.failure != nil {
		c.out.flush()
		return x.failure
	}
	if !r.bodiless && r.length > r.written.Load() {
		c.resetStream(x, wire.InternalError, errShort) // What was declared will never come.
		c.out.flush()
		return errShort
	}
	if err := x.sendEnd(trailers); err != nil {
		c.out.flush()
		return err
	}
	x.sent = true
	if x.status == 0 {
		c.life.answered++
	}
	if !x.body.ended {
		c.sendReset(x.id, wire.NoError) // The rest of the body is of no use (section 8.1).
	}
	if r.last {
		c.retireLocked()
	}
	c.forget(x)
	c.out.ending = append(c.out.ending, x)
	c.out.flushLater()
	return nil
}

// sendEnd hands over what is left of the response. The mutex is held, but for waits.
func (x *exchange) sendEnd(trailers []byte) error {
	r, c := &x.response, x.conn
	body := r.buffer[r.body:]
	if r.bodiless {
		body = nil
	}
	empty := len(body) == 0 && len(trailers) == 0
	if !r.begun && empty {
		x.sendHead(true)
		return nil
	}
	x.sendHead(false)
	if err := x.sendBody(body, len(trailers) == 0); err != nil {
		return err
	}
	switch {
	case len(trailers) > 0:
		x.sendBlock(trailers, true)
	case empty:
		c.out.set(wire.AppendHeader(c.out.room(), 0, wire.Data, wire.EndStream, x.id))
	}
	return nil
}

// appendTrailers returns the trailers: those that were announced, and those with http.TrailerPrefix.
func (r *response) appendTrailers(header http.Header) []byte {
	var b []byte
	for _, name := range r.trailers {
		for _, value := range header[name] {
			b = appendField(b, name, value)
		}
	}
	for name, values := range header {
		late, ok := strings.CutPrefix(name, http.TrailerPrefix)
		if !ok || http1wire.ForbiddenTrailer(http.CanonicalHeaderKey(late)) {
			continue
		}
		for _, value := range values {
			b = appendField(b, late, value)
		}
	}
	return b
}
