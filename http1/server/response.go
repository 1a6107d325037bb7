package server

import (
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/http1/wire"
)

// framing is where the body of a response ends.
type framing uint8

const (
	undecided framing = iota
	noBody
	fixedLength
	inChunks
	untilClose
)

const (
	// headroom is what is left free before the fields of a head, for the status line and the fields that are known
	// last.
	headroom = 192
	// slack is left free behind a full buffer, for the end of a chunk.
	slack = 64
	// sizeRoom holds the line before a chunk that fits into the buffer.
	sizeRoom = 10
	// largeBytes is how large a write is that is not worth copying.
	largeBytes = 2 << 10
)

// response is the response of an exchange, on its way to the connection.
//
// Until the framing is known, buffer holds the fields and the beginning of the body; the status line and what frames
// the body then goes into the headroom before them, so that a small answer is one piece of memory and one write.
type response struct {
	header http.Header
	// shown says that Header has been called. Before, a late call may be about to make the header.
	shown atomic.Bool
	// status is the final status, or 0, and written is what of the body was accepted. A late call may change them while
	// the record of the request is completed.
	status  atomic.Int32
	written atomic.Int64

	writeBuf *[writeBytes]byte
	buffer   []byte
	// from is where in buffer begins what is to be sent, body where the body begins, chunk where room for a chunk's
	// size is; -1 for none.
	from, body, chunk int

	framing framing
	// length is what the handler declared, or -1.
	length    int64
	head      bool
	dated     bool
	saysClose bool
	// trailers are the names of announced trailers; late says that there are others, with http.TrailerPrefix.
	trailers []string
	late     bool

	userDeadline bool
	err          error
	// sent says that a part of the head was written, unsent counts the bytes of the body that were in the buffer when
	// writing failed or the handler gave up.
	sent   bool
	unsent int64
}

// buffered returns how many bytes of the body are in the buffer. Chunks that are complete count with what frames them.
func (r *response) buffered() int64 {
	n := len(r.buffer) - r.body
	if r.framing == inChunks && r.chunk >= 0 {
		n -= sizeRoom
	}
	return int64(max(n, 0))
}

// fields returns the header, or nil if it was never used.
func (r *response) fields() http.Header {
	if r.shown.Load() {
		return r.header
	}
	return nil
}

// begin notes the final status, and puts the fields into the buffer as they are now, and those of the list behind them.
func (x *exchange) begin(status int, list []wire.Field) {
	r := &x.response
	r.status.Store(int32(status)) //nolint:gosec // three digits
	r.length, r.chunk = -1, -1
	r.head = x.head
	r.writeBuf = x.conn.server.pool.write()
	b := r.writeBuf[:headroom]
	for name, values := range r.fields() {
		if x.frames(name, values) {
			continue
		}
		for _, value := range values {
			b = wire.AppendField(b, name, value)
		}
	}
	for i := range list {
		value := [1]string{list[i].Value}
		if !x.frames(list[i].Name, value[:]) {
			b = wire.AppendField(b, list[i].Name, list[i].Value)
		}
	}
	b = append(b, "\r\n"...)
	r.buffer, r.body = b, len(b)
}

// frames looks at a field of the response, and reports whether it is not sent as it is.
func (x *exchange) frames(name string, values []string) bool {
	r := &x.response
	switch name {
	case "Content-Length":
		if len(values) == 1 {
			r.length = contentLength(values[0])
		}
		return true
	case "Transfer-Encoding":
		return true
	case "Content-Type":
		return r.status.Load() == http.StatusNotModified
	case "Connection":
		keepAlive := false
		for _, value := range values {
			keepAlive = keepAlive || wire.HasToken(value, "keep-alive")
			if wire.HasToken(value, "close") {
				r.saysClose = true
				x.closeAfter.Store(true)
			}
		}
		return keepAlive && !r.saysClose && x.closeAfter.Load() // It would contradict the engine's own field.
	case "Date":
		r.dated = true
	case "Trailer":
		for _, value := range values {
			r.announce(value)
		}
	default:
		if strings.HasPrefix(name, http.TrailerPrefix) {
			r.late = true
			return true
		}
	}
	return false
}

