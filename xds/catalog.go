package xds

import (
	"slices"
	"time"

	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/protobuf/proto"
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
	// removeAt is when it is removed; zero while it has owners.
	removeAt time.Time
}

// catalog holds all resources. It belongs to the publisher's loop.
type catalog struct {
	entries map[resourceKey]*entry
	views   []*view
	// dirty are the resources to compare with the views; leaving are those with a time of removal.
	dirty   map[resourceKey]struct{}
	leaving map[resourceKey]struct{}
}

func newCatalog(views []*view) *catalog {
	return &catalog{
		entries: map[resourceKey]*entry{}, views: views, dirty: map[resourceKey]struct{}{},
		leaving: map[resourceKey]struct{}{},
	}
}

// own adds an owner to a resource, or changes the owner's namespace.
func (c *catalog) own(key resourceKey, by owner) {
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
		one.owners[at] = by
	}
	if !one.removeAt.IsZero() {
		one.removeAt = time.Time{}
		delete(c.leaving, key)
	}
	c.dirty[key] = struct{}{}
}

// disown removes an owner. A resource without owners is removed: a listener or route at once, clusters and endpoints
// after removalDelay.
func (c *catalog) disown(key resourceKey, name string, now time.Time) {
	one := c.entries[key]
	if one == nil {
		return
	}
	one.owners = slices.DeleteFunc(one.owners, func(known owner) bool { return known.name == name })
	c.dirty[key] = struct{}{}
	if len(one.owners) > 0 {
		return
	}
	if key.typeURL == resource.ListenerType || key.typeURL == resource.RouteType {
		delete(c.entries, key)
		return
	}
	one.removeAt = now.Add(removalDelay)
	c.leaving[key] = struct{}{}
}

// set gives a resource its content; content that is equal is no change. It reports whether it has changed.
func (c *catalog) set(key resourceKey, content proto.Message) bool {
	one := c.entries[key]
	if one == nil || one.resource != nil && proto.Equal(one.resource, content) {
		return false
	}
	one.resource = content
	c.dirty[key] = struct{}{}
	return true
}

// expire removes what is due, and returns when something will be due next; zero for never.
func (c *catalog) expire(now time.Time) (next time.Time) {
	for key := range c.leaving {
		one := c.entries[key]
		if !one.removeAt.After(now) {
			delete(c.entries, key)
			delete(c.leaving, key)
			c.dirty[key] = struct{}{}
		} else if next.IsZero() || one.removeAt.Before(next) {
			next = one.removeAt
		}
	}
	return next
}

// flush brings all views up to date: endpoints and clusters are added before the routes and listeners that lead to
// them, and removed after these. Noticed is when the source noticed the earliest change of endpoints; zero if unknown.
// It returns the number of changes by type.
func (c *catalog) flush(noticed time.Time) (map[string]int, error) {
	if len(c.dirty) == 0 {
		return nil, nil
	}
	changes := map[string]int{}
	byType := map[string][]string{}
	for key := range c.dirty {
		byType[key.typeURL] = append(byType[key.typeURL], key.name)
	}
	clear(c.dirty)
	order := typeURLs()
	for _, step := range []bool{false, true} { // Additions, then removals in the opposite order.
		for _, typeURL := range order {
			for _, seen := range c.views {
				count, err := seen.update(typeURL, c.part(seen, typeURL, byType[typeURL], step), noticed)
				if err != nil {
					return changes, err
				}
				changes[typeURL] += count
			}
		}
		slices.Reverse(order)
	}
	return changes, nil
}

// part returns the changes to the named resources in a view: those that are removed from it, or all others.
func (c *catalog) part(seen *view, typeURL string, names []string, removed bool) map[string]proto.Message {
	part := make(map[string]proto.Message, len(names))
	for _, name := range names {
		content := c.visible(seen, resourceKey{typeURL, name})
		if (content == nil) == removed {
			part[name] = content
		}
	}
	return part
}

// visible returns what a view shows of a resource; nil for nothing. One that is leaving stays where it is shown.
func (c *catalog) visible(seen *view, key resourceKey) proto.Message {
	one := c.entries[key]
	if one == nil || one.resource == nil {
		return nil
	}
	if len(one.owners) == 0 {
		if found := seen.resources(key.typeURL, []string{key.name}); len(found) > 0 {
			return one.resource
		}
		return nil
	}
	if !seen.sees(one.owners) {
		return nil
	}
	return one.resource
}
