package dns

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
)

// maxLookups is the number of concurrent lookups.
const maxLookups = 64

// session is one run of the provider. All fields but system are used by its loop only.
type session struct {
	*Provider
	messages chan<- dynamic.Message
	system   atomic.Pointer[system]
	findings chan finding
	slots    chan struct{}
	running  sync.WaitGroup

	names  map[string]*name
	reason string
}

// name is one wanted name with its keys.
type name struct {
	watcher *watcher
	last    *finding // nil before the first lookup has completed
	keys    map[string]*target
}

// target is one key: a name with a port.
type target struct {
	port      uint16
	published bool
	endpoints []dynamic.Endpoint
}

// Provide publishes the sets of the wanted names until ctx ends. It is synced at once, since it has no state of its
// own; names that cannot be resolved are in its reason.
func (p *Provider) Provide(ctx context.Context, messages chan<- dynamic.Message) error {
	s := &session{
		Provider: p,
		messages: messages,
		findings: make(chan finding),
		slots:    make(chan struct{}, maxLookups),
		names:    map[string]*name{},
	}
	s.system.Store(loadSystem(p.options))
	ctx, cancel := context.WithCancel(ctx)
	defer s.running.Wait()
	defer cancel()
	s.send(ctx, dynamic.Message{State: dynamic.StateSynced})
	s.reconcile(ctx)
	files := time.NewTicker(p.filesInterval)
	defer files.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-p.kick:
			s.reconcile(ctx)
		case found := <-s.findings:
			s.take(ctx, found)
		case <-files.C:
			s.reload()
		}
	}
}

func (s *session) send(ctx context.Context, message dynamic.Message) {
	message.Provider = s.Provider.name
	select {
	case s.messages <- message:
	case <-ctx.Done():
	}
}

// reconcile starts and stops watchers according to the wanted keys.
func (s *session) reconcile(ctx context.Context) {
	wanted := map[string]map[string]uint16{}
	for _, key := range s.wantedKeys() {
		host, port, err := parseKey(key)
		if err != nil {
			s.logger.Error("endpoint set cannot be resolved", "key", key, "error", err)
			continue
		}
		if wanted[host] == nil {
			wanted[host] = map[string]uint16{}
		}
		wanted[host][key] = port
	}
	var sets []dynamic.EndpointSet
	for host, one := range s.names {
		for key, target := range one.keys {
			if _, ok := wanted[host][key]; ok {
				continue
			}
			delete(one.keys, key)
			if target.published {
				sets = append(sets, dynamic.EndpointSet{Key: key, Deleted: true})
			}
		}
		if len(one.keys) == 0 {
			one.watcher.cancel()
			delete(s.names, host)
		}
	}
	for host, keys := range wanted {
		sets = append(sets, s.want(ctx, host, keys)...)
	}
	s.publish(ctx, sets)
}

// want watches a name for these keys, and returns sets for keys that are new.
func (s *session) want(ctx context.Context, host string, keys map[string]uint16) []dynamic.EndpointSet {
	one, ok := s.names[host]
	if !ok {
		watching, cancel := context.WithCancel(ctx)
		one = &name{
			watcher: &watcher{provider: s.Provider, name: host, cancel: cancel, wake: make(chan struct{}, 1)},
			keys:    map[string]*target{},
		}
		s.names[host] = one
		s.running.Go(func() { one.watcher.run(watching, s.system.Load, s.slots, s.findings) })
	}
	for key, port := range keys {
		if one.keys[key] == nil {
			one.keys[key] = &target{port: port}
		}
	}
	return s.changes(one)
}

// take publishes the changes of a lookup.
func (s *session) take(ctx context.Context, found finding) {
	one, ok := s.names[found.watcher.name]
	if !ok || one.watcher != found.watcher {
		return // the watcher has been stopped
	}
	s.report(one.last, &found)
	one.last = &found
	s.publish(ctx, s.changes(one))
}