func (r *response) announce(list string) {
	for name := range strings.SplitSeq(list, ",") {
		name = http.CanonicalHeaderKey(strings.Trim(name, " \t"))
		if name != "" && !wire.ForbiddenTrailer(name) {
			r.trailers = append(r.trailers, name)
		}
	}
}

// contentLength returns -1 for what is no length.
func contentLength(value string) int64 {
	n := int64(0)
	for i := range len(value) {
		if value[i] < '0' || value[i] > '9' || i >= 18 {
			return -1
		}
		n = 10*n + int64(value[i]-'0')
	}
	if value == "" {
		return -1
	}
	return n
}

// commit decides how the body is framed and completes the head. final says that all of the body is in the buffer.
func (x *exchange) commit(final bool) {
	r := &x.response
	if x.body.expects {
		x.body.announce.mutex.Lock()
		x.body.announce.over = true
		x.body.announce.mutex.Unlock()
	}
	x.body.relax()
	r.decide(x.minor, final)
	status := int(r.status.Load())
	if !x.closeAfter.Load() && (r.framing == untilClose || status == http.StatusSwitchingProtocols || !x.persistent ||
		x.conn.server.draining.Load() || x.conn.retiring.Load() || x.body.awaitsContinue() || final && x.body.isLong()) {
		x.closeAfter.Store(true)
	}
	var room [headroom]byte
	b := wire.AppendStatusLine(room[:0], 1, status)
	now := time.Now()
	x.conn.begun = now
	if !r.dated {
		b = x.conn.server.date.append(b, now)
	}
	switch {
	case r.length >= 0:
		b = wire.AppendLength(b, r.length)
	case r.framing == inChunks:
		b = append(b, "Transfer-Encoding: chunked\r\n"...)
	}
	if status != http.StatusSwitchingProtocols && !r.saysClose {
		switch {
		case x.closeAfter.Load():
			b = append(b, "Connection: close\r\n"...)
		case x.minor == 0:
			b = append(b, "Connection: keep-alive\r\n"...)
		}
	}
	r.from = headroom - len(b)
	copy(r.buffer[r.from:], b)
	if r.framing == inChunks && len(r.buffer) > r.body {
		r.wrapBody()
	}
}

// decide chooses the framing (RFC 9112, section 6.3).
func (r *response) decide(minor int, final bool) {
	switch {
	case wire.BodilessStatus(int(r.status.Load())):
		r.framing, r.length = noBody, -1
	case r.head:
		r.framing = noBody
		if written := r.written.Load(); r.length < 0 && final && written > 0 {
			r.length = written
		}
	case r.length >= 0:
		r.framing = fixedLength
	case final && (minor == 0 || len(r.trailers) == 0 && !r.late):
		r.framing, r.length = fixedLength, r.written.Load()
	case minor > 0:
		r.framing = inChunks
	default:
		r.framing = untilClose
	}
}

// wrapBody makes a chunk of the body that is in the buffer behind the head.
func (r *response) wrapBody() {
	var room [sizeRoom]byte
	n := len(r.buffer) - r.body
	size := wire.AppendChunkSize(room[:0], n)
	r.buffer = append(r.buffer, size...)
	copy(r.buffer[r.body+len(size):], r.buffer[r.body:r.body+n])
	copy(r.buffer[r.body:], size)
	r.buffer = append(r.buffer, "\r\n"...)
}

// closeChunk completes the chunk that is open in the buffer.
func (r *response) closeChunk() {
	if r.chunk < 0 {
		return
	}
	at := r.chunk
	r.chunk = -1
	data := r.buffer[at+sizeRoom:]
	if len(data) == 0 {
		r.buffer = r.buffer[:at]
		return
	}
	var room [sizeRoom]byte
	size := wire.AppendChunkSize(room[:0], len(data))
	hole := sizeRoom - len(size)
	if r.from == at {
		r.from += hole
		copy(r.buffer[r.from:], size)
	} else {
		copy(r.buffer[at:], size)
		n := copy(r.buffer[at+len(size):], data)
		r.buffer = r.buffer[:at+len(size)+n]
	}
	r.buffer = append(r.buffer, "\r\n"...)
}

