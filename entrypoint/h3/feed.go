package h3

import (
	"encoding/binary"
	"errors"
	"net"
	"sync/atomic"
	"syscall"

	"golang.org/x/net/ipv4"
)

// A packet of a feed is the version of the format, the address of the client, the control messages with which the
// system has delivered the packet (ECN, and the address to which it was sent), and the packet itself:
//
//	version 1 | port (2) | length, address | length, zone | length, control messages | packet
const (
	feedVersion = 1
	// maxFeedPacket is more than quic-go reads of a packet, with the rest.
	maxFeedPacket = 4096
	// feedBytes is how much may wait in a feed, in bytes as the system counts them.
	feedBytes = 4 << 20
)

// feed is the end of a feed into which packets are written.
type feed struct {
	// generation is that of the process that reads the other end.
	generation byte
	// alive is false when there is no such process any more.
	alive atomic.Bool
	conn  syscall.Conn
	close func()
	raw   syscall.RawConn
	// write sends packet, and sets err.
	write  func(fd uintptr) bool
	packet []byte
	err    error
}

// newFeed returns the feed of a process. conn is a Unix socket.
func newFeed(generation byte, conn net.Conn) (*feed, error) {
	inner, ok := conn.(syscall.Conn)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	raw, err := inner.SyscallConn()
	if err != nil {
		return nil, err
	}
	f := &feed{generation: generation, conn: inner, raw: raw}
	f.alive.Store(true)
	f.close = func() {
		f.alive.Store(false)
		_ = conn.Close()
	}
	f.write = func(fd uintptr) bool {
		f.err = sendPacket(fd, f.packet)
		return true
	}
	return f, nil
}

// send sends a packet without waiting for room. sent is false where there is none, and alive where the process has
// ended.
func (f *feed) send(packet []byte) (sent, alive bool) {
	f.packet = packet
	if err := f.raw.Write(f.write); err != nil {
		f.err = err
	}
	switch {
	case f.err == nil:
		return true, true
	case noRoom(f.err):
		return false, true
	}
	f.close()
	return false, false
}

// pack appends a packet as a feed has it.
func pack(to []byte, m *ipv4.Message) []byte {
	var client net.UDPAddr
	if udp, ok := m.Addr.(*net.UDPAddr); ok {
		client = *udp
	}
	to = append(to, feedVersion)
	to = binary.BigEndian.AppendUint16(to, uint16(client.Port))
	for _, part := range [][]byte{client.IP, []byte(client.Zone), m.OOB[:m.NN]} {
		to = append(append(to, byte(len(part))), part...)
	}
	return append(to, m.Buffers[0][:m.N]...)
}

// unpack reads a packet of a feed, and reports whether it is one.
func unpack(packet []byte, m *ipv4.Message) bool {
	if len(packet) < 3 || packet[0] != feedVersion {
		return false
	}
	client := &net.UDPAddr{Port: int(binary.BigEndian.Uint16(packet[1:]))}
	rest := packet[3:]
	var parts [3][]byte
	for i := range parts {
		if len(rest) == 0 || len(rest) <= int(rest[0]) {
			return false
		}
		end := 1 + int(rest[0])
		parts[i], rest = rest[1:end], rest[end:]
	}
	if len(parts[0]) != net.IPv4len && len(parts[0]) != net.IPv6len || len(rest) == 0 {
		return false
	}
	client.IP, client.Zone = append(net.IP(nil), parts[0]...), string(parts[1])
	m.Addr, m.Flags = client, 0
	m.NN = copy(m.OOB, parts[2])
	m.N = copy(m.Buffers[0], rest)
	return true
}
