package router

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forward/datagram"
	"github.com/sluiceproxy/sluice/router/index"
	"github.com/sluiceproxy/sluice/router/tcp"
)

// Table is the immutable answer to "which route?" for all entrypoints.
type Table struct {
	entries map[string]*entry
	// environments are the environment services, by name.
	environments []*serviceNode
	// uncovered is the verdict on hosts without a certificate; its reason is empty when there is none.
	uncovered dynamic.Verdict
	// packets are the routes of UDP entrypoints, overruled the verdicts on UDP routers whose entrypoints have others.
	packets   map[string]*datagram.Route
	overruled []dynamic.Verdict
	// udpListings are the UDP routers, by name.
	udpListings []Listing
	// sites are the addresses of listeners.
	sites *sites
}

// entry is the part of a table that belongs to one entrypoint.
type entry struct {
	entrypoint EntryPoint
	// listener is that of a provider; nil for an entrypoint of the static configuration.
	listener *listenerNode
	plain    *index.Index[*Route]
	secure   *index.Index[*Route]
	// hosts are the TLS options of the hosts that rules name; fallback is for the rest, and nil where it cannot be used.
	hosts    hosts
	fallback *certificate.Options
	// uncovered are the hosts that no certificate covers.
	uncovered uncovered
	// streams are the TCP routers.
	streams streams
}

type indexKey struct {
	entrypoint string
	secure     bool
}

func newTable(entrypoints []EntryPoint) *Table {
	table := &Table{entries: make(map[string]*entry, len(entrypoints)), sites: newSites(nil)}
	for _, entrypoint := range entrypoints {
		table.entries[entrypoint.Name] = newEntry(entrypoint)
	}
	return table
}

// newEntry returns one without routes.
func newEntry(entrypoint EntryPoint) *entry {
	entry := &entry{
		entrypoint: entrypoint,
		plain:      index.New[*Route](nil),
		secure:     index.New[*Route](nil),
		streams:    newStreams(entrypoint.PreferHTTP),
	}
	entry.settle(nil, nil)
	return entry
}

// withListeners returns a table with entries for exactly the listeners that serve, beside those of entrypoints.
func (t *Table) withListeners(listeners *listeners, objects *tlsObjects) *Table {
	next := *t
	next.entries, next.sites = make(map[string]*entry, len(t.entries)), listeners.sites
	for name, old := range t.entries {
		if old.listener == nil {
			next.entries[name] = old
		}
	}
	for name, node := range listeners.all {
		if node.err != nil {
			continue
		}
		one := newEntry(node.entrypoint)
		if old := t.entries[name]; old != nil {
			*one = *old
		}
		one.entrypoint, one.listener, one.fallback = node.entrypoint, node, objects.fallbacks[name]
		one.settle(nil, nil)
		next.entries[name] = one
	}
	next.uncovered = uncoveredVerdict(next.entries)
	return &next
}

// with returns a table with some routes exchanged; entries that nothing touches are shared. streams returns the TCP
// routes of an entrypoint where they have changed. Without any change it returns the same table.
func (t *Table) with(
	changes map[indexKey]*change, objects *tlsObjects, streams map[string]func() []*tcp.Route[*TCPRoute],
) *Table {
	if len(changes)+len(streams) == 0 && !objects.changed && !objects.renewed {
		return t
	}
	next := &Table{
		entries: maps.Clone(t.entries), environments: t.environments, uncovered: t.uncovered,
		packets: t.packets, overruled: t.overruled, udpListings: t.udpListings, sites: t.sites,
	}
	same := true
	for name := range t.touched(changes, objects, streams) {
		old := t.entries[name]
		updated := *old
		var replaced, added, touched []*index.Route[*Route]
		if change := changes[indexKey{name, false}]; change != nil {
			updated.plain = old.plain.Update(change.removed, change.added)
		}
		if change := changes[indexKey{name, true}]; change != nil {
			updated.secure = old.secure.Update(change.removed, change.added)
			replaced, added = change.replaced(old.secure), change.added
			touched = slices.Concat(replaced, added)
			updated.hosts = old.hosts.update(replaced, added, objects.binder(name), objects.changed)
		} else if objects.changed {
			updated.hosts = old.hosts.update(nil, nil, objects.binder(name), true)
		}
		updated.fallback = objects.fallbacks[name]
		updated.uncovered = old.uncovered.update(updated.hosts, touched, objects.covering(name), objects.renewed)
		if routes := streams[name]; routes != nil {
			updated.replaceStreams(routes(), objects)
		}
		updated.settle(replaced, added)
		same = same && updated.uncovered.routers.Same(old.uncovered.routers)
		next.entries[name] = &updated
	}
	if !same {
		next.uncovered = uncoveredVerdict(next.entries)
	}
	return next
}

// touched returns the names of the entries that are another one after a change.
func (t *Table) touched(
	changes map[indexKey]*change, objects *tlsObjects, streams map[string]func() []*tcp.Route[*TCPRoute],
) map[string]struct{} {
	names := map[string]struct{}{}
	for name, old := range t.entries {
		if objects.changed || objects.renewed || old.fallback != objects.fallbacks[name] || streams[name] != nil {
			names[name] = struct{}{}
		}
	}
	for key := range changes {
		if t.entries[key.entrypoint] != nil {
			names[key.entrypoint] = struct{}{}
		}
	}
	return names
}

// accepting returns the TLS options of a connection with that server name. Where the host's own ones cannot be used,
// the handshake uses the default ones, and the switch refuses the request.
func (e *entry) accepting(serverName string) *certificate.Options {
	return cmp.Or(e.optionsFor(serverName), e.fallback)
}

// optionsFor returns the TLS options of a host: exact, then the wildcard of one label, then the default ones.
// It returns nil where they cannot be used.
func (e *entry) optionsFor(host string) *certificate.Options {
	if options, named := e.hosts.find(host); named {
		return options
	}
	return e.fallback
}

// conflictVerdicts reports routes whose TLS options cannot be selected.
func (t *Table) conflictVerdicts() []dynamic.Verdict {
	var verdicts []dynamic.Verdict
	for _, entry := range t.entries {
		for _, conflict := range entry.hosts.conflicts() {
			ref := dynamic.Ref{Kind: dynamic.KindRouter, Name: conflict.name}
			verdicts = append(verdicts, dynamic.Verdict{
				Ref: ref, Status: dynamic.Degraded, Code: dynamic.CodeConflictingTLSOptions,
				Reason: fmt.Sprintf("tls.options differ from those of router %q for host %q on entrypoint %q: "+
					"its requests are answered 421", conflict.other, conflict.host, entry.entrypoint.Name),
			})
		}
	}
	slices.SortFunc(verdicts, func(a, b dynamic.Verdict) int { return cmp.Compare(a.Reason, b.Reason) })
	return verdicts
}
