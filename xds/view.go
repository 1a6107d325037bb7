package xds

import (
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/anypb"
)

// view holds the resources that a group of clients may see, with the subscriptions of these clients. One lock guards
// both: a change of a resource marks its subscriptions. Nothing is encoded or sent while it is held.
type view struct {
	// namespaces are those whose resources are visible; nil means all, with those of no namespace.
	namespaces map[string]bool
	prefix     string // of versions

	mu          sync.Mutex
	collections [kinds]collection
}

// collection holds the resources of one type.
type collection struct {
	kind    kind
	records map[string]*record
	// updates counts the changes, which are applied together; it is the number in versions.
	updates uint64
	// absent counts the records without a resource, with those of other collections.
	absent *absence
	// wildcards are the subscriptions to all resources.
	wildcards map[*subscription]struct{}
}

// record is a name of a type, with its resource and the subscriptions to it. It exists while there is one of them.
type record struct {
	name string
	// content is nil for a resource that does not exist.
	content *anypb.Any
	// version is that of the content in the incremental protocol; empty until it is used.
	version string
	// assignment is the EDS resource of a cluster; empty for others.
	assignment string
	// noticed is when the source noticed the last change; zero if unknown.
	noticed     time.Time
	subscribers map[*subscription]struct{} // by name
}

// change is a new state of a resource; nil stands for one that is removed.
type change struct {
	key     resourceKey
	content *anypb.Any
	// assignment is the EDS resource of a cluster; empty for others.
	assignment string
}

// newView returns a view of namespaces. Versions begin with prefix.
func newView(namespaces map[string]bool, prefix string, absent *absence) *view {
	v := &view{namespaces: namespaces, prefix: prefix}
	for of := range kinds {
		v.collections[of] = collection{
			kind: of, records: map[string]*record{}, absent: absent, wildcards: map[*subscription]struct{}{},
		}
	}
	return v
}

// sees reports whether the resources of an owner are visible.
func (v *view) sees(by owner) bool {
	return v.namespaces == nil || by.namespace != "" && v.namespaces[by.namespace]
}

// has reports whether a resource is shown.
func (v *view) has(key resourceKey) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.collections[key.kind].has(key.name)
}

// apply takes changes and has them sent to the streams that are subscribed to them. What is the same already, and what
// is not there to be removed, is no change. Noticed is when the source noticed the change; zero if unknown. It returns
// the number of changes by kind.
func (v *view) apply(changes []change, noticed time.Time) (counts [kinds]int) {
	var due []*stream
	v.mu.Lock()
	for _, one := range changes {
		c := &v.collections[one.key.kind]
		changed := c.set(one, noticed)
		if changed == nil {
			continue
		}
		if counts[one.key.kind]++; counts[one.key.kind] == 1 {
			c.updates++
		}
		due = c.mark(changed, due)
	}
	v.mu.Unlock()
	for _, one := range due {
		go one.flush()
	}
	return counts
}

// set gives a resource its content and returns it if that is a change.
func (c *collection) set(to change, noticed time.Time) *record {
	one := c.records[to.key.name]
	switch {
	case one == nil && to.content == nil, one != nil && one.content == to.content:
		return nil
	case one == nil:
		one = c.record(to.key.name)
	}
	if one.content == nil {
		c.absent.add(one.name, -1)
	}
	if to.content == nil {
		c.absent.add(one.name, 1)
	}
	one.content, one.version, one.assignment, one.noticed = to.content, "", to.assignment, noticed
	c.drop(one)
	return one
}

// mark notes a change in the subscriptions to a resource, and appends the streams that begin to send for it.
func (c *collection) mark(changed *record, due []*stream) []*stream {
	for _, subscriptions := range []map[*subscription]struct{}{changed.subscribers, c.wildcards} {
		for one := range subscriptions {
			if one.mark(changed); one.due() && one.stream.begin() {
				due = append(due, one.stream)
			}
		}
	}
	return due
}

// record returns the record of a name, which is added if it is not there.
func (c *collection) record(name string) *record {
	one := c.records[name]
	if one == nil {
		one = &record{name: name}
		c.records[name] = one
		c.absent.add(name, 1)
	}
	return one
}

// drop removes a record that has neither a resource nor subscriptions.
func (c *collection) drop(one *record) {
	if one.content == nil && len(one.subscribers) == 0 && c.records[one.name] == one {
		delete(c.records, one.name)
		c.absent.add(one.name, -1)
	}
}

// has reports whether a resource exists.
func (c *collection) has(name string) bool {
	one := c.records[name]
	return one != nil && one.content != nil
}

// version returns the version of the resources of a type. The caller holds the lock.
func (v *view) version(of kind) string {
	return v.prefix + strconv.FormatUint(v.collections[of].updates, 10)
}

// lacks returns the names that are no resources. The caller holds the lock of the view.
func (c *collection) lacks(names []string) []string {
	var missing []string
	for _, name := range names {
		if name != wildcard && !c.has(name) {
			missing = append(missing, name)
		}
	}
	return missing
}

// resources returns the named resources of a type in order, or all for nil.
func (v *view) resources(of kind, names []string) []Resource {
	v.mu.Lock()
	defer v.mu.Unlock()
	c := &v.collections[of]
	if names == nil {
		names = slices.Collect(maps.Keys(c.records))
	}
	var found []Resource
	for _, name := range slices.Sorted(slices.Values(names)) {
		if one := c.records[name]; one != nil && one.content != nil {
			found = append(found, Resource{Type: of.String(), Name: name, content: one.content})
		}
	}
	return found
}
