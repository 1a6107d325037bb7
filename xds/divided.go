package xds

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	translation "github.com/sluiceproxy/sluice/xds/resource"
)

// divisions is the state of the sets that are published under a host and are divided into environments.
type divisions struct {
	// published are their resources, by the keys of the sets.
	published map[string]published
	// awaited are those with a subset whose set has not arrived: what they were before stays published.
	awaited map[string]bool
	// reasons are why they are not published, by their hosts. They are changed by explain.
	reasons map[string]string
	// told is unset when reasons have changed that are not among the verdicts yet.
	told bool
}

// explain sets the reason why a host is not published; "" if it is.
func (d *divisions) explain(host, reason string) {
	if d.reasons[host] == reason {
		return
	}
	d.told = false
	if d.reasons[host] = reason; reason == "" {
		delete(d.reasons, host)
	}
}

func newDivisions() divisions {
	return divisions{
		published: map[string]published{}, awaited: map[string]bool{}, reasons: map[string]string{}, told: true,
	}
}

// wholeOf returns the key of the set of which another one has an environment; "" for the key of a whole set.
func wholeOf(key string) string {
	whole, _, divided := strings.Cut(key, "#")
	if !divided {
		return ""
	}
	return whole
}

// inOrder returns the keys of sets, those of whole sets first: they say which environments there are from now on.
func inOrder(sets map[string]dynamic.EndpointSet) []string {
	return slices.SortedFunc(maps.Keys(sets), func(a, b string) int {
		if whole := wholeOf(a) == ""; whole != (wholeOf(b) == "") {
			if whole {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
}

// publishSet publishes a set under its host, in place of what is published for it.
func (l *loop) publishSet(key string, now time.Time) {
	host, by := translation.ListenerNames(key)[0], l.sets[key].Environment
	delete(l.divisions.awaited, key)
	if by != nil && !l.arrived(by) {
		l.divisions.awaited[key] = true
		return
	}
	before, bundle, reason := l.publishedSet(key), translation.OfSet(key), ""
	if by != nil {
		var err error
		if bundle, err = translation.OfDividedSet(key, by); err != nil {
			reason = err.Error()
		}
	}
	l.divisions.explain(host, reason)
	l.forget(before.composed, key)
	after := l.publish(bundle, owner{name: key, namespace: namespaceOf(key)}, now)
	delete(l.divisions.published, key)
	if by != nil {
		l.divisions.published[key] = after
	}
	l.withdraw(before.keys, after.keys, key, now)
}

// withdrawSet removes what is published for a set. The host may be that of another one by now.
func (l *loop) withdrawSet(key string, now time.Time) {
	before := l.publishedSet(key)
	l.forget(before.composed, key)
	l.withdraw(before.keys, nil, key, now)
	delete(l.divisions.published, key)
	delete(l.divisions.awaited, key)
}

// publishedSet returns what is published for a set under its host.
func (l *loop) publishedSet(key string) published {
	if divided, ok := l.divisions.published[key]; ok {
		return divided
	}
	return publishedOf(translation.OfSet(key))
}

// arrived reports whether the sets of all environments are there.
func (l *loop) arrived(by *dynamic.Environment) bool {
	return !slices.ContainsFunc(by.Subsets, func(one dynamic.EnvironmentSubset) bool {
		_, known := l.sets[one.Service]
		return !known
	})
}
