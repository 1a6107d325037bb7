package rule

import (
	"strconv"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/router/rule/expression"
)

// The default ports of the schemes (RFC 9110, section 4.2).
const (
	portHTTP  = 80
	portHTTPS = 443
)

// port is Port: the port that the client addresses.
type port struct{ number uint16 }

func (m *port) Match(r *Request) bool { return r.Port() == m.number }
func (m *port) Name() string          { return "Port" }
func (m *port) Args() []string        { return []string{strconv.Itoa(int(m.number))} }
func (m *port) Saw(r *Request) string { return "the port is " + strconv.Itoa(int(r.Port())) }

func newPort(args []string, _ *budget) (node, *fault) {
	number, err := strconv.ParseUint(args[0], 10, 16)
	if err != nil || number == 0 {
		return nil, expression.Faultf(0, "%q is not a port from 1 to 65535", expression.Clip(args[0]))
	}
	return &port{uint16(number)}, nil
}

// Port returns the port of the Host header or :authority, and without one that of the scheme: 80, or 443 with TLS.
func (r *Request) Port() uint16 {
	if written := canonical.Port(r.Authority); written != "" {
		number, _ := strconv.ParseUint(written, 10, 16) // It is valid.
		return uint16(number)
	}
	if r.TLS {
		return portHTTPS
	}
	return portHTTP
}
