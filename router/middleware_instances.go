package router

import (
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware"
)

// builtMiddleware is what a compilation made of one definition.
type builtMiddleware struct {
	// middleware is nil where the definition has a fault.
	middleware middleware.Middleware
	// reads are the files that the definition names, also where it has a fault.
	reads *middleware.Reads
	// owners are the names of the owners that have an instance of it.
	owners map[string]struct{}
	// started says that a table with it has served.
	started bool
}

// instanceKey is a place of a middleware in the chain of its owner: one that a chain lists twice has two instances.
type instanceKey struct {
	middleware middleware.Middleware
	nth        int
}

// instances are what the middlewares of one owner keep. They do not change once they are complete.
type instances map[instanceKey]middleware.Middleware

// middlewareInstances holds the middlewares that were built, and the state that they keep for the routers and services
// that list them, from one compilation to the next. Its methods but all belong to the goroutine that compiles.
// Compilations start nothing and close nothing: activate and retire do.
type middlewareInstances struct {
	files  *middleware.Files
	built  map[string]*builtMiddleware
	origin map[middleware.Middleware]*builtMiddleware
	owners map[string]instances
	// changed and changedOwners are the names of definitions and owners that differ from what serves, and replaced the
	// middlewares that the next table does not use.
	changed, changedOwners map[string]struct{}
	replaced               []*builtMiddleware
	// refused are the files of invalid definitions, by the names of those that stay in use in their place.
	refused map[string]*middleware.Reads

	// mutex guards what readers see: the middlewares and owners of the table that serves.
	mutex         sync.Mutex
	serving       map[string]middleware.Middleware
	servingOwners map[string]instances
}

func newMiddlewareInstances(files *middleware.Files) *middlewareInstances {
	return &middlewareInstances{
		files:         files,
		built:         map[string]*builtMiddleware{},
		origin:        map[middleware.Middleware]*builtMiddleware{},
		owners:        map[string]instances{},
		changed:       map[string]struct{}{},
		changedOwners: map[string]struct{}{},
		refused:       map[string]*middleware.Reads{},
		serving:       map[string]middleware.Middleware{},
		servingOwners: map[string]instances{},
	}
}

// add notes what was built of a definition; built is nil where it has a fault.
func (m *middlewareInstances) add(name string, built middleware.Middleware, reads *middleware.Reads) {
	entry := &builtMiddleware{middleware: built, reads: reads, owners: map[string]struct{}{}}
	m.built[name] = entry
	m.changed[name] = struct{}{}
	if built != nil {
		m.origin[built] = entry
	}
}

// replace notes that a definition has changed or is gone.
func (m *middlewareInstances) replace(name string) {
	entry, known := m.built[name]
	if !known {
		return
	}
	delete(m.built, name)
	m.changed[name] = struct{}{}
	if entry.middleware != nil {
		m.replaced = append(m.replaced, entry)
	}
}

// refuse notes whether the latest definition of a name is invalid, and has its files watched then, beside those of the
// one in use. Built is what Build made of it; nil where a definition has no files.
func (m *middlewareInstances) refuse(name string, built *builtMiddleware, err error) {
	if err == nil || built == nil {
		delete(m.refused, name)
		return
	}
	m.refused[name] = built.reads
	m.files.Add(name, built.reads)
}

// activate starts what the next table uses and nothing before it did, and watches the files that it was made of.
func (m *middlewareInstances) activate() {
	for name := range m.changed {
		entry := m.built[name]
		if entry == nil {
			m.files.Forget(name)
			delete(m.refused, name)
			continue
		}
		m.files.Watch(name, entry.reads)
		if also := m.refused[name]; also != nil {
			m.files.Add(name, also)
		}
		if entry.started || entry.middleware == nil {
			continue
		}
		entry.started = true
		if starter, ok := entry.middleware.(middleware.Starter); ok {
			starter.Start()
		}
	}
	m.publish()
}

// publish shows readers the middlewares and owners of the table that begins to serve.
func (m *middlewareInstances) publish() {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for name := range m.changed {
		delete(m.serving, name)
		if entry := m.built[name]; entry != nil && entry.middleware != nil {
			m.serving[name] = entry.middleware
		}
	}
	for owner := range m.changedOwners {
		delete(m.servingOwners, owner)
		if kept := m.owners[owner]; kept != nil {
			m.servingOwners[owner] = kept
		}
	}
	m.changed = map[string]struct{}{} // A cleared one would keep its size, and cost it with each walk.
	m.changedOwners = map[string]struct{}{}
}

// retire closes the middlewares that the table which serves does not use, and drops their instances: owners with a
// fault would keep those of every definition that there has been.
func (m *middlewareInstances) retire() {
	for _, entry := range m.replaced {
		for owner := range entry.owners {
			left := maps.Clone(m.owners[owner])
			maps.DeleteFunc(left, func(key instanceKey, _ middleware.Middleware) bool {
				return key.middleware == entry.middleware
			})
			m.set(owner, left)
		}
		delete(m.origin, entry.middleware)
		if closer, ok := entry.middleware.(middleware.Closer); ok && entry.started {
			closer.Close()
		}
	}
	m.replaced = nil
	m.publish()
}

// drop removes an owner.
func (m *middlewareInstances) drop(owner dynamic.Ref) { m.set(ownerName(owner), nil) }

// set notes the instances of an owner.
func (m *middlewareInstances) set(owner string, next instances) {
	before := m.owners[owner]
	if len(before) == 0 && len(next) == 0 {
		return
	}
	for key := range before {
		if entry := m.origin[key.middleware]; entry != nil {
			delete(entry.owners, owner)
		}
	}
	for key := range next {
		if entry := m.origin[key.middleware]; entry != nil {
			entry.owners[owner] = struct{}{}
		}
	}
	m.changedOwners[owner] = struct{}{}
	if len(next) == 0 {
		delete(m.owners, owner)
		return
	}
	m.owners[owner] = next
}

