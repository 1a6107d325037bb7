package acme

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/certificate/storage"
	"github.com/sluiceproxy/sluice/redact"
	"github.com/sluiceproxy/sluice/static"
)

const (
	// maxWaiting bounds the handshakes that wait for a certificate; further ones get the default one.
	maxWaiting = 1000
	// maxDeciding bounds the requests to the service of onDemand.ask at a time, and askTimeout each of them.
	maxDeciding = 16
	askTimeout  = 5 * time.Second
	// decisionLife is how long a decision counts, undecidedLife how long none is made after a failure, and maxDecisions
	// how many are kept.
	decisionLife  = time.Minute
	undecidedLife = time.Second
	maxDecisions  = 10_000
)

var errRefused = errors.New("the name is not allowed")

// onDemand decides which names that clients ask for get a certificate (the option onDemand).
type onDemand struct {
	client   *http.Client
	waiting  chan struct{}
	deciding chan struct{}

	mutex     sync.Mutex
	needed    map[string]bool // Whether a router names the resolver.
	decisions map[string]decision
	pending   map[string]*pendingDecision
}

// decision is whether a name is allowed: err is nil if it is.
type decision struct {
	err   error
	until time.Time
}

// pendingDecision is a decision that is being made.
type pendingDecision struct {
	done chan struct{}
	err  error
}

func newOnDemand() *onDemand {
	return &onDemand{
		client:  &http.Client{Timeout: askTimeout, CheckRedirect: noRedirect},
		waiting: make(chan struct{}, maxWaiting), deciding: make(chan struct{}, maxDeciding),
		decisions: map[string]decision{}, pending: map[string]*pendingDecision{},
	}
}

// noRedirect keeps a redirect from being followed: only 2xx allows a name.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// want takes which resolvers routers name.
func (a *onDemand) want(byResolver map[string][]certificate.Demand) {
	needed := map[string]bool{}
	for name, demands := range byResolver {
		needed[name] = len(demands) > 0
	}
	a.mutex.Lock()
	a.needed = needed
	a.mutex.Unlock()
}

// Get returns a certificate for a name that none covers: it notes that a client has asked for it, and where the option
// onDemand allows the name, it orders one and waits for it. It returns nil if there is none in time. A name that
// routers need of some resolvers is not ordered by others.
func (m *Resolvers) Get(hello *tls.ClientHelloInfo) *tls.Certificate {
	name, err := normalizeName(hello.ServerName)
	if err != nil || strings.HasPrefix(name, "*") {
		return nil
	}
	var candidates []*resolver
	isNeeded := false
	for _, resolver := range sortedKeys(m.resolvers) {
		r := m.resolvers[resolver]
		needs := r.needs(name)
		if needs && !isNeeded {
			isNeeded, candidates = true, nil
		}
		switch {
		case needs != isNeeded:
		case r.config.OnDemand != nil && m.onDemand.isNeeded(resolver):
			candidates = append(candidates, r)
		case needs:
			r.ask(name)
		}
	}
	for _, r := range candidates {
		if found := m.onDemand.obtain(hello.Context(), r, name); found != nil {
			return found
		}
	}
	return nil
}

func (a *onDemand) isNeeded(resolver string) bool {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.needed[resolver]
}

// needs reports whether a router needs a certificate for a name.
func (r *resolver) needs(name string) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.wanted.names[name] || r.wanted.names[wildcardOf(name)]
}

