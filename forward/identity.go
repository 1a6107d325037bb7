package forward

import (
	"context"
	"net"

	"github.com/sluiceproxy/sluice/forward/servertls"
)

// Identity authenticates connections to endpoints by SPIFFE identities, of HTTP and of TCP alike.
type Identity = servertls.Identity

// dialAs dials only while there is an identity to present.
func dialAs(identity Identity, dial func(context.Context) (net.Conn, error)) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		if err := servertls.Ready(identity); err != nil {
			return nil, err
		}
		return dial(ctx)
	}
}
