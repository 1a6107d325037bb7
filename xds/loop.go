package xds

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/pipeline"
	translation "github.com/sluiceproxy/sluice/xds/resource"
)

// loop is the state of Publisher.Run.
type loop struct {
	publisher *Publisher
	catalog   *catalog

	sets map[string]dynamic.EndpointSet // those that exist
	// hosts are the keys of the sets of each first listener name; the first one is published. There is more than one where
	// two clusters have a Service of the same name.
	hosts map[string][]string

	state         *pipeline.State // the last one
	configuration *dynamic.Configuration
	unusable      map[string]bool // services that are quarantined
	services      map[string]*service
	reasons       map[string]string          // why services are not published
	users         map[string]map[string]bool // services by the service that they refer to
	composed      map[string]*composition    // EDS resources of several sets and addresses, by name
	parts         map[string]map[string]bool // their names by the set that is a part of them
	divisions     divisions
	started       bool
}

// composition is an EDS resource of several sets and addresses, with the services that have it.
type composition struct {
	translation.Mixed
	owners map[string]bool
}

// published is what is kept of a bundle: its resources, and those of them that are composed.
type published struct {
	keys     []resourceKey
	composed []string
}

// service is a configured service.
type service struct {
	published
	depends   []string
	namespace string // that it is declared in
}

func newLoop(p *Publisher) *loop {
	views := slices.AppendSeq([]*view{p.all}, maps.Values(p.bound))
	return &loop{
		publisher: p, catalog: newCatalog(views, p.options.Logger),
		sets: map[string]dynamic.EndpointSet{}, hosts: map[string][]string{},
		configuration: &dynamic.Configuration{}, unusable: map[string]bool{}, services: map[string]*service{},
		reasons: map[string]string{}, users: map[string]map[string]bool{}, composed: map[string]*composition{},
		parts: map[string]map[string]bool{}, divisions: newDivisions(),
	}
}

// step publishes what has changed and returns when something will be due next; zero means that only a change can bring
// something new. Nothing is published before the first complete state, so that no client sees a part of it.
func (l *loop) step(now time.Time, state *pipeline.State) (next time.Time) {
	sets := l.publisher.take()
	for _, key := range inOrder(sets) {
		l.applySet(key, sets[key], now)
	}
	if !l.divisions.told {
		l.divisions.told = true
		l.publisher.refuse(l.verdicts())
	}
	if state.Configuration != nil {
		l.applyState(state, now)
	}
	if !l.started && !state.Ready {
		return time.Time{}
	}
	next = l.catalog.expire(now)
	for of, count := range l.catalog.flush(earliestNotice(sets)) {
		if count > 0 {
			l.publisher.options.Meter.Changed(kind(of).String(), count)
		}
	}
	if !l.started {
		l.started = true
		close(l.publisher.ready)
		l.publisher.options.Logger.Info("xDS is served", "services", len(l.services), "endpointSets", len(l.sets))
	}
	return next
}

// earliestNotice returns when the first of the changes of the sets was noticed at its source; zero if unknown.
func earliestNotice(sets map[string]dynamic.EndpointSet) time.Time {
	var earliest time.Time
	for _, set := range sets {
		if !set.Noticed.IsZero() && (earliest.IsZero() || set.Noticed.Before(earliest)) {
			earliest = set.Noticed
		}
	}
	return earliest
}

// applySet takes a new version of an endpoint set.
func (l *loop) applySet(key string, set dynamic.EndpointSet, now time.Time) {
	before, known := l.sets[key]
	if set.Deleted {
		delete(l.sets, key)
	} else {
		l.sets[key] = set
	}
	whole := wholeOf(key)
	succeeded := set.Deleted && whole != ""
	switch names := translation.ListenerNames(key); {
	case len(names) > 0 && known == set.Deleted:
		l.elect(names[0], key, set.Deleted, now)
		succeeded = set.Deleted && len(l.hosts[names[0]]) > 0
	case len(names) > 0 && before.Environment != set.Environment && first(l.hosts[names[0]]) == key:
		l.publishSet(key, now)
	case l.divisions.awaited[whole]:
		l.publishSet(whole, now)
	}
	// Clients use the endpoints of a set whose host has gone to another set, or that is no environment any more, until
	// they have the route and the cluster of the other one.
	if own := (resourceKey{endpoints, key}); !succeeded || l.catalog.owned(own) {
		l.catalog.set(own, translation.Assignment(key, set.Endpoints))
	}
	for name := range l.parts[key] {
		l.compose(name)
	}
}

