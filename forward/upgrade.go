package forward

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/sluiceproxy/sluice/httpio"
	"github.com/sluiceproxy/sluice/httpio/replay"
	"github.com/sluiceproxy/sluice/loadbalancer"
)

// websocketLinger is how long a WebSocket's second direction may go on after the first has ended: long enough for the
// closing handshake, which is all that may follow (RFC 6455 section 7.1.1).
const websocketLinger = 10 * time.Second

var errUnexpectedUpgrade = errors.New("endpoint: 101 to a request that offered another protocol or none")

// switchProtocols hands both connections over to the protocol that client and endpoint agreed on, and returns when it
// has ended.
func (a *attempt) switchProtocols(response *http.Response) (loadbalancer.Outcome, error) {
	upstream, duplex := response.Body.(io.ReadWriteCloser)
	chosen := response.Header.Get("Upgrade")
	if !duplex || !offers(a.upgrade, chosen) {
		return loadbalancer.Broken, &Error{Phase: RequestSent, Status: http.StatusBadGateway, Err: errUnexpectedUpgrade}
	}
	a.head(response)
	header := a.writer.Header()
	header["Connection"], header["Upgrade"] = []string{"Upgrade"}, []string{chosen}
	if header["Content-Type"] == nil {
		delete(header, "Content-Type")
	}
	delete(header, "Content-Length")
	connection, buffered, err := a.control.Hijack()
	if err != nil {
		err = fmt.Errorf("taking over the client's connection: %w", err)
		return loadbalancer.Abandoned, &Error{Phase: RequestSent, Status: http.StatusBadGateway, Err: err}
	}
	a.record.Status = http.StatusSwitchingProtocols
	t := &tunnel{client: connection, upstream: upstream, memory: a.memory()}
	if strings.EqualFold(chosen, "websocket") {
		t.linger = websocketLinger
	}
	defer t.close()
	if err := writeSwitch(connection, buffered.Writer, header); err != nil {
		return loadbalancer.Abandoned, &Error{Phase: ResponseBegun, Err: &sideError{"client", err}}
	}
	t.run(a.request.Context(), rest(buffered.Reader, connection))
	return loadbalancer.Answered, nil
}

// rest reads what the server has read ahead and then the connection itself: through the server's reader a half-closed
// connection would end the request's context.
func rest(ahead *bufio.Reader, connection net.Conn) io.Reader {
	if n := ahead.Buffered(); n > 0 {
		return io.MultiReader(io.LimitReader(ahead, int64(n)), connection)
	}
	return connection
}

// offers reports whether the endpoint chose a protocol that the client had offered.
func offers(offered, chosen string) bool {
	for protocol := range strings.SplitSeq(offered, ",") {
		if protocol = strings.TrimSpace(protocol); protocol != "" && strings.EqualFold(protocol, chosen) {
			return true
		}
	}
	return false
}

func writeSwitch(connection net.Conn, w *bufio.Writer, header http.Header) error {
	// Deadlines of the HTTP request do not apply to the new protocol.
	if err := connection.SetDeadline(time.Time{}); err != nil {
		return err
	}
	if _, err := w.WriteString("HTTP/1.1 101 Switching Protocols\r\n"); err != nil {
		return err
	}
	if err := header.Write(w); err != nil {
		return err
	}
	if _, err := w.WriteString("\r\n"); err != nil {
		return err
	}
	return w.Flush()
}

// tunnel copies bytes between a client and an endpoint in both directions.
type tunnel struct {
	client   net.Conn
	upstream io.ReadWriteCloser
	memory   *replay.Memory
	linger   time.Duration
	once     sync.Once
}

// run returns when both directions have ended. The end of one is passed on, and the other may go on; an error on either
// side, or the end of ctx, ends both.
func (t *tunnel) run(ctx context.Context, fromClient io.Reader) {
	stop := context.AfterFunc(ctx, t.close)
	defer stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		t.copy(t.upstream, fromClient)
	}()
	t.copy(t.client, t.upstream)
	<-done
}

// copy moves bytes in one direction until its end. Where both sides are plain TCP and the buffer was filled,
// the kernel splices.
func (t *tunnel) copy(to io.Writer, from io.Reader) {
	buffer := t.memory.Buffer()
	defer t.memory.Recycle(buffer)
	for {
		n, err := from.Read(buffer[:])
		if n > 0 {
			if _, writeErr := to.Write(buffer[:n]); writeErr != nil {
				t.close()
				return
			}
		}
		if err == nil && n == len(buffer) {
			err = spliced(to, from)
		}
		if errors.Is(err, io.EOF) {
			t.half(to)
			return
		}
		if err != nil {
			t.close()
			return
		}
	}
}

// spliceBytes is how much is spliced in one call. The kernel's pipe is held for that long, so it is used only
// after a full buffer was read.
const spliceBytes = 4 << 20

// spliced lets the kernel move what comes next, if it can. The error is io.EOF at the end of from.
func spliced(to io.Writer, from io.Reader) error {
	source, sink := sourceOf(from), sinkOf(to)
	if source == nil || sink == nil {
		return nil
	}
	n, err := sink.ReadFrom(&io.LimitedReader{R: source, N: spliceBytes})
	if err == nil && n < spliceBytes {
		return io.EOF
	}
	return err
}

// sourceOf returns the connection that is read from where it is plain TCP and nothing was read ahead, or nil.
func sourceOf(from io.Reader) *net.TCPConn {
	switch from := from.(type) {
	case *net.TCPConn:
		return from
	case httpio.SpliceSource:
		return from.SpliceFrom()
	}
	return nil
}

// sinkOf returns the connection that is written to where it is plain TCP, or nil.
func sinkOf(to io.Writer) *net.TCPConn {
	switch to := to.(type) {
	case *net.TCPConn:
		return to
	case httpio.SpliceSink:
		return to.SpliceTo()
	}
	return nil
}

// half ends one direction. Where a connection can't be half-closed, both directions end.
func (t *tunnel) half(to io.Writer) {
	if httpio.CloseWrite(to) != nil {
		t.close()
		return
	}
	if t.linger > 0 {
		time.AfterFunc(t.linger, t.close)
	}
}

func (t *tunnel) close() {
	t.once.Do(func() {
		// An error of Close does not matter.
		_ = t.client.Close()
		_ = t.upstream.Close()
	})
}
