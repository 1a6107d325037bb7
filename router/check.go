package router

import "github.com/sluiceproxy/sluice/dynamic"

// Check returns the verdicts that a compilation gives of a whole configuration, in the order of kind and name. It needs no
// running process and leaves nothing behind: no connection is made, nothing is probed or watched, and no table serves. It
// reads the files that the configuration names. Of the options, EntryPoints, Precedence, Internal, Transport and
// RequireAuth count; services of Internal are never called.
func Check(options Options, configuration *dynamic.Configuration) []dynamic.Verdict {
	compiler := NewCompiler(Options{
		EntryPoints: options.EntryPoints,
		Precedence:  options.Precedence,
		Internal:    options.Internal,
		Transport:   options.Transport,
		RequireAuth: options.RequireAuth,
	}, NewSwitch(options.EntryPoints))
	return compiler.Compile(Input{Configuration: configuration, Changed: declared(configuration), Final: true}).Verdicts
}

// declared returns every object that Compile takes as changed. Certificates and stores are read in a first compilation anyway.
func declared(configuration *dynamic.Configuration) []dynamic.Ref {
	var refs []dynamic.Ref
	if http := configuration.HTTP; http != nil {
		refs = appendRefs(refs, dynamic.KindRouter, http.Routers)
		refs = appendRefs(refs, dynamic.KindService, http.Services)
		refs = appendRefs(refs, dynamic.KindMiddleware, http.Middlewares)
		refs = appendRefs(refs, dynamic.KindServersTransport, http.ServersTransports)
	}
	if tls := configuration.TLS; tls != nil {
		refs = appendRefs(refs, dynamic.KindTLSOptions, tls.Options)
	}
	return refs
}

func appendRefs[T any](refs []dynamic.Ref, kind dynamic.Kind, objects map[string]T) []dynamic.Ref {
	for name := range objects {
		refs = append(refs, dynamic.Ref{Kind: kind, Name: name})
	}
	return refs
}
