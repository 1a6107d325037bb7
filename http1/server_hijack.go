package http1

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"time"
)

// hijackBytes is the size of the buffers of a hijacked connection.
const hijackBytes = 4 << 10

// Hijack hands the connection over to the handler, with what has been read ahead and not used. It stays with the
// handler after the end of the exchange. The request's body can't be read any more.
func (x *exchange) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if !x.guard.Write() {
		return nil, nil, ErrFinished
	}
	defer x.guard.EndWrite()
	if x.hijacked.Load() {
		return nil, nil, http.ErrHijacked
	}
	if x.response.status != 0 {
		if err := x.flush(); err != nil {
			return nil, nil, err
		}
	}
	c := x.conn
	// From here on reading ahead does not begin.
	x.hijacked.Store(true)
	x.stopReadAhead()
	c.unwatch()
	if err := c.rwc.SetDeadline(time.Time{}); err != nil {
		return nil, nil, err
	}
	rest := bytes.Clone(c.in[c.at:c.end])
	c.drop()
	x.recycle()
	reader := bufio.NewReaderSize(c.rwc, hijackBytes)
	if len(rest) > 0 {
		reader = bufio.NewReaderSize(io.MultiReader(bytes.NewReader(rest), c.rwc), max(hijackBytes, len(rest)))
		// Buffered reports what is there, as with net/http.
		_, _ = reader.Peek(len(rest))
	}
	return c.rwc, bufio.NewReadWriter(reader, bufio.NewWriterSize(c.rwc, hijackBytes)), nil
}
