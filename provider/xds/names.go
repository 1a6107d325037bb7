package xds

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sluiceproxy/sluice/static"
)

const (
	// serviceDomain and clusterDomain are the ends of the long host names of Kubernetes Services.
	serviceDomain, clusterDomain = ".svc", ".cluster.local"
	// absentFor is how long a listener that does not exist stays subscribed to after its last request.
	absentFor = 30 * time.Second
	// activation is the time after which a router that was sent is active; without a match by then there is none.
	activation = 3 * time.Second
	// maxWaiting bounds the requests that wait for the server.
	maxWaiting = 1000
)

// status is what is known of a listener.
type status uint8

const (
	// pending has no answer, or not all of the resources that it leads to.
	pending status = iota
	// present has a router.
	present
	// absent does not exist.
	absent
	// rejected has a resource that cannot be read, and had no other before.
	rejected
)

// name is a listener that is subscribed to.
type name struct {
	permanent bool
	status    status
	reason    string // of rejected
	since     time.Time
	used      time.Time
	requests  uint64        // when they were counted last
	changed   chan struct{} // closed when the status changes
}

// names are the listeners that are subscribed to.
type names struct {
	limit   int
	timeout time.Duration
	wake    chan struct{} // receives a value when names were added

	mu      sync.Mutex
	all     map[string]*name
	waiting int
	failure error // why there is no stream; nil while there is one
}

func newNames(config static.XDSProvider) *names {
	n := &names{
		limit: config.MaxNames, timeout: time.Duration(config.Timeout), wake: make(chan struct{}, 1), all: map[string]*name{},
		failure: errors.New("the xDS server has not answered yet"),
	}
	for _, each := range config.Names {
		n.all[each] = &name{permanent: true, since: time.Now(), changed: make(chan struct{})}
	}
	return n
}

// clusterHost is the name of a Kubernetes Service as a host.
type clusterHost struct{ service, namespace string }

// parseHost returns the Service of a host: service.namespace, with or without svc and the domain of the cluster, or a
// service alone in the namespace of the option. Other hosts have no listener.
func parseHost(host, namespace string) (of clusterHost, ok bool) {
	short := strings.TrimSuffix(strings.TrimSuffix(host, clusterDomain), serviceDomain)
	of.service, of.namespace, ok = strings.Cut(short, ".")
	if !ok && short == host {
		of.namespace = namespace
	}
	return of, of.service != "" && of.namespace != "" && !strings.Contains(of.namespace, ".")
}

// listener returns the name of the listener of a port.
func (h clusterHost) listener(port string) string { return h.service + "." + h.namespace + ":" + port }

// hosts returns all names that stand for the Service in a namespace.
func (h clusterHost) hosts(namespace string) []string {
	short := h.service + "." + h.namespace
	hosts := []string{short, short + serviceDomain, short + serviceDomain + clusterDomain}
	if h.namespace == namespace {
		hosts = append(hosts, h.service)
	}
	return hosts
}

// shortNames returns names of listeners with the short name of a Service in place of a long one.
func shortNames(listeners []string) []string {
	short := slices.Clone(listeners)
	for i, listener := range short {
		if host, port, ok := hostOf(listener); ok {
			short[i] = host.listener(port)
		}
	}
	return short
}

// hostOf returns the host and the port of a listener of a Kubernetes Service; not ok for other listeners.
func hostOf(listener string) (of clusterHost, port string, ok bool) {
	at := strings.LastIndexByte(listener, ':')
	if at < 0 {
		return of, "", false
	}
	port = listener[at+1:]
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return of, "", false
	}
	of, ok = parseHost(listener[:at], "")
	return of, port, ok
}

