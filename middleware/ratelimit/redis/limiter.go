package redis

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// namespace begins all keys. The number changes with what is kept under them.
const namespace = "sluice:ratelimit:1:"

// longestName is up to how many bytes a middleware's name is readable in its keys.
const longestName = 128

// Limiter limits the sources of one middleware, together with all limiters of that name and rate that use the same
// Redis. It is safe for concurrent use.
type Limiter struct {
	clients  *Clients
	settings *settings
	client   *client // Nil before Start.
	prefix   string
	// take are the arguments of the script; the last is the number of tokens.
	take   []any
	failed atomic.Uint64
	closed atomic.Bool
}

func newLimiter(clients *Clients, settings *settings, name string, rate Rate) *Limiter {
	if len(name) > longestName || strings.ContainsAny(name, "{}") { // Braces would put all keys on one node of a cluster.
		name = hash(name)
	}
	return &Limiter{
		clients: clients, settings: settings, prefix: namespace + name + ":" + rate.String() + ":",
		take: []any{
			strconv.FormatFloat(rate.perMicrosecond(), 'g', -1, 64), strconv.FormatInt(rate.Burst, 10),
			strconv.FormatInt(rate.MaxDelay.Microseconds(), 10), "1",
		},
	}
}

// Start opens the connections that the options demand at once, which limiters with equal options share, and waits for
// none: a Redis that is not there is lost with the first request. It is called once, before any other method, and
// Close must follow.
func (l *Limiter) Start() { l.client = l.clients.acquire(l.settings) }

// Take takes a token of the source, and returns after which delay the request may pass; that is
// MaxDelay at most, and 0 mostly. When it is not allowed, nothing was taken, and the delay is how long it takes until
// there is a token.
//
// An error means that Redis did not decide: [ErrLost], [ErrBusy], [ErrClosed] or that of ctx. It comes at once while
// Redis is lost, and within 300 ms otherwise.
func (l *Limiter) Take(ctx context.Context, source string) (delay time.Duration, allowed bool, err error) {
	if l.closed.Load() || l.client == nil {
		return 0, false, ErrClosed
	}
	wait, err := l.client.take(ctx, l, source)
	switch {
	case err != nil:
		l.failed.Add(1)
		return 0, false, err
	case wait < 0:
		return -wait, false, nil
	}
	return wait, true, nil
}

// key returns where the bucket of a source is kept.
func (l *Limiter) key(source string) string {
	if isAddress(source) {
		return l.prefix + source
	}
	return l.prefix + hash(source)
}

// hash stands for a text of any length, with 44 characters that are no address and no name.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "#" + base64.RawURLEncoding.EncodeToString(sum[:])
}

// Lost reports whether Redis is known to be lost. It is false before the first request, and true after Close.
func (l *Limiter) Lost() bool { return l.client != nil && l.client.current.Load() == nil }

// Counts returns what was counted since the limiter was made: "redis_failed" are the requests that Redis did not
// decide on. "redis_lost" is how often Redis was lost since its first limiter with these options was made.
func (l *Limiter) Counts() map[string]uint64 {
	counted := map[string]uint64{"redis_failed": l.failed.Load(), "redis_lost": 0}
	if l.client != nil {
		counted["redis_lost"] = l.client.losses.Load()
	}
	return counted
}

// Close gives back the connections. Requests that are still in Take, and those that follow, get [ErrClosed] or their
// answer. It may be called more than once.
func (l *Limiter) Close() {
	if !l.closed.Swap(true) && l.client != nil {
		l.clients.release(l.client)
	}
}
