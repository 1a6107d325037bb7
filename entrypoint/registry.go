package entrypoint

import (
	"context"
	"net/netip"
	"sync"
	"sync/atomic"
)

// registry holds the open connections of one entrypoint and their limits. Its lock is taken when a connection comes
// and goes, never by a request.
type registry struct {
	mutex     sync.Mutex
	all       map[*connection]struct{}
	perClient map[netip.Addr]int
	max       int
	maxClient int
	changed   chan struct{}
	// last is the number of the last connection of the directory, or of this registry without one.
	last *atomic.Uint64
}

func (r *registry) init(maxConnections, maxPerClient int, directory *Directory) {
	r.last = new(atomic.Uint64)
	if directory != nil {
		r.last = &directory.last
	}
	r.all = map[*connection]struct{}{}
	r.perClient = map[netip.Addr]int{}
	r.max, r.maxClient = maxConnections, maxPerClient
	r.changed = make(chan struct{}, 1)
}

// add reports whether there is room for one more connection.
func (r *registry) add(c *connection) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.max > 0 && len(r.all) >= r.max {
		return false
	}
	c.id = r.last.Add(1)
	r.all[c] = struct{}{}
	if c.counter != nil {
		c.counter.Opened()
	}
	return true
}

// claim counts the connection for its client, and reports whether that one may have it. One that was closed meanwhile
// is not counted, since it is not removed again.
func (r *registry) claim(c *connection) bool {
	if r.maxClient <= 0 || !c.client.IsValid() {
		return true
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if _, open := r.all[c]; !open {
		return true
	}
	key := clientKey(c.client)
	if r.perClient[key] >= r.maxClient {
		return false
	}
	r.perClient[key]++
	c.key, c.counted = key, true
	return true
}

// crowded reports whether half of all connections, or half of those of a client, are in use.
func (r *registry) crowded(client netip.Addr) bool {
	if r.max <= 0 && r.maxClient <= 0 {
		return false
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.max > 0 && 2*len(r.all) >= r.max ||
		r.maxClient > 0 && client.IsValid() && 2*r.perClient[clientKey(client)] >= r.maxClient
}

// clientKey returns what counts as one client: an IPv4 address, or the /64 that one host is commonly given
// (RFC 6177, section 2).
func clientKey(addr netip.Addr) netip.Addr {
	if addr.Is4() {
		return addr
	}
	prefix, err := addr.Prefix(64)
	if err != nil {
		return addr
	}
	return prefix.Addr()
}

func (r *registry) remove(c *connection) {
	r.mutex.Lock()
	if _, ok := r.all[c]; ok {
		delete(r.all, c)
		if c.counted {
			if r.perClient[c.key]--; r.perClient[c.key] <= 0 {
				delete(r.perClient, c.key)
			}
		}
		if c.counter != nil {
			c.counter.Closed()
		}
	}
	r.mutex.Unlock()
	r.poke()
}

// poke wakes up await.
func (r *registry) poke() {
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// each calls f for every open connection.
func (r *registry) each(f func(*connection)) {
	r.mutex.Lock()
	open := make([]*connection, 0, len(r.all))
	for c := range r.all {
		open = append(open, c)
	}
	r.mutex.Unlock()
	for _, c := range open {
		f(c)
	}
}

// upTo selects connections that have not come further than a phase.
func upTo(p phase) func(*connection) bool {
	return func(c *connection) bool { return c.phase.Load() <= int32(p) }
}

// isStream selects connections of TCP routers.
func isStream(c *connection) bool { return c.streamed.Load() }

// find returns a selected connection that is open, or nil.
func (r *registry) find(selected func(*connection) bool) *connection {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for c := range r.all {
		if selected(c) {
			return c
		}
	}
	return nil
}

// has reports whether a connection is open.
func (r *registry) has(c *connection) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	_, open := r.all[c]
	return open
}

// await waits until no selected connection is left, or until ctx ends. One caller at a time. It waits for one
// connection after another: a look at all of them for each one that ends would take the lock for long.
func (r *registry) await(ctx context.Context, selected func(*connection) bool) {
	for c := r.find(selected); c != nil; c = r.find(selected) {
		for selected(c) && r.has(c) {
			select {
			case <-r.changed:
			case <-ctx.Done():
				return
			}
		}
	}
}
