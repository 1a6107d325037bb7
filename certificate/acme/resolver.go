package acme

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/mholt/acmez/v3"
	"github.com/mholt/acmez/v3/acme"
	"golang.org/x/time/rate"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/certificate/storage"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

const (
	// lookupsPerSecond limits how often challenges are looked up in the storage, lookupBurst how many at once.
	lookupsPerSecond = 20
	lookupBurst      = 100
	// demandBurst is how many names that clients ask for are taken at once, and demandInterval the time until the next.
	demandBurst    = 100
	demandInterval = 10 * time.Second
)

// resolver is one entry of certificatesResolvers.
type resolver struct {
	name    string
	config  *static.ACME
	store   storage.Store
	logger  telemetry.Logger
	metrics Metrics
	client  *http.Client
	solvers map[string]acmez.Solver
	lookups *rate.Limiter
	// awaiting holds a value for each request that waits for a challenge.
	awaiting chan struct{}
	// demandRate limits how many names that clients ask for are taken.
	demandRate *rate.Limiter
	state      *state
	wake       chan struct{} // Holds a value when there may be something to order.
	changed    *broadcast

	sessionLock sync.Mutex
	opened      *session
	staging     *session

	mutex   sync.Mutex
	wanted  wanted
	asked   map[string]struct{}
	fault   error
	running map[string]job
}

// wanted is what routers need of a resolver.
type wanted struct {
	known   bool
	needs   []need
	names   map[string]bool   // All names of needs.
	invalid map[string]string // Why names of a router cannot be used, by its name.
	covered func(name string) bool
}

func newResolver(name string, config *static.ACME, store storage.Store, options Options) (*resolver, error) {
	client, err := newHTTPClient(config, options.Transport)
	if err != nil {
		return nil, err
	}
	client.Transport = &retryAfter{client.Transport}
	r := &resolver{
		name: name, config: config, store: store, logger: options.Logger, metrics: options.Metrics, client: client,
		lookups: rate.NewLimiter(lookupsPerSecond, lookupBurst), awaiting: make(chan struct{}, maxWaiting),
		demandRate: rate.NewLimiter(rate.Every(demandInterval), demandBurst), state: newState(),
		wake: make(chan struct{}, 1), changed: newBroadcast(), asked: map[string]struct{}{}, running: map[string]job{},
	}
	if r.solvers, err = r.newSolvers(options.DNS); err != nil {
		return nil, err
	}
	return r, nil
}

// newSolvers returns the solvers of the challenges that are configured.
func (r *resolver) newSolvers(dns func(static.DNSChallenge) (acmez.Solver, error)) (map[string]acmez.Solver, error) {
	solvers := map[string]acmez.Solver{}
	if r.config.HTTPChallenge != nil {
		if r.config.HTTPChallenge.EntryPoint == "" {
			return nil, errors.New("httpChallenge.entryPoint is missing")
		}
		solvers[acme.ChallengeTypeHTTP01] = &sharedSolver{r, time.Duration(r.config.HTTPChallenge.Delay)}
	}
	if r.config.TLSChallenge != nil {
		solvers[acme.ChallengeTypeTLSALPN01] = &sharedSolver{r, time.Duration(r.config.TLSChallenge.Delay)}
	}
	if r.config.DNSChallenge != nil {
		solver, err := dns(*r.config.DNSChallenge)
		if err != nil {
			return nil, fmt.Errorf("dnsChallenge: %w", err)
		}
		solvers[acme.ChallengeTypeDNS01] = solver
	}
	if len(solvers) == 0 {
		return nil, errors.New("no challenge is configured: set httpChallenge, tlsChallenge or dnsChallenge")
	}
	return solvers, nil
}

// put writes a value, which counts at once.
func (r *resolver) put(ctx context.Context, kind storage.Kind, id string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("%s: %w", kind, err)
	}
	return r.write(ctx, storage.Key{Kind: kind, Resolver: r.name, ID: id}, text)
}

// remove deletes a value.
func (r *resolver) remove(ctx context.Context, kind storage.Kind, id string) error {
	return r.write(ctx, storage.Key{Kind: kind, Resolver: r.name, ID: id}, nil)
}

