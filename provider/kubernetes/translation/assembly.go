package translation

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
)

// assembly makes one configuration of what all sources declare.
type assembly struct {
	provider string

	routers      *section[dynamic.Router]
	services     *section[dynamic.Service]
	middlewares  *section[dynamic.Middleware]
	transports   *section[dynamic.ServersTransport]
	options      *section[dynamic.TLSOptions]
	stores       *section[dynamic.TLSStore]
	certificates *section[dynamic.CertificateEntry]
	unsupported  map[dynamic.Kind]*section[dynamic.Unsupported]
	sections     map[dynamic.Kind]claimed
	nothing      *dynamic.Unsupported

	origins    map[dynamic.Ref]dynamic.Origin
	ownOrigins bool
	// speaking are the entries that have verdicts.
	speaking map[*entry]struct{}
	// judged are the entries whose verdicts may have changed in this update, changed those that say something else now.
	judged  map[*entry]struct{}
	changed map[*entry]struct{}
	last    *dynamic.Configuration
}

// claimed is a section of any kind.
type claimed interface {
	touch(name string)
	withdraw(by *entry, name string)
	settle(a *assembly) (changed bool)
}

func newAssembly(provider string) *assembly {
	a := &assembly{
		provider:     provider,
		routers:      newSection[dynamic.Router](dynamic.KindRouter),
		services:     newSection[dynamic.Service](dynamic.KindService),
		middlewares:  newSection[dynamic.Middleware](dynamic.KindMiddleware),
		transports:   newSection[dynamic.ServersTransport](dynamic.KindServersTransport),
		options:      newSection[dynamic.TLSOptions](dynamic.KindTLSOptions),
		stores:       newSection[dynamic.TLSStore](dynamic.KindTLSStore),
		certificates: newSection[dynamic.CertificateEntry](dynamic.KindCertificate),
		unsupported:  map[dynamic.Kind]*section[dynamic.Unsupported]{},
		nothing:      &dynamic.Unsupported{},
		origins:      map[dynamic.Ref]dynamic.Origin{},
		speaking:     map[*entry]struct{}{},
		judged:       map[*entry]struct{}{},
		changed:      map[*entry]struct{}{},
	}
	a.sections = map[dynamic.Kind]claimed{
		dynamic.KindRouter: a.routers, dynamic.KindService: a.services, dynamic.KindMiddleware: a.middlewares,
		dynamic.KindServersTransport: a.transports, dynamic.KindTLSOptions: a.options, dynamic.KindTLSStore: a.stores,
		dynamic.KindCertificate: a.certificates,
	}
	for _, kind := range []dynamic.Kind{
		dynamic.KindTCPRouter, dynamic.KindTCPService, dynamic.KindTCPMiddleware, dynamic.KindTCPServersTransport,
		dynamic.KindUDPRouter, dynamic.KindUDPService,
	} {
		a.unsupported[kind] = newSection[dynamic.Unsupported](kind)
		a.sections[kind] = a.unsupported[kind]
	}
	return a
}

// replace takes what a source declares now.
func (a *assembly) replace(by *entry, result Result) {
	before := by.refs
	by.refs = make([]dynamic.Ref, 0, len(before))
	changed := false
	claimAll(a.routers, by, result.Routers, &changed)
	claimAll(a.services, by, result.Services, &changed)
	claimAll(a.middlewares, by, result.Middlewares, &changed)
	claimAll(a.transports, by, result.ServersTransports, &changed)
	claimAll(a.options, by, result.TLSOptions, &changed)
	claimAll(a.stores, by, result.TLSStores, &changed)
	claimAll(a.certificates, by, a.named(result.Certificates), &changed)
	for _, ref := range result.Unsupported {
		if section := a.unsupported[ref.Kind]; section != nil {
			claimAll(section, by, map[string]*dynamic.Unsupported{ref.Name: a.nothing}, &changed)
		}
	}
	slices.SortFunc(by.refs, compareRefs)
	by.refs = slices.Clip(slices.Compact(by.refs))
	for _, ref := range before {
		if _, still := slices.BinarySearchFunc(by.refs, ref, compareRefs); !still {
			a.sections[ref.Kind].withdraw(by, ref.Name)
			delete(by.rivals, ref)
			changed = true
		}
	}
	if !sameOrigin(by.origin, result.Origin) {
		by.origin = result.Origin
		changed = true
		for _, ref := range by.refs {
			a.sections[ref.Kind].touch(ref.Name)
		}
	}
	a.find(by, result)
	if changed {
		a.changed[by] = struct{}{}
		a.judged[by] = struct{}{}
	}
}

