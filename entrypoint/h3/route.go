package h3

import (
	"encoding/binary"
	"net/netip"
	"time"

	"golang.org/x/net/ipv4"
)

const (
	// maxFeeds is how many processes may drain at a time whose packets are passed on.
	maxFeeds = 8
	// openingTime is how long a client belongs to the process with which it has begun its handshake.
	openingTime = 10 * time.Second
)

// routes decides which packets belong to processes that drain. It is used by the reader of the socket, but for the
// feeds, which do not change.
type routes struct {
	process *Process
	feeds   []*feed
	// clients and drawn are the processes of clients that have not completed their handshakes, by their addresses and by
	// the identifiers that they have drawn, until a time.
	clients map[netip.AddrPort]*feed
	drawn   map[string]*feed
	until   time.Time
	// dropped counts packets for which a feed had no room; it may be nil.
	dropped func()
	// packet and block are buffers.
	packet []byte
	block  [authBytes]byte
}

// deliver passes packets on, and returns the number of those that are the server's own, which come first then. Buffers
// stay where they are: quic-go keeps them by their position.
func (r *routes) deliver(ms []ipv4.Message) int {
	kept := 0
	for n := range ms {
		m := &ms[n]
		if f := r.feedOf(m); f != nil {
			r.packet = pack(r.packet[:0], m)
			if sent, alive := f.send(r.packet); alive {
				if !sent && r.dropped != nil {
					r.dropped()
				}
				continue
			}
		}
		if kept < n {
			to := &ms[kept]
			to.N = copy(to.Buffers[0], m.Buffers[0][:m.N])
			to.NN = copy(to.OOB, m.OOB[:m.NN])
			to.Addr, to.Flags = m.Addr, m.Flags
		}
		kept++
	}
	return kept
}

// feedOf returns the feed for a packet, or nil for one that is the server's own.
func (r *routes) feedOf(m *ipv4.Message) *feed {
	switch kind, id := parse(m.Buffers[0][:m.N]); kind {
	case identified:
		return r.generated(id)
	case opening:
		if r.drawn == nil {
			return nil
		}
		if !time.Now().Before(r.until) {
			r.drawn, r.clients = nil, nil
			return nil
		}
		if f := r.drawn[string(id)]; f != nil && f.alive.Load() {
			return f
		}
		// The identifier may also be that of a Retry packet, whose token is good for this process.
		if f := r.generated(id); f != nil {
			if address, _ := addressOf(m.Addr); r.clients[address] == f {
				return f
			}
		}
	}
	return nil
}

// generated returns the feed of the process that has generated an identifier, or nil.
func (r *routes) generated(id []byte) *feed {
	if len(id) != idBytes {
		return nil
	}
	f := r.feed(id[0])
	if f == nil || r.process.authenticate(&r.block, id) != id[1] {
		return nil
	}
	return f
}

// feed returns the feed of a generation, or nil.
func (r *routes) feed(generation byte) *feed {
	for _, f := range r.feeds {
		if f.generation == generation && f.alive.Load() {
			return f
		}
	}
	return nil
}

// remember has the packets of clients passed on until a time.
func (r *routes) remember(all []Opening, until time.Time) {
	r.until = until
	for _, opening := range all {
		f := r.feed(opening.Generation)
		if f == nil {
			continue
		}
		if r.drawn == nil {
			r.drawn, r.clients = map[string]*feed{}, map[netip.AddrPort]*feed{}
		}
		for _, client := range opening.Clients {
			r.clients[client] = f
		}
		for _, id := range opening.Drawn {
			r.drawn[string(id)] = f
		}
	}
}

// opening returns what was remembered and counts still.
func (r *routes) opening() []Opening {
	if !time.Now().Before(r.until) {
		return nil
	}
	var all []Opening
	for _, f := range r.feeds {
		one := Opening{Generation: f.generation}
		for client, of := range r.clients {
			if of == f {
				one.Clients = append(one.Clients, client)
			}
		}
		for id, of := range r.drawn {
			if of == f {
				one.Drawn = append(one.Drawn, []byte(id))
			}
		}
		all = append(all, one)
	}
	return all
}

// used reports whether a process is left that drains.
func (r *routes) used() bool {
	for _, f := range r.feeds {
		if f.alive.Load() {
			return true
		}
	}
	return false
}

func (r *routes) close() {
	for _, f := range r.feeds {
		f.close()
	}
}

// kind is what is known about the destination of a packet.
type kind int

const (
	// foreign packets have no identifier that a process of Sluice could have generated.
	foreign kind = iota
	// identified packets have an identifier that the server has generated.
	identified
	// opening packets have one that the client may have drawn.
	opening
)

const (
	longHeader = 0x80
	fixedBit   = 0x40
	// version1 and version2 are those of RFC 9000 and RFC 9369.
	version1, version2 = 1, 0x6b3343cf
)

// parse returns the kind of the first packet of a datagram, with its destination connection identifier (RFC 9000,
// section 17).
func parse(datagram []byte) (kind, []byte) {
	if len(datagram) <= idBytes || datagram[0]&fixedBit == 0 {
		return foreign, nil
	}
	if datagram[0]&longHeader == 0 {
		return identified, datagram[1 : 1+idBytes]
	}
	// The types are Initial, 0-RTT, Handshake and Retry; in version 2, Retry is 0 and the others follow.
	number := datagram[0] >> 4 & 3
	switch binary.BigEndian.Uint32(datagram[1:]) {
	case version1:
	case version2:
		number = (number - 1) & 3
	default:
		return foreign, nil
	}
	end := 6 + int(datagram[5])
	switch {
	case len(datagram) < end || number == 3:
		return foreign, nil
	case number == 2:
		return identified, datagram[6:end]
	default:
		return opening, datagram[6:end]
	}
}