// elect publishes a set that is new under its host, or another one in the place of a deleted one. Where two clusters
// have the host, the first key in order is published.
func (l *loop) elect(host, key string, deleted bool, now time.Time) {
	keys := l.hosts[host]
	before := first(keys)
	if at, found := slices.BinarySearch(keys, key); deleted && found {
		keys = slices.Delete(keys, at, at+1)
	} else if !deleted && !found {
		keys = slices.Insert(keys, at, key)
	}
	l.hosts[host] = keys
	after := first(keys)
	if after == "" {
		delete(l.hosts, host)
		l.divisions.explain(host, "")
	}
	if before == after {
		return
	}
	if after != "" {
		l.publishSet(after, now)
	}
	if before != "" {
		l.withdrawSet(before, now)
	}
}

func first(keys []string) string {
	if len(keys) == 0 {
		return ""
	}
	return keys[0]
}

// namespaceOf returns the namespace of a key source/namespace/service:port.
func namespaceOf(key string) string {
	parts := strings.Split(key, "/")
	if len(parts) != 3 {
		return ""
	}
	return parts[1]
}

// publishedOf returns what is kept of a bundle, with the EDS resources that its clusters name.
func publishedOf(bundle translation.Bundle) published {
	var kept published
	for _, one := range bundle.Listeners {
		kept.keys = append(kept.keys, resourceKey{listeners, one.GetName()})
	}
	for _, one := range bundle.Routes {
		kept.keys = append(kept.keys, resourceKey{routes, one.GetName()})
	}
	for _, one := range bundle.Clusters {
		kept.keys = append(kept.keys, resourceKey{clusters, one.GetName()})
		if own := (resourceKey{endpoints, one.GetEdsClusterConfig().GetServiceName()}); own.name != "" &&
			!slices.Contains(kept.keys, own) {
			kept.keys = append(kept.keys, own)
		}
	}
	for _, one := range bundle.Assignments {
		kept.composed = append(kept.composed, one.Name)
	}
	return kept
}

// forget drops how EDS resources are composed, unless another owner has them too.
func (l *loop) forget(composed []string, by string) {
	for _, name := range composed {
		known := l.composed[name]
		if known == nil {
			continue
		}
		if delete(known.owners, by); len(known.owners) > 0 {
			continue
		}
		delete(l.composed, name)
		for _, key := range known.Keys() {
			remove(l.parts, key, name)
		}
	}
}

// compositionOf notes that an owner publishes a composed EDS resource. What it is composed of is the same for all
// owners.
func (l *loop) compositionOf(one translation.Mixed, by string) {
	known := l.composed[one.Name]
	if known == nil {
		known = &composition{owners: map[string]bool{}}
		l.composed[one.Name] = known
	}
	for _, key := range known.Keys() {
		remove(l.parts, key, one.Name)
	}
	known.Mixed, known.owners[by] = one, true
	for _, key := range one.Keys() {
		insert(l.parts, key, one.Name)
	}
}

// publish puts the resources of a bundle into the catalog, and returns what is kept of it.
func (l *loop) publish(bundle translation.Bundle, by owner, now time.Time) published {
	kept := publishedOf(bundle)
	for _, key := range kept.keys {
		l.catalog.own(key, by, now)
	}
	for _, one := range bundle.Listeners {
		l.catalog.set(resourceKey{listeners, one.GetName()}, one)
	}
	for _, one := range bundle.Routes {
		l.catalog.set(resourceKey{routes, one.GetName()}, one)
	}
	for _, one := range bundle.Clusters {
		l.catalog.set(resourceKey{clusters, one.GetName()}, one)
		if key := one.GetEdsClusterConfig().GetServiceName(); key != "" && !slices.ContainsFunc(bundle.Assignments,
			func(composed translation.Mixed) bool { return composed.Name == key }) {
			l.assign(key)
		}
	}
	for _, one := range bundle.Assignments {
		l.compositionOf(one, by.name)
		l.compose(one.Name)
	}
	return kept
}

// compose gives an EDS resource of several sets and addresses its endpoints.
func (l *loop) compose(name string) {
	one := l.composed[name]
	l.catalog.set(resourceKey{endpoints, name}, one.Assignment(func(key string) (dynamic.EndpointSet, bool) {
		set, ok := l.sets[key]
		return set, ok
	}))
}

// assign gives an EDS resource of one set its endpoints: none if the set has not arrived. Without the resource the
// calls of a gRPC client would wait instead of failing.
func (l *loop) assign(key string) {
	l.catalog.set(resourceKey{endpoints, key}, translation.Assignment(key, l.sets[key].Endpoints))
}

// withdraw removes the resources of an owner that its successor has not.
func (l *loop) withdraw(before, after []resourceKey, by string, now time.Time) {
	for _, key := range before {
		if !slices.Contains(after, key) {
			l.catalog.disown(key, by, now)
		}
	}
}
