package pipeline

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
)

// merger makes one configuration of those of all providers. It keeps what each provider declared, so that a merge
// looks only at the objects that have changed.
//
// The merged configuration has no Origins, which would cost more than everything else: verdicts carry theirs.
// References inside objects stay as their providers wrote them; the compiler resolves them. Objects keep their
// pointers.
type merger struct {
	precedence map[string]int
	validator  Validator

	// declared holds what each provider has declared, by its name.
	declared     map[string]*declaration
	builder      *dynamic.Builder
	certificates certificates

	// verdicts holds, for each provider, its own verdicts and those of the merge on its objects.
	verdicts map[string][]dynamic.Verdict
	merged   *dynamic.Configuration
	// origins are those of the objects in merged.
	origins origins
}

func newMerger(precedence []string, validator Validator) *merger {
	m := &merger{
		precedence: map[string]int{},
		validator:  validator,
		declared:   map[string]*declaration{},
		builder: dynamic.NewBuilder(&dynamic.Configuration{
			HTTP: &dynamic.HTTPConfiguration{}, TCP: &dynamic.TCPConfiguration{}, UDP: &dynamic.UDPConfiguration{},
			TLS: &dynamic.TLSConfiguration{},
		}),
		certificates: certificates{
			last: map[string][]*dynamic.CertificateEntry{}, declared: map[string][]*certificate{},
		},
		verdicts: map[string][]dynamic.Verdict{},
	}
	for place, name := range precedence {
		m.precedence[strings.ToLower(name)] = place
	}
	m.merged = m.builder.Configuration()
	return m
}

// merge walks the configurations of the changed providers, and the objects with changed files. It returns the merged
// configuration and what has changed in it since the last call; the configuration is the same pointer when nothing has.
func (m *merger) merge(input mergeInput) (*dynamic.Configuration, map[dynamic.Ref]struct{}) {
	e := &edit{
		mergeInput: input,
		changed:    map[dynamic.Ref]struct{}{},
		elected:    map[dynamic.Ref]string{},
		renamed:    map[dynamic.Ref]dynamic.Ref{},
	}
	providers := m.order(input.configurations)
	for _, name := range e.walked() {
		m.walk(e, name)
	}
	var again []string
	if e.unguarded, again = m.unguarded(); len(again) > 0 {
		for _, name := range again {
			m.walk(e, name)
		}
	}
	for _, ref := range globals() {
		m.elect(e, ref, providers)
	}
	verdicts := e.lost
	for _, name := range providers {
		for _, verdict := range m.verdicts[name] {
			if ref, ok := e.renamed[verdict.Ref]; ok {
				verdict.Ref = ref
			} else if own, _ := unqualify(verdict.Ref); own.IsGlobal() && verdict.Status == dynamic.Retained {
				verdict.Status, verdict.Since = dynamic.Quarantined, time.Time{} // That of another provider serves.
			}
			verdicts = append(verdicts, verdict)
		}
	}
	verdicts = sortedVerdicts(verdicts)
	m.origins = origins{configurations: input.configurations, elected: e.elected}
	if len(e.changed) == 0 && slices.Equal(verdicts, m.merged.Verdicts) {
		return m.merged, e.changed
	}
	m.merged = m.builder.Configuration()
	m.merged.TLS.Certificates, m.merged.Verdicts = m.certificates.assemble(providers), verdicts
	return m.merged, e.changed
}

// walk takes what a provider declares now.
func (m *merger) walk(e *edit, provider string) {
	if e.configuration = e.configurations[provider]; e.configuration == nil {
		return
	}
	own := m.declaration(provider)
	e.provider, e.refused, e.before = provider, nil, own.last
	e.refusals = refusalsOf(e.configuration.Verdicts)
	m.update(e, own)
	m.certificates.update(e, func(c candidate) bool { return m.retain(e, own, c) })
	own.releaseCertificates(e)
	m.judge(e, own)
}

// judge keeps the verdicts on the objects of the edit's provider and notes the objects whose verdict has changed.
func (m *merger) judge(e *edit, own *declaration) {
	after := e.refused
	for _, verdict := range e.configuration.Verdicts {
		if verdict.Origin == (dynamic.Origin{}) {
			verdict.Origin = e.configuration.Origins.Get(verdict.Ref)
		}
		verdict.Ref = qualify(verdict.Ref, e.provider)
		if verdict.Cause != (dynamic.Ref{}) {
			verdict.Cause = qualify(verdict.Cause, e.provider)
		}
		after = append(after, verdict)
	}
	after = own.markRetained(after, e)
	before := m.verdicts[e.provider]
	m.verdicts[e.provider] = after

	balance := map[dynamic.Verdict]int{}
	count := func(verdicts []dynamic.Verdict, by int) {
		for _, verdict := range verdicts {
			if verdict.Status == dynamic.Retained || verdict.Ref.Kind == dynamic.KindSource {
				continue // What is merged is the same with and without such a verdict.
			}
			verdict.Origin = dynamic.Origin{}
			balance[verdict] += by
		}
	}
	count(before, -1)
	count(after, 1)
	for verdict, count := range balance {
		if count != 0 {
			e.change(verdict.Ref)
		}
	}
}

// walked returns the names of the providers whose objects may have changed, in order. Touched objects that no provider
// declares count as changed.
func (e *edit) walked() []string {
	names := slices.Clone(e.providers)
	for ref := range e.touched {
		own, provider := unqualify(ref)
		if configuration := e.configurations[provider]; configuration != nil && configuration.Object(own) != nil {
			names = append(names, provider)
		} else {
			e.change(ref)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// declaration returns what a provider has declared.
func (m *merger) declaration(provider string) *declaration {
	own := m.declared[provider]
	if own == nil {
		own = newDeclaration()
		m.declared[provider] = own
	}
	return own
}

// order returns the names of the providers that have sent a configuration, in order of precedence: internal, those that
// providers.precedence names, the others by name.
func (m *merger) order(configurations map[string]*dynamic.Configuration) []string {
	rank := func(name string) int {
		if name == InternalProvider {
			return -1
		}
		if place, ok := m.precedence[strings.ToLower(name)]; ok {
			return place
		}
		return len(m.precedence)
	}
	return slices.SortedFunc(maps.Keys(configurations), func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
	})
}
