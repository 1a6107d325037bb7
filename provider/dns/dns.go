// Package dns resolves servers that are given by name, such as http://backend:8080.
//
// Provider is given the wanted keys (dns/name:port) by Watch, and publishes the A and AAAA addresses of each name as an
// endpoint set whenever they change. Names are resolved as by the system: /etc/hosts first, then the servers of
// /etc/resolv.conf with its search domains; both files are reloaded when they change.
//
// If a name cannot be resolved, its last addresses stay in use for a time; a name that does not exist has none.
package dns

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/sluiceproxy/sluice/telemetry"
)

// Prefix is the prefix of this package's keys.
const Prefix = "dns/"

const (
	// DefaultMinTTL is the default of Options.MinTTL.
	DefaultMinTTL = time.Second
	// DefaultMaxTTL is the default of Options.MaxTTL.
	DefaultMaxTTL = 5 * time.Minute
	// DefaultKeep is the default of Options.Keep, as RFC 8767 (section 5) suggests.
	DefaultKeep = 24 * time.Hour
	// DefaultTimeout is the timeout of one query; resolv.conf may change it.
	DefaultTimeout = 5 * time.Second
)

// Options are the settings of a Provider. The zero value uses the system's files.
type Options struct {
	// Resolvers are DNS servers as host[:port] (providers.dns.resolvers); none means those of ResolvConf.
	Resolvers []string
	// MinTTL and MaxTTL bound the time between queries of a name (providers.dns.minTTL and maxTTL); 0 means DefaultMinTTL
	// and DefaultMaxTTL.
	MinTTL time.Duration
	MaxTTL time.Duration
	// Keep is how long the last addresses stay in use while a name cannot be resolved; 0 means DefaultKeep.
	Keep time.Duration
	// ResolvConf and Hosts are the system's files; empty means /etc/resolv.conf and /etc/hosts.
	ResolvConf string
	Hosts      string
}

// Provider resolves the wanted names. Watch is safe for concurrent use.
type Provider struct {
	name    string
	options Options
	logger  telemetry.Logger
	kick    chan struct{}
	// filesInterval is the interval at which the system's files are checked. Polling covers all ways of replacing them,
	// such as single-file mounts of container engines.
	filesInterval time.Duration

	mu     sync.Mutex
	wanted []string
}

// New returns a provider with this name. It resolves nothing before Watch.
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

// Watch sets the wanted keys (dns/name:port). The sets of other keys are published as deleted.
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

// bound limits a TTL to the configured range.
func (p *Provider) bound(ttl time.Duration) time.Duration {
	return min(max(ttl, p.options.MinTTL), p.options.MaxTTL)
}

// sleep waits for the duration, until ctx ends, or until woken.
func sleep(ctx context.Context, duration time.Duration, woken <-chan struct{}) {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-woken:
	case <-timer.C:
	}
}
