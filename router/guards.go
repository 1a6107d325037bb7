package router

import (
	"maps"
	"slices"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware"
)

// Guards returns what can restrict the access to an object of a configuration, sorted: the middlewares of such kinds
// that it refers to, directly or through chains and services, and the TLS options that require client certificates.
// Each is its kind and its qualified name. References to what does not exist lead to nothing.
func (c *Compiler) Guards(configuration *dynamic.Configuration, ref dynamic.Ref) []string {
	w := guardWalk{configuration: configuration, seen: map[dynamic.Ref]bool{}, found: map[string]struct{}{}}
	w.walk(ref)
	return slices.Sorted(maps.Keys(w.found))
}

// guardWalk follows the references of objects.
type guardWalk struct {
	configuration *dynamic.Configuration
	seen          map[dynamic.Ref]bool
	found         map[string]struct{}
}

func (w *guardWalk) walk(ref dynamic.Ref) {
	if w.seen[ref] {
		return
	}
	w.seen[ref] = true
	switch object := w.configuration.Object(ref).(type) {
	case *dynamic.Router:
		w.names(dynamic.KindMiddleware, ref, object.Middlewares...)
		w.names(dynamic.KindService, ref, object.Service)
		if object.TLS != nil {
			w.options(ref, object.TLS.Options)
		}
	case *dynamic.TCPRouter:
		w.names(dynamic.KindTCPMiddleware, ref, object.Middlewares...)
		if object.TLS != nil && !object.TLS.Passthrough {
			w.options(ref, object.TLS.Options)
		}
	case *dynamic.TCPMiddleware:
		if object.IPAllowList != nil || object.IPWhiteList != nil {
			w.found["ipAllowList "+ref.Name] = struct{}{}
		}
	case *dynamic.Middleware:
		w.middleware(ref, object)
	case *dynamic.Service:
		w.service(ref, object)
	}
}

// names walks the objects of a kind that another object refers to.
func (w *guardWalk) names(kind dynamic.Kind, owner dynamic.Ref, names ...string) {
	for _, name := range names {
		if name != "" {
			w.walk(dynamic.Ref{Kind: kind, Name: Qualify(name, providerOf(owner.Name))})
		}
	}
}

func (w *guardWalk) middleware(ref dynamic.Ref, object *dynamic.Middleware) {
	if object.Chain != nil {
		w.names(dynamic.KindMiddleware, ref, object.Chain.Middlewares...)
		return
	}
	for _, name := range object.Kinds() {
		guards := func(kind middleware.Kind) bool { return kind.Name == name && kind.Guards }
		if slices.ContainsFunc(middleware.Kinds(), guards) {
			w.found[name+" "+ref.Name] = struct{}{}
		}
	}
}

func (w *guardWalk) service(ref dynamic.Ref, object *dynamic.Service) {
	w.names(dynamic.KindMiddleware, ref, object.Middlewares...)
	if weighted := object.Weighted; weighted != nil {
		for _, branch := range weighted.Services {
			w.names(dynamic.KindService, ref, branch.Name)
		}
	}
	if hashed := object.HighestRandomWeight; hashed != nil {
		for _, branch := range hashed.Services {
			w.names(dynamic.KindService, ref, branch.Name)
		}
	}
	if mirroring := object.Mirroring; mirroring != nil {
		w.names(dynamic.KindService, ref, mirroring.Service)
	}
	if failover := object.Failover; failover != nil {
		w.names(dynamic.KindService, ref, failover.Service, failover.Fallback)
	}
	if canary := object.Canary; canary != nil {
		w.names(dynamic.KindService, ref, canary.Service, canary.Canary)
	}
	if environment := object.Environment; environment != nil {
		w.names(dynamic.KindService, ref, environment.Service)
		for _, subset := range environment.Subsets {
			w.names(dynamic.KindService, ref, subset.Service)
		}
	}
}

// options notes TLS options that require client certificates.
func (w *guardWalk) options(owner dynamic.Ref, name string) {
	if name == "" {
		name = dynamic.DefaultTLSName
	}
	if name != dynamic.DefaultTLSName {
		name = Qualify(name, providerOf(owner.Name))
	}
	options, _ := w.configuration.Object(dynamic.Ref{Kind: dynamic.KindTLSOptions, Name: name}).(*dynamic.TLSOptions)
	if options == nil {
		return
	}
	switch given := options.ClientAuth.ClientAuthType; {
	case given == "RequireAnyClientCert", given == "RequireAndVerifyClientCert",
		given == "" && len(options.ClientAuth.CAFiles) > 0:
		w.found["client certificates of "+name] = struct{}{}
	}
}