// changes returns the sets of the name's keys that differ from the published ones.
func (s *session) changes(one *name) []dynamic.EndpointSet {
	if one.last == nil || !one.last.known {
		return nil
	}
	var sets []dynamic.EndpointSet
	for key, target := range one.keys {
		endpoints := endpoints(one.last.addresses, target.port)
		if target.published && slices.EqualFunc(target.endpoints, endpoints, func(a, b dynamic.Endpoint) bool {
			return a.Address == b.Address
		}) {
			continue
		}
		target.published, target.endpoints = true, endpoints
		sets = append(sets, dynamic.EndpointSet{Key: key, Endpoints: endpoints})
	}
	return sets
}

// publish sends sets, and the state if it has changed.
func (s *session) publish(ctx context.Context, sets []dynamic.EndpointSet) {
	reason := s.trouble()
	if len(sets) == 0 && reason == s.reason {
		return
	}
	s.reason = reason
	slices.SortFunc(sets, func(a, b dynamic.EndpointSet) int { return strings.Compare(a.Key, b.Key) })
	s.send(ctx, dynamic.Message{Endpoints: sets, State: dynamic.StateSynced, Reason: reason})
}

// trouble returns the first name that cannot be resolved, and the number of others.
func (s *session) trouble() string {
	var bad []string
	for host, one := range s.names {
		if one.last != nil && one.last.err != nil {
			bad = append(bad, host)
		}
	}
	slices.Sort(bad)
	switch len(bad) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("%q cannot be resolved: %s", bad[0], s.names[bad[0]].last.err)
	}
	return fmt.Sprintf("%q and %d more names cannot be resolved: %s", bad[0], len(bad)-1, s.names[bad[0]].last.err)
}

// report logs changes in the result for a name.
func (s *session) report(before, now *finding) {
	failed := before != nil && before.err != nil
	missing := before != nil && before.missing
	host := now.watcher.name
	switch {
	case now.expired:
		s.logger.Error("name cannot be resolved for too long; its last addresses are dropped", "name", host, "error", now.err)
	case now.err != nil && !failed:
		s.logger.Warn("name cannot be resolved; its last addresses stay", "name", host, "error", now.err,
			"addresses", len(now.addresses))
	case now.missing && !missing:
		s.logger.Warn("name does not exist or has no address", "name", host)
	case now.err == nil && !now.missing && (failed || missing):
		s.logger.Info("name is resolved again", "name", host, "addresses", len(now.addresses))
	}
}

// reload reads the system's files again if they have changed, and restarts all lookups.
func (s *session) reload() {
	if stamps(s.options) == s.system.Load().stamp {
		return
	}
	s.system.Store(loadSystem(s.options))
	for _, one := range s.names {
		select {
		case one.watcher.wake <- struct{}{}:
		default:
		}
	}
}

// endpoints returns the addresses with the port, sorted, without duplicates.
func endpoints(addresses []netip.Addr, port uint16) []dynamic.Endpoint {
	sorted := slices.SortedFunc(slices.Values(addresses), netip.Addr.Compare)
	sorted = slices.Compact(sorted)
	result := make([]dynamic.Endpoint, 0, len(sorted))
	for _, address := range sorted {
		result = append(result, dynamic.Endpoint{Address: netip.AddrPortFrom(address, port)})
	}
	return result
}

// parseKey splits a key of the form dns/name:port.
func parseKey(key string) (host string, port uint16, err error) {
	rest, ok := strings.CutPrefix(key, Prefix)
	if !ok {
		return "", 0, fmt.Errorf("it does not begin with %s", Prefix)
	}
	host, text, err := net.SplitHostPort(rest)
	if err != nil || host == "" {
		return "", 0, fmt.Errorf("it is not of the form %sname:port", Prefix)
	}
	number, err := strconv.ParseUint(text, 10, 16)
	if err != nil || number == 0 {
		return "", 0, fmt.Errorf("bad port %q", text)
	}
	return host, uint16(number), nil
}
