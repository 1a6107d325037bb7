// Package translation caches what a provider has translated, object by object: the result of each object, its
// dependencies, and the configuration that all of them make.
//
// Memory.Touch marks an object that was added, changed or deleted. Memory.Update translates the marked objects and
// those that depend on them, and returns a dynamic.Configuration at the cost of what changed. An object with an
// unchanged translation keeps its pointer. Reading the cluster and translating are the caller's.
package translation

import (
	"maps"
	"slices"
	"sync"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/immutable"
)

// Memory keeps the translation of every object of one provider. Touch and Touched are safe for use by any
// goroutine; Update belongs to one goroutine at a time.
//
// Two sources may declare the same name. Equal declarations are one object. Of different ones the first source in the
// order of Source.Compare owns the object, and the other source gets a verdict that names the owner. But where they are
// in different namespaces, neither declaration serves: names are made by joining, so that one namespace could replace
// what protects another one. Nor does any of the default TLS options and the default TLS store, which are global.
type Memory struct {
	provider string
	kinds    map[string]bool
	counters Counters
	wake     chan struct{}

	mu      sync.Mutex
	touched map[Source]struct{}

	// What follows belongs to Update.
	entries    map[Source]*entry
	dependents map[Source][]*entry
	// declared holds the declarations of each object, in order of their sources: the first source owns the object. dirty
	// are the objects whose declarations this update has changed, contested those with different declarations.
	declared  map[dynamic.Ref][]declaration
	dirty     map[dynamic.Ref]struct{}
	contested map[dynamic.Ref]struct{}
	// builder, certificates and origins hold the objects in force.
	builder      *dynamic.Builder
	certificates certificates
	origins      immutable.Map[dynamic.Ref, dynamic.Origin]
	// judged are the entries whose verdicts this update may change, refused those that have verdicts.
	judged, refused map[*entry]struct{}
	last            *dynamic.Configuration
}

// New returns an empty memory for the provider of that name. Kinds are those that are translated: a Touch of another
// kind only marks the objects that depend on it. Counters may be nil.
func New(provider string, kinds []string, counters Counters) *Memory {
	m := &Memory{
		provider: provider, kinds: make(map[string]bool, len(kinds)), counters: counters,
		wake: make(chan struct{}, 1), touched: map[Source]struct{}{},
		entries: map[Source]*entry{}, dependents: map[Source][]*entry{},
		declared: map[dynamic.Ref][]declaration{}, dirty: map[dynamic.Ref]struct{}{},
		contested: map[dynamic.Ref]struct{}{},
		builder: dynamic.NewBuilder(&dynamic.Configuration{
			HTTP: &dynamic.HTTPConfiguration{}, TCP: &dynamic.TCPConfiguration{},
			UDP: &dynamic.UDPConfiguration{}, TLS: &dynamic.TLSConfiguration{},
		}),
		certificates: certificates{}, judged: map[*entry]struct{}{}, refused: map[*entry]struct{}{},
	}
	for _, kind := range kinds {
		m.kinds[kind] = true
	}
	if counters == nil {
		m.counters = uncounted{}
	}
	return m
}

// Touch notes that an object appeared, changed or went. It returns at once.
func (m *Memory) Touch(source Source) {
	m.mu.Lock()
	m.touched[source] = struct{}{}
	m.mu.Unlock()
	if m.kinds[source.Kind] {
		m.counters.CountProvider(Events, m.provider, source.Kind, 1)
	}
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// Needed reports whether the last translation of some source needs this one. It is called by translate, or between
// calls of Update.
func (m *Memory) Needed(source Source) bool { return len(m.dependents[source]) > 0 }

// Touched returns the channel that holds a value when something has been touched since the last Update.
func (m *Memory) Touched() <-chan struct{} { return m.wake }

// Update translates what was touched, and what depends on it, and returns the configuration. Translate returns false
// for an object that is not there, or not the provider's to translate; it is called once for each source, on the
// caller's goroutine. Changed is false, and the configuration the same pointer as last, when everything came out as it
// was. The first call always reports a change.
func (m *Memory) Update(translate func(Source) (Result, bool)) (configuration *dynamic.Configuration, changed bool) {
	builds, pushes := map[string]int{}, map[string]int{}
	due := m.due()
	defer func() { m.restore(due) }() // What is left after a panic is translated by the next call.
	for len(due) > 0 {
		source := due[0]
		result, ok := translate(source)
		due = due[1:]
		builds[source.Kind]++
		if m.replace(source, result, ok) {
			pushes[source.Kind]++
		}
	}
	changed, certificates := m.settle()
	verdicts := false
	for one := range m.judged {
		verdicts = m.judge(one) || verdicts
	}
	if len(m.judged) > 0 {
		m.judged = map[*entry]struct{}{} // A cleared map still costs its largest size with each walk.
	}
	if !changed && !verdicts && m.last != nil {
		m.count(builds, nil)
		return m.last, false
	}
	next := m.builder.Configuration()
	next.Origins = m.origins
	if m.last != nil {
		next.TLS.Certificates, next.Verdicts = m.last.TLS.Certificates, m.last.Verdicts
	}
	if certificates {
		next.TLS.Certificates = m.certificates.sorted()
	}
	if verdicts {
		next.Verdicts = m.verdicts()
	}
	m.last = next
	m.count(builds, pushes)
	return next, true
}

// due takes what was touched and returns the sources that are to be translated, in the order in which their
// declarations are held.
func (m *Memory) due() []Source {
	m.mu.Lock()
	touched := m.touched
	m.touched = make(map[Source]struct{})
	m.mu.Unlock()
	due := make(map[Source]struct{}, len(touched))
	for source := range touched {
		if m.kinds[source.Kind] {
			due[source] = struct{}{}
		}
		for _, dependent := range m.dependents[source] {
			due[dependent.source] = struct{}{}
		}
	}
	return slices.SortedFunc(maps.Keys(due), Source.Compare)
}

// restore marks sources that were not translated.
func (m *Memory) restore(sources []Source) {
	if len(sources) == 0 {
		return
	}
	m.mu.Lock()
	for _, source := range sources {
		m.touched[source] = struct{}{}
	}
	m.mu.Unlock()
}

// count records the results of one update.
func (m *Memory) count(builds, pushes map[string]int) {
	for kind, built := range builds {
		m.counters.CountProvider(Builds, m.provider, kind, built)
		if pushed := pushes[kind]; pushed > 0 {
			m.counters.CountProvider(Pushes, m.provider, kind, pushed)
		}
		if drops := built - pushes[kind]; drops > 0 {
			m.counters.CountProvider(Drops, m.provider, kind, drops)
		}
	}
}
