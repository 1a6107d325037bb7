package entrypoint

import (
	"cmp"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/forwarded"
)

// Directory lists and closes the open connections of the entrypoints that have it in their Dependencies, and knows the
// loopback addresses to which no connection is opened. Its methods may be called from any goroutine; no request takes
// its lock.
type Directory struct {
	// last is the ID of the connection that came last.
	last       atomic.Uint64
	mutex      sync.Mutex
	registries map[*registry]listing
	// own counts the listeners at each reserved loopback address, those of imported once each.
	own      map[ownAddress]int
	imported []ownAddress
	// reserved is own as Permits reads it; nil without one.
	reserved atomic.Pointer[map[ownAddress]int]
}

// listing is an entrypoint of a directory.
type listing struct {
	// name is that of the entrypoint, and servers what serves its connections.
	name    string
	servers []retirer
}

// NewDirectory returns a directory without entrypoints.
func NewDirectory() *Directory {
	return &Directory{registries: map[*registry]listing{}, own: map[ownAddress]int{}}
}

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
func (d *Directory) enter(r *registry, entry listing) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.registries[r] = entry
}

func (d *Directory) leave(r *registry) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	delete(d.registries, r)
}

// chosen returns the entrypoints that are selected.
func (d *Directory) chosen(selection Selection) map[*registry]listing {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	chosen := make(map[*registry]listing, len(d.registries))
	for r, entry := range d.registries {
		if selection.Entrypoint == "" || selection.Entrypoint == entry.name {
			chosen[r] = entry
		}
	}
	return chosen
}

// selected calls f with each selected connection of an entrypoint and its status.
func (r *registry) selected(name string, selection Selection, f func(*connection, ConnectionStatus)) {
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

// Connections returns the selected connections, those that have been open longest first and most of them at most, and
// how many are selected.
func (d *Directory) Connections(selection Selection, most int) (oldest []ConnectionStatus, total int) {
	for r, entry := range d.chosen(selection) {
		r.selected(entry.name, selection, func(_ *connection, status ConnectionStatus) { oldest = append(oldest, status) })
	}
	slices.SortFunc(oldest, func(a, b ConnectionStatus) int { return cmp.Compare(a.ID, b.ID) })
	return slices.Clip(oldest[:min(most, len(oldest))]), len(oldest)
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
