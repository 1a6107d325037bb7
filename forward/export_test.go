package forward

import (
	"context"
	"net"
)

// DialWith makes the transport connect with dial.
func (t *Transport) DialWith(dial func(ctx context.Context, network, address string) (net.Conn, error)) {
	t.dial = dial
}
