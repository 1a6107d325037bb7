package node

import (
	"context"
	"errors"
	"net"
	"net/netip"
)

// reserved is the number of unused addresses at the beginning of a range.
const reserved = 10

// addresses allocates one address of each range to each pod, and reuses released ones as late as possible.
type addresses struct {
	ranges []netip.Prefix
	next   []netip.Addr
	used   map[netip.Addr]bool
}

func newAddresses(ranges ...netip.Prefix) *addresses {
	a := &addresses{used: map[netip.Addr]bool{}}
	for _, one := range ranges {
		if one.IsValid() {
			a.ranges = append(a.ranges, one)
			a.next = append(a.next, first(one))
		}
	}
	return a
}

// first returns the first address of a range for pods.
func first(prefix netip.Prefix) netip.Addr {
	address := prefix.Addr()
	for range reserved {
		address = address.Next()
	}
	return address
}

// take returns one address of each range.
func (a *addresses) take() ([]netip.Addr, error) {
	var taken []netip.Addr
	for i, prefix := range a.ranges {
		begin, wrapped := a.next[i], false
		for a.used[a.next[i]] || !prefix.Contains(a.next[i].Next()) { // The last IPv4 address is for broadcasts.
			if a.next[i] = a.next[i].Next(); !prefix.Contains(a.next[i]) {
				a.next[i], wrapped = first(prefix), true
			}
			if wrapped && a.next[i] == begin {
				return nil, errors.New("no address is free in " + prefix.String())
			}
		}
		taken = append(taken, a.next[i])
		a.next[i] = a.next[i].Next()
	}
	for _, address := range taken {
		a.used[address] = true
	}
	return taken, nil
}

func (a *addresses) release(taken []netip.Addr) {
	for _, address := range taken {
		delete(a.used, address)
	}
}

// listens reports whether a pod could listen in the range.
func listens(prefix netip.Prefix) bool {
	if !prefix.IsValid() {
		return false
	}
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", netip.AddrPortFrom(first(prefix),
		0).String())
	if err != nil {
		return false
	}
	return listener.Close() == nil
}
