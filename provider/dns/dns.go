// Package dns resolves servers that are given by name, such as http://backend:8080.
//
// In flow the wanted keys (dns/name:port), from Watch; out flow dynamic.EndpointSets with all A and AAAA addresses of
// each name, on the endpoint lane, again whenever they change. Names are found as the system finds them: /etc/hosts
// first, then the servers of /etc/resolv.conf with its search domains; both files are read again when they change.
//
// A name that cannot be asked for keeps its last good addresses for a time; a name that its servers say does not exist
// has none. The package never declares configuration and never connects to what it has found.
package dns

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/sluiceproxy/sluice/telemetry"
)

// Prefix begins the keys of the sets that this package publishes.
const Prefix = "dns/"

// Defaults of Options.
const (
	// DefaultMinTTL is the shortest time after which a name is asked for again.
	DefaultMinTTL = time.Second
	// DefaultMaxTTL is the longest one.
	DefaultMaxTTL = 5 * time.Minute
	// DefaultKeep is how long the last good addresses of a name are kept while its servers do not answer, as RFC 8767
	// (section 5) suggests.
	DefaultKeep = 24 * time.Hour
	// DefaultTimeout is how long one server may take for one answer; resolv.conf may say less or more.
	DefaultTimeout = 5 * time.Second
)

// Options says how names are resolved. Its zero value is the system's way.
type Options struct {
	// Resolvers are DNS servers as host[:port] (providers.dns.resolvers); none means those of ResolvConf.
	Resolvers []string
	// MinTTL and MaxTTL bound the time after which a name is asked for again (providers.dns.minTTL and maxTTL); 0 means
	// DefaultMinTTL and DefaultMaxTTL.
	MinTTL time.Duration
	MaxTTL time.Duration
	// Keep is how long last good addresses are kept while servers do not answer; 0 means DefaultKeep.
	Keep time.Duration
	// ResolvConf and Hosts are the system's files; empty means /etc/resolv.conf and /etc/hosts.
	ResolvConf string
	Hosts      string
}

// Provider resolves the names that are wanted. Watch may be called from any goroutine.
type Provider struct {
	name    string
	options Options
	logger  telemetry.Logger
	kick    chan struct{}
	// filesInterval is how often the system's files are looked at. They are replaced in many ways (container engines mount
	// them one by one), and a look at their times is cheap.
	filesInterval time.Duration

	mu     sync.Mutex
	wanted []string
}

// New returns a provider of that name that resolves nothing before Watch.
func New(name string, options Options, logger telemetry.Logger) *Provider {
	options.MinTTL = cmp.Or(options.MinTTL, DefaultMinTTL)
	options.MaxTTL = max(cmp.Or(options.MaxTTL, DefaultMaxTTL), options.MinTTL)
	options.Keep = cmp.Or(options.Keep, DefaultKeep)
	options.ResolvConf = cmp.Or(options.ResolvConf, "/etc/resolv.conf")
	options.Hosts = cmp.Or(options.Hosts, "/etc/hosts")
	return &Provider{
		name:          name,
		options:       options,
		logger:        logger,
		kick:          make(chan struct{}, 1),
		filesInterval: 5 * time.Second,
	}
}

// Watch says which keys (dns/name:port) are wanted from now on. The sets of others are published as deleted.
func (p *Provider) Watch(keys []string) {
	p.mu.Lock()
	p.wanted = append([]string(nil), keys...)
	p.mu.Unlock()
	select {
	case p.kick <- struct{}{}:
	default:
	}
}

func (p *Provider) wantedKeys() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.wanted
}

// bound keeps a time to live between the smallest and the largest one.
func (p *Provider) bound(ttl time.Duration) time.Duration {
	return min(max(ttl, p.options.MinTTL), p.options.MaxTTL)
}

// sleep waits for the duration, or until ctx ends or woken says so.
func sleep(ctx context.Context, duration time.Duration, woken <-chan struct{}) {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-woken:
	case <-timer.C:
	}
}