// claimAll claims the objects of one kind for a source.
func claimAll[T any](s *section[T], by *entry, objects map[string]*T, changed *bool) {
	for name, object := range objects {
		if object == nil {
			continue
		}
		by.refs = append(by.refs, s.ref(name))
		if s.claim(by, name, object) {
			*changed = true
		}
	}
}

// named returns certificates by their own names, carrying those by which everybody else knows them.
func (a *assembly) named(entries []*dynamic.CertificateEntry) map[string]*dynamic.CertificateEntry {
	if len(entries) == 0 {
		return nil
	}
	named := make(map[string]*dynamic.CertificateEntry, len(entries))
	for _, entry := range entries {
		qualified := *entry
		own := strings.TrimSuffix(entry.Name, "@"+a.provider)
		qualified.Name = own + "@" + a.provider
		named[own] = &qualified
	}
	return named
}

// sameOrigin compares origins by what they say.
func sameOrigin(a, b dynamic.Origin) bool {
	if a.Resource != nil && b.Resource != nil && *a.Resource == *b.Resource {
		a.Resource = b.Resource
	}
	return a == b
}

// finish settles everything that has changed and returns the configuration that follows. Pushed counts, for each kind
// of source, those that say something else now.
func (a *assembly) finish() (configuration *dynamic.Configuration, changed bool, pushed map[string]int) {
	certificates := a.certificates.settle(a)
	changed = certificates
	for kind, section := range a.sections {
		if kind != dynamic.KindCertificate && section.settle(a) {
			changed = true
		}
	}
	verdicts := a.judge()
	if !changed && !verdicts && !a.ownOrigins && a.last != nil {
		clear(a.changed)
		return a.last, false, nil
	}
	pushed = map[string]int{}
	for one := range a.changed {
		pushed[one.source.Kind]++
	}
	clear(a.changed)
	a.last = a.assemble(a.last, certificates, verdicts)
	return a.last, true, pushed
}

// assemble makes a configuration of what the sections hold, and of the parts of the last one that have not changed.
func (a *assembly) assemble(last *dynamic.Configuration, certificates, verdicts bool) *dynamic.Configuration {
	next := &dynamic.Configuration{
		HTTP: &dynamic.HTTPConfiguration{
			Routers: a.routers.release(), Services: a.services.release(),
			Middlewares: a.middlewares.release(), ServersTransports: a.transports.release(),
		},
		TCP: &dynamic.TCPConfiguration{
			Routers: a.released(dynamic.KindTCPRouter), Services: a.released(dynamic.KindTCPService),
			Middlewares:       a.released(dynamic.KindTCPMiddleware),
			ServersTransports: a.released(dynamic.KindTCPServersTransport),
		},
		UDP: &dynamic.UDPConfiguration{
			Routers: a.released(dynamic.KindUDPRouter), Services: a.released(dynamic.KindUDPService),
		},
		TLS:     &dynamic.TLSConfiguration{Options: a.options.release(), Stores: a.stores.release()},
		Origins: a.origins,
	}
	a.ownOrigins = false
	a.certificates.own = false
	switch {
	case certificates || last == nil:
		next.TLS.Certificates = slices.SortedFunc(maps.Values(a.certificates.objects), compareCertificates)
	default:
		next.TLS.Certificates = last.TLS.Certificates
	}
	switch {
	case verdicts || last == nil:
		next.Verdicts = a.verdicts()
	default:
		next.Verdicts = last.Verdicts
	}
	return next
}

func (a *assembly) released(kind dynamic.Kind) map[string]*dynamic.Unsupported {
	return a.unsupported[kind].release()
}

func compareCertificates(a, b *dynamic.CertificateEntry) int { return cmp.Compare(a.Name, b.Name) }
