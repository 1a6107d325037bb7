package acme

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mholt/acmez/v3"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/certificate/storage"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

// ProviderSuffix is behind the name of a resolver in the name of the provider of its certificates, as in Traefik.
const ProviderSuffix = ".acme"

// reopenInterval is how long to wait before a storage that failed is used again.
const reopenInterval = 2 * time.Second

// longestReady is how long orders wait for providers at most.
const longestReady = time.Minute

// verdictInterval is the shortest time between two changes of the verdicts.
const verdictInterval = time.Second

// Metrics counts what resolvers do; metrics.Metrics does.
type Metrics interface {
	// Ordered counts an order that ended: issued or failed.
	Ordered(resolver, result string)
}

// Options are what Resolvers needs.
type Options struct {
	// Resolvers are the entries of certificatesResolvers that use ACME, by name.
	Resolvers map[string]*static.ACME
	// Open opens the storage of the option storage. Its errors do not have passwords.
	Open func(option string) (storage.Store, error)
	// DNS returns the solver of DNS-01 challenges for the option dnsChallenge.
	DNS func(config static.DNSChallenge) (acmez.Solver, error)
	// Logger and Metrics are needed.
	Logger  telemetry.Logger
	Metrics Metrics
	// Transport takes the place of the network between Sluice and the authorities; nil means the network.
	Transport http.RoundTripper
}

// Resolvers obtains and renews the certificates of all resolvers.
type Resolvers struct {
	resolvers map[string]*resolver
	// broken are the resolvers that cannot work as they are configured.
	broken   map[string]error
	storages []*sharedStorage
	logger   telemetry.Logger
	onDemand *onDemand
	changed  chan struct{}
	// running is set by Run.
	running atomic.Bool

	mutex   sync.Mutex
	needed  []certificate.Demand
	demands map[string][]certificate.Demand
}

// sharedStorage is a storage with the resolvers that use it.
type sharedStorage struct {
	store     storage.Store
	resolvers map[string]*resolver
	logger    telemetry.Logger
	// restarts receives channels that are closed when the storage has been read anew.
	restarts chan chan struct{}
}

// New returns Resolvers. Resolvers that cannot work as they are configured have verdicts on the routers that name
// them, and do not keep others from working.
func New(options Options) *Resolvers {
	m := &Resolvers{
		resolvers: map[string]*resolver{}, broken: map[string]error{}, logger: options.Logger,
		changed: make(chan struct{}, 1), onDemand: newOnDemand(),
	}
	byOption := map[string]*sharedStorage{}
	for _, name := range slices.Sorted(maps.Keys(options.Resolvers)) {
		config := options.Resolvers[name]
		shared, err := m.open(byOption, config.Storage, options)
		if err == nil {
			var r *resolver
			if r, err = newResolver(name, config, shared.store, options); err == nil {
				m.resolvers[name], shared.resolvers[name] = r, r
				continue
			}
		}
		m.broken[name] = err
		m.logger.Error("a certificate resolver cannot be used", "resolver", name, "error", err)
	}
	return m
}

// Broken returns why resolvers cannot work as they are configured, by name.
func (m *Resolvers) Broken() map[string]error { return maps.Clone(m.broken) }

// open returns the storage of an option, which resolvers with the same option share.
func (m *Resolvers) open(known map[string]*sharedStorage, option string, options Options) (*sharedStorage, error) {
	if shared := known[option]; shared != nil {
		return shared, nil
	}
	store, err := options.Open(option)
	if err != nil {
		return nil, fmt.Errorf("storage: %w", err)
	}
	shared := &sharedStorage{
		store: store, resolvers: map[string]*resolver{}, logger: options.Logger, restarts: make(chan chan struct{}),
	}
	known[option] = shared
	m.storages = append(m.storages, shared)
	return shared, nil
}

// Run watches the storages until ctx ends, and has their certificates served. Lead orders them.
func (m *Resolvers) Run(ctx context.Context) {
	m.running.Store(true)
	var tasks sync.WaitGroup
	for _, shared := range m.storages {
		tasks.Go(func() { shared.watch(ctx) })
	}
	for _, r := range m.resolvers {
		tasks.Go(func() { m.forward(ctx, r) })
	}
	tasks.Wait()
}

