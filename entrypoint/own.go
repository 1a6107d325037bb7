package entrypoint

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
)

// ErrOwnAddress is the error of a connection that would lead to an entrypoint on a loopback address, or to another
// listener that Reserve was called for.
var ErrOwnAddress = errors.New("this process listens at that loopback address itself, to which it opens no " +
	"connection with api.admin")

// ownAddress is a loopback address at which the process listens.
type ownAddress struct {
	packets bool // UDP, that of HTTP/3
	netip.AddrPort
}

// ownAddresses returns the loopback addresses at which the entrypoint listens.
func (e *Entrypoint) ownAddresses() (own []ownAddress) {
	at, ok := loopback(e.listener.Addr())
	if !ok {
		return nil
	}
	own = append(own, ownAddress{AddrPort: at})
	if e.packets != nil {
		own = append(own, ownAddress{packets: true, AddrPort: at})
	}
	return own
}

// loopback returns a loopback address as addresses of connections are compared with it; false for another address.
func loopback(address net.Addr) (at netip.AddrPort, ok bool) {
	at, err := netip.ParseAddrPort(address.String())
	if err != nil || !at.Addr().Unmap().IsLoopback() {
		return at, false
	}
	return netip.AddrPortFrom(at.Addr().Unmap().WithZone(""), at.Port()), true
}

// Reserve has Control and Permits refuse the TCP address of a listener that is no entrypoint, if it is a loopback
// address, until the process ends.
func (d *Directory) Reserve(listener net.Listener) {
	at, ok := loopback(listener.Addr())
	if !ok {
		return
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.own[ownAddress{AddrPort: at}]++
}

// listens notes the loopback addresses of an entrypoint, until leaves.
func (d *Directory) listens(e *Entrypoint) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	for _, own := range e.ownAddresses() {
		d.own[own]++
	}
	e.listed = true
}

// leaves forgets them; it may be called again.
func (d *Directory) leaves(e *Entrypoint) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if !e.listed {
		return
	}
	e.listed = false
	for _, own := range e.ownAddresses() {
		if d.own[own]--; d.own[own] <= 0 {
			delete(d.own, own)
		}
	}
}

// Control is for [net.Dialer.Control]: it returns ErrOwnAddress for a connection to a loopback address at which an
// entrypoint listens, or one of Reserve. Entrypoints that listen on all addresses are none of these. It is called with
// the address that the connection goes to, so that no name or notation leads around it.
func (d *Directory) Control(network, address string, _ syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") && !strings.HasPrefix(network, "udp") {
		return nil
	}
	if strings.HasPrefix(address, ":") { // A dialer goes to this machine without a host.
		address = netip.IPv4Unspecified().String() + address
	}
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	return d.Permits(network, to)
}

// Permits is Control for an address.
func (d *Directory) Permits(network string, to netip.AddrPort) error {
	address := to.Addr().Unmap().WithZone("")
	candidates := []netip.Addr{address}
	switch {
	case address.IsUnspecified(): // The system connects to this machine.
		candidates = []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}
	case !address.IsLoopback():
		return nil
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	for _, one := range candidates {
		own := ownAddress{packets: strings.HasPrefix(network, "udp"), AddrPort: netip.AddrPortFrom(one, to.Port())}
		if d.own[own] > 0 {
			return fmt.Errorf("%s: %w", netip.AddrPortFrom(address, to.Port()), ErrOwnAddress)
		}
	}
	return nil
}
