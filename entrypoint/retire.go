package entrypoint

import (
	"context"
	"net"
	"time"
)

// ClosedConnections says what has become of the connections that were selected to be closed.
type ClosedConnections struct {
	// Closed is how many are closed. Idle ones of HTTP/2 and HTTP/3 that are closed gracefully end within a second,
	// unless their client opens a stream meanwhile.
	Closed int
	// Closing is how many end with the responses to their requests that are under way, or to their first one.
	Closing int
	// Remaining is how many stay open, since no response ends them: those of TCP routers, and those with a WebSocket or
	// another connection that was switched to another protocol.
	Remaining int
}

// Total returns how many connections were selected.
func (c ClosedConnections) Total() int { return c.Closed + c.Closing + c.Remaining }

// retirer is a server that can close some of its connections gracefully.
type retirer interface {
	// Retire closes those that are selected: idle ones at once, and others with their last response. It returns the
	// numbers of both, without those that no response ends. selected may wait, and each connection is closed when it has
	// returned.
	Retire(selected func(net.Conn) bool) (closed, closing int)
}

// retirers returns the servers that can close connections gracefully.
func (e *Entrypoint) retirers(servers servers) (all []retirer) {
	for _, server := range servers.all() {
		if one, ok := server.(retirer); ok {
			all = append(all, one)
		}
	}
	if e.http3 != nil {
		all = append(all, e.http3)
	}
	return all
}

// CloseConnections closes the selected connections. A graceful close does what a server does that shuts down: idle
// connections are closed, HTTP/1.1 ends the others with the response that is under way, and HTTP/2 and HTTP/3 send
// GOAWAY and end them with their last stream. The connection of the request whose context is ctx is always closed like
// that.
func (d *Directory) CloseConnections(ctx context.Context, selection Selection, graceful bool) ClosedConnections {
	var done ClosedConnections
	own, _ := ctx.Value(connectionKey{}).(*connection)
	for r, entry := range d.chosen(selection) {
		leaving := retiring{}
		r.selected(entry.name, selection, func(c *connection, _ ConnectionStatus) {
			if graceful || c == own {
				leaving.add(c)
				return
			}
			_ = c.Close() // Below TLS, which would wait for a client that reads nothing.
			done.Closed++
		})
		ended := leaving.retire(entry.servers)
		done.Closed, done.Closing = done.Closed+ended.Closed, done.Closing+ended.Closing
		done.Remaining += ended.Remaining
	}
	return done
}

// retiring are connections that are to be closed gracefully, by what their servers know them as.
type retiring map[net.Conn]*connection

// add adds a connection, and has it end with the response to its next request.
func (l retiring) add(c *connection) {
	if c.quic {
		l[c.Conn] = c
	} else {
		l[c] = c
	}
	c.closing.Store(true) // For one that has not reached its server yet.
}

// retire closes the connections gracefully.
func (l retiring) retire(servers []retirer) (done ClosedConnections) {
	total := len(l)
	take := func(conn net.Conn) bool {
		if c := bottom(conn); c != nil {
			conn = c
		}
		_, selected := l[conn]
		delete(l, conn)
		return selected
	}
	for _, server := range servers {
		closed, closing := server.Retire(take)
		done.Closed, done.Closing = done.Closed+closed, done.Closing+closing
	}
	settled := time.Now().Add(-settleTime)
	for _, c := range l { // No server has them.
		switch reached := phase(c.phase.Load()); {
		case reached == silent && c.accepted.Before(settled) && !c.announcing.Load():
			_ = c.Close()
			done.Closed++
		case c.closed.Load():
			done.Closed++
		case reached < active:
			done.Closing++
		}
	}
	done.Remaining = total - done.Closed - done.Closing
	return done
}
