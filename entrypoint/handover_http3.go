package entrypoint

import (
	"context"
	"net"
	"syscall"

	"github.com/sluiceproxy/sluice/entrypoint/h3"
)

// Feeds yields the feeds that another process needs to pass datagrams of HTTP/3 on: those of Adopt, by the generations
// of their processes, and that of Park in between Park and Unpark. They stay the entrypoint's.
func (e *Entrypoint) Feeds(yield func(generation byte, feed syscall.Conn) bool) {
	if e.http3 != nil {
		e.http3.Feeds(yield)
	}
}

// Opening returns the clients whose handshakes of HTTP/3 are under way, after Park.
func (e *Entrypoint) Opening() []h3.Opening {
	if e.http3 == nil {
		return nil
	}
	return e.http3.Opening()
}

// Adopt has datagrams of HTTP/3 passed on to processes that drain, by their generations. The feeds are the entrypoint's
// then; without HTTP/3 they are closed. It comes before Serve.
func (e *Entrypoint) Adopt(feeds map[int]net.Conn, opening []h3.Opening) {
	if e.http3 != nil {
		e.http3.Adopt(feeds, opening)
		return
	}
	for _, feed := range feeds {
		_ = feed.Close()
	}
}

// leavePackets leaves the socket of HTTP/3 to the process that reads it, if the sockets are handed over.
func (e *Entrypoint) leavePackets(ctx context.Context, stop func()) {
	if _, ok := handedOver(ctx); ok && e.http3 != nil && !e.http3.Leave() {
		stop() // There is no feed.
	}
}