// obtain orders a certificate for a name that is allowed, and waits for it.
func (a *onDemand) obtain(ctx context.Context, r *resolver, name string) *tls.Certificate {
	select {
	case a.waiting <- struct{}{}:
		defer func() { <-a.waiting }()
	default:
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(r.config.OnDemand.Timeout))
	defer cancel()
	if found := r.pair(name); found != nil {
		return found
	}
	if !r.needs(name) && !r.state.demanded(name) {
		if err := a.allowed(ctx, r, name); err != nil {
			return nil
		}
		if !r.demandRate.Allow() {
			return nil
		}
		demanded := demand{Time: time.Now().Round(0)}
		if err := r.put(ctx, storage.KindDemand, name, demanded); err != nil {
			r.logger.Warn("a name that a client asks for cannot be stored", "resolver", r.name, "name", name, "error", err)
			return nil
		}
	}
	r.ask(name)
	r.notify()
	if deadline, _ := ctx.Deadline(); r.waitsUntil(name).After(deadline) {
		return nil
	}
	for {
		next := r.changed.wait()
		if found := r.pair(name); found != nil {
			return found
		}
		select {
		case <-next:
		case <-ctx.Done():
			return nil
		}
	}
}

// waitsUntil returns when a certificate for one name may be ordered at the earliest.
func (r *resolver) waitsUntil(name string) time.Time {
	now := time.Now()
	id := storage.CertificateID([]string{name})
	at := r.state.schedule(id).earliest(now, r.state.certificate(id))
	if all := r.state.schedule(resolverSchedule).Next; all.After(at) {
		return all
	}
	return at
}

// pair returns a valid certificate for a name.
func (r *resolver) pair(name string) *tls.Certificate {
	c := r.state.find(name, time.Now())
	if c == nil {
		return nil
	}
	pair, err := tls.X509KeyPair([]byte(c.record.Chain), []byte(c.record.Key))
	if err != nil {
		return nil
	}
	return &pair
}

// allowed decides once for all handshakes that ask for a name at a time.
func (a *onDemand) allowed(ctx context.Context, r *resolver, name string) error {
	key := r.name + "\x00" + name
	a.mutex.Lock()
	if made, known := a.decisions[key]; known && time.Now().Before(made.until) {
		a.mutex.Unlock()
		return made.err
	}
	q, underWay := a.pending[key]
	if !underWay {
		q = &pendingDecision{done: make(chan struct{})}
		a.pending[key] = q
	}
	a.mutex.Unlock()
	if underWay {
		select {
		case <-q.done:
			return q.err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	// The decision counts for others too, so that it does not end with this handshake.
	q.err = a.decide(context.WithoutCancel(ctx), r.config.OnDemand, name)
	a.mutex.Lock()
	delete(a.pending, key)
	if len(a.decisions) >= maxDecisions {
		clear(a.decisions)
	}
	life := decisionLife
	if q.err != nil && !errors.Is(q.err, errRefused) {
		life = undecidedLife
	}
	a.decisions[key] = decision{q.err, time.Now().Add(life)}
	a.mutex.Unlock()
	close(q.done)
	if q.err != nil {
		r.logger.Debug("no certificate on demand", "resolver", r.name, "name", name,
			"error", redact.Queries(q.err.Error()))
	}
	return q.err
}

func asPath(name string) string { return strings.ReplaceAll(name, ".", "/") }

// decide reports whether a name is allowed, by a pattern or by the service of the option ask.
func (a *onDemand) decide(ctx context.Context, config *static.OnDemand, name string) error {
	for _, pattern := range config.Patterns {
		// path.Match has the rules for labels if slashes separate them.
		if ok, err := path.Match(asPath(strings.ToLower(pattern)), asPath(name)); err == nil && ok {
			return nil
		}
	}
	if config.Ask == "" {
		return errRefused
	}
	select {
	case a.deciding <- struct{}{}:
		defer func() { <-a.deciding }()
	default:
		return errors.New("too many names are being decided")
	}
	target, err := url.Parse(config.Ask)
	if err != nil {
		return fmt.Errorf("onDemand.ask: %w", err)
	}
	query := target.Query()
	query.Set("domain", name)
	target.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return fmt.Errorf("onDemand.ask: %w", err)
	}
	response, err := a.client.Do(request)
	if err != nil {
		return fmt.Errorf("onDemand.ask: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return fmt.Errorf("%w: onDemand.ask answered %d", errRefused, response.StatusCode)
	}
	return nil
}
