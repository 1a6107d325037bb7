package router

import "github.com/sluiceproxy/sluice/dynamic"

// Check returns the verdicts that a compilation gives of a whole configuration, in the order of kind and name. It needs
// no running process and leaves nothing behind: no connection is made, nothing is probed or watched, and no table
// serves. It reads the files that the configuration names. Of the options, EntryPoints, PacketEntryPoints, Precedence,
// RuleSyntax, Internal, Transport, TCPTransport and RequireAuth count; services of Internal are never called.
func Check(options Options, configuration *dynamic.Configuration) []dynamic.Verdict {
	compiler := NewCompiler(Options{
		EntryPoints: options.EntryPoints,
		Templates:   options.Templates,

		PacketEntryPoints: options.PacketEntryPoints,

		Precedence: options.Precedence,
		RuleSyntax: options.RuleSyntax,
		Internal:   options.Internal,
		Transport:  options.Transport,

		TCPTransport: options.TCPTransport,
		RequireAuth:  options.RequireAuth,
	}, NewActiveTable(options.EntryPoints))
	var changed []dynamic.Ref
	for ref := range configuration.Objects() {
		changed = append(changed, ref)
	}
	return compiler.Compile(Input{Configuration: configuration, Changed: changed, Final: true}).Verdicts
}
