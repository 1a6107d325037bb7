package static

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// Address is the parsed form of an entrypoint's address.
type Address struct {
	// Host is a name or an IP address without brackets; it is empty for all addresses of the machine.
	Host string
	// Port is the port; 0 lets the system choose one.
	Port uint16
	// Network is tcp or udp.
	Network string
}

// ParseAddress reads an address of the form [host]:port[/tcp|/udp]; the network defaults to tcp.
// The error says what is wrong and what is expected.
func ParseAddress(s string) (Address, error) {
	const form = "expected [host]:port[/tcp|/udp]"
	hostPort, network, found := strings.Cut(s, "/")
	if !found {
		network = "tcp"
	}
	network = strings.ToLower(network)
	if network != "tcp" && network != "udp" {
		return Address{}, fmt.Errorf("unknown network %q, %s", network, form)
	}
	if hostPort == "" {
		return Address{}, fmt.Errorf("the address is empty, %s", form)
	}
	host, port, err := net.SplitHostPort(hostPort)
	if err != nil {
		return Address{}, fmt.Errorf("no port in %q, %s", s, form)
	}
	if err := checkHost(host); err != nil {
		return Address{}, err
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return Address{}, fmt.Errorf("bad port %q, expected a number from 0 to 65535", port)
	}
	return Address{Host: host, Port: uint16(number), Network: network}, nil
}

// checkHost refuses what can neither be an IP address nor a name.
func checkHost(host string) error {
	if strings.Contains(host, ":") {
		if _, err := netip.ParseAddr(host); err != nil {
			return fmt.Errorf("bad IPv6 address %q", host)
		}
		return nil
	}
	if strings.ContainsAny(host, " \t/@[]") {
		return fmt.Errorf("bad host %q", host)
	}
	return nil
}

// HostPort returns the address as net.Listen expects it, without the network.
func (a Address) HostPort() string {
	return net.JoinHostPort(a.Host, strconv.Itoa(int(a.Port)))
}

// String returns the address in the form in which it is configured; tcp is left out.
func (a Address) String() string {
	if a.Network == "udp" {
		return a.HostPort() + "/udp"
	}
	return a.HostPort()
}
