package entrypoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
)

// ErrOwnAddress is the error of a connection that would lead to a reserved loopback address of this process, or of the
// one that takes its sockets over.
var ErrOwnAddress = errors.New("this process listens at that loopback address itself, or its successor does, and " +
	"opens no connection there for routes, middlewares and certificates")

// ownAddress is a reserved loopback address.
type ownAddress struct {
	packets bool // UDP, that of HTTP/3
	netip.AddrPort
}

// ownAddresses returns the loopback addresses at which the entrypoint listens.
func (e *Entrypoint) ownAddresses() (own []ownAddress) {
	at, ok := loopback(e.listener.Addr().String())
	if !ok {
		return nil
	}
	own = append(own, ownAddress{AddrPort: at})
	if e.packets != nil {
		own = append(own, ownAddress{packets: true, AddrPort: at})
	}
	return own
}

// loopback returns a loopback address as addresses of connections are compared with it; false for another address, and
// for port 0.
func loopback(address string) (at netip.AddrPort, ok bool) {
	at, err := netip.ParseAddrPort(address)
	if err != nil || !at.Addr().Unmap().IsLoopback() || at.Port() == 0 {
		return at, false
	}
	return netip.AddrPortFrom(at.Addr().Unmap().WithZone(""), at.Port()), true
}

// Reserve has Control and Permits refuse the TCP address of a listener that is no entrypoint, if it is a loopback
// address, until the process ends.
func (d *Directory) Reserve(listener net.Listener) { d.reserve(false, listener.Addr().String()) }

// ReserveConfigured is Reserve for the address, as host:port, of a listener that is still to be opened; network is tcp
// or udp. The host localhost is both 127.0.0.1 and ::1. Port 0 and other names are not known before: the address counts
// when it is bound.
func (d *Directory) ReserveConfigured(network, address string) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return
	}
	hosts := []string{host}
	if strings.EqualFold(host, "localhost") {
		hosts = []string{"127.0.0.1", "::1"}
	}
	for _, host := range hosts {
		d.reserve(network == "udp", net.JoinHostPort(host, port))
	}
}

func (d *Directory) reserve(packets bool, address string) {
	at, ok := loopback(address)
	if !ok {
		return
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.count(1, ownAddress{packets, at})
}

// count adds to the listeners at addresses, and has Permits know those that have one. d.mutex is held.
func (d *Directory) count(by int, addresses ...ownAddress) {
	for _, one := range addresses {
		if d.own[one] += by; d.own[one] <= 0 {
			delete(d.own, one)
		}
	}
	reserved := maps.Clone(d.own)
	d.reserved.Store(&reserved)
}

// listens notes the loopback addresses of an entrypoint, until leaves.
func (d *Directory) listens(e *Entrypoint) {
	if e.deps.Reachable {
		return
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.count(1, e.ownAddresses()...)
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
	d.count(-1, e.ownAddresses()...)
}

// Export returns the reserved addresses of this process, without those of Import, for another process.
func (d *Directory) Export() []byte {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	own := maps.Clone(d.own)
	for _, one := range d.imported {
		own[one]--
	}
	all := []string{}
	for one, listeners := range own {
		if listeners > 0 {
			all = append(all, one.String())
		}
	}
	slices.Sort(all)
	data, _ := json.Marshal(all) // Texts can always be written.
	return data
}

// Import has Control and Permits refuse the addresses that another process has exported too, in the place of those of
// an earlier call; nil are none. After an error nothing has changed.
func (d *Directory) Import(data []byte) error {
	var texts []string
	if len(data) > 0 && json.Unmarshal(data, &texts) != nil {
		return errors.New("the loopback addresses of another process are not JSON as expected")
	}
	var imported []ownAddress
	for _, text := range texts {
		one, err := parseOwn(text)
		if err != nil {
			return err
		}
		imported = append(imported, one)
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	before := d.imported
	d.imported = imported
	d.count(1, imported...) // First, so that none that stays is missing meanwhile.
	d.count(-1, before...)
	return nil
}

// String returns the address as that of an entrypoint is written.
func (o ownAddress) String() string {
	network := "tcp"
	if o.packets {
		network = "udp"
	}
	return o.AddrPort.String() + "/" + network
}

// parseOwn reads what String writes.
func parseOwn(text string) (ownAddress, error) {
	address, network, _ := strings.Cut(text, "/")
	at, ok := loopback(address)
	if !ok || network != "tcp" && network != "udp" {
		return ownAddress{}, fmt.Errorf("%.100q of another process is no loopback address of tcp or udp", text)
	}
	return ownAddress{network == "udp", at}, nil
}

// Control is for [net.Dialer.Control]: it returns ErrOwnAddress for a connection to a reserved loopback address: that
// of an entrypoint without Dependencies.Reachable, of Reserve, of ReserveConfigured or of Import. Listeners on all
// addresses are none of these. It is called with the address that the connection goes to, so that no name or notation
// leads around it.
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
	reserved := d.reserved.Load()
	if reserved == nil {
		return nil
	}
	address := to.Addr().Unmap().WithZone("")
	candidates := [2]netip.Addr{address, address}
	switch {
	case address.IsUnspecified(): // The system connects to this machine.
		candidates = [2]netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}
	case !address.IsLoopback():
		return nil
	}
	for _, one := range candidates {
		own := ownAddress{packets: strings.HasPrefix(network, "udp"), AddrPort: netip.AddrPortFrom(one, to.Port())}
		if (*reserved)[own] > 0 {
			return fmt.Errorf("%s: %w", netip.AddrPortFrom(address, to.Port()), ErrOwnAddress)
		}
	}
	return nil
}
