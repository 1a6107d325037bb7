package redis

import (
	"context"
	_ "embed" // For the script.
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sluiceproxy/sluice/telemetry"
)

const (
	// answerTimeout is how long a request waits for an answer.
	answerTimeout = 300 * time.Millisecond
	// probeInterval is the time between two probes of a lost Redis.
	probeInterval = time.Second
	// probing is how long one probe may take.
	probing = 15 * time.Second
)

// ErrLost says that Redis can't be asked: it failed a moment ago, or just now.
var ErrLost = errors.New("redis is lost")

// ErrBusy says that all connections were taken for too long.
var ErrBusy = errors.New("redis: all connections are taken")

// ErrClosed says that the limiter was closed.
var ErrClosed = errors.New("redis: the limiter is closed")

//go:embed bucket.lua
var bucket string

// link is what limiters with equal options share: the connections, and whether Redis is there. While it is lost there
// is no session, and one goroutine that looks for it.
type link struct {
	settings *settings
	logger   telemetry.Logger
	script   *redis.Script
	patience time.Duration
	pause    time.Duration

	life    context.Context
	end     context.CancelFunc
	current atomic.Pointer[session]
	losses  atomic.Uint64

	mu      sync.Mutex // Guards that nothing begins once life has ended.
	probing sync.WaitGroup
	users   int // Guarded by Clients.
}

// newLink makes the connections that settings want at once, and waits for none.
func newLink(settings *settings, logger telemetry.Logger, patience, pause time.Duration) *link {
	k := &link{settings: settings, logger: logger, script: redis.NewScript(bucket), patience: patience, pause: pause}
	k.life, k.end = context.WithCancel(context.Background())
	k.current.Store(newSession(settings))
	return k
}

// close ends all connections and what waits for them.
func (k *link) close() {
	k.mu.Lock()
	k.end()
	s := k.current.Swap(nil)
	k.mu.Unlock()
	if s != nil {
		s.close()
	}
	k.probing.Wait()
}

// question is one run of the script.
type question struct {
	key string
	// take are the arguments that take a token, look those that take none.
	take, look []any
}

// ask runs the script and returns the wait that it names, which is negative for a refusal.
func (k *link) ask(ctx context.Context, q question) (time.Duration, error) {
	s := k.current.Load()
	if s == nil {
		return 0, k.absent()
	}
	if gone := over(ctx); gone != nil {
		return 0, gone
	}
	bounded, cancel := context.WithTimeout(ctx, k.patience)
	defer cancel()
	micros, err := k.script.Run(bounded, s, []string{q.key}, q.take...).Int64()
	if err == nil {
		return time.Duration(micros) * time.Microsecond, nil
	}
	if k.life.Err() != nil {
		return 0, ErrClosed
	}
	if gone := over(ctx); gone != nil {
		return 0, gone
	}
	if errors.Is(err, redis.ErrPoolTimeout) {
		return 0, ErrBusy
	}
	why := k.settings.reason(err)
	k.lose(s, q, why)
	return 0, fmt.Errorf("%w: %s", ErrLost, why)
}

// absent says why there is no session.
func (k *link) absent() error {
	if k.life.Err() != nil {
		return ErrClosed
	}
	return ErrLost
}

// over says why the request itself has no more time; it is nil while it has. The timer of a context may be later than
// that of a connection.
func over(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if deadline, bounded := ctx.Deadline(); bounded && !time.Now().Before(deadline) {
		return context.DeadlineExceeded
	}
	return nil
}

// lose begins the time without Redis, unless it has begun.
func (k *link) lose(s *session, q question, why string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.life.Err() != nil || !k.current.CompareAndSwap(s, nil) {
		return
	}
	k.losses.Add(1)
	k.probing.Go(func() { k.find(s, q, why) })
}

// find looks for Redis until it is back.
func (k *link) find(lost *session, q question, why string) {
	began := time.Now()
	k.logger.Warn("Redis is lost, rate limits are not shared", "endpoints", k.settings.endpoints, "reason", why)
	lost.close()
	timer := time.NewTimer(k.pause)
	defer timer.Stop()
	for {
		select {
		case <-k.life.Done():
			return
		case <-timer.C:
		}
		err := k.probe(q)
		if err == nil {
			break
		}
		if now := k.settings.reason(err); now != why {
			why = now
			k.logger.Debug("Redis is still lost", "endpoints", k.settings.endpoints, "reason", why)
		}
		timer.Reset(k.pause)
	}
	if k.resume() {
		k.logger.Info("Redis is back, rate limits are shared", "endpoints", k.settings.endpoints, "after",
			time.Since(began).Round(time.Millisecond))
	}
}

// resume ends the time without Redis, unless life has ended.
func (k *link) resume() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.life.Err() != nil {
		return false
	}
	k.current.Store(newSession(k.settings))
	return true
}

// probe runs the script over a connection of its own, which has the time that the options give, and once more, for
// which it has as long as a request.
func (k *link) probe(q question) error {
	s := newProbe(k.settings)
	defer s.close()
	defer context.AfterFunc(k.life, s.close)()
	for _, limit := range []time.Duration{probing, k.patience} {
		ctx, cancel := context.WithTimeout(k.life, limit)
		err := k.script.Run(ctx, s, []string{q.key}, q.look...).Err()
		cancel()
		if err != nil {
			return err
		}
	}
	return nil
}
