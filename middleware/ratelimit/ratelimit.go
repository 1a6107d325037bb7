// Package ratelimit is the middleware rateLimit: it limits how many requests of one source pass in time.
//
// A request passes at once or after a short wait, or is answered with 429 or another status, and Retry-After. There is
// no queue: a request that would wait longer than half the time between two requests is refused, and with noDelay every
// request that would wait. Of a request only a hash of its source is kept.
package ratelimit

import (
	"net/http"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/httpio/bucket"
	"github.com/sluiceproxy/sluice/middleware/answer"
	"github.com/sluiceproxy/sluice/middleware/ratelimit/redis"
	"github.com/sluiceproxy/sluice/middleware/source"
	"github.com/sluiceproxy/sluice/telemetry"
)

// RateLimit is one configured rateLimit.
type RateLimit struct {
	name   string
	source *source.Source
	// excluded are the clients that are not limited, and status is that of refusals.
	excluded source.Excluded
	status   int
	limited  bool
	rate     bucket.Rate
	// key is that of the hashes of sources.
	key atomic.Pointer[bucket.HashKey]
	// clock returns the time since the start, in nanoseconds.
	clock  func() int64
	remote *redis.Limiter // nil without redis
	// clients are the limiter's own, or nil.
	clients *redis.Clients
	// shared is the step of all owners, or nil where each has its own.
	shared *step
	counts *counts
}

// Options are what a rateLimit needs beside its definition.
type Options struct {
	// Clients are the connections to Redis that limiters with equal options share. nil gives the limiter its own,
	// without a log.
	Clients *redis.Clients
	// ReadFile reads the files that redis.tls names; nil reads them from the disk.
	ReadFile redis.ReadFile
}

// New checks the definition. average and burst must not be negative, where an average of 0 sets no limit and a burst
// of 0 is one of 1; period must not be negative, and 0 is a second; statusCode is 400 to 599, and 0 is 429. Rates above
// ten million requests a second are rounded to whole nanoseconds between two requests. The error names the option. With
// redis, all owners count together, in this process and in all others.
func New(name string, config dynamic.RateLimit, options Options) (*RateLimit, error) {
	limit, limited, err := newRate(config)
	if err != nil {
		return nil, err
	}
	criterion, err := source.New("rateLimit.sourceCriterion", config.SourceCriterion, source.ClientAddress)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	m := &RateLimit{
		name: name, source: criterion, limited: limited, counts: new(counts),
		clock: func() int64 { return int64(time.Since(start)) },
	}
	m.key.Store(new(bucket.NewHashKey()))
	if limited {
		m.rate = local(limit)
	}
	m.excluded, err = source.NewExcluded("rateLimit", config.ExcludedSourceRange, config.SourceCriterion)
	if err != nil {
		return nil, err
	}
	if m.status, err = answer.RefusalStatus("rateLimit.statusCode", config.StatusCode); err != nil {
		return nil, err
	}
	if config.Redis != nil {
		if err := m.connect(config.Redis, limit, options); err != nil {
			return nil, err
		}
	}
	if config.Shared || config.Redis != nil || !limited {
		m.shared = &step{limit: m}
	}
	return m, nil
}

// connect gets the limiter in Redis. One without a limit is checked and never used.
func (m *RateLimit) connect(config *dynamic.Redis, limit redis.Rate, options Options) (err error) {
	clients := options.Clients
	if clients == nil {
		clients = redis.NewClients(telemetry.Discard{})
		m.clients = clients
	}
	if !m.limited {
		limit = redis.Rate{Average: 1, Period: time.Second, Burst: 1}
	}
	if m.remote, err = clients.Limiter(m.name, config, limit, options.ReadFile); err != nil && m.clients != nil {
		m.clients.Close()
	}
	return err
}

// NoRetain says that no part of a request outlives its handler here.
func (*RateLimit) NoRetain() {}

// For returns the step with buckets of the owner's own, or of all owners where the definition is shared or has redis.
func (m *RateLimit) For(string) interface {
	Wrap(next http.Handler) http.Handler
} {
	if m.shared != nil {
		return m.shared
	}
	return &step{limit: m}
}

// Wrap is For without an owner.
func (m *RateLimit) Wrap(next http.Handler) http.Handler { return m.For("").Wrap(next) }

// Start opens the connections to Redis, if there is one.
func (m *RateLimit) Start() {
	if m.remote != nil {
		m.remote.Start()
	}
}

// Close lets go of Redis. Requests that come after it are counted in memory.
func (m *RateLimit) Close() {
	if m.remote != nil {
		m.remote.Close()
	}
	if m.clients != nil {
		m.clients.Close()
	}
}
