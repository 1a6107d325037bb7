package rule

import (
	"slices"

	"github.com/sluiceproxy/sluice/router/rule/expression"
)

// acmeProtocol is the protocol of the challenge tls-alpn-01 (RFC 8737, section 6.2), which no router can take away.
const acmeProtocol = "acme-tls/1"

// alpn is ALPN: the protocol is among those that the client offers, in any place.
type alpn struct{ protocol string }

func (m *alpn) Match(c *Connection) bool { return slices.Contains(c.Protocols, m.protocol) }
func (m *alpn) Name() string             { return "ALPN" }
func (m *alpn) Args() []string           { return []string{m.protocol} }
func (m *alpn) Saw(c *Connection) string {
	if len(c.Protocols) == 0 {
		return "no protocol is offered"
	}
	return "the offered protocols are " + expression.List(c.Protocols)
}

func newALPN(args []string, _ *budget) (node, *fault) {
	if args[0] == acmeProtocol {
		return nil, expression.Faultf(0, "%q is not allowed; it is answered by certificate resolvers", acmeProtocol)
	}
	return &alpn{protocol: args[0]}, nil
}
