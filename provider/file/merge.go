package file

import (
	"cmp"
	"fmt"

	"github.com/sluiceproxy/sluice/dynamic"
)

// merge makes one configuration of the good states of all files. Where two files declare the same object, the first
// one in the order of the paths counts, and the second one is a finding.
func (p *Provider) merge(paths []string) *dynamic.Configuration {
	m := merging{out: &dynamic.Configuration{Origins: map[dynamic.Ref]dynamic.Origin{}}}
	var good []*dynamic.Configuration
	for _, path := range paths {
		if one := p.files[path].good; one != nil {
			good = append(good, one)
		}
	}
	if len(good) == 1 {
		// Nothing to merge; the copy may get verdicts and certificates of its own.
		single := *good[0]
		single.Verdicts = append([]dynamic.Verdict(nil), single.Verdicts...)
		return &single
	}
	for _, one := range good {
		m.add(one)
	}
	return m.out
}

// merging is one merge that is under way.
type merging struct {
	out  *dynamic.Configuration
	from *dynamic.Configuration
	// lost are the objects of from that an earlier file has declared; renamed are its certificates under another name.
	lost    map[dynamic.Ref]bool
	renamed map[dynamic.Ref]dynamic.Ref
}

func (m *merging) add(from *dynamic.Configuration) {
	m.from, m.lost, m.renamed = from, map[dynamic.Ref]bool{}, map[dynamic.Ref]dynamic.Ref{}
	if from.HTTP != nil {
		m.out.HTTP = cmp.Or(m.out.HTTP, &dynamic.HTTPConfiguration{})
		into := m.out.HTTP
		take(m, dynamic.KindRouter, &into.Routers, from.HTTP.Routers)
		take(m, dynamic.KindService, &into.Services, from.HTTP.Services)
		take(m, dynamic.KindMiddleware, &into.Middlewares, from.HTTP.Middlewares)
		take(m, dynamic.KindServersTransport, &into.ServersTransports, from.HTTP.ServersTransports)
	}
	if from.TCP != nil {
		m.out.TCP = cmp.Or(m.out.TCP, &dynamic.TCPConfiguration{})
		into := m.out.TCP
		take(m, dynamic.KindTCPRouter, &into.Routers, from.TCP.Routers)
		take(m, dynamic.KindTCPService, &into.Services, from.TCP.Services)
		take(m, dynamic.KindTCPMiddleware, &into.Middlewares, from.TCP.Middlewares)
		take(m, dynamic.KindTCPServersTransport, &into.ServersTransports, from.TCP.ServersTransports)
	}
	if from.UDP != nil {
		m.out.UDP = cmp.Or(m.out.UDP, &dynamic.UDPConfiguration{})
		take(m, dynamic.KindUDPRouter, &m.out.UDP.Routers, from.UDP.Routers)
		take(m, dynamic.KindUDPService, &m.out.UDP.Services, from.UDP.Services)
	}
	if from.TLS != nil {
		m.out.TLS = cmp.Or(m.out.TLS, &dynamic.TLSConfiguration{})
		take(m, dynamic.KindTLSOptions, &m.out.TLS.Options, from.TLS.Options)
		take(m, dynamic.KindTLSStore, &m.out.TLS.Stores, from.TLS.Stores)
		m.takeCertificates()
	}
	m.takeVerdicts()
}

// take adds the objects of one kind.
func take[T any](m *merging, kind dynamic.Kind, into *map[string]*T, from map[string]*T) {
	if *into == nil && from != nil {
		*into = make(map[string]*T, len(from))
	}
	for name, object := range from {
		ref := dynamic.Ref{Kind: kind, Name: name}
		if m.place(ref, ref) {
			(*into)[name] = object
		}
	}
}

// takeCertificates adds the certificates. Those without a name of their own are named by their place, which is another
// one in the merged list.
func (m *merging) takeCertificates() {
	into := m.out.TLS
	for place, entry := range m.from.TLS.Certificates {
		own, ref := entry.Ref(place), entry.Ref(len(into.Certificates))
		if m.place(own, ref) {
			into.Certificates = append(into.Certificates, entry)
			m.renamed[own] = ref
		}
	}
}

// place reports whether an object is the first one of its name, and notes its origin.
func (m *merging) place(own, ref dynamic.Ref) bool {
	if _, taken := m.out.Origins[ref]; taken {
		m.lost[own] = true
		return false
	}
	m.out.Origins[ref] = m.from.Origins[own]
	return true
}

// takeVerdicts adds the verdicts on the objects that count. A verdict on one that does not count must not hit its
// namesake, so it becomes one on the file.
func (m *merging) takeVerdicts() {
	for _, verdict := range m.from.Verdicts {
		if m.lost[verdict.Ref] {
			continue
		}
		if ref, ok := m.renamed[verdict.Ref]; ok {
			verdict.Ref = ref
		}
		m.out.Verdicts = append(m.out.Verdicts, verdict)
	}
	for _, own := range sortedByOrigin(m.lost, m.from.Origins) {
		origin := m.from.Origins[own]
		m.out.Verdicts = append(m.out.Verdicts, dynamic.Verdict{
			Ref: dynamic.Ref{Kind: dynamic.KindSource, Name: origin.File}, Origin: origin, Status: dynamic.Quarantined,
			Reason: fmt.Sprintf("%s is declared already at %s; this one is not used", own, m.out.Origins[own]),
		})
	}
}
