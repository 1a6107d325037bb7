package forward

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/sluiceproxy/sluice/forward/relay"
	"github.com/sluiceproxy/sluice/httpio"
	"github.com/sluiceproxy/sluice/httpio/websocket"
	"github.com/sluiceproxy/sluice/loadbalancer"
)

// websocketLinger is how long a WebSocket's second direction may go on after the first has ended: long enough for the
// closing handshake, which is all that may follow (RFC 6455 section 7.1.1).
const websocketLinger = 10 * time.Second

var (
	errUnexpectedUpgrade = errors.New("endpoint: 101 to a request that offered another protocol or none")
	// errNotAccepted is a 101 whose Sec-WebSocket-Accept is not that of the key which stands for a client of HTTP/2
	// or HTTP/3.
	errNotAccepted = errors.New("endpoint: 101 without the right Sec-WebSocket-Accept")
)

// switchProtocols hands both connections over to the protocol that client and endpoint agreed on, and returns when it
// has ended.
func (a *attempt) switchProtocols(response *http.Response) (loadbalancer.Outcome, error) {
	upstream, duplex := response.Body.(io.ReadWriteCloser)
	chosen := response.Header.Get("Upgrade")
	if !duplex || !offers(a.upgrade, chosen) {
		return loadbalancer.Broken, &Error{Phase: RequestSent, Status: http.StatusBadGateway, Err: errUnexpectedUpgrade}
	}
	if a.request.ProtoMajor > 1 && !websocket.Accepts(a.request.Header, response.Header) {
		return loadbalancer.Broken, &Error{Phase: RequestSent, Status: http.StatusBadGateway, Err: errNotAccepted}
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
	if a.request.ProtoMajor > 1 {
		delete(header, "Sec-Websocket-Accept") // The key is ours.
	}
	if err := writeSwitch(connection, buffered.Writer, header); err != nil {
		_, _ = connection.Close(), upstream.Close() // The error is known.
		return loadbalancer.Abandoned, &Error{Phase: ResponseBegun, Err: &sideError{"client", err}}
	}
	options := relay.Options{TerminationDelay: -1, ReadAhead: unread(buffered.Reader)}
	if strings.EqualFold(chosen, "websocket") {
		options.TerminationDelay = websocketLinger
	}
	// How a tunnel ends says nothing about the response, which was complete.
	a.state.service.memory.tunnels.Run(a.request.Context(), connection, upstream, options)
	return loadbalancer.Answered, nil
}

// unread returns what the server has read ahead of the client's connection.
func unread(ahead *bufio.Reader) []byte {
	bytes, _ := ahead.Peek(ahead.Buffered()) // It has that many.
	return slices.Clone(bytes)
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
	if stream := httpio.UpgradeWriterOf(connection); stream != nil {
		return stream.WriteUpgrade(header)
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
