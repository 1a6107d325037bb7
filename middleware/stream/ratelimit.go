package stream

import (
	"fmt"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/httpio/bucket"
)

// subnet is the prefix by which IPv6 clients count: a customer has at least that many addresses (RFC 6177).
const subnet = 64

// rateLimit is the middleware rateLimit.
type rateLimit struct {
	config  dynamic.TCPRateLimit
	rate    bucket.Rate
	buckets *bucket.Table
	// hash makes the keys of buckets; it changes before the first connection at most.
	hash  atomic.Pointer[bucket.HashKey]
	start time.Time
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
	limit := &rateLimit{config: *config, rate: rate, buckets: bucket.NewTable(rate), start: time.Now()}
	limit.hash.Store(new(bucket.NewHashKey()))
	return limit, nil
}

// Admit refuses a client that opens connections faster than it may. A client of unknown address counts as one client.
func (l *rateLimit) Admit(client netip.Addr) (release func(), refusal Refusal) {
	client = key(client)
	if client.Is6() {
		client = netip.PrefixFrom(client, subnet).Masked().Addr()
	}
	if !l.buckets.Take(l.hash.Load().Address(client.As16()), l.now()).Allowed {
		return nil, limited("the client opens connections faster than rateLimit allows")
	}
	return nil, Refusal{}
}

// now returns the time of the buckets.
func (l *rateLimit) now() int64 { return int64(time.Since(l.start)) }

// Export returns the counts of at most limit clients for Import in another process, and of how many; nil without any.
func (l *rateLimit) Export(limit int) (data []byte, clients int) {
	return l.buckets.ExportCounts(*l.hash.Load(), l.now(), limit)
}

// Import goes on with the counts of another process, before the first connection. Those of another rate are left out.
func (l *rateLimit) Import(data []byte) error {
	from, err := bucket.ParseCounts(data)
	if err != nil {
		return err
	}
	if from.Rate != l.rate.String() {
		return nil
	}
	if err := l.buckets.Import(from.Buckets, l.now()); err != nil {
		return err
	}
	l.hash.Store(&from.Key)
	return nil
}
