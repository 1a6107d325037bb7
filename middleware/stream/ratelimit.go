package stream

import (
	"fmt"
	"hash/maphash"
	"net/netip"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/httpio/bucket"
)

// subnet is the prefix by which IPv6 clients count: a customer has at least that many addresses (RFC 6177).
const subnet = 64

// rateLimit is the middleware rateLimit.
type rateLimit struct {
	config  dynamic.TCPRateLimit
	buckets *bucket.Table
	seed    maphash.Seed
	start   time.Time
}

// newRateLimit checks the options. The buckets of the former step go on if the rate is the same; otherwise every client
// begins with a full one.
func newRateLimit(config *dynamic.TCPRateLimit, before Step) (*rateLimit, error) {
	period := time.Duration(config.Period)
	switch {
	case config.Average < 1:
		return nil, fmt.Errorf("rateLimit.average is %d, and must be at least 1", config.Average)
	case config.Burst < 1:
		return nil, fmt.Errorf("rateLimit.burst is %d, and must be at least 1", config.Burst)
	case period <= 0:
		return nil, fmt.Errorf("rateLimit.period is %s, and must be above 0", period)
	}
	if former, ok := before.(*rateLimit); ok && former.config == *config {
		return former, nil
	}
	rate := bucket.NewRate(config.Average, period, config.Burst)
	return &rateLimit{
		config: *config, buckets: bucket.NewTable(rate), seed: maphash.MakeSeed(), start: time.Now(),
	}, nil
}

// Admit refuses a client that opens connections faster than it may. A client of unknown address counts as one client.
func (l *rateLimit) Admit(client netip.Addr) (release func(), refusal Refusal) {
	client = key(client)
	if client.Is6() {
		client = netip.PrefixFrom(client, subnet).Masked().Addr()
	}
	if !l.buckets.Take(maphash.Comparable(l.seed, client), int64(time.Since(l.start))).Allowed {
		return nil, limited("the client opens connections faster than rateLimit allows")
	}
	return nil, Refusal{}
}
