package redis

import (
	"context"
	_ "embed" // For the script.
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/redis/go-redis/v9"

	"github.com/sluiceproxy/sluice/telemetry"
)

const (
	// answerTimeout is how long a request waits for an answer.
	answerTimeout = 300 * time.Millisecond
	// probeInterval is the time between two probes of a lost Redis.
	probeInterval = time.Second
	// probeTimeout is how long one probe may take.
	probeTimeout = 15 * time.Second
	// maxReason bounds what a server can put into the log, in bytes.
	maxReason = 200
)

var (
	// ErrLost says that Redis is unavailable: it failed a moment ago, or just now.
	ErrLost = errors.New("redis is lost")
	// ErrBusy says that all connections were taken for too long.
	ErrBusy = errors.New("redis: all connections are taken")
	// ErrClosed says that the limiter was closed.
	ErrClosed = errors.New("redis: the limiter is closed")
)

//go:embed bucket.lua
var bucket string

// client is what limiters with equal options share: connections, and the circuit breaker around them.
type client struct {
	settings      *settings
	dial          dialFunc
	logger        telemetry.Logger
	script        *redis.Script
	answerTimeout time.Duration
	probeInterval time.Duration

	// life ends with close, and all that is under way with it.
	life context.Context
	end  context.CancelFunc
	// current is nil while Redis is lost, and after close.
	current atomic.Pointer[pool]
	losses  atomic.Uint64

	// mutex guards that nothing begins once life has ended.
	mutex  sync.Mutex
	probes sync.WaitGroup
	// users is guarded by Clients.
	users int
}

// newClient starts the connections that the settings demand at once, and waits for none.
func newClient(settings *settings, clients *Clients) *client {
	c := &client{
		settings: settings, dial: clients.Dial, logger: clients.logger, script: redis.NewScript(bucket),
		answerTimeout: clients.AnswerTimeout, probeInterval: clients.ProbeInterval,
	}
	c.life, c.end = context.WithCancel(context.Background())
	c.current.Store(newPool(settings, c.dial, false))
	return c
}

// close ends all connections and what waits for them.
func (c *client) close() {
	c.mutex.Lock()
	c.end()
	p := c.current.Swap(nil)
	c.mutex.Unlock()
	if p != nil {
		p.close()
	}
	c.probes.Wait()
}

// take runs the script for a source and returns the wait that it names, which is negative for a refusal.
func (c *client) take(ctx context.Context, l *Limiter, source string) (time.Duration, error) {
	p := c.current.Load()
	if p == nil {
		if c.life.Err() != nil {
			return 0, ErrClosed
		}
		return 0, ErrLost
	}
	if ended := ended(ctx); ended != nil {
		return 0, ended
	}
	bounded, cancel := context.WithTimeout(ctx, c.answerTimeout)
	defer cancel()
	key := l.key(source)
	micros, err := c.script.Run(bounded, p, []string{key}, l.take...).Int64()
	if err == nil {
		return time.Duration(micros) * time.Microsecond, nil
	}
	if c.life.Err() != nil {
		return 0, ErrClosed
	}
	if ended := ended(ctx); ended != nil {
		return 0, ended
	}
	if errors.Is(err, redis.ErrPoolTimeout) {
		return 0, ErrBusy
	}
	reason := c.settings.reason(err)
	c.lose(p, key, l.take, reason)
	return 0, fmt.Errorf("%w: %s", ErrLost, reason)
}

// ended returns why the request has no more time, or nil while it has. The timer of a context may be later than that of
// a connection.
func ended(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if deadline, bounded := ctx.Deadline(); bounded && !time.Now().Before(deadline) {
		return context.DeadlineExceeded
	}
	return nil
}

// lose opens the circuit, unless it is open.
func (c *client) lose(p *pool, key string, take []any, reason string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.life.Err() == nil && c.current.CompareAndSwap(p, nil) {
		c.losses.Add(1)
		c.probes.Go(func() { c.recover(p, key, append(slices.Clone(take[:len(take)-1]), "0"), reason) })
	}
}

// recover probes Redis, with arguments that take no token, until it answers, and closes the circuit.
func (c *client) recover(lost *pool, key string, look []any, reason string) {
	began := time.Now()
	c.logger.Warn("Redis is lost, rate limits are not shared", "endpoints", c.settings.endpoints, "reason", reason)
	lost.close()
	ticker := time.NewTicker(c.probeInterval)
	defer ticker.Stop()
	for {
		select {
		case <-c.life.Done():
			return
		case <-ticker.C:
		}
		err := c.probe(key, look)
		if err == nil {
			break
		}
		if now := c.settings.reason(err); now != reason {
			reason = now
			c.logger.Debug("Redis is still lost", "endpoints", c.settings.endpoints, "reason", reason)
		}
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.life.Err() == nil {
		c.current.Store(newPool(c.settings, c.dial, false))
		c.logger.Info("Redis is back, rate limits are shared", "endpoints", c.settings.endpoints, "after",
			time.Since(began).Round(time.Millisecond))
	}
}

// probe runs the script over a connection of its own, which has the time that the options give, and once more, for
// which it has as long as a request.
func (c *client) probe(key string, look []any) error {
	p := newPool(c.settings, c.dial, true)
	defer p.close()
	defer context.AfterFunc(c.life, p.close)()
	for _, limit := range []time.Duration{probeTimeout, c.answerTimeout} {
		ctx, cancel := context.WithTimeout(c.life, limit)
		err := c.script.Run(ctx, p, []string{key}, look...).Err()
		cancel()
		if err != nil {
			return err
		}
	}
	return nil
}

// reason returns why Redis is lost, as one short line without the password and without what a server repeats of a
// command.
func (s *settings) reason(err error) string {
	var answer redis.Error
	var network net.Error
	text := err.Error()
	switch {
	case errors.As(err, &answer):
		text, _, _ = strings.Cut(answer.Error(), ", with args")
	case errors.As(err, &network) && network.Timeout():
		return "no answer in time"
	}
	line := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	if s.password != "" && (strings.Contains(text, s.password) || strings.Contains(line, s.password)) {
		return "an answer that holds the password"
	}
	if len(line) > maxReason {
		line = strings.ToValidUTF8(line[:maxReason], "") + "..."
	}
	return line
}
