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

// MiddlewareStanding is a middleware with state, as it stands now.
type MiddlewareStanding struct {
	// Name is its qualified name.
	Name string `json:"name"`
	// Counts is what it has counted since its definition last changed, by what is counted.
	Counts map[string]uint64 `json:"counts,omitempty"`
	// Owners are the routers and services that it keeps state for. A state that several of them share is there once, without a name.
	Owners []OwnerStanding `json:"owners,omitempty"`
}

// OwnerStanding is the state that a middleware keeps for one owner.
type OwnerStanding struct {
	// Owner is "router NAME" or "service NAME", and empty for several.
	Owner string `json:"owner,omitempty"`
	// State is a word such as tripped; empty where the middleware knows none.
	State string `json:"state,omitempty"`
	// Levels are figures that go up and down, such as requests in flight, by name.
	Levels map[string]int64 `json:"levels,omitempty"`
}

// owned is a place of a middleware in the chain of its owner: one that a chain lists twice has two states.
type owned struct {
	step middleware.Middleware
	nth  int
}

// states holds what middlewares keep for the routers and services that list them, from one compilation to the next. The goroutine that
// compiles writes it; anybody may ask how it stands.
type states struct {
	mutex  sync.Mutex
	owners map[string]map[owned]middleware.Middleware
	steps  map[string]middleware.Middleware
	// closing are steps that no later table uses.
	closing []middleware.Middleware
}

func newStates() *states {
	return &states{owners: map[string]map[owned]middleware.Middleware{}, steps: map[string]middleware.Middleware{}}
}

// add notes the step that was built of a definition.
func (s *states) add(name string, step middleware.Middleware) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.steps[name] = step
}

// retire notes that a definition has changed or is gone.
func (s *states) retire(name string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if step, known := s.steps[name]; known {
		s.closing = append(s.closing, step)
		delete(s.steps, name)
	}
}

// close closes what the table that serves does not use, and forgets its states: owners that can't be built would keep those of every
// definition that there has been.
func (s *states) close() {
	if len(s.closing) == 0 {
		return
	}
	s.forget(s.closing)
	for _, step := range s.closing {
		if closer, ok := step.(middleware.Closer); ok {
			closer.Close()
		}
	}
	s.closing = nil
}

// forget drops the states of steps.
func (s *states) forget(steps []middleware.Middleware) {
	gone := make(map[middleware.Middleware]struct{}, len(steps))
	for _, step := range steps {
		gone[step] = struct{}{}
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for owner, kept := range s.owners {
		maps.DeleteFunc(kept, func(place owned, _ middleware.Middleware) bool {
			_, is := gone[place.step]
			return is
		})
		if len(kept) == 0 {
			delete(s.owners, owner)
		}
	}
}

// drop forgets an owner.
func (s *states) drop(owner dynamic.Ref) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.owners, ownerName(owner))
}

// stage collects the steps of one owner while it is built: known ones with the state that they have.
type stage struct {
	states *states
	owner  string
	before map[owned]middleware.Middleware
	after  map[owned]middleware.Middleware
}

// stage begins to build an owner.
func (s *states) stage(owner dynamic.Ref) *stage {
	name := ownerName(owner)
	return &stage{states: s, owner: name, before: s.owners[name]}
}

// steps returns the steps of one chain with the owner's state. All chains of an owner share it: places are counted from the inside, so
// that a router's own come out the same whatever its entrypoints put before them.
func (g *stage) steps(steps []middleware.Middleware) []middleware.Middleware {
	if !slices.ContainsFunc(steps, hasState) {
		return steps
	}
	mine, times := slices.Clone(steps), map[middleware.Middleware]int{}
	for i, step := range slices.Backward(steps) {
		if scoped, ok := step.(middleware.Scoped); ok {
			mine[i] = g.of(scoped, times[step])
			times[step]++
		}
	}
	return mine
}

func hasState(step middleware.Middleware) bool {
	_, ok := step.(middleware.Scoped)
	return ok
}

func (g *stage) of(step middleware.Scoped, nth int) middleware.Middleware {
	key := owned{step, nth}
	if known := g.after[key]; known != nil {
		return known
	}
	state := g.before[key]
	if state == nil {
		state = step.For(g.owner)
	}
	if g.after == nil {
		g.after = map[owned]middleware.Middleware{}
	}
	g.after[key] = state
	return state
}

// finish keeps what the owner uses. One that can't be built keeps what it had, for when it can.
func (g *stage) finish(built bool) {
	if len(g.before) == 0 && len(g.after) == 0 {
		return
	}
	g.states.mutex.Lock()
	defer g.states.mutex.Unlock()
	if !built {
		kept := maps.Clone(g.before)
		if kept == nil {
			kept = g.after
		}
		maps.Copy(kept, g.after)
		g.after = kept
	}
	if len(g.after) == 0 {
		delete(g.states.owners, g.owner)
		return
	}
	g.states.owners[g.owner] = g.after
}

func ownerName(owner dynamic.Ref) string { return string(owner.Kind) + " " + owner.Name }

// standing is a step, or its state for one owner, that tells how it stands.
type standing interface {
	Standing() (state string, levels map[string]int64)
}

// all yields every middleware that counts or has state, by name.
func (s *states) all() iter.Seq[MiddlewareStanding] {
	return func(yield func(MiddlewareStanding) bool) {
		found := s.collect()
		for _, name := range slices.Sorted(maps.Keys(found)) {
			if !yield(*found[name]) {
				return
			}
		}
	}
}

// collect asks without the lock: a compilation does not wait for what counting may take.
func (s *states) collect() map[string]*MiddlewareStanding {
	steps, uses := s.inUse()
	found, names := map[string]*MiddlewareStanding{}, map[middleware.Middleware]string{}
	for name, step := range steps {
		counter, counts := step.(interface{ Counts() map[string]uint64 })
		stands, has := step.(standing)
		if !counts && !has && !hasState(step) {
			continue
		}
		names[step], found[name] = name, &MiddlewareStanding{Name: name}
		if counts {
			found[name].Counts = counter.Counts()
		}
		if has {
			found[name].note("", stands)
		}
	}
	for state, of := range uses {
		if stands, ok := state.(standing); ok && found[names[of.step]] != nil {
			found[names[of.step]].note(of.owner, stands)
		}
	}
	for _, entry := range found {
		slices.SortFunc(entry.Owners, func(a, b OwnerStanding) int { return strings.Compare(a.Owner, b.Owner) })
	}
	return found
}

// inUse returns the steps by name, and who uses each state.
func (s *states) inUse() (map[string]middleware.Middleware, map[middleware.Middleware]use) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return maps.Clone(s.steps), s.byState()
}

// use is who uses a state.
type use struct {
	step  middleware.Middleware
	owner string
}

// byState returns who uses each state; one that several owners share has none.
func (s *states) byState() map[middleware.Middleware]use {
	uses := map[middleware.Middleware]use{}
	for owner, steps := range s.owners {
		for key, state := range steps {
			if of, shared := uses[state]; shared && of.owner != owner {
				uses[state] = use{step: key.step}
				continue
			}
			uses[state] = use{step: key.step, owner: owner}
		}
	}
	return uses
}

func (m *MiddlewareStanding) note(owner string, stands standing) {
	state, levels := stands.Standing()
	m.Owners = append(m.Owners, OwnerStanding{Owner: owner, State: state, Levels: levels})
}
