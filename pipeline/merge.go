package pipeline

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
)

// merger makes one configuration of those of all providers. It remembers what each provider declared, so that a merge
// walks only the providers that have sent another configuration, and copies only the maps that change.
//
// The merged configuration has no Origins, which would cost more than everything else: verdicts carry theirs.
// References inside objects stay as their providers wrote them; who compiles resolves them. Objects keep their pointers.
type merger struct {
	precedence map[string]int

	routers     *section[dynamic.Router]
	services    *section[dynamic.Service]
	middlewares *section[dynamic.Middleware]
	transports  *section[dynamic.ServersTransport]

	tcpRouters, tcpServices, tcpMiddlewares, tcpTransports, udpRouters, udpServices *section[dynamic.Unsupported]

	options      *section[dynamic.TLSOptions]
	stores       *section[dynamic.TLSStore]
	certificates certificates

	// verdicts holds, for each provider, its own verdicts and those of the merge on its objects.
	verdicts map[string][]dynamic.Verdict
	merged   *dynamic.Configuration
	// origins are those of the objects in merged.
	origins origins
}

func newMerger(precedence []string) *merger {
	m := &merger{
		precedence:  map[string]int{},
		routers:     newSection[dynamic.Router](dynamic.KindRouter),
		services:    newSection[dynamic.Service](dynamic.KindService),
		middlewares: newSection[dynamic.Middleware](dynamic.KindMiddleware),
		transports:  newSection[dynamic.ServersTransport](dynamic.KindServersTransport),

		tcpRouters:     newSection[dynamic.Unsupported](dynamic.KindTCPRouter),
		tcpServices:    newSection[dynamic.Unsupported](dynamic.KindTCPService),
		tcpMiddlewares: newSection[dynamic.Unsupported](dynamic.KindTCPMiddleware),
		tcpTransports:  newSection[dynamic.Unsupported](dynamic.KindTCPServersTransport),
		udpRouters:     newSection[dynamic.Unsupported](dynamic.KindUDPRouter),
		udpServices:    newSection[dynamic.Unsupported](dynamic.KindUDPService),

		options: newGlobalSection[dynamic.TLSOptions](dynamic.KindTLSOptions),
		stores:  newGlobalSection[dynamic.TLSStore](dynamic.KindTLSStore),
		certificates: certificates{
			last: map[string][]*dynamic.CertificateEntry{}, declared: map[string][]*object[dynamic.CertificateEntry]{},
		},
		verdicts: map[string][]dynamic.Verdict{},
	}
	for place, name := range precedence {
		m.precedence[strings.ToLower(name)] = place
	}
	m.merged = m.assemble(nil, nil)
	return m
}

// merge walks the configurations of the changed providers, whose map must not change afterwards. It returns the merged configuration and what has changed in
// it since the last call; the configuration is the same pointer when nothing at all has.
func (m *merger) merge(
	configurations map[string]*dynamic.Configuration, changed []string,
) (*dynamic.Configuration, map[dynamic.Ref]struct{}) {
	e := &edit{
		configurations: configurations,
		changed:        map[dynamic.Ref]struct{}{},
		elected:        map[dynamic.Ref]string{},
	}
	providers := m.order(configurations)
	for _, name := range changed {
		if e.configuration = configurations[name]; e.configuration == nil {
			continue
		}
		e.provider, e.refused = name, nil
		m.walk(e)
		m.judge(e)
	}
	defaults := map[dynamic.Ref]dynamic.Ref{}
	m.options.elect(e, providers, defaults)
	m.stores.elect(e, providers, defaults)
	verdicts := m.collect(e, providers, defaults)
	m.origins = origins{configurations: configurations, elected: e.elected}
	if len(e.changed) == 0 && slices.Equal(verdicts, m.merged.Verdicts) {
		return m.merged, e.changed
	}
	m.merged = m.assemble(providers, verdicts)
	return m.merged, e.changed
}

// walk takes every object of the edit's provider.
func (m *merger) walk(e *edit) {
	http := cmp.Or(e.configuration.HTTP, &dynamic.HTTPConfiguration{})
	m.routers.update(e, http.Routers)
	m.services.update(e, http.Services)
	m.middlewares.update(e, http.Middlewares)
	m.transports.update(e, http.ServersTransports)

	tcp := cmp.Or(e.configuration.TCP, &dynamic.TCPConfiguration{})
	m.tcpRouters.update(e, tcp.Routers)
	m.tcpServices.update(e, tcp.Services)
	m.tcpMiddlewares.update(e, tcp.Middlewares)
	m.tcpTransports.update(e, tcp.ServersTransports)

	udp := cmp.Or(e.configuration.UDP, &dynamic.UDPConfiguration{})
	m.udpRouters.update(e, udp.Routers)
	m.udpServices.update(e, udp.Services)

	tls := cmp.Or(e.configuration.TLS, &dynamic.TLSConfiguration{})
	m.options.update(e, tls.Options)
	m.stores.update(e, tls.Stores)
	m.certificates.update(e, tls.Certificates)
}

// judge keeps the verdicts on the objects of the edit's provider and notes the objects whose verdict has changed.
func (m *merger) judge(e *edit) {
	after := e.refused
	for _, verdict := range e.configuration.Verdicts {
		if verdict.Origin == (dynamic.Origin{}) {
			verdict.Origin = e.configuration.Origins[verdict.Ref]
		}
		verdict.Ref = e.qualify(verdict.Ref)
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

// collect returns the verdicts on all objects, in order. Defaults maps the references of the elected TLS options and
// store as their providers know them to those that everybody else uses.
func (m *merger) collect(e *edit, providers []string, defaults map[dynamic.Ref]dynamic.Ref) []dynamic.Verdict {
	all := e.lost
	for _, name := range providers {
		for _, verdict := range m.verdicts[name] {
			if ref, ok := defaults[verdict.Ref]; ok {
				verdict.Ref = ref
			}
			all = append(all, verdict)
		}
	}
	for ref, known := range defaults {
		if _, changed := e.changed[ref]; changed {
			e.change(known)
		}
	}
	return sortedVerdicts(all)
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

// assemble makes the merged configuration of what the sections hold.
func (m *merger) assemble(providers []string, verdicts []dynamic.Verdict) *dynamic.Configuration {
	return &dynamic.Configuration{
		HTTP: &dynamic.HTTPConfiguration{
			Routers:           m.routers.release(),
			Services:          m.services.release(),
			Middlewares:       m.middlewares.release(),
			ServersTransports: m.transports.release(),
		},
		TCP: &dynamic.TCPConfiguration{
			Routers:           m.tcpRouters.release(),
			Services:          m.tcpServices.release(),
			Middlewares:       m.tcpMiddlewares.release(),
			ServersTransports: m.tcpTransports.release(),
		},
		UDP: &dynamic.UDPConfiguration{
			Routers:  m.udpRouters.release(),
			Services: m.udpServices.release(),
		},
		TLS: &dynamic.TLSConfiguration{
			Certificates: m.certificates.assemble(providers),
			Options:      m.options.release(),
			Stores:       m.stores.release(),
		},
		Verdicts: verdicts,
	}
}
