package pipeline

import (
	"cmp"
	"maps"
	"slices"
	"strings"

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

func newMerger(precedence []string) *merger {
	m := &merger{
		precedence: map[string]int{},
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

// merge walks the configurations of the changed providers, whose map must not change afterwards. It returns the merged
// configuration and what has changed in it since the last call; the configuration is the same pointer when nothing has.
func (m *merger) merge(
	configurations map[string]*dynamic.Configuration, changed []string,
) (*dynamic.Configuration, map[dynamic.Ref]struct{}) {
	e := &edit{
		configurations: configurations,
		changed:        map[dynamic.Ref]struct{}{},
		elected:        map[dynamic.Ref]string{},
		renamed:        map[dynamic.Ref]dynamic.Ref{},
	}
	providers := m.order(configurations)
	for _, name := range changed {
		if e.configuration = configurations[name]; e.configuration == nil {
			continue
		}
		e.provider, e.refused = name, nil
		m.update(e)
		m.certificates.update(e)
		m.judge(e)
	}
	for _, ref := range globals() {
		m.elect(e, ref, providers)
	}
	verdicts := e.lost
	for _, name := range providers {
		for _, verdict := range m.verdicts[name] {
			if ref, ok := e.renamed[verdict.Ref]; ok {
				verdict.Ref = ref
			}
			verdicts = append(verdicts, verdict)
		}
	}
	verdicts = sortedVerdicts(verdicts)
	m.origins = origins{configurations: configurations, elected: e.elected}
	if len(e.changed) == 0 && slices.Equal(verdicts, m.merged.Verdicts) {
		return m.merged, e.changed
	}
	m.merged = m.builder.Configuration()
	m.merged.TLS.Certificates, m.merged.Verdicts = m.certificates.assemble(providers), verdicts
	return m.merged, e.changed
}

// judge keeps the verdicts on the objects of the edit's provider and notes the objects whose verdict has changed.
func (m *merger) judge(e *edit) {
	after := e.refused
	for _, verdict := range e.configuration.Verdicts {
		if verdict.Origin == (dynamic.Origin{}) {
			verdict.Origin = e.configuration.Origins.Get(verdict.Ref)
		}
		verdict.Ref = qualify(verdict.Ref, e.provider)
		after = append(after, verdict)
	}
	before := m.verdicts[e.provider]
	m.verdicts[e.provider] = after

	balance := map[dynamic.Verdict]int{}
	for _, verdict := range before {
		verdict.Origin = dynamic.Origin{}
		balance[verdict]--
	}
	for _, verdict := range after {
		verdict.Origin = dynamic.Origin{}
		balance[verdict]++
	}
	for verdict, count := range balance {
		if count != 0 {
			e.change(verdict.Ref)
		}
	}
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
