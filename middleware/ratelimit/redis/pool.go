package redis

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

// keepAlive is how often a connection without traffic is proved.
const keepAlive = 15 * time.Second

// pool is a set of connections, which is used from when Redis was found until it is lost.
type pool struct {
	redis.UniversalClient

	end context.CancelFunc
}

// newPool makes no connection before the first is needed, apart from those of minIdleConns. A pool for a probe
// makes one at most.
func newPool(s *settings, probe bool) *pool {
	life, end := context.WithCancel(context.Background())
	options := s.options
	options.Dialer = dialer(life, options.TLSConfig)
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
func dialer(life context.Context, secured *tls.Config) func(context.Context, string, string) (net.Conn, error) {
	plain := &net.Dialer{KeepAlive: keepAlive}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(life, cancel)()
		if secured == nil {
			return plain.DialContext(ctx, network, address)
		}
		return (&tls.Dialer{NetDialer: plain, Config: secured}).DialContext(ctx, network, address)
	}
}
