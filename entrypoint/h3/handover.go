package h3

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"time"
)

// Opening are clients whose handshakes were under way in a process when another one began to read its socket.
type Opening struct {
	// Generation is that of the process.
	Generation byte `json:"generation"`
	// Clients are the addresses from which they send, and Drawn the connection identifiers that they have drawn at first.
	Clients []netip.AddrPort `json:"clients"`
	Drawn   [][]byte         `json:"drawn"`
}

// Park stops reading the socket, for another process that has it, and returns when that is so, or with the error of ctx
// when that ends before. Packets for the connections of this server come from a feed then, which Feeds yields, and
// answers go through the socket as before. Unpark must follow also after an error, unless Leave does. ServePackets must
// have been called.
func (s *Server) Park(ctx context.Context) error {
	source, sink, err := openFeed()
	if err != nil {
		return err
	}
	y := &yielded{source: source, sink: sink, parked: make(chan struct{}), resume: make(chan struct{})}
	if err := s.intake.park(y); err != nil {
		y.close()
		return err
	}
	select {
	case <-y.parked:
	case <-s.intake.ended:
		s.Unpark()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// park has the reader change to a feed.
func (i *intake) park(y *yielded) error {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	if i.fixed {
		return errors.ErrUnsupported
	}
	if !i.yielded.CompareAndSwap(nil, y) {
		return errors.New("its socket is read by another process already")
	}
	if i.socket != nil && !i.closed {
		return i.socket.UDPConn.SetReadDeadline(time.Now())
	}
	return nil
}

// Unpark reads the socket again after Park. It does nothing where Park has not been called, and after Leave.
func (s *Server) Unpark() {
	i := s.intake
	i.mutex.Lock()
	defer i.mutex.Unlock()
	y := i.yielded.Load()
	if y == nil || y.left {
		return
	}
	if i.socket != nil && !i.closed {
		_ = i.socket.UDPConn.SetReadDeadline(time.Time{}) // Its error is that of a socket that is closed.
	}
	i.yielded.Store(nil)
	close(y.resume)
	y.close()
}

// Leave leaves the socket to the process that reads it since Park, and reports whether there is one. Connections stay,
// also idle ones, and get GOAWAY; one whose handshake is under way gets it with its first request. ServePackets ends
// with the last connection, since the system wakes also a process that does not read, and when no process has the other
// end of the feed any more: the address is free for another process then.
func (s *Server) Leave() bool {
	i := s.intake
	i.mutex.Lock()
	defer i.mutex.Unlock()
	y := i.yielded.Load()
	if y == nil {
		return false
	}
	s.state.Store(uint32(Waiting))
	s.left.Store(true)
	y.left = true
	_ = y.sink.Close() // Otherwise the feed would have no end.
	if r := i.routes.Swap(nil); r != nil {
		r.close() // They are the other process's.
	}
	if y.lost || s.count() == 0 {
		i.abandon()
	}
	return true
}

// Feeds yields the feeds that another process needs, by the generation of the process that reads the other end: those
// of Adopt, and that of Park in between Park and Unpark. They stay the server's.
func (s *Server) Feeds(yield func(generation byte, feed syscall.Conn) bool) {
	if r := s.intake.routes.Load(); r != nil {
		for _, f := range r.feeds {
			if f.alive.Load() && !yield(f.generation, f.conn) {
				return
			}
		}
	}
	if y := s.intake.yielded.Load(); y != nil {
		yield(s.config.Process.generation, y.sink)
	}
}

// Opening returns the clients whose handshakes are under way, of this process and of those before it, after Park.
func (s *Server) Opening() []Opening {
	own := Opening{Generation: s.config.Process.generation}
	for _, c := range s.open() {
		if address, ok := addressOf(c.remote); ok && !c.shaken.Load() {
			own.Clients = append(own.Clients, address)
			own.Drawn = append(own.Drawn, c.drawn())
		}
	}
	all := []Opening{own}
	if r := s.intake.routes.Load(); r != nil {
		all = append(all, r.opening()...)
	}
	return slices.DeleteFunc(all, func(o Opening) bool { return len(o.Clients) == 0 })
}

// Adopt has the server pass packets on to processes that drain, by the feeds of their generations, which are the
// server's then. Packets of clients that are opening a connection there are passed on for ten seconds. Of more than
// eight feeds, those of the oldest processes are closed, which ends the connections there. It comes before
// ServePackets, and is for a Process of NewSuccessor.
func (s *Server) Adopt(feeds map[int]net.Conn, opening []Opening) {
	r := &routes{process: s.config.Process, dropped: s.config.Dropped}
	age := func(generation int) byte { return s.config.Process.generation - byte(generation) }
	generations := slices.SortedFunc(maps.Keys(feeds), func(a, b int) int { return int(age(a)) - int(age(b)) })
	for _, generation := range generations {
		f, err := newFeed(byte(generation), feeds[generation])
		if err != nil || age(generation) == 0 || len(r.feeds) == maxFeeds {
			_ = feeds[generation].Close()
			continue
		}
		r.feeds = append(r.feeds, f)
	}
	r.remember(opening, time.Now().Add(openingTime))
	if r.used() {
		s.intake.routes.Store(r)
	}
}

// addressOf returns the address of a client in the form in which it is compared.
func addressOf(remote net.Addr) (netip.AddrPort, bool) {
	udp, ok := remote.(*net.UDPAddr)
	if !ok {
		return netip.AddrPort{}, false
	}
	address := udp.AddrPort()
	return netip.AddrPortFrom(address.Addr().Unmap(), address.Port()), address.IsValid()
}
