package h3

import (
	"bufio"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"github.com/sluiceproxy/sluice/httpio/websocket"
)

// tunnelBytes is the size of the buffers that Hijack returns. What passes them is little.
const tunnelBytes = 512

// tunnel is the stream of an extended CONNECT (RFC 9220) as a connection, which ends with its handler.
type tunnel struct {
	writer *writer
	// taken says that the handler has it. Its context does not end with the stream then, since Read and Write tell.
	taken atomic.Bool
	// stream is set when the response has been sent.
	stream atomic.Pointer[http3.Stream]
	// writing counts calls of Write that are under way, during which the stream can't be ended in order.
	writing       atomic.Int32
	closed, reset atomic.Bool
}

// upgrade makes the request of an extended CONNECT for a WebSocket that which a client of HTTP/1.1 would have sent.
func (w *writer) upgrade(r *http.Request, protocol string) {
	if r.Method != http.MethodConnect || !strings.EqualFold(protocol, websocket.Protocol) ||
		len(r.Header["Content-Length"]) > 0 {
		return
	}
	r.Method = http.MethodGet
	websocket.Offer(r.Header)
	w.tunnel = &tunnel{writer: w}
}

// Hijack hands over the stream of an extended CONNECT, to which the handler must write by WriteUpgrade first.
func (w *writer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	switch t := w.tunnel; {
	case t == nil:
		return nil, nil, http.ErrNotSupported
	case w.begun:
		return nil, nil, errors.New("h3: the response to an extended CONNECT has begun")
	case t.taken.Swap(true):
		return nil, nil, http.ErrHijacked
	default:
		w.conn.tunnels.Add(1)
		return t, bufio.NewReadWriter(bufio.NewReaderSize(t, tunnelBytes), bufio.NewWriterSize(t, tunnelBytes)), nil
	}
}

// WriteUpgrade sends the response that opens the tunnel: 200 with the fields of the header, but those that concern a
// connection of HTTP/1.1.
func (t *tunnel) WriteUpgrade(header http.Header) error {
	w := t.writer
	fields, own := w.inner.Header(), maps.Clone(header) // It may be the same map.
	clear(fields)
	maps.Copy(fields, own)
	delete(fields, "Content-Length")
	w.WriteHeader(http.StatusOK)
	streamer, ok := w.inner.(http3.HTTPStreamer)
	if !ok {
		return http.ErrNotSupported
	}
	stream, err := streamer.HTTPStream()
	if err != nil {
		return broken(err)
	}
	t.stream.Store(stream)
	return nil
}

// broken returns an error of the stream so that a reset by the client is one, as of a connection.
func broken(err error) error {
	if failed, ok := errors.AsType[*http3.Error](err); ok {
		if failed.Remote {
			return fmt.Errorf("%w (%w)", err, syscall.ECONNRESET)
		}
		return fmt.Errorf("%w (%w)", err, net.ErrClosed)
	}
	if failed, ok := errors.AsType[*quic.StreamError](err); ok && failed.Remote {
		return fmt.Errorf("%w (%w)", err, syscall.ECONNRESET)
	}
	if _, ok := errors.AsType[*quic.IdleTimeoutError](err); ok {
		return fmt.Errorf("%w (%w)", err, syscall.ECONNRESET)
	}
	return err
}

// Read reads what the client sends.
func (t *tunnel) Read(p []byte) (int, error) {
	stream := t.stream.Load()
	if stream == nil || t.closed.Load() {
		return 0, net.ErrClosed
	}
	n, err := stream.Read(p)
	return n, broken(err)
}

// Write sends to the client, as its windows allow.
func (t *tunnel) Write(p []byte) (int, error) {
	t.writing.Add(1)
	defer t.writing.Add(-1)
	stream := t.stream.Load()
	if stream == nil || t.closed.Load() {
		return 0, net.ErrClosed
	}
	n, err := stream.Write(p)
	return n, broken(err)
}

// CloseWrite ends the direction to the client, which may go on sending.
func (t *tunnel) CloseWrite() error {
	stream := t.stream.Load()
	if stream == nil || t.closed.Load() || t.writing.Load() > 0 {
		return net.ErrClosed
	}
	return stream.Close()
}

// SetLinger makes Close reset the stream if seconds is 0.
func (t *tunnel) SetLinger(seconds int) error {
	t.reset.Store(seconds == 0)
	return nil
}

// Close ends the stream in order, unless bytes are being sent, and calls that wait return.
func (t *tunnel) Close() error {
	if t.closed.Swap(true) {
		return net.ErrClosed
	}
	stream := t.stream.Load()
	if stream == nil {
		return nil // The response is missing: the stream is reset when the handler has returned.
	}
	if t.reset.Load() || t.writing.Load() > 0 {
		stream.CancelWrite(quic.StreamErrorCode(http3.ErrCodeRequestCanceled))
		stream.CancelRead(quic.StreamErrorCode(http3.ErrCodeRequestCanceled))
		return nil
	}
	err := stream.Close()
	stream.CancelRead(quic.StreamErrorCode(http3.ErrCodeNoError))
	return err
}

// end ends the stream when the handler has returned, or has not completed.
func (t *tunnel) end(completed bool) {
	if !completed {
		t.reset.Store(true)
	}
	if t.stream.Load() == nil {
		panic(http.ErrAbortHandler) // quic-go resets the stream.
	}
	_ = t.Close()
}

// LocalAddr returns the address of the connection of the stream.
func (t *tunnel) LocalAddr() net.Addr { return t.writer.conn.LocalAddr() }

// RemoteAddr returns the address of the client.
func (t *tunnel) RemoteAddr() net.Addr { return t.writer.conn.RemoteAddr() }

// SetDeadline sets both deadlines.
func (t *tunnel) SetDeadline(deadline time.Time) error {
	return errors.Join(t.SetReadDeadline(deadline), t.SetWriteDeadline(deadline))
}

// SetReadDeadline sets until when Read waits.
func (t *tunnel) SetReadDeadline(deadline time.Time) error {
	return http.NewResponseController(t.writer.inner).SetReadDeadline(deadline)
}

// SetWriteDeadline sets until when Write waits.
func (t *tunnel) SetWriteDeadline(deadline time.Time) error {
	return http.NewResponseController(t.writer.inner).SetWriteDeadline(deadline)
}