// ownerInstances collects the instances of one owner while it is built: known ones with the state that they have.
type ownerInstances struct {
	all    *middlewareInstances
	owner  string
	before instances
	after  instances
}

// of begins to build an owner.
func (m *middlewareInstances) of(owner dynamic.Ref) *ownerInstances {
	name := ownerName(owner)
	return &ownerInstances{all: m, owner: name, before: m.owners[name], after: instances{}}
}

// resolve returns the middlewares of one chain with the owner's instances in place of those that keep state. All chains
// of an owner share them: places are counted from the inside, so that a router's own come out the same whatever its
// entrypoints put before them.
func (o *ownerInstances) resolve(chain []middleware.Middleware) []middleware.Middleware {
	if !slices.ContainsFunc(chain, hasState) {
		return chain
	}
	resolved, times := slices.Clone(chain), map[middleware.Middleware]int{}
	for i, link := range slices.Backward(chain) {
		if scoped, ok := link.(middleware.Scoped); ok {
			resolved[i] = o.instance(scoped, times[link])
			times[link]++
		}
	}
	return resolved
}

func hasState(m middleware.Middleware) bool {
	_, ok := m.(middleware.Scoped)
	return ok
}

func (o *ownerInstances) instance(of middleware.Scoped, nth int) middleware.Middleware {
	key := instanceKey{of, nth}
	if known := o.after[key]; known != nil {
		return known
	}
	instance := o.before[key]
	if instance == nil {
		instance = of.For(o.owner)
	}
	o.after[key] = instance
	return instance
}

// finish keeps what the owner uses. An owner with a fault keeps what it had, for when it is repaired.
func (o *ownerInstances) finish(built bool) {
	if !built {
		kept := instances{}
		maps.Copy(kept, o.before)
		maps.Copy(kept, o.after)
		o.after = kept
	}
	o.all.set(o.owner, o.after)
}

func ownerName(owner dynamic.Ref) string { return string(owner.Kind) + " " + owner.Name }

// MiddlewareStatus is the present state of a middleware.
type MiddlewareStatus struct {
	// Name is its qualified name.
	Name string `json:"name"`
	// Counts is what it has counted since its definition last changed, by what is counted.
	Counts map[string]uint64 `json:"counts,omitempty"`
	// Owners are the routers and services that it keeps state for. A state that several of them share is there once,
	// without a name.
	Owners []OwnerStatus `json:"owners,omitempty"`
}

// OwnerStatus is the state that a middleware keeps for one owner.
type OwnerStatus struct {
	// Owner is "router NAME" or "service NAME", and empty for several.
	Owner string `json:"owner,omitempty"`
	// State is a word such as tripped; empty where the middleware has none.
	State string `json:"state,omitempty"`
	// Levels are figures that go up and down, such as requests in flight, by name.
	Levels map[string]int64 `json:"levels,omitempty"`
}

// statusReporter is a middleware, or its instance for one owner, that reports its status.
type statusReporter interface {
	Status() (state string, levels map[string]int64)
}

// all yields every middleware of the table that serves that counts or has state, by name. It may be called from any
// goroutine.
func (m *middlewareInstances) all() iter.Seq[MiddlewareStatus] {
	return func(yield func(MiddlewareStatus) bool) {
		found := m.collect()
		for _, name := range slices.Sorted(maps.Keys(found)) {
			if !yield(*found[name]) {
				return
			}
		}
	}
}

// collect reads counters without the lock, so that an activation does not wait for them.
func (m *middlewareInstances) collect() map[string]*MiddlewareStatus {
	serving, uses := m.inUse()
	found, names := map[string]*MiddlewareStatus{}, map[middleware.Middleware]string{}
	for name, one := range serving {
		counts, isCounter := one.(middleware.Counter)
		status, hasStatus := one.(statusReporter)
		if !isCounter && !hasStatus && !hasState(one) {
			continue
		}
		names[one], found[name] = name, &MiddlewareStatus{Name: name}
		if isCounter {
			found[name].Counts = counts.Counts()
		}
		if hasStatus {
			found[name].note("", status)
		}
	}
	for instance, of := range uses {
		if status, ok := instance.(statusReporter); ok && found[names[of.middleware]] != nil {
			found[names[of.middleware]].note(of.owner, status)
		}
	}
	for _, entry := range found {
		slices.SortFunc(entry.Owners, func(a, b OwnerStatus) int { return strings.Compare(a.Owner, b.Owner) })
	}
	return found
}

// use is an instance's middleware and owner. The owner is empty where several share the instance.
type use struct {
	middleware middleware.Middleware
	owner      string
	// nth is that of the instanceKey; 0 where several share the instance.
	nth int
}

// inUse returns the middlewares by name, and what uses each instance.
func (m *middlewareInstances) inUse() (map[string]middleware.Middleware, map[middleware.Middleware]use) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	uses := map[middleware.Middleware]use{}
	for owner, kept := range m.servingOwners {
		for key, instance := range kept {
			if of, shared := uses[instance]; shared && of.owner != owner {
				uses[instance] = use{middleware: key.middleware}
				continue
			}
			uses[instance] = use{middleware: key.middleware, owner: owner, nth: key.nth}
		}
	}
	return maps.Clone(m.serving), uses
}

func (m *MiddlewareStatus) note(owner string, reporter statusReporter) {
	state, levels := reporter.Status()
	m.Owners = append(m.Owners, OwnerStatus{Owner: owner, State: state, Levels: levels})
}
