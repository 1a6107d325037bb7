package redis

import (
	"context"
	"crypto/tls"
	"net"

	"github.com/redis/go-redis/v9"
)

// dialFunc is [net.Dialer.DialContext].
type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// pool is a set of connections, which is used from when Redis was found until it is lost.
type pool struct {
	redis.UniversalClient

	end context.CancelFunc
}

// newPool makes no connection before the first is needed, apart from those of minIdleConns. A pool for a probe
// makes one at most.
func newPool(s *settings, dial dialFunc, probe bool) *pool {
	life, end := context.WithCancel(context.Background())
	options := s.options
	options.Dialer = dialer(life, dial, options.TLSConfig)
	if probe {
		options.PoolSize, options.MinIdleConns = 1, 0
	}
	return &pool{UniversalClient: redis.NewUniversalClient(&options), end: end}
}

// close ends everything that is under way. It may be called more than once.
func (p *pool) close() {
	p.end()
	_ = p.Close() // An error means that it is closed already.
}

// dialer connects, and gives up when life ends. (That of the library speaks TLS without regard to the context.)
func dialer(life context.Context, dial dialFunc, secured *tls.Config) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(life, cancel)()
		conn, err := dial(ctx, network, address)
		if err != nil || secured == nil {
			return conn, err
		}
		return handshake(ctx, conn, address, secured)
	}
}

// handshake returns TLS over a connection, which it closes when the handshake fails. The server has to have a
// certificate for the host of the address unless the configuration names another.
func handshake(ctx context.Context, conn net.Conn, address string, secured *tls.Config) (net.Conn, error) {
	if secured.ServerName == "" {
		secured = secured.Clone()
		secured.ServerName = address
		if host, _, err := net.SplitHostPort(address); err == nil {
			secured.ServerName = host
		}
	}
	client := tls.Client(conn, secured)
	if err := client.HandshakeContext(ctx); err != nil {
		_ = conn.Close() // The error is that of the handshake.
		return nil, err
	}
	return client, nil
}
