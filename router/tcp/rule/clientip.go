package rule

import (
	"net/netip"

	"github.com/sluiceproxy/sluice/router/rule/expression"
)

// clientIP is ClientIP with a network or a single address. Mapped IPv4 addresses count as IPv4, zones do not count.
type clientIP struct{ network netip.Prefix }

func (m *clientIP) Match(c *Connection) bool { return expression.InNetwork(m.network, c.Client) }
func (m *clientIP) Name() string             { return "ClientIP" }
func (m *clientIP) Args() []string           { return []string{expression.PrintNetwork(m.network)} }
func (m *clientIP) Saw(c *Connection) string { return expression.SawClient(c.Client) }

func newClientIP(args []string, _ *budget) (node, *fault) {
	network, wrong := expression.Network(args)
	if wrong != nil {
		return nil, wrong
	}
	return &clientIP{network: network}, nil
}
