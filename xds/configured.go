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

// applyState publishes the services that have changed since the last State, and those that refer to them.
func (l *loop) applyState(state *pipeline.State, now time.Time) {
	if state == l.state {
		return
	}
	moved := l.moved(state)
	l.state = state
	unusable := quarantined(state.Verdicts)
	changed := map[string]bool{}
	if state.Configuration != l.configuration {
		for ref := range state.Configuration.Changed(l.configuration) {
			if ref.Kind == dynamic.KindService {
				changed[ref.Name] = true
			}
		}
	}
	for name := range difference(unusable, l.unusable) {
		changed[name] = true
	}
	l.configuration, l.unusable = state.Configuration, unusable
	if len(changed)+len(moved) == 0 {
		return
	}
	affected := l.affected(changed)
	for _, name := range moved {
		affected[name] = true
	}
	for name := range affected {
		l.translate(name, state, now)
	}
	l.publisher.refuse(l.verdicts())
}

// moved returns the services that are declared in another namespace than before.
func (l *loop) moved(state *pipeline.State) []string {
	if l.state != nil && maps.Equal(state.Included, l.state.Included) {
		return nil
	}
	var names []string
	for name, one := range l.services {
		if originNamespace(state, name) != one.namespace {
			names = append(names, name)
		}
	}
	return names
}

// quarantined returns the names of the services that are not applied.
func quarantined(verdicts []dynamic.Verdict) map[string]bool {
	names := map[string]bool{}
	for _, verdict := range verdicts {
		if verdict.Ref.Kind == dynamic.KindService && verdict.Status == dynamic.Quarantined {
			names[verdict.Ref.Name] = true
		}
	}
	return names
}

// difference returns the names that one of two sets has.
func difference(a, b map[string]bool) map[string]bool {
	names := map[string]bool{}
	for name := range a {
		if !b[name] {
			names[name] = true
		}
	}
	for name := range b {
		if !a[name] {
			names[name] = true
		}
	}
	return names
}

// affected returns the services and all that refer to them, directly or through others.
func (l *loop) affected(changed map[string]bool) map[string]bool {
	all := maps.Clone(changed)
	for queue := slices.Collect(maps.Keys(changed)); len(queue) > 0; {
		name := queue[0]
		queue = queue[1:]
		for user := range l.users[name] {
			if !all[user] {
				all[user] = true
				queue = append(queue, user)
			}
		}
	}
	return all
}

// lookup returns a service that can be used, or nil.
func (l *loop) lookup(name string) *dynamic.Service { return lookup(l.configuration, l.unusable, name) }

// lookup returns a service that is not among the unusable ones, or nil.
func lookup(configuration *dynamic.Configuration, unusable map[string]bool, name string) *dynamic.Service {
	if unusable[name] {
		return nil
	}
	found, _ := configuration.Object(dynamic.Ref{Kind: dynamic.KindService, Name: name}).(*dynamic.Service)
	return found
}

// internal reports whether a service is one of Sluice itself, which is not published.
func internal(name string) bool { return strings.HasSuffix(name, "@"+pipeline.InternalProvider) }

// translate publishes the current definition of a service in place of the one before.
func (l *loop) translate(name string, state *pipeline.State, now time.Time) {
	before := l.services[name]
	if before == nil {
		before = &service{}
	}
	delete(l.reasons, name)
	for _, used := range before.depends {
		remove(l.users, used, name)
	}
	l.forget(before.composed, name)
	definition := l.lookup(name)
	if definition == nil || internal(name) {
		delete(l.services, name)
		l.withdraw(before.keys, nil, name, now)
		return
	}
	bundle, depends, err := translation.OfService(name, definition, l.lookup)
	if err != nil {
		bundle, l.reasons[name] = translation.Bundle{}, err.Error()
	}
	for _, used := range depends {
		insert(l.users, used, name)
	}
	after := &service{depends: depends, namespace: originNamespace(state, name)}
	l.services[name] = after
	after.published = l.publish(bundle, owner{name: name, namespace: after.namespace}, now)
	l.withdraw(before.keys, after.keys, name, now)
}

// originOf returns where a service is declared; zero where that is not known.
func originOf(state *pipeline.State, name string) dynamic.Origin {
	at := strings.LastIndexByte(name, '@')
	if at < 0 || state.Included[name[at+1:]] == nil {
		return dynamic.Origin{}
	}
	return state.Included[name[at+1:]].Origins.Get(dynamic.Ref{Kind: dynamic.KindService, Name: name[:at]})
}

// originNamespace returns the namespace of the Kubernetes object that declares a service; empty for other sources.
func originNamespace(state *pipeline.State, name string) string {
	origin := originOf(state, name)
	if origin.Resource == nil {
		return ""
	}
	return origin.Resource.Namespace
}

// verdicts returns a verdict on each service and each host of a Kubernetes Service that is not published, in order.
func (l *loop) verdicts() []dynamic.Verdict {
	return slices.Concat(verdicts(l.reasons, dynamic.KindService, ""), verdicts(l.divisions.reasons, dynamic.KindSource, "xds "))
}

// verdicts returns a verdict on each object that is not published, in order, from the reasons.
func verdicts(reasons map[string]string, kind dynamic.Kind, prefix string) []dynamic.Verdict {
	var all []dynamic.Verdict
	for _, name := range slices.Sorted(maps.Keys(reasons)) {
		all = append(all, dynamic.Verdict{
			Ref: dynamic.Ref{Kind: kind, Name: prefix + name}, Status: dynamic.Degraded,
			Code: dynamic.CodeNotPublished, Reason: "it is not published over xDS: " + reasons[name],
		})
	}
	return all
}

// Unpublished returns a verdict on each service of a State that a Publisher would not publish, in order of their names,
// with the origins of their objects. It is for a configuration that is checked and not served.
func Unpublished(state *pipeline.State) []dynamic.Verdict {
	unusable, reasons := quarantined(state.Verdicts), map[string]string{}
	find := func(name string) *dynamic.Service { return lookup(state.Configuration, unusable, name) }
	for ref := range state.Configuration.Objects() {
		if ref.Kind != dynamic.KindService || internal(ref.Name) {
			continue
		}
		if definition := find(ref.Name); definition != nil {
			if _, _, err := translation.OfService(ref.Name, definition, find); err != nil {
				reasons[ref.Name] = err.Error()
			}
		}
	}
	all := verdicts(reasons, dynamic.KindService, "")
	for i := range all {
		all[i].Origin = originOf(state, all[i].Ref.Name)
	}
	return all
}

// insert adds a name to the set at a key.
func insert(sets map[string]map[string]bool, key, name string) {
	if sets[key] == nil {
		sets[key] = map[string]bool{}
	}
	sets[key][name] = true
}

// remove takes a name out of the set at a key.
func remove(sets map[string]map[string]bool, key, name string) {
	delete(sets[key], name)
	if len(sets[key]) == 0 {
		delete(sets, key)
	}
}