// discover subscribes to a listener and waits for its router.
func (n *names) discover(ctx context.Context, listener string) (known bool, err error) {
	n.mu.Lock()
	one, err := n.use(listener, time.Now())
	if err != nil {
		n.mu.Unlock()
		return false, err
	}
	if done, known, err := n.answer(one); done || n.waiting >= maxWaiting {
		n.mu.Unlock()
		if !done {
			err = fmt.Errorf("%d requests wait for the xDS server already", maxWaiting)
		}
		return known, err
	}
	n.waiting++
	n.mu.Unlock()
	timer := time.NewTimer(n.timeout)
	defer timer.Stop()
	return n.await(ctx, one, timer.C)
}

// await waits until the status of a listener is known.
func (n *names) await(ctx context.Context, one *name, timeout <-chan time.Time) (known bool, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	defer func() { n.waiting-- }()
	for {
		if done, known, err := n.answer(one); done {
			return known, err
		}
		changed := one.changed
		n.mu.Unlock()
		select {
		case <-changed:
			n.mu.Lock()
		case <-timeout:
			n.mu.Lock()
			return false, fmt.Errorf("the xDS server has not answered within %s", n.timeout)
		case <-ctx.Done():
			n.mu.Lock()
			return false, ctx.Err()
		}
	}
}

// use returns the name of a listener, which it adds unless it is there. The caller holds the lock.
func (n *names) use(listener string, now time.Time) (*name, error) {
	one := n.all[listener]
	if one == nil {
		if len(n.all) >= n.limit && !n.evict() {
			return nil, fmt.Errorf("%d listeners are subscribed to (providers.xds.maxNames)", n.limit)
		}
		one = &name{since: now, changed: make(chan struct{})}
		n.all[listener] = one
		select {
		case n.wake <- struct{}{}:
		default:
		}
	}
	one.used = now
	return one, nil
}

// evict drops the listener that does not exist and was requested longest ago, so that requests for hosts that do not
// exist leave room for others. It reports false if there is none. The caller holds the lock.
func (n *names) evict() bool {
	oldest := ""
	for listener, one := range n.all {
		if one.status == absent && !one.permanent && (oldest == "" || one.used.Before(n.all[oldest].used)) {
			oldest = listener
		}
	}
	delete(n.all, oldest)
	return oldest != ""
}

// answer returns the result for a request, done if that does not need to wait. The caller holds the lock.
func (n *names) answer(one *name) (done, known bool, err error) {
	switch one.status {
	case present:
		return true, time.Since(one.since) < activation, nil
	case absent:
		return true, false, nil
	case rejected:
		return true, false, errors.New(one.reason)
	case pending:
	}
	if n.failure != nil && time.Since(one.since) >= n.timeout {
		return true, false, n.failure
	}
	return false, false, nil
}

// set notes what has become known of a listener.
func (n *names) set(listener string, to status, reason string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	one := n.all[listener]
	if one == nil || one.status == to && one.reason == reason {
		return
	}
	one.status, one.reason, one.since = to, reason, time.Now()
	close(one.changed)
	one.changed = make(chan struct{})
}

// connected notes whether there is a stream.
func (n *names) connected(failure error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.failure = failure
}

// failed returns why there is no stream; nil if there is one.
func (n *names) failed() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.failure
}

// list returns the listeners.
func (n *names) list() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	listeners := make([]string, 0, len(n.all))
	for listener := range n.all {
		listeners = append(listeners, listener)
	}
	return listeners
}

// drop removes discovered listeners without requests: those that do not exist after absentFor, others after timeout;
// 0 keeps these. The function requests returns the requests of a listener so far.
func (n *names) drop(now time.Time, timeout time.Duration, requests func(listener string) uint64) (dropped bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for listener, one := range n.all {
		if one.permanent {
			continue
		}
		if count := requests(listener); count != one.requests {
			one.requests, one.used = count, now
		}
		unused := now.Sub(one.used)
		if one.status != present && unused >= absentFor || one.status == present && timeout > 0 && unused >= timeout {
			delete(n.all, listener)
			dropped = true
		}
	}
	return dropped
}
