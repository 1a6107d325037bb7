package xds

import (
	"bytes"
	"slices"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/sluiceproxy/sluice/telemetry"
)

// removalDelay is how long clusters and endpoints are kept after the last route to them was removed: clients that have
// not received the new route yet still use them.
const removalDelay = 10 * time.Second

// resourceKey identifies a resource.
type resourceKey struct {
	kind kind
	name string
}

// owner is what a resource is published for: a Kubernetes Service port or a configured service.
type owner struct {
	name string
	// namespace is that of the Kubernetes object; empty for files and containers.
	namespace string
}

// entry is one resource.
type entry struct {
	// content is nil until it is set.
	content *anypb.Any
	// assignment is the EDS resource of a cluster; empty for others.
	assignment string
	owners     []owner
	// leaving are former owners: those who see the resource for them still do until the time.
	leaving map[owner]time.Time
}

// departure is when a former owner is forgotten.
type departure struct {
	key resourceKey
	by  owner
	at  time.Time
}

// catalog holds all resources. It belongs to the publisher's loop.
type catalog struct {
	logger  telemetry.Logger
	entries map[resourceKey]*entry
	views   []*view
	// dirty are the resources to compare with the views.
	dirty map[resourceKey]struct{}
	// departures are in order of their times; those of owners that are back are outdated.
	departures []departure
}

func newCatalog(views []*view, logger telemetry.Logger) *catalog {
	return &catalog{
		logger: logger, entries: map[resourceKey]*entry{}, views: views, dirty: map[resourceKey]struct{}{},
	}
}

// own adds an owner to a resource, or changes the owner's namespace.
func (c *catalog) own(key resourceKey, by owner, now time.Time) {
	one := c.entries[key]
	if one == nil {
		one = &entry{}
		c.entries[key] = one
	}
	at := slices.IndexFunc(one.owners, func(known owner) bool { return known.name == by.name })
	switch {
	case at < 0:
		one.owners = append(one.owners, by)
	case one.owners[at] == by:
		return
	default:
		c.leave(key, one.owners[at], now)
		one.owners[at] = by
	}
	delete(one.leaving, by)
	c.dirty[key] = struct{}{}
}

// disown removes an owner. A resource without owners is removed: a listener or route at once, clusters and endpoints
// after removalDelay.
func (c *catalog) disown(key resourceKey, name string, now time.Time) {
	one := c.entries[key]
	if one == nil {
		return
	}
	at := slices.IndexFunc(one.owners, func(known owner) bool { return known.name == name })
	if at < 0 {
		return
	}
	by := one.owners[at]
	one.owners = slices.Delete(one.owners, at, at+1)
	c.leave(key, by, now)
	c.dirty[key] = struct{}{}
	if len(one.owners)+len(one.leaving) == 0 {
		delete(c.entries, key)
	}
}

// leave keeps a cluster or endpoints visible to those who see them for an owner.
func (c *catalog) leave(key resourceKey, by owner, now time.Time) {
	if key.kind == listeners || key.kind == routes {
		return
	}
	one, until := c.entries[key], now.Add(removalDelay)
	if one.leaving == nil {
		one.leaving = map[owner]time.Time{}
	}
	one.leaving[by] = until
	c.departures = append(c.departures, departure{key, by, until})
}

// owned reports whether a resource is published for anyone, and is not merely kept for a while.
func (c *catalog) owned(key resourceKey) bool {
	one := c.entries[key]
	return one != nil && len(one.owners) > 0
}

// set gives a resource its content; content that is equal is no change. Content that a client could not read is logged
// and not published: the last one stays.
func (c *catalog) set(key resourceKey, message proto.Message) {
	one := c.entries[key]
	if one == nil {
		return
	}
	value, err := proto.MarshalOptions{Deterministic: true}.Marshal(message)
	if err == nil && one.content != nil && bytes.Equal(one.content.GetValue(), value) {
		return
	}
	if rules, ok := message.(validator); ok && err == nil {
		err = rules.Validate()
	}
	if err != nil {
		c.logger.Error("a resource is not published over xDS", "type", key.kind, "name", key.name, "error", err)
		return
	}
	one.content = &anypb.Any{TypeUrl: key.kind.typeURL(), Value: value}
	if cluster, ok := message.(*clusterv3.Cluster); ok {
		one.assignment = cluster.GetEdsClusterConfig().GetServiceName()
	}
	c.dirty[key] = struct{}{}
}

// validator is implemented by the messages of Envoy's API: the rules of their fields.
type validator interface{ Validate() error }

// expire removes what is due, and returns when something will be due next; zero for never.
func (c *catalog) expire(now time.Time) (next time.Time) {
	for len(c.departures) > 0 {
		first := c.departures[0]
		one := c.entries[first.key]
		current := one != nil && one.leaving[first.by].Equal(first.at)
		if current && first.at.After(now) {
			return first.at
		}
		c.departures = c.departures[1:]
		if !current {
			continue
		}
		delete(one.leaving, first.by)
		c.dirty[first.key] = struct{}{}
		if len(one.owners)+len(one.leaving) == 0 {
			delete(c.entries, first.key)
		}
	}
	return time.Time{}
}

// flush brings all views up to date. Noticed is when the source noticed the earliest change of endpoints; zero if
// unknown. It returns the number of changes by kind.
func (c *catalog) flush(noticed time.Time) (counts [kinds]int) {
	if len(c.dirty) == 0 {
		return counts
	}
	for _, seen := range c.views {
		changes := make([]change, 0, len(c.dirty))
		for key := range c.dirty {
			one := change{key: key, content: c.visible(seen, key)}
			if one.content != nil {
				one.assignment = c.entries[key].assignment
			}
			changes = append(changes, one)
		}
		for of, count := range seen.apply(changes, noticed) {
			counts[of] += count
		}
	}
	if len(c.dirty) > keptMarks {
		c.dirty = map[resourceKey]struct{}{} // A map that was large stays slow to read.
	}
	clear(c.dirty)
	return counts
}

// visible returns what a view shows of a resource; nil for nothing. What is leaving stays where it is shown.
func (c *catalog) visible(seen *view, key resourceKey) *anypb.Any {
	one := c.entries[key]
	if one == nil || one.content == nil {
		return nil
	}
	if slices.ContainsFunc(one.owners, seen.sees) {
		return one.content
	}
	for by := range one.leaving {
		if seen.sees(by) && seen.has(key) {
			return one.content
		}
	}
	return nil
}