// full reports whether n more bytes do not fit into the buffer.
func (r *response) full(n int) bool { return len(r.buffer)+n > max(writeBytes, cap(r.buffer))-slack }

// push takes a part of the body.
func (x *exchange) push(p []byte) error {
	r := &x.response
	if r.framing == undecided {
		if !r.full(len(p)) {
			r.buffer = append(r.buffer, p...)
			return nil
		}
		x.commit(false)
	}
	if r.framing == inChunks {
		return x.pushChunk(p)
	}
	if len(p) < largeBytes && !r.full(len(p)) {
		r.buffer = append(r.buffer, p...)
		return nil
	}
	return x.send(p, nil)
}

func (x *exchange) pushChunk(p []byte) error {
	r := &x.response
	if len(p) >= largeBytes {
		r.closeChunk()
		r.buffer = wire.AppendChunkSize(r.buffer, len(p))
		return x.send(p, []byte("\r\n"))
	}
	if r.full(len(p) + sizeRoom) {
		r.closeChunk()
		if err := x.send(nil, nil); err != nil {
			return err
		}
	}
	if r.chunk < 0 {
		r.chunk = len(r.buffer)
		r.buffer = append(r.buffer, "0000000000"[:sizeRoom]...)
	}
	r.buffer = append(r.buffer, p...)
	return nil
}

// send writes what is in the buffer, and then p and end.
func (x *exchange) send(p, end []byte) error {
	r := &x.response
	if r.err != nil {
		return r.err
	}
	if unsent, err := x.conn.write(r.buffer[r.from:], p, end); err != nil {
		r.sent = r.sent || unsent < len(r.buffer)-r.from+len(p)+len(end)
		r.unsent = int64(min(max(unsent-len(p)-len(end), 0), len(r.buffer)-r.body))
		return x.broken(err)
	}
	r.buffer, r.from, r.body, r.sent = r.buffer[:0], 0, 0, true
	return nil
}

// broken notes that nothing more can be written.
func (x *exchange) broken(err error) error {
	x.response.err = err
	x.closeAfter.Store(true)
	x.context.Cancel()
	return err
}

// flush sends what there is.
func (x *exchange) flush() error {
	r := &x.response
	if r.framing == undecided {
		x.commit(false)
	}
	r.closeChunk()
	if len(r.buffer) == r.from {
		return r.err
	}
	return x.send(nil, nil)
}

// complete sends the end of the response.
func (x *exchange) complete() error {
	r := &x.response
	if r.status.Load() == 0 {
		x.begin(http.StatusOK, nil)
	}
	if !r.head && r.length > r.written.Load() && !wire.BodilessStatus(int(r.status.Load())) {
		// What was declared will never come.
		x.closeAfter.Store(true)
	}
	var trailer http.Header
	if header := r.fields(); len(header) > 0 {
		trailer = r.collectTrailers(header)
	}
	if r.framing == undecided {
		r.late = r.late || len(trailer) > 0
		x.commit(true)
	} else {
		// The response may have taken its time.
		x.conn.begun = time.Time{}
	}
	if r.framing == inChunks {
		r.closeChunk()
		r.buffer = wire.AppendLastChunk(r.buffer, trailer)
	}
	if len(r.buffer) == r.from {
		return r.err
	}
	x.conn.last = x.closeAfter.Load()
	return x.send(nil, nil)
}

// collectTrailers returns the trailers: those that were announced, and those with http.TrailerPrefix.
func (r *response) collectTrailers(header http.Header) http.Header {
	var trailer http.Header
	add := func(name string, values []string) {
		if len(values) == 0 {
			return
		}
		if trailer == nil {
			trailer = http.Header{}
		}
		trailer[name] = values
	}
	for _, name := range r.trailers {
		add(name, header[name])
	}
	for name, values := range header {
		if late, ok := strings.CutPrefix(name, http.TrailerPrefix); ok {
			add(http.CanonicalHeaderKey(late), values)
		}
	}
	return trailer
}

// recycle gives the buffer back.
func (x *exchange) recycle() {
	r := &x.response
	if r.writeBuf != nil {
		x.conn.server.pool.putWrite(r.writeBuf)
		r.writeBuf, r.buffer = nil, nil
	}
}