// write sets a value, or deletes it where it is nil. What the storage refuses is not taken.
func (r *resolver) write(ctx context.Context, key storage.Key, value []byte) error {
	err := r.state.write(key, value, func() error {
		if value == nil {
			return r.store.Delete(ctx, key)
		}
		return r.store.Put(ctx, key, value)
	})
	if err == nil {
		r.notify()
	}
	return err
}

// receive takes changes of the storage; all says that they are everything that it has.
func (r *resolver) receive(changes []storage.Change, all bool) {
	r.setFault(nil)
	if all {
		r.state.load(changes)
	} else {
		r.state.receive(changes)
	}
	r.notify()
}

// notify wakes the leader, and those that show the state.
func (r *resolver) notify() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
	r.changed.send()
}

// setFault says why the resolver cannot work.
func (r *resolver) setFault(err error) {
	r.mutex.Lock()
	before := r.fault
	r.fault = err
	r.mutex.Unlock()
	if (before == nil) != (err == nil) || err != nil && before.Error() != err.Error() {
		r.notify()
	}
}

// want takes what the routers need.
func (r *resolver) want(demands []certificate.Demand, covered func(name string) bool) {
	next := wanted{known: true, covered: covered, names: map[string]bool{}, invalid: map[string]string{}}
	byNames := map[string]int{}
	for _, demand := range demands {
		for _, names := range demand.Names {
			normal, err := normalizeNames(names)
			if err != nil {
				next.invalid[demand.Router] = err.Error()
			}
			if len(normal) == 0 {
				continue
			}
			id := storage.CertificateID(normal)
			at, known := byNames[id]
			if !known {
				at = len(next.needs)
				byNames[id] = at
				next.needs = append(next.needs, need{names: normal})
			}
			if demand.Router != "" {
				next.needs[at].routers = append(next.needs[at].routers, demand.Router)
			}
			for _, name := range normal {
				next.names[name] = true
			}
		}
	}
	r.mutex.Lock()
	r.wanted = next
	r.mutex.Unlock()
	r.notify()
}

// cover takes which names configured certificates cover.
func (r *resolver) cover(covered func(name string) bool) {
	r.mutex.Lock()
	r.wanted.covered = covered
	r.mutex.Unlock()
	r.notify()
}

// ask notes that a client has asked for a name that no certificate covers, so that it is ordered before others. Of a
// name that only a wildcard is needed for, the wildcard is noted.
func (r *resolver) ask(name string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if wildcard := wildcardOf(name); !r.wanted.names[name] && r.wanted.names[wildcard] {
		name = wildcard
	}
	if len(r.asked) < maxAsked {
		r.asked[name] = struct{}{}
	}
}

// maxAsked bounds the names that clients have asked for.
const maxAsked = 10_000

// input returns what the plan is made of now.
func (r *resolver) input(now time.Time) input {
	r.mutex.Lock()
	w, asked := r.wanted, maps.Clone(r.asked)
	r.mutex.Unlock()
	in := input{
		now: now, needs: w.needs, covered: w.covered, wildcards: r.solvers[acme.ChallengeTypeDNS01] != nil,
		asked: func(name string) bool { _, ok := asked[name]; return ok },
		lead: func(leaf *x509.Certificate) time.Duration {
			return renewalLead(leaf, time.Duration(r.config.CertificatesDuration)*time.Hour)
		},
	}
	if in.covered == nil {
		in.covered = func(string) bool { return false }
	}
	r.state.mutex.Lock()
	defer r.state.mutex.Unlock()
	in.schedules = maps.Clone(r.state.schedules)
	for _, id := range sortedKeys(r.state.certificates) {
		in.certificates = append(in.certificates, r.state.certificates[id])
	}
	if len(r.state.demands) > 0 {
		in.needs = slices.Clone(in.needs)
		for _, name := range sortedKeys(r.state.demands) {
			in.needs = append(in.needs, need{names: []string{name}})
			asked[name] = struct{}{}
		}
	}
	return in
}

// isReady reports whether routers and storage are known.
func (r *resolver) isReady() bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.wanted.known && r.fault == nil && r.state.isLoaded()
}
