package file

import (
	"cmp"
	"fmt"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/immutable"
)

// merge makes one configuration of the good states of all files. If two files declare the same object, the first one in
// path order is used, and the second one is a finding.
func (p *Provider) merge(paths []string) *dynamic.Configuration {
	m := merging{builder: dynamic.NewBuilder(&dynamic.Configuration{})}
	var good []*dynamic.Configuration
	for _, path := range paths {
		if one := p.files[path].good; one != nil {
			good = append(good, one)
		}
	}
	if len(good) == 1 {
		// Copied, since verdicts and certificates may be added.
		single := *good[0]
		single.Verdicts = append([]dynamic.Verdict(nil), single.Verdicts...)
		return &single
	}
	for _, one := range good {
		m.add(one)
	}
	merged := m.builder.Configuration()
	merged.Origins, merged.Verdicts = m.origins, m.verdicts
	if len(m.certificates) > 0 {
		merged.TLS = cmp.Or(merged.TLS, &dynamic.TLSConfiguration{})
		merged.TLS.Certificates = m.certificates
	}
	return merged
}

type merging struct {
	builder      *dynamic.Builder
	certificates []*dynamic.CertificateEntry
	origins      immutable.Map[dynamic.Ref, dynamic.Origin]
	edit         immutable.Edit
	verdicts     []dynamic.Verdict

	from *dynamic.Configuration
	// lost are the objects of from that an earlier file has declared; renamed maps its certificates to new names.
	lost    map[dynamic.Ref]bool
	renamed map[dynamic.Ref]dynamic.Ref
}

func (m *merging) add(from *dynamic.Configuration) {
	m.from, m.lost, m.renamed = from, map[dynamic.Ref]bool{}, map[dynamic.Ref]dynamic.Ref{}
	for ref, object := range from.Objects() {
		free := ref
		if ref.Kind == dynamic.KindTLSOptions {
			free = ref.Free(m.taken) // An entrypoint that they name must not fall back to weaker ones.
		}
		if m.place(ref, free) {
			m.builder.Put(free, object)
		}
		if free != ref {
			m.renamed[ref] = free
			m.conflict(ref, free)
		}
	}
	m.takeCertificates()
	m.takeVerdicts()
}

// takeCertificates adds the certificates. Those without a name are named by their index, which changes in the merged
// list.
func (m *merging) takeCertificates() {
	if m.from.TLS == nil {
		return
	}
	for place, entry := range m.from.TLS.Certificates {
		own, ref := entry.Ref(place), entry.Ref(len(m.certificates))
		if m.place(own, ref) {
			m.certificates = append(m.certificates, entry)
			m.renamed[own] = ref
		}
	}
}

// place reports whether an object is the first one with its name, and records its origin.
func (m *merging) place(own, ref dynamic.Ref) bool {
	if m.taken(ref) {
		m.lost[own] = true
		return false
	}
	m.origins.Set(&m.edit, ref, m.from.Origins.Get(own))
	return true
}

func (m *merging) taken(ref dynamic.Ref) bool {
	_, taken := m.origins.Find(ref)
	return taken
}

// conflict reports, at another reference, that an object is declared by an earlier file.
func (m *merging) conflict(own, at dynamic.Ref) {
	m.verdicts = append(m.verdicts, dynamic.Verdict{
		Ref: at, Origin: m.from.Origins.Get(own), Status: dynamic.Quarantined, Code: dynamic.CodeConflictingName,
		Reason: fmt.Sprintf("%s is declared already at %s; this one is not used", own, m.origins.Get(own)),
	})
}

// takeVerdicts adds the verdicts on the used objects. A verdict on an unused one becomes a verdict on the file, since
// it must not affect the object with the same name.
func (m *merging) takeVerdicts() {
	for _, verdict := range m.from.Verdicts {
		if m.lost[verdict.Ref] {
			continue
		}
		if ref, ok := m.renamed[verdict.Ref]; ok {
			verdict.Ref = ref
		}
		m.verdicts = append(m.verdicts, verdict)
	}
	for _, own := range sortedByOrigin(m.lost, m.from.Origins) {
		m.conflict(own, dynamic.Ref{Kind: dynamic.KindSource, Name: m.from.Origins.Get(own).File})
	}
}
