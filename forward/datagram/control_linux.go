package datagram

import (
	"encoding/binary"
	"net"
	"net/netip"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// headerBytes and alignBytes are the sizes of CMSG_LEN(0), and of what control messages are aligned to.
	headerBytes = (unix.SizeofCmsghdr + alignBytes - 1) &^ (alignBytes - 1)
	alignBytes  = int(unsafe.Sizeof(uintptr(0)))
	// controlBytes is room for all control messages of one datagram: IPV6_PKTINFO, UDP_GRO and SO_RXQ_OVFL.
	controlBytes = 128
)

// ancillary is what the kernel says about a datagram.
type ancillary struct {
	// local is the address that it came to; it has a zone where it is link-local.
	local netip.Addr
	// segment is the size of the datagrams that were joined, 0 if there is but one.
	segment int
	// lost is how many datagrams the socket has lost before, modulo 2^32; 0 where it has lost none.
	lost uint32
}

// parseControl reads the control messages of a received datagram. It ignores what it does not know, and what follows a
// message that is cut off.
func parseControl(b []byte) ancillary {
	var a ancillary
	for len(b) >= headerBytes {
		header := (*unix.Cmsghdr)(unsafe.Pointer(&b[0]))
		if uint64(header.Len) < uint64(headerBytes) || uint64(header.Len) > uint64(len(b)) {
			return a
		}
		length := int(header.Len) //nolint:gosec,unconvert // at most len(b); 32 bits on some systems
		data := b[headerBytes:length]
		switch {
		case header.Level == unix.SOL_UDP && header.Type == unix.UDP_GRO && len(data) >= 4:
			a.segment = int(binary.NativeEndian.Uint32(data))
		case header.Level == unix.SOL_SOCKET && header.Type == unix.SO_RXQ_OVFL && len(data) >= 4:
			a.lost = binary.NativeEndian.Uint32(data)
		case header.Level == unix.IPPROTO_IP && header.Type == unix.IP_PKTINFO && len(data) >= unix.SizeofInet4Pktinfo:
			a.local = netip.AddrFrom4([4]byte(data[4:8]))
		case header.Level == unix.IPPROTO_IPV6 && header.Type == unix.IPV6_PKTINFO && len(data) >= unix.SizeofInet6Pktinfo:
			a.local = scoped([16]byte(data), binary.NativeEndian.Uint32(data[16:]))
		}
		b = b[min((length+alignBytes-1)&^(alignBytes-1), len(b)):]
	}
	return a
}

// appendSource appends the control message that makes local the source of a datagram. The interface is set for
// link-local addresses alone: the routes decide elsewhere, as they do for TCP.
func appendSource(b []byte, local netip.Addr, ipv6 bool) []byte {
	if !ipv6 {
		source := local.As4()
		b, data := appendControl(b, unix.IPPROTO_IP, unix.IP_PKTINFO, unix.SizeofInet4Pktinfo)
		copy(data[4:], source[:])
		return b
	}
	source := local.As16()
	b, data := appendControl(b, unix.IPPROTO_IPV6, unix.IPV6_PKTINFO, unix.SizeofInet6Pktinfo)
	copy(data, source[:])
	binary.NativeEndian.PutUint32(data[16:], scope(local))
	return b
}

// appendSegment appends the control message that has the kernel split what is sent.
func appendSegment(b []byte, size int) []byte {
	b, data := appendControl(b, unix.SOL_UDP, unix.UDP_SEGMENT, 2)
	binary.NativeEndian.PutUint16(data, uint16(size)) //nolint:gosec // the size of a datagram
	return b
}

// appendControl appends a control message of the given length, whose data is zero.
func appendControl(b []byte, level, kind int32, length int) (all, data []byte) {
	start, space := len(b), headerBytes+(length+alignBytes-1)&^(alignBytes-1)
	for range space {
		b = append(b, 0)
	}
	header := (*unix.Cmsghdr)(unsafe.Pointer(&b[start]))
	header.Level, header.Type = level, kind
	header.SetLen(headerBytes + length)
	return b, b[start+headerBytes:]
}

// scoped returns an address of IPv6, or the IPv4 address that is mapped in it. index is the interface that a link-local
// address belongs to.
func scoped(b [16]byte, index uint32) netip.Addr {
	addr := netip.AddrFrom16(b).Unmap()
	if index != 0 && addr.Is6() && (addr.IsLinkLocalUnicast() || addr.IsLinkLocalMulticast()) {
		return addr.WithZone(strconv.FormatUint(uint64(index), 10))
	}
	return addr
}

// scope returns the index of the interface that the zone of an address names, 0 without one.
func scope(addr netip.Addr) uint32 {
	zone := addr.Zone()
	if index, err := strconv.ParseUint(zone, 10, 32); err == nil {
		return uint32(index)
	}
	if zone != "" {
		if known, err := net.InterfaceByName(zone); err == nil {
			return uint32(known.Index) //nolint:gosec // not negative
		}
	}
	return 0
}

// readName returns the address in the name of a received datagram.
func readName(name *unix.RawSockaddrInet6) netip.AddrPort {
	if name.Family == unix.AF_INET {
		name4 := (*unix.RawSockaddrInet4)(unsafe.Pointer(name))
		return netip.AddrPortFrom(netip.AddrFrom4(name4.Addr), bigEndian(name4.Port))
	}
	return netip.AddrPortFrom(scoped(name.Addr, name.Scope_id), bigEndian(name.Port))
}

// writeName puts an address into the name of a datagram that is sent, and returns its length. ipv6 is the family of the
// socket.
func writeName(name *unix.RawSockaddrInet6, addr netip.AddrPort, ipv6 bool) uint32 {
	if !ipv6 {
		name4 := (*unix.RawSockaddrInet4)(unsafe.Pointer(name))
		*name4 = unix.RawSockaddrInet4{Family: unix.AF_INET, Port: bigEndian(addr.Port()), Addr: addr.Addr().Unmap().As4()}
		return unix.SizeofSockaddrInet4
	}
	*name = unix.RawSockaddrInet6{
		Family: unix.AF_INET6, Port: bigEndian(addr.Port()), Addr: addr.Addr().As16(), Scope_id: scope(addr.Addr()),
	}
	return unix.SizeofSockaddrInet6
}

// bigEndian converts a port from or to the order of the network.
func bigEndian(port uint16) uint16 {
	var b [2]byte
	binary.NativeEndian.PutUint16(b[:], port)
	return binary.BigEndian.Uint16(b[:])
}
