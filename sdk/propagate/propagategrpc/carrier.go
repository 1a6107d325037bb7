package propagategrpc

import (
	"context"
	"strings"

	"google.golang.org/grpc/metadata"
)

// incoming reads the metadata of an incoming call.
type incoming struct{ ctx context.Context }

// Values implements propagate.Getter.
func (c incoming) Values(name string) []string {
	return metadata.ValueFromIncomingContext(c.ctx, name)
}

// outgoing reads and writes the metadata of an outgoing call.
type outgoing struct {
	sent    metadata.MD
	changed bool
}

// Values implements propagate.Getter.
func (c *outgoing) Values(name string) []string { return c.sent.Get(name) }

// Set implements propagate.Carrier. A value that is not printable ASCII is left out, since calls with it fail (gRPC
// over HTTP/2, "ASCII-Value").
func (c *outgoing) Set(name, value string) {
	if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) {
		return
	}
	if c.sent == nil {
		c.sent = metadata.MD{}
	}
	c.sent.Set(name, value)
	c.changed = true
}
