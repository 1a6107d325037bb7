package router

import (
	"errors"

	"github.com/sluiceproxy/sluice/dynamic"
)

// source reads the merged configuration: any section may be absent, and a provider's own verdict refuses an object.
type source struct {
	config  *dynamic.Configuration
	refusal map[dynamic.Ref]dynamic.Verdict
	// stubs are found in the place of objects that are not declared; nil outside of Validate.
	stubs *stubs
}

// stubs are empty, valid objects.
type stubs struct {
	service    *dynamic.Service
	middleware *dynamic.Middleware
	transport  *dynamic.ServersTransport
	tlsOptions *dynamic.TLSOptions

	tcpService    *dynamic.TCPService
	tcpMiddleware *dynamic.TCPMiddleware
	tcpTransport  *dynamic.TCPServersTransport
	udpService    *dynamic.UDPService
}

func newStubs() *stubs {
	all := &stubs{
		service:    &dynamic.Service{LoadBalancer: &dynamic.ServersLoadBalancer{}},
		middleware: &dynamic.Middleware{Chain: &dynamic.Chain{}},
		transport:  &dynamic.ServersTransport{}, tlsOptions: &dynamic.TLSOptions{},

		tcpService: &dynamic.TCPService{LoadBalancer: &dynamic.TCPServersLoadBalancer{}},
		tcpMiddleware: &dynamic.TCPMiddleware{
			IPAllowList: &dynamic.TCPIPAllowList{SourceRange: []string{"0.0.0.0/0", "::/0"}},
		},
		tcpTransport: &dynamic.TCPServersTransport{},
		udpService:   &dynamic.UDPService{LoadBalancer: &dynamic.UDPServersLoadBalancer{}},
	}
	all.tcpService.LoadBalancer.SetDefaults()
	all.tcpTransport.SetDefaults()
	all.udpService.LoadBalancer.SetDefaults()
	all.service.LoadBalancer.SetDefaults()
	all.transport.SetDefaults()
	all.tlsOptions.SetDefaults()
	return all
}

func newSource(config *dynamic.Configuration) source {
	s := source{config: config, refusal: map[dynamic.Ref]dynamic.Verdict{}}
	for _, verdict := range config.Verdicts {
		if verdict.Status != dynamic.Quarantined {
			continue
		}
		if known, again := s.refusal[verdict.Ref]; !again || known.Missing && !verdict.Missing {
			s.refusal[verdict.Ref] = verdict
		}
	}
	return s
}

// has reports whether an object is declared, or refused by its provider.
func (s source) has(ref dynamic.Ref) bool {
	_, declared := s.config.Find(ref)
	_, refused := s.refusal[ref]
	return declared || refused
}

// refused returns why the provider did not accept an object, or nil.
func (s source) refused(ref dynamic.Ref) error {
	verdict, refused := s.refusal[ref]
	switch {
	case !refused:
		return nil
	case verdict.Missing:
		return &lacking{verdict.Reason}
	}
	return errors.New(verdict.Reason)
}

func (s source) router(name string) *dynamic.Router {
	if s.config.HTTP == nil {
		return nil
	}
	return s.config.HTTP.Routers.Get(name)
}

func (s source) service(name string) *dynamic.Service {
	var found *dynamic.Service
	if s.config.HTTP != nil {
		found = s.config.HTTP.Services.Get(name)
	}
	if found == nil && s.stubs != nil {
		return s.stubs.service
	}
	return found
}

func (s source) middleware(name string) *dynamic.Middleware {
	var found *dynamic.Middleware
	if s.config.HTTP != nil {
		found = s.config.HTTP.Middlewares.Get(name)
	}
	if found == nil && s.stubs != nil {
		return s.stubs.middleware
	}
	return found
}

func (s source) transport(name string) *dynamic.ServersTransport {
	var found *dynamic.ServersTransport
	if s.config.HTTP != nil {
		found = s.config.HTTP.ServersTransports.Get(name)
	}
	if found == nil && s.stubs != nil {
		return s.stubs.transport
	}
	return found
}

func (s source) tcpRouter(name string) *dynamic.TCPRouter {
	if s.config.TCP == nil {
		return nil
	}
	return s.config.TCP.Routers.Get(name)
}

func (s source) tcpService(name string) *dynamic.TCPService {
	var found *dynamic.TCPService
	if s.config.TCP != nil {
		found = s.config.TCP.Services.Get(name)
	}
	if found == nil && s.stubs != nil {
		return s.stubs.tcpService
	}
	return found
}

func (s source) tcpMiddleware(name string) *dynamic.TCPMiddleware {
	var found *dynamic.TCPMiddleware
	if s.config.TCP != nil {
		found = s.config.TCP.Middlewares.Get(name)
	}
	if found == nil && s.stubs != nil {
		return s.stubs.tcpMiddleware
	}
	return found
}

func (s source) tcpTransport(name string) *dynamic.TCPServersTransport {
	var found *dynamic.TCPServersTransport
	if s.config.TCP != nil {
		found = s.config.TCP.ServersTransports.Get(name)
	}
	if found == nil && s.stubs != nil {
		return s.stubs.tcpTransport
	}
	return found
}

func (s source) udpRouter(name string) *dynamic.UDPRouter {
	if s.config.UDP == nil {
		return nil
	}
	return s.config.UDP.Routers.Get(name)
}

func (s source) udpService(name string) *dynamic.UDPService {
	var found *dynamic.UDPService
	if s.config.UDP != nil {
		found = s.config.UDP.Services.Get(name)
	}
	if found == nil && s.stubs != nil {
		return s.stubs.udpService
	}
	return found
}

func (s source) tlsOptions(name string) *dynamic.TLSOptions {
	var found *dynamic.TLSOptions
	if s.config.TLS != nil {
		found = s.config.TLS.Options.Get(name)
	}
	if found == nil && s.stubs != nil {
		return s.stubs.tlsOptions
	}
	return found
}

func (s source) tlsStore(name string) *dynamic.TLSStore {
	if s.config.TLS == nil {
		return nil
	}
	return s.config.TLS.Stores.Get(name)
}
