package loadbalancer

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/dynamic"
)

// DNSSource is the prefix of the keys of endpoint sets that hold the addresses of a name: dns/name:port.
const DNSSource = "dns"

// ServerSpec is one server of a pool: either an address or an endpoint set, which may hold any number of them.
type ServerSpec struct {
	// SetKey is the key of the endpoint set; empty when Address is set.
	SetKey string
	// Address is the server's address when the configuration has one.
	Address netip.AddrPort
	// Scheme is http, https or h2c, and for servers of TCP tcp or tls.
	Scheme string
	// Host is the authority of the server's URL as written: the Host header when the client's is not passed on,
	// and the TLS server name. Empty means the endpoint's address.
	Host string
	// Path is the escaped path prefix for requests; empty unless the path of the URL counts (preservePath).
	Path string
	// URL is the configured URL, the identity for sticky cookies; empty where there is none.
	URL string
	// Weight is the server's share relative to the other servers, divided among the endpoints of its set; 0 or
	// less is none.
	Weight int
}

func (s ServerSpec) identity() ServerSpec {
	s.Weight = 0
	return s
}

// base returns the escaped path of the server's URL, empty for none, whether or not requests use it.
func (s ServerSpec) base() string {
	location, err := url.Parse(s.URL)
	if err != nil {
		return ""
	}
	return location.EscapedPath()
}

func (s ServerSpec) source() string {
	source, _, _ := strings.Cut(s.SetKey, "/")
	return source
}

// ErrPort is the error for a server whose port does not exist, so that no connection to it is possible.
var ErrPort = errors.New("is not 1 to 65535")

// NewServerSpec translates a server of the configuration. A server given by name refers to the set dns/name:port. It
// fails when the URL is not scheme://host[:port] with scheme http, https or h2c, or when the weight is negative; the
// error is ErrPort when the port does not exist.
func NewServerSpec(server dynamic.Server) (ServerSpec, error) {
	location, err := url.Parse(server.URL)
	if err != nil {
		return ServerSpec{}, unreadable(server.URL, err)
	}
	name := shown(location)
	if hint := withScheme(server.URL); hint != "" {
		return ServerSpec{}, fmt.Errorf("server %q: the URL has no scheme: write %s", name, hint)
	}
	port, err := portOf(location)
	if err != nil {
		return ServerSpec{}, fmt.Errorf("server %q: %w", name, err)
	}
	spec := ServerSpec{Scheme: strings.ToLower(location.Scheme), Host: location.Host, URL: server.URL, Weight: 1}
	if server.Weight != nil {
		spec.Weight = *server.Weight
	}
	if spec.Weight < 0 {
		return ServerSpec{}, fmt.Errorf("server %q: the weight %d is negative", name, spec.Weight)
	}
	if server.PreservePath && location.Path != "" {
		if spec.Path, err = canonical.Literal(location.EscapedPath()); err != nil {
			return ServerSpec{}, fmt.Errorf("server %q: %w", name, err)
		}
	}
	target := net.JoinHostPort(location.Hostname(), port)
	if spec.Address, err = netip.ParseAddrPort(target); err != nil {
		spec.SetKey = DNSSource + "/" + strings.ToLower(target)
	}
	return spec, nil
}

// NewTCPServerSpec translates a server of a TCP service. A server given by name refers to the set dns/name:port. It
// fails when the address is not host:port or the weight is negative; the error is ErrPort when the port does not
// exist.
func NewTCPServerSpec(server dynamic.TCPServer) (ServerSpec, error) {
	if server.TLS {
		return addressSpec("tls", server.Address, server.Weight)
	}
	return addressSpec("tcp", server.Address, server.Weight)
}

// NewUDPServerSpec translates a server of a UDP service, as NewTCPServerSpec does.
func NewUDPServerSpec(server dynamic.UDPServer) (ServerSpec, error) {
	return addressSpec("udp", server.Address, server.Weight)
}

// addressSpec translates a server that is given by host:port; its weight is 1 where it has none.
func addressSpec(scheme, address string, weight *int) (ServerSpec, error) {
	if strings.ContainsAny(address, "/@?# ") { // As in a URL, which may have a password.
		return ServerSpec{}, errors.New("server: the address is not host:port, without a scheme or a path")
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil || host == "" {
		return ServerSpec{}, fmt.Errorf("server %q: the address is not host:port", address)
	}
	if !validPort(port) {
		return ServerSpec{}, fmt.Errorf("server %q: the port %q %w", address, port, ErrPort)
	}
	spec := ServerSpec{Scheme: scheme, Host: address, Weight: 1}
	if weight != nil {
		spec.Weight = *weight
	}
	if spec.Weight < 0 {
		return ServerSpec{}, fmt.Errorf("server %q: the weight %d is negative", address, spec.Weight)
	}
	if spec.Address, err = netip.ParseAddrPort(address); err != nil {
		spec.SetKey = DNSSource + "/" + strings.ToLower(address)
	}
	return spec, nil
}

// validPort reports whether a port is 1 to 65535, in decimal.
func validPort(port string) bool {
	_, err := netip.ParseAddrPort("0.0.0.0:" + port)
	return err == nil && port != "0"
}

// unreadable returns the error for an invalid URL. The URL itself, which url.Error repeats, may contain a
// password; with a slash in the password, the part before it is parsed as a port, which the cause repeats.
func unreadable(text string, err error) error {
	parse, ok := errors.AsType[*url.Error](err)
	if !ok || strings.Contains(text, "@") {
		return errors.New("the URL can't be read")
	}
	if hint := withScheme(text); hint != "" {
		return fmt.Errorf("the URL has no scheme: write %s", hint)
	}
	return fmt.Errorf("the URL can't be read: %w", parse.Err)
}

// withScheme returns a text that is an address without a scheme as a URL, or "".
func withScheme(text string) string {
	if text == "" || strings.Contains(text, ":/") || strings.ContainsAny(text, "@?#") {
		return ""
	}
	location, err := url.Parse("http://" + strings.TrimPrefix(text, "//"))
	if err != nil || location.Hostname() == "" {
		return ""
	}
	return location.String()
}

// shown returns a URL for error messages, without what may be a password or a token.
func shown(location *url.URL) string {
	// Without //, url.Parse does not treat the part before the @ as user information.
	if at := strings.LastIndexByte(location.Opaque, '@'); at >= 0 {
		return location.Scheme + ":xxxxx" + location.Opaque[at:]
	}
	plain := *location
	if _, has := plain.User.Password(); plain.User != nil && !has {
		plain.User = url.User("xxxxx") // A token without a password.
	}
	if plain.RawQuery != "" {
		plain.RawQuery = "xxxxx"
	}
	return plain.Redacted()
}

func portOf(location *url.URL) (string, error) {
	if location.Hostname() == "" {
		return "", errors.New("the URL has no host")
	}
	if location.User != nil {
		return "", errors.New("the URL has user information, which no server would get")
	}
	port := location.Port()
	switch strings.ToLower(location.Scheme) {
	case "http", "h2c":
		if port == "" {
			port = "80"
		}
	case "https":
		if port == "" {
			port = "443"
		}
	default:
		return "", fmt.Errorf("the scheme %q is none of http, https and h2c", location.Scheme)
	}
	if !validPort(port) {
		return "", fmt.Errorf("the port %q %w", port, ErrPort)
	}
	return port, nil
}
