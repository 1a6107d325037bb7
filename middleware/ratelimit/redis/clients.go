package redis

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9/logging"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/telemetry"
)

// Clients holds the connections of all limiters: those with equal options share theirs, which end with the last of
// them. It is safe for concurrent use.
type Clients struct {
	// AnswerTimeout is how long a request waits for an answer of Redis. It, ProbeInterval and Dial may be set before
	// the first limiter is made.
	AnswerTimeout time.Duration
	// ProbeInterval is the time between two attempts to reach a Redis that is lost.
	ProbeInterval time.Duration
	// Dial connects to Redis, over network tcp or unix, until its context ends; it is a [net.Dialer] unless it is set.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	logger telemetry.Logger

	mutex  sync.Mutex
	shared map[string]*client
	closed bool
}

// NewClients returns clients without a connection. The logger gets a line when a Redis is lost and one when it is
// back.
func NewClients(logger telemetry.Logger) *Clients {
	logging.Disable() // The library would write lines of its own to stderr, about what is logged here.
	return &Clients{
		logger: logger, AnswerTimeout: answerTimeout, ProbeInterval: probeInterval,
		Dial: new(net.Dialer).DialContext, shared: map[string]*client{},
	}
}

// ReadFile reads a file that an option names; nil reads it from the disk.
type ReadFile = func(path string) ([]byte, error)

// Limiter returns the limiter of one middleware, whose qualified name (name@provider) is part of all keys. It checks
// everything that can be checked without Redis and opens nothing before Start. A nil config is one with all defaults.
// An error begins with the option, and never holds the password or a key.
func (c *Clients) Limiter(name string, config *dynamic.Redis, rate Rate, readFile ReadFile) (*Limiter, error) {
	if err := checkSocket(name, config); err != nil {
		return nil, err
	}
	settings, err := newSettings(config, readFile)
	if err != nil {
		return nil, err
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.closed {
		return nil, ErrClosed
	}
	return newLimiter(c, settings, name, rate), nil
}

// acquire returns the client of limiters with these settings, which the first of them makes, or nil after Close.
func (c *Clients) acquire(settings *settings) *client {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.closed {
		return nil
	}
	shared := c.shared[settings.key]
	if shared == nil {
		shared = newClient(settings, c)
		c.shared[settings.key] = shared
	}
	shared.users++
	return shared
}

// release removes one user of a client, and closes the client with the last one.
func (c *Clients) release(shared *client) {
	c.mutex.Lock()
	shared.users--
	last := shared.users == 0
	if last && !c.closed {
		delete(c.shared, shared.settings.key)
	}
	c.mutex.Unlock()
	if last {
		shared.close()
	}
}

// Close ends all connections. Limiters that are still used answer with [ErrClosed] from then on, and no new one can
// be made.
func (c *Clients) Close() {
	c.mutex.Lock()
	c.closed = true
	c.mutex.Unlock()
	for _, shared := range c.shared {
		shared.close()
	}
}
