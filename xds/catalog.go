package xds

import (
	"slices"
	"time"

	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/protobuf/proto"

	"github.com/sluiceproxy/sluice/telemetry"
)

// removalDelay is how long clusters and endpoints are kept after the last route to them was removed: clients that have
// not received the new route yet still use them.
const removalDelay = 10 * time.Second

// typeURLs returns the published types in the order in which additions are sent: what is referred to comes first.
func typeURLs() []string {
	return []string{resource.EndpointType, resource.ClusterType, resource.RouteType, resource.ListenerType}
}

// resourceKey identifies a resource.
type resourceKey struct{ typeURL, name string }

// owner is what a resource is published for: a Kubernetes Service port or a configured service.
type owner struct {
	name string
	// namespace is that of the Kubernetes object; empty for files and containers.
	namespace string
}

// entry is one resource.
type entry struct {
	// resource is nil until it is set.
	resource proto.Message
	owners   []owner
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
	if key.typeURL == resource.ListenerType || key.typeURL == resource.RouteType {
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
func (c *catalog) set(key resourceKey, content proto.Message) {
	one := c.entries[key]
	if one == nil || one.resource != nil && proto.Equal(one.resource, content) {
		return
	}
	if err := check(content); err != nil {
		c.logger.Error("a resource is not published over xDS", "type", shortType(key.typeURL), "name", key.name, "error", err)
		return
	}
	one.resource = content
	c.dirty[key] = struct{}{}
}

// validator is implemented by the messages of Envoy's API: the rules of their fields.
type validator interface{ Validate() error }

// check returns why a message cannot be sent.
func check(content proto.Message) error {
	if _, err := proto.Marshal(content); err != nil {
		return err
	}
	if rules, ok := content.(validator); ok {
		return rules.Validate()
	}
	return nil
}

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

// flush brings all views up to date: endpoints and clusters are added before the routes and listeners that lead to
// them, and removed after these. Noticed is when the source noticed the earliest change of endpoints; zero if unknown.
// It returns the number of changes by type.
func (c *catalog) flush(noticed time.Time) map[string]int {
	if len(c.dirty) == 0 {
		return nil
	}
	changes := map[string]int{}
	byType := map[string][]string{}
	for key := range c.dirty {
		byType[key.typeURL] = append(byType[key.typeURL], key.name)
	}
	c.dirty = map[resourceKey]struct{}{} // A map that was large stays slow to read.
	order := typeURLs()
	for _, removals := range []bool{false, true} { // Additions, then removals in the opposite order.
		for _, typeURL := range order {
			if len(byType[typeURL]) > 0 {
				changes[typeURL] += c.flushType(typeURL, byType[typeURL], removals, noticed)
			}
		}
		slices.Reverse(order)
	}
	return changes
}

// flushType brings the named resources of a type up to date in all views: those that are removed, or all others.
func (c *catalog) flushType(typeURL string, names []string, removals bool, noticed time.Time) (changes int) {
	for _, seen := range c.views {
		part := c.part(seen, typeURL, names, removals)
		if len(part) == 0 {
			continue
		}
		count, err := seen.update(typeURL, part, noticed)
		if err != nil {
			c.logger.Error("resources are not published over xDS", "type", shortType(typeURL), "error", err)
		}
		changes += count
	}
	return changes
}

// part returns the changes to the named resources in a view: those that are removed from it, or all others.
func (c *catalog) part(seen *view, typeURL string, names []string, removed bool) map[string]proto.Message {
	part := map[string]proto.Message{}
	for _, name := range names {
		content := c.visible(seen, resourceKey{typeURL, name})
		if (content == nil) == removed {
			part[name] = content
		}
	}
	return part
}

// visible returns what a view shows of a resource; nil for nothing. What is leaving stays where it is shown.
func (c *catalog) visible(seen *view, key resourceKey) proto.Message {
	one := c.entries[key]
	if one == nil || one.resource == nil {
		return nil
	}
	if slices.ContainsFunc(one.owners, seen.sees) {
		return one.resource
	}
	for by := range one.leaving {
		if seen.sees(by) && seen.has(key.typeURL, key.name) {
			return one.resource
		}
	}
	return nil
}
