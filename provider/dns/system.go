package dns

import (
	"bufio"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	mdns "github.com/miekg/dns"
)

// system is the content of the system's files.
type system struct {
	hosts   map[string][]netip.Addr
	config  *mdns.ClientConfig
	servers []string // host:port
	stamp   [2]stamp
}

// stamp identifies a version of a file.
type stamp struct {
	modified time.Time
	size     int64
}

// loadSystem reads the files. A missing file counts as empty; without servers, the local one is used, as in
// resolv.conf(5).
func loadSystem(options Options) *system {
	s := &system{stamp: stamps(options), hosts: map[string][]netip.Addr{}}
	if file, err := os.Open(options.Hosts); err == nil {
		s.hosts = parseHosts(file)
		_ = file.Close()
	}
	config, err := mdns.ClientConfigFromFile(options.ResolvConf)
	if err != nil {
		config = &mdns.ClientConfig{Port: "53", Ndots: 1, Timeout: int(DefaultTimeout / time.Second), Attempts: 2}
	}
	s.config = config
	for _, server := range options.Resolvers {
		s.servers = append(s.servers, withPort(server, config.Port))
	}
	if len(s.servers) == 0 {
		for _, server := range config.Servers {
			s.servers = append(s.servers, net.JoinHostPort(server, config.Port))
		}
	}
	if len(s.servers) == 0 {
		s.servers = []string{net.JoinHostPort("127.0.0.1", config.Port)}
	}
	return s
}

func stamps(options Options) [2]stamp {
	var result [2]stamp
	for i, path := range []string{options.Hosts, options.ResolvConf} {
		if state, err := os.Stat(path); err == nil {
			result[i] = stamp{modified: state.ModTime(), size: state.Size()}
		}
	}
	return result
}

// withPort adds the port to a server without one.
func withPort(server, port string) string {
	if _, _, err := net.SplitHostPort(server); err == nil {
		return server
	}
	return net.JoinHostPort(strings.Trim(server, "[]"), port)
}

// parseHosts reads lines of the form ADDRESS NAME... (hosts(5)). A name on several lines has all of their addresses.
func parseHosts(reader io.Reader) map[string][]netip.Addr {
	hosts := map[string][]netip.Addr{}
	lines := bufio.NewScanner(reader)
	for lines.Scan() {
		line, _, _ := strings.Cut(lines.Text(), "#")
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		address, err := netip.ParseAddr(fields[0])
		if err != nil {
			continue
		}
		for _, name := range fields[1:] {
			key := hostKey(name)
			hosts[key] = append(hosts[key], address.Unmap())
		}
	}
	return hosts
}

// hostKey is the form in which names are compared: lower case, without the final dot.
func hostKey(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

// local returns the addresses that need no query: those of hosts, and loopback for localhost and names below it (RFC
// 6761, section 6.3).
func (s *system) local(name string) ([]netip.Addr, bool) {
	key := hostKey(name)
	if address, err := netip.ParseAddr(key); err == nil {
		return []netip.Addr{address.Unmap()}, true
	}
	if addresses, ok := s.hosts[key]; ok {
		return addresses, true
	}
	if key == "localhost" || strings.HasSuffix(key, ".localhost") {
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}, true
	}
	return nil, false
}
