package datagram

import (
	"net/netip"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// TestControl reads what is written for the kernel.
func TestControl(t *testing.T) {
	four, six := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")
	link := netip.MustParseAddr("fe80::1%3")
	for _, test := range []struct {
		control []byte
		want    netip.Addr
	}{
		{appendSource(nil, six, true), six},
		{appendSource(nil, four, true), four},
		{appendSource(nil, link, true), link},
		{appendSegment(appendSource(nil, six, true), 1200), six},
	} {
		if got := parseControl(test.control); got.local != test.want || got.segment != 0 || got.lost != 0 {
			t.Errorf("got %+v, want %v", got, test.want)
		}
	}
	b, data := appendControl(nil, unix.SOL_UDP, unix.UDP_GRO, 4)
	data[0], data[3] = 5, 5 // The same in both orders of bytes.
	b, data = appendControl(b, unix.SOL_SOCKET, unix.SO_RXQ_OVFL, 4)
	data[1], data[2] = 7, 7
	if got := parseControl(b); got.segment != 5<<24|5 || got.lost != 7<<16|7<<8 {
		t.Errorf("got %+v", got)
	}
	sent := appendSource(nil, four, false)
	if local := sent[headerBytes+4:][:4]; !slices.Equal(local, four.AsSlice()) || len(sent) > controlBytes {
		t.Errorf("got %x", sent)
	}
}

// FuzzParseControl reads anything without reading past its end.
func FuzzParseControl(f *testing.F) {
	f.Add(appendSegment(appendSource(nil, netip.MustParseAddr("fe80::1%3"), true), 1200))
	f.Add(appendSource(nil, netip.MustParseAddr("192.0.2.1"), false)[:headerBytes+5])
	f.Add(make([]byte, headerBytes))
	f.Fuzz(func(t *testing.T, control []byte) {
		said := parseControl(slices.Clip(control))
		if said.local.IsValid() && said.local.Is4In6() {
			t.Errorf("%v is mapped", said.local)
		}
	})
}

// TestNames writes and reads addresses as the kernel has them.
func TestNames(t *testing.T) {
	for _, text := range []string{"192.0.2.1:53", "[2001:db8::1]:65535", "[fe80::1%7]:1"} {
		addr := netip.MustParseAddrPort(text)
		for _, ipv6 := range []bool{false, true} {
			if !ipv6 && addr.Addr().Is6() {
				continue
			}
			var name unix.RawSockaddrInet6
			writeName(&name, addr, ipv6)
			if got := readName(&name); got != addr {
				t.Errorf("got %v, want %v", got, addr)
			}
		}
	}
}
