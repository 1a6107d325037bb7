package endpoint

import (
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/backend"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
	"github.com/sluiceproxy/sluice/provider/kubernetes/virtualenvironment"
)

// The kinds of objects that are counted.
const (
	kindService   = "Service"
	kindSlice     = "EndpointSlice"
	kindEndpoints = "Endpoints"
	kindPod       = "Pod"
	// kindEnvironment is for the VirtualEnvironment of a namespace.
	kindEnvironment = virtualenvironment.Kind
)

// reference names a Service.
type reference struct{ namespace, name string }

// sliceCache holds each Service with its slices, and what has been sent of it. The goroutines of the watches note
// changes, and the goroutine that sends collects them. Endpoint sets are built and compared here, and nowhere later.
type sliceCache struct {
	source   string
	counters translation.Counters
	changed  func()

	mu      sync.Mutex
	entries map[reference]*entry
	dirty   []*entry               // each once
	bare    map[reference]struct{} // Services without slices
	whole   bool                   // everything is to be sent, changed or not
	lost    []string               // keys whose deletion could not be delivered
	pods    *podTags
	// ruled are the Services with the annotation client.AnnotationRule, as verdicts name them.
	ruled   map[reference]*dynamic.Resource
	divided map[servicePort]*dynamic.Environment // since the last call of divisions
	synced  bool
}

// entry is one Service and all about it; each part may be missing.
type entry struct {
	service *corev1.Service
	slices  []*discoveryv1.EndpointSlice // sorted by name
	legacy  *client.Endpoints
	former  []former
	pods    []types.UID // behind the Service; empty in a namespace without environments
	sent    []sent
	of      reference
	kind    string    // of the last event that has not been collected; empty when all have been
	noticed time.Time // the first event that has not been collected
}

// sent is what was last sent of one port of a Service, or of one of its environments.
type sent struct {
	port int32
	// udp says that the port is one of UDP; a TCP port may have the same number.
	udp bool
	// tag is that of an environment; empty for all endpoints.
	tag       string
	endpoints []dynamic.Endpoint
	// division is how the port is divided into environments; nil if it is not.
	division *division
}

func newSliceCache(source string, counters translation.Counters, changed func()) *sliceCache {
	return &sliceCache{
		source: source, pods: newPodTags(), counters: counters, changed: changed,
		entries: map[reference]*entry{}, bare: map[reference]struct{}{}, ruled: map[reference]*dynamic.Resource{},
	}
}

// service notes a change of a Service.
func (c *sliceCache) service(before, after *corev1.Service) {
	object := after
	if after == nil {
		object = before
	}
	of, names := reference{object.Namespace, object.Name}, renamed(before, after)
	c.note(of, kindService, func(one *entry) {
		one.service = after
		one.rename(names)
		c.noteRule(of, after)
	})
	if len(names) > 0 {
		time.AfterFunc(renameTime, func() { c.forgetNames(of) })
	}
	c.count(kindService)
}

// slice notes a change of an EndpointSlice, which may also have moved from one Service to another.
func (c *sliceCache) slice(before, after *discoveryv1.EndpointSlice) {
	old, of := owner(before), owner(after)
	if old.name != "" && old != of {
		c.note(old, kindSlice, func(one *entry) { one.replace(before.Name, nil) })
	}
	if of.name != "" {
		c.note(of, kindSlice, func(one *entry) { one.replace(after.Name, after) })
	}
	c.count(kindSlice)
}

// endpoints notes a change of legacy Endpoints, which have the name of their Service.
func (c *sliceCache) endpoints(before, after *client.Endpoints) {
	object := after
	if after == nil {
		object = before
	}
	c.note(reference{object.Namespace, object.Name}, kindEndpoints, func(one *entry) { one.legacy = after })
	c.count(kindEndpoints)
}

// owner returns the Service that a slice belongs to; the name is empty when there is none.
func owner(slice *discoveryv1.EndpointSlice) reference {
	if slice == nil {
		return reference{}
	}
	return reference{slice.Namespace, slice.Labels[discoveryv1.LabelServiceName]}
}

func (c *sliceCache) count(kind string) { c.counters.CountProvider(translation.Events, Name, kind, 1) }

// note changes what is known of a Service.
func (c *sliceCache) note(of reference, kind string, change func(*entry)) {
	c.mu.Lock()
	one := c.entries[of]
	if one == nil {
		one = &entry{of: of}
		c.entries[of] = one
	}
	change(one)
	if kind == kindSlice {
		c.pods.follow(one)
	}
	c.touch(one, kind)
	if one.bare() {
		c.bare[of] = struct{}{}
	} else {
		delete(c.bare, of)
	}
	c.mu.Unlock()
	c.changed()
}

// touch has an entry looked at with the next collection. The caller holds mu.
func (c *sliceCache) touch(one *entry, kind string) {
	if one.kind == "" {
		c.dirty = append(c.dirty, one)
		one.noticed = time.Now()
	}
	one.kind = kind
}

// bare reports whether a Service that should have slices has none.
func (e *entry) bare() bool { return serves(e.service) && len(e.slices) == 0 }

// replace puts the slice of that name into its place; nil takes it out.
func (e *entry) replace(name string, by *discoveryv1.EndpointSlice) {
	place, found := slices.BinarySearchFunc(e.slices, name, func(one *discoveryv1.EndpointSlice, name string) int {
		return strings.Compare(one.Name, name)
	})
	switch {
	case found && by != nil:
		e.slices[place] = by
	case found:
		e.slices = slices.Delete(e.slices, place, place+1)
	case by != nil:
		e.slices = slices.Insert(e.slices, place, by)
	}
}

