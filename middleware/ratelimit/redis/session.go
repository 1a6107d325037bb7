package redis

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

const (
	// queueing is how long a request waits for a connection while all are taken. It is shorter than answerTimeout, so
	// that the two are told apart.
	queueing = 200 * time.Millisecond
	// idle is after how long without use a connection is given up: sooner than servers and what stands between do it
	// silently.
	idle = time.Minute
	// keepAlive is how often a connection without traffic is proved.
	keepAlive = 15 * time.Second
	// buffer is the size of each of the two buffers of a connection, in bytes. A script and its arguments fit in;
	// more is flushed.
	buffer = 4 << 10
)

// session is a set of connections that is used from when Redis was found until it is lost.
type session struct {
	redis.UniversalClient

	end context.CancelFunc
}

// newSession makes no connection before the first is needed, apart from those that minIdleConns wants.
func newSession(settings *settings) *session {
	life, end := context.WithCancel(context.Background())
	return &session{UniversalClient: redis.NewUniversalClient(settings.client(life)), end: end}
}

// newProbe makes one connection at most.
func newProbe(settings *settings) *session {
	life, end := context.WithCancel(context.Background())
	options := settings.client(life)
	options.PoolSize, options.MinIdleConns = 1, 0
	return &session{UniversalClient: redis.NewUniversalClient(options), end: end}
}

// close ends everything that is under way. It may be called more than once.
func (s *session) close() {
	s.end()
	_ = s.Close() // What can't be closed has been lost already.
}

// client returns the options of the library. Nothing is repeated there: a command that failed says that Redis is lost.
func (s *settings) client(life context.Context) *redis.UniversalOptions {
	size := s.poolSize
	if s.maxActive > 0 && (size == 0 || size > s.maxActive) {
		size = s.maxActive // A request then waits for a connection, where it would get an error at once.
	}
	options := &redis.UniversalOptions{
		Addrs: s.addresses, Username: s.username, Password: s.password, DB: s.db,
		PoolSize: size, MinIdleConns: s.minIdleConns, MaxActiveConns: s.maxActive,
		ReadTimeout: unlimited(s.readTimeout), WriteTimeout: unlimited(s.writeTimeout), DialTimeout: s.dialTimeout,
		PoolTimeout: queueing, ConnMaxIdleTime: idle, ReadBufferSize: buffer, WriteBufferSize: buffer,
		Dialer: dialer(life, s.secured), TLSConfig: s.secured,
		ContextTimeoutEnabled: true, MaxRetries: -1, DialerRetries: 1,
		Protocol: 2, PipelinePoolSize: -1, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	if options.DialTimeout == 0 {
		options.DialTimeout = probing // A probe is the longest wait, and 0 is the library's own default.
	}
	return options
}

// unlimited spells "no limit" as the library does.
func unlimited(timeout time.Duration) time.Duration {
	if timeout == 0 {
		return -1
	}
	return timeout
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