// Lead takes part in the elections of those that order certificates until ctx ends, while Run runs, once ready is
// closed: before all providers are known, names may seem to lack a certificate. A provider that fails does not delay
// orders for more than a minute.
func (m *Resolvers) Lead(ctx context.Context, ready <-chan struct{}) {
	var tasks sync.WaitGroup
	for _, shared := range m.storages {
		tasks.Go(func() {
			timer := time.NewTimer(longestReady)
			defer timer.Stop()
			select {
			case <-ready:
			case <-timer.C:
			case <-ctx.Done():
			}
			shared.lead(ctx)
		})
	}
	tasks.Wait()
}

// forward reports the changes of a resolver as those of Resolvers.
func (m *Resolvers) forward(ctx context.Context, r *resolver) {
	for {
		next := r.changed.wait()
		m.notify()
		if wait(ctx, verdictInterval) != nil {
			return
		}
		select {
		case <-next:
		case <-ctx.Done():
			return
		}
	}
}

func (m *Resolvers) notify() {
	select {
	case m.changed <- struct{}{}:
	default:
	}
}

// watch keeps the states of the resolvers up to date.
func (s *sharedStorage) watch(ctx context.Context) {
	logged := ""
	var refreshed []chan struct{}
	for ctx.Err() == nil {
		restart, err := s.follow(ctx, &refreshed)
		if restart != nil {
			refreshed = append(refreshed, restart)
		}
		if err != nil {
			for _, r := range s.resolvers {
				r.setFault(fmt.Errorf("storage: %w", err))
			}
			if logged != err.Error() {
				logged = err.Error()
				s.logger.Error("the storage of certificates cannot be used; nothing is ordered", "error", err)
			}
			_ = wait(ctx, reopenInterval)
		}
	}
}

// follow watches the storage until that fails, ctx ends, or the storage is to be read anew; then the channel that is
// closed after that is returned. Those in refreshed are closed when all values have been delivered.
func (s *sharedStorage) follow(ctx context.Context, refreshed *[]chan struct{}) (restart chan struct{}, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() {
		all := true
		ended <- s.store.Watch(ctx, func(changes []storage.Change) {
			s.deliver(changes, all)
			if all {
				for _, done := range *refreshed {
					close(done)
				}
				*refreshed = nil
			}
			all = false
		})
	}()
	select {
	case err = <-ended:
		return nil, err
	case restart = <-s.restarts:
		stop()
		return restart, <-ended
	}
}

// refresh has the watch begin anew, so that a new leader knows what the last one has written.
func (s *sharedStorage) refresh(ctx context.Context) {
	done := make(chan struct{})
	select {
	case s.restarts <- done:
	case <-ctx.Done():
		return
	}
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// deliver passes changes on to their resolvers; all says that they are everything that the storage has.
func (s *sharedStorage) deliver(changes []storage.Change, all bool) {
	byResolver := map[string][]storage.Change{}
	for _, change := range changes {
		byResolver[change.Key.Resolver] = append(byResolver[change.Key.Resolver], change)
	}
	for name, r := range s.resolvers {
		if own := byResolver[name]; all || len(own) > 0 {
			r.receive(own, all)
		}
	}
}

// lead orders certificates while this replica is elected.
func (s *sharedStorage) lead(ctx context.Context) {
	for ctx.Err() == nil {
		err := s.store.Lead(ctx, func(term context.Context) {
			s.refresh(term)
			var terms sync.WaitGroup
			for _, r := range s.resolvers {
				terms.Go(func() { r.lead(term) })
			}
			terms.Wait()
		})
		if err != nil {
			s.logger.Warn("no replica can be elected to order certificates", "error", err)
			_ = wait(ctx, reopenInterval)
		}
	}
}

// Want says which names routers need, and which of those a configured certificate covers. It replaces what was wanted
// before; a list that is the same as before is not read again. Demands on resolvers that do not exist are left out.
func (m *Resolvers) Want(demands []certificate.Demand, covered func(host string) bool) {
	m.mutex.Lock()
	same := m.needed != nil && len(demands) == len(m.needed) && (len(demands) == 0 || &demands[0] == &m.needed[0])
	m.needed = demands
	m.mutex.Unlock()
	if same {
		for _, r := range m.resolvers {
			r.cover(covered)
		}
		return
	}
	byResolver := map[string][]certificate.Demand{}
	for _, demand := range demands {
		byResolver[demand.Resolver] = append(byResolver[demand.Resolver], demand)
	}
	m.onDemand.want(byResolver)
	for name, r := range m.resolvers {
		r.want(byResolver[name], covered)
	}
	m.judge(byResolver)
}