// bareServices reports whether there are Services without slices.
func (c *sliceCache) bareServices() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.bare) > 0
}

// trust notes that everything has been read once, and trusted reports it.
func (c *sliceCache) trust() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.synced = true
}

func (c *sliceCache) trusted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.synced
}

// again has everything sent with the next collection.
func (c *sliceCache) again() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.whole = true
	for _, one := range c.entries {
		if one.kind == "" {
			c.touch(one, kindService)
		}
	}
}

// undelivered records the deletions among sets that were not received; everything else is sent again anyway.
func (c *sliceCache) undelivered(sets []dynamic.EndpointSet) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, set := range sets {
		if set.Deleted {
			c.lost = append(c.lost, set.Key)
		}
	}
}

// collect returns the sets that have changed since it was last called, in the order of their keys.
func (c *sliceCache) collect() []dynamic.EndpointSet {
	c.mu.Lock()
	defer c.mu.Unlock()
	var sets []dynamic.EndpointSet
	for _, key := range c.lost {
		sets = append(sets, dynamic.EndpointSet{Key: key, Deleted: true})
	}
	for _, one := range c.dirty {
		known, kind := len(sets), one.kind
		sets = c.update(one, sets)
		for i := range sets[known:] {
			sets[known+i].Noticed = one.noticed
		}
		one.kind = ""
		c.counters.CountProvider(translation.Builds, Name, kind, 1)
		if len(sets) > known {
			c.counters.CountProvider(translation.Pushes, Name, kind, 1)
		} else {
			c.counters.CountProvider(translation.Drops, Name, kind, 1)
		}
		if one.service == nil && one.legacy == nil && len(one.slices) == 0 {
			c.pods.follow(one)
			delete(c.entries, one.of)
		}
	}
	c.dirty, c.lost, c.whole = nil, nil, false
	if len(sets) > 1 {
		slices.SortStableFunc(sets, func(a, b dynamic.EndpointSet) int { return strings.Compare(a.Key, b.Key) })
	}
	return sets
}

// divisions returns the ports of Services that collect found divided in another way than before, each with nil if it is
// not divided any more, since it was last called.
func (c *sliceCache) divisions() map[servicePort]*dynamic.Environment {
	c.mu.Lock()
	defer c.mu.Unlock()
	divided := c.divided
	c.divided = nil
	return divided
}

// redivide notes that a port is divided in another way. The caller holds mu.
func (c *sliceCache) redivide(one *entry, port int32, environment *dynamic.Environment) {
	if c.divided == nil {
		c.divided = map[servicePort]*dynamic.Environment{}
	}
	c.divided[servicePort{one.of, port}] = environment
}

// update appends the sets of one Service that differ from what has been sent, and records them.
func (c *sliceCache) update(one *entry, sets []dynamic.EndpointSet) []dynamic.EndpointSet {
	now := c.build(one)
	// Both lists have the same order, unless ports were reordered: the search begins behind the last find.
	next := 0
	for i := range now {
		var before *sent
		if at := find(one.sent, next, &now[i]); at >= 0 {
			before, next = &one.sent[at], at+1
		}
		reused, redivided := now[i].reuse(before)
		if redivided {
			c.redivide(one, now[i].port, now[i].division.get())
		}
		if reused && !redivided && !c.whole {
			continue
		}
		sets = append(sets, dynamic.EndpointSet{
			Key: c.keyOf(one, &now[i]), Endpoints: now[i].endpoints, Environment: now[i].division.get(),
		})
	}
	next = 0
	for i := range one.sent {
		gone := &one.sent[i]
		if still := find(now, next, gone); still >= 0 {
			next = still + 1
			continue
		}
		if gone.division != nil {
			c.redivide(one, gone.port, nil)
		}
		sets = append(sets, dynamic.EndpointSet{Key: c.keyOf(one, gone), Deleted: true})
	}
	one.sent = now
	return sets
}

// find returns the index of the set of the same port and tag in a list, beginning at an index; -1 if there is none.
func find(list []sent, from int, like *sent) int {
	for i := range list {
		if at := (from + i) % len(list); list[at].isOf(like) {
			return at
		}
	}
	return -1
}

// isOf reports whether both have the same key.
func (s *sent) isOf(other *sent) bool {
	return s.port == other.port && s.udp == other.udp && s.tag == other.tag
}

// reuse takes over endpoints that are equal to those that were sent before. It reports whether they are, and whether
// the port is divided in another way.
func (s *sent) reuse(before *sent) (reused, redivided bool) {
	if before == nil {
		return false, s.division != nil
	}
	if reused = same(before.endpoints, s.endpoints); reused {
		s.endpoints = before.endpoints
	}
	return reused, before.division != s.division
}

// keyOf returns the key of a set.
func (c *sliceCache) keyOf(one *entry, of *sent) string {
	if of.udp {
		return backend.EndpointKey(c.source, one.of.namespace, one.of.name, of.port, corev1.ProtocolUDP)
	}
	key := c.key(one, of.port)
	if of.tag == "" {
		return key
	}
	return subsetKey(key, of.tag)
}

// key returns the key of one TCP port of a Service.
func (c *sliceCache) key(one *entry, port int32) string {
	return backend.EndpointKey(c.source, one.of.namespace, one.of.name, port, corev1.ProtocolTCP)
}
