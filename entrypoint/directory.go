package entrypoint

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/forwarded"
)

// Directory lists and closes the open connections of the entrypoints that have it in their Dependencies. Its methods
// may be called from any goroutine; no request takes its lock.
type Directory struct {
	// last is the ID of the connection that came last.
	last       atomic.Uint64
	mutex      sync.Mutex
	registries map[*registry]string
}

// NewDirectory returns a directory without entrypoints.
func NewDirectory() *Directory { return &Directory{registries: map[*registry]string{}} }

// Selection selects connections. A field with its zero value selects all.
type Selection struct {
	// ID is that of one connection.
	ID uint64
	// Client is a prefix of the client's address, which a trusted PROXY header may give.
	Client netip.Prefix
	// Entrypoint is the name of the entrypoint; that of a listener of a provider is its address.
	Entrypoint string
}

// ConnectionStatus is an open connection.
type ConnectionStatus struct {
	// ID is its number, from 1 in the order in which connections came. A process gives each once.
	ID uint64
	// Entrypoint is the name of the entrypoint; that of a listener of a provider is its address.
	Entrypoint string
	// Protocol is http/1.1, h2, h3, or tcp for a connection of a TCP router; empty as long as it is not known.
	Protocol string
	// Client is the address of the client, and ClientPort its port, as a trusted PROXY header gives them.
	Client, ClientPort string
	// ServerName is the SNI; empty without one, and as long as it is not known.
	ServerName string
	// Since is when it was accepted.
	Since time.Time
	// Requests is the number of its HTTP requests so far.
	Requests int64
}

// enter lists the connections of a registry, until leave.
func (d *Directory) enter(r *registry, name string) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.registries[r] = name
}

func (d *Directory) leave(r *registry) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	delete(d.registries, r)
}

// selected calls f with each selected connection and its status.
func (d *Directory) selected(selection Selection, f func(*connection, ConnectionStatus)) {
	d.mutex.Lock()
	chosen := make(map[*registry]string, len(d.registries))
	for r, name := range d.registries {
		if selection.Entrypoint == "" || selection.Entrypoint == name {
			chosen[r] = name
		}
	}
	d.mutex.Unlock()
	for r, name := range chosen {
		r.each(func(c *connection) {
			if selection.ID != 0 && selection.ID != c.id {
				return
			}
			status, client := c.status(name)
			if !selection.Client.IsValid() || selection.Client.Contains(client) {
				f(c, status)
			}
		})
	}
}

// Connections returns the selected connections, those that have been open longest first and most of them at most, and
// how many are selected.
func (d *Directory) Connections(selection Selection, most int) (oldest []ConnectionStatus, total int) {
	d.selected(selection, func(_ *connection, status ConnectionStatus) { oldest = append(oldest, status) })
	slices.SortFunc(oldest, func(a, b ConnectionStatus) int { return cmp.Compare(a.ID, b.ID) })
	return slices.Clip(oldest[:min(most, len(oldest))]), len(oldest)
}

// CloseConnections closes the selected connections, and returns their number. A graceful close has each connection end
// with the response to its next request, and leaves those of TCP routers, which have none, out. The connection of the
// request whose context is ctx is always closed like that.
func (d *Directory) CloseConnections(ctx context.Context, selection Selection, graceful bool) (closed int) {
	own, _ := ctx.Value(connectionKey{}).(*connection)
	d.selected(selection, func(c *connection, _ ConnectionStatus) {
		switch {
		case graceful && c.streamed.Load():
			return
		case graceful || c == own:
			c.closing.Store(true)
		default:
			_ = c.Close() // Below TLS, which would wait for a client that reads nothing.
		}
		closed++
	})
	return closed
}

// describe notes what is known after the first bytes and the handshake, for the directory.
func (c *connection) describe(server connServer, of servers) {
	switch server := server.(type) {
	case streamServer:
		c.protocol, c.serverName = protocolTCP, server.in.ServerName
	default:
		c.protocol, c.serverName = protocolHTTP1, c.handshake.ServerName
		if server == of.http2 {
			c.protocol = protocolHTTP2
		}
	}
	c.described.Store(true)
}

// status returns the status of the connection and the address of its client. The goroutine that serves it writes the
// fields that are read here before it sets phase and described.
func (c *connection) status(entrypoint string) (status ConnectionStatus, client netip.Addr) {
	status = ConnectionStatus{ID: c.id, Entrypoint: entrypoint, Since: c.accepted, Requests: c.requests.Load()}
	reached := phase(c.phase.Load())
	if c.proxied && reached == silent {
		address := c.Conn.RemoteAddr().String()
		client, _ = forwarded.ClientAddr(address)
		status.Client, status.ClientPort = client.String(), portOf(address)
	} else {
		client = c.client
		status.Client, status.ClientPort = c.text, c.port
	}
	switch {
	case c.described.Load():
		status.Protocol, status.ServerName = c.protocol, c.serverName
	case c.quic:
		if status.Protocol = protocolHTTP3; reached == active {
			status.ServerName = c.handshake.ServerName
		}
	}
	return status, client
}
