package router

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/dynamic"
)

// tlsObjects holds certificates and TLS options between compilations. Handshakes read the set of certificates through
// an atomic pointer, so that new certificates need no new options.
type tlsObjects struct {
	tickets     *certificate.Tickets
	obtain      certificate.Obtain
	entryPoints []EntryPoint
	// listeners are those of providers that serve, by name; listened are the names of those that have changed in this
	// compilation.
	listeners map[string]EntryPoint
	listened  []string
	set       atomic.Pointer[certificate.Set]
	next      *certificate.Set
	problems  []dynamic.Verdict
	// staples is nil unless OCSP responses are stapled; served are the certificates of next, with their objects.
	staples Staples
	served  []certificate.Served
	memory  map[string]*optionsNode
	// revoking are the active options with CRLs.
	revoking atomic.Pointer[[]*certificate.Options]
	// claims lists, for each entrypoint, the options that name it, in order.
	claims map[string][]string
	// fallbacks are the default options of the entrypoints.
	fallbacks map[string]*certificate.Options
	// own are the entrypoints with certificates of their own, and bound the options that present these.
	own   map[string]bool
	bound map[boundOptions]*certificate.Options
	// hasDefault says that a default certificate is configured.
	hasDefault bool
	// generated is the default certificate that a resolver is to obtain; nil for none.
	generated *certificate.Demand
	// changed is set when options were built anew in this compilation, renewed when certificates were read.
	changed, renewed bool
}

type boundOptions struct {
	options    *certificate.Options
	entryPoint string
}

type optionsNode struct {
	options *certificate.Options
	err     error
}

func newTLSObjects(options Options) *tlsObjects {
	return &tlsObjects{
		tickets: options.Tickets, obtain: options.Obtain, entryPoints: options.EntryPoints, memory: map[string]*optionsNode{},
		staples: options.Staples,
	}
}

// defaultTLSOptions are the options of hosts, on entrypoints without default options of their own, whose routers name
// none.
func defaultTLSOptions() dynamic.Ref {
	return dynamic.Ref{Kind: dynamic.KindTLSOptions, Name: dynamic.DefaultTLSName}
}

// claim updates which options are the default ones of entrypoints, and returns the options that are to be built anew
// for that, beside the changed ones.
func (t *tlsObjects) claim(from source, changed []dynamic.Ref) []dynamic.Ref {
	isOptions := func(ref dynamic.Ref) bool { return ref.Kind == dynamic.KindTLSOptions }
	if !slices.ContainsFunc(changed, isOptions) && len(t.listened) == 0 {
		return nil
	}
	claims := t.claimed(from)
	var anew []dynamic.Ref
	for name := range union(t.claims, claims) {
		before, after := t.claims[name], claims[name]
		if slices.Equal(before, after) {
			continue
		}
		anew = append(anew, defaultTLSOptions()) // Its routers may have other options now.
		for _, name := range slices.Concat(before, after) {
			anew = append(anew, dynamic.Ref{Kind: dynamic.KindTLSOptions, Name: name})
		}
	}
	t.claims = claims
	return anew
}

// claimed lists, for each entrypoint, the options that name it, in order. A name of none that exists stands for those
// that may have been meant, as far as no other options name them: a slip must not leave them to weaker options.
func (t *tlsObjects) claimed(from source) map[string][]string {
	claims, slips := map[string][]string{}, map[string][]string{}
	if from.config.TLS == nil {
		return claims
	}
	add := func(to map[string][]string, entryPoint, name string) {
		if !slices.Contains(to[entryPoint], name) {
			to[entryPoint] = append(to[entryPoint], name)
		}
	}
	for _, name := range slices.Sorted(from.config.TLS.Options.Keys()) {
		options := from.tlsOptions(name)
		if options == nil {
			continue
		}
		for _, entryPoint := range options.EntryPoints {
			if foreign(entryPoint, name) {
				continue
			}
			if t.exists(entryPoint) {
				add(claims, entryPoint, name)
				continue
			}
			if dynamic.NamesListener(entryPoint) {
				continue // Nobody can connect to it.
			}
			for _, meant := range t.meant(entryPoint) {
				add(slips, meant, name)
			}
		}
	}
	for entryPoint, names := range slips {
		if len(claims[entryPoint]) == 0 {
			claims[entryPoint] = names
		}
	}
	return claims
}

// defaultOf returns the default options of an entrypoint.
func (t *tlsObjects) defaultOf(entryPoint string) dynamic.Ref {
	if claims := t.claims[entryPoint]; len(claims) > 0 {
		return dynamic.Ref{Kind: dynamic.KindTLSOptions, Name: claims[0]}
	}
	return defaultTLSOptions()
}

// misplaced returns why options cannot be the default ones of the entrypoints that they name, or nil. Of two that name
// one entrypoint neither is used: one may be meant to keep clients out.
func (t *tlsObjects) misplaced(name string, options *dynamic.TLSOptions) error {
	if options == nil {
		return nil
	}
	for _, entryPoint := range options.EntryPoints {
		if foreign(entryPoint, name) {
			return &coded{
				code: dynamic.CodeReferenceNotPermitted, error: errors.New("entryPoints: " + refuseForeign(entryPoint)),
			}
		}
		if !t.exists(entryPoint) && dynamic.NamesListener(entryPoint) {
			continue // It may be declared later, and accepts no connections until then.
		}
		if !t.exists(entryPoint) {
			reason := "entryPoints: " + t.missing(entryPoint)
			for _, closed := range t.entryPoints {
				if slices.Contains(t.claims[closed.Name], name) && !slices.Contains(options.EntryPoints, closed.Name) {
					reason += fmt.Sprintf("; %q accepts no connections by its default options until then", closed.Name)
				}
			}
			return &coded{code: dynamic.CodeMissingEntryPoint, error: errors.New(reason)}
		}
		for _, other := range t.claims[entryPoint] {
			if other != name {
				return &coded{code: dynamic.CodeConflictingTLSOptions, error: fmt.Errorf(
					"entryPoints: the options %q are the default ones of entrypoint %q too", other, entryPoint)}
			}
		}
	}
	return nil
}

// binder returns on for an entrypoint.
func (t *tlsObjects) binder(entryPoint string) func(*certificate.Options) *certificate.Options {
	return func(options *certificate.Options) *certificate.Options { return t.on(entryPoint, options) }
}

// on returns the options that present the certificates of an entrypoint.
func (t *tlsObjects) on(entryPoint string, options *certificate.Options) *certificate.Options {
	if options == nil || !t.own[entryPoint] && !dynamic.NamesListener(entryPoint) {
		return options
	}
	key := boundOptions{options, entryPoint}
	if t.bound[key] == nil {
		t.bound[key] = options.On(entryPoint)
	}
	return t.bound[key]
}

// tlsOptionsName returns the qualified name of TLS options; the default ones have no provider.
func tlsOptionsName(name, provider string) string {
	if name == "" || name == dynamic.DefaultTLSName {
		return dynamic.DefaultTLSName
	}
	return Qualify(name, provider)
}

// update reads certificates anew if one changed, and drops the options that changed.
func (t *tlsObjects) update(from source, dirty map[dynamic.Ref]struct{}, resolvers []string) {
	t.changed = false
	certificates := t.next == nil || t.namesListened(from)
	for ref := range dirty {
		switch ref.Kind {
		case dynamic.KindCertificate, dynamic.KindTLSStore:
			certificates = true
		case dynamic.KindTLSOptions:
			delete(t.memory, ref.Name)
			t.changed = true
		}
	}
	if t.renewed = certificates; certificates {
		t.readCertificates(from, resolvers)
	}
	if t.fallbacks == nil || t.changed {
		t.chooseFallbacks(from)
	} else if len(t.listened) > 0 {
		t.chooseListened(from)
	}
}

// chooseFallbacks takes the default options of the entrypoints; if those cannot be used, no handshake succeeds there
// for hosts that name none.
func (t *tlsObjects) chooseFallbacks(from source) {
	t.changed = true
	t.fallbacks, t.bound = map[string]*certificate.Options{}, map[boundOptions]*certificate.Options{}
	for _, name := range t.names() {
		if options, err := t.options(from, t.defaultOf(name)); err == nil {
			t.fallbacks[name] = t.on(name, options)
		}
	}
}

// resolverOf returns the resolver that has obtained a certificate, by the qualified name of that; empty for another
// one.
func resolverOf(name string) string {
	resolver, _ := strings.CutSuffix(providerOf(name), ResolverSuffix)
	if resolver == providerOf(name) {
		return ""
	}
	return resolver
}

// generate takes the default certificate that a resolver is to obtain.
func (t *tlsObjects) generate(definition *dynamic.TLSStore, store dynamic.Ref, resolvers []string) {
	wanted := definition.DefaultGeneratedCert
	switch {
	case wanted == nil:
	case definition.DefaultCertificate != nil:
		t.report(store, dynamic.Degraded, dynamic.CodeIneffectiveOption,
			"defaultGeneratedCert has no effect beside defaultCertificate")
	case wanted.Domain == nil || wanted.Domain.Main == "":
		t.report(store, dynamic.Degraded, dynamic.CodeInvalidOption, "defaultGeneratedCert.domain.main is missing")
	case !slices.Contains(resolvers, wanted.Resolver):
		t.report(store, dynamic.Degraded, dynamic.CodeMissingReference,
			"defaultGeneratedCert: "+missingResolver(wanted.Resolver, resolvers))
	default:
		names := append([]string{wanted.Domain.Main}, wanted.Domain.SANs...)
		t.generated, t.hasDefault = &certificate.Demand{Resolver: wanted.Resolver, Names: [][]string{names}}, true
	}
}

// missingResolver says that a resolver does not exist.
func missingResolver(name string, resolvers []string) string {
	reason := fmt.Sprintf("there is no certificate resolver %q in certificatesResolvers of the static configuration", name)
	if nearest, ok := document.Nearest(name, resolvers); ok {
		reason += fmt.Sprintf(", did you mean %q?", nearest)
	}
	return reason
}

func (t *tlsObjects) readCertificates(from source, resolvers []string) {
	var entries []certificate.Entry
	var refs []dynamic.Ref
	t.problems = nil
	own := map[string]bool{}
	if from.config.TLS != nil {
		for _, entry := range from.config.TLS.Certificates {
			ref := dynamic.Ref{Kind: dynamic.KindCertificate, Name: entry.Name}
			if from.refused(ref) != nil {
				continue
			}
			entryPoints, ok := t.entryPointsOf(ref, entry)
			if !ok {
				continue
			}
			for _, entryPoint := range entryPoints {
				own[entryPoint] = true
			}
			entries = append(entries, certificate.Entry{
				Name: entry.Name, Certificate: entry.Certificate, EntryPoints: entryPoints,
				FilesRevision: entry.FilesRevision, Resolver: resolverOf(entry.Name), Hosts: entry.Hosts,
			})
			refs = append(refs, ref)
			if slices.ContainsFunc(entry.Stores, func(name string) bool { return name != dynamic.DefaultTLSName }) {
				t.report(ref, dynamic.Degraded, dynamic.CodeIneffectiveOption,
					"stores: only the store named default is used, and the certificate is in it")
			}
		}
		for name := range from.config.TLS.Stores.Keys() {
			if name != dynamic.DefaultTLSName {
				other := dynamic.Ref{Kind: dynamic.KindTLSStore, Name: name}
				t.report(other, dynamic.Degraded, dynamic.CodeIneffectiveOption,
					"only the store named default is used, so this one has no effect")
			}
		}
	}
	store := dynamic.Ref{Kind: dynamic.KindTLSStore, Name: dynamic.DefaultTLSName}
	definition := from.tlsStore(dynamic.DefaultTLSName)
	t.hasDefault = definition != nil && definition.DefaultCertificate != nil
	t.generated = nil
	if definition != nil && from.refused(store) == nil {
		if definition.DefaultCertificate != nil {
			entries = append(entries, certificate.Entry{
				Name: store.Name, Certificate: *definition.DefaultCertificate, Default: true,
				FilesRevision: definition.FilesRevision,
			})
			refs = append(refs, store)
		}
		t.generate(definition, store, resolvers)
		if t.generated != nil {
			entries = append(entries, certificate.Entry{
				Name: store.Name, Obtained: &certificate.Obtained{Resolver: t.generated.Resolver, Names: t.generated.Names[0]},
			})
			refs = append(refs, store)
		}
	}
	if !maps.Equal(own, t.own) {
		t.own, t.changed = own, true
	}
	set, problems := certificate.NewSet(entries, t.next)
	t.next = set
	t.listServed(refs)
	for _, problem := range problems {
		status := dynamic.Quarantined
		if problem.Warning {
			status = dynamic.Degraded
		}
		ref := store
		if problem.Index >= 0 {
			ref = refs[problem.Index]
		}
		t.report(ref, status, dynamic.CodeInvalidCertificate, problem.Err.Error())
	}
}

func (t *tlsObjects) report(ref dynamic.Ref, status dynamic.Status, code dynamic.Code, reason string) {
	t.problems = append(t.problems, dynamic.Verdict{Ref: ref, Status: status, Code: code, Reason: reason})
}

// activate lets handshakes see the certificates that were read.
func (t *tlsObjects) activate() {
	if t.set.Swap(t.next) != t.next && t.staples != nil {
		t.staples.Serve(t.served)
	}
	t.activateCRLs()
}

// options returns the options of a qualified name, from memory when they have not changed.
func (t *tlsObjects) options(from source, ref dynamic.Ref) (*certificate.Options, error) {
	if node, known := t.memory[ref.Name]; known {
		return node.options, node.err
	}
	node := &optionsNode{}
	definition := from.tlsOptions(ref.Name)
	switch {
	case definition == nil && ref.Name != dynamic.DefaultTLSName:
		node.err = errMissing
	default:
		if node.err = cmp.Or(from.refused(ref), t.misplaced(ref.Name, definition)); node.err == nil {
			node.options, node.err = certificate.NewOptions(ref.Name, definition, t.set.Load, t.obtain, t.tickets)
			if inner := errors.Unwrap(node.err); inner != nil {
				node.err = inner // The verdict names the object.
			}
		}
	}
	if !absent(node.err) { // A node of an absent name would never be invalidated.
		t.memory[ref.Name] = node
	}
	return node.options, node.err
}

// verdicts reports certificates and options that are not accepted or have warnings, also options that no router names.
func (t *tlsObjects) verdicts(from source) []dynamic.Verdict {
	verdicts := append([]dynamic.Verdict(nil), t.problems...)
	if from.config.TLS == nil {
		return verdicts
	}
	for name := range from.config.TLS.Options.Keys() {
		ref := dynamic.Ref{Kind: dynamic.KindTLSOptions, Name: name}
		options, err := t.options(from, ref)
		if err != nil {
			verdicts = append(verdicts, quarantine(ref, err))
			continue
		}
		if warnings := options.Warnings(); len(warnings) > 0 {
			verdicts = append(verdicts, dynamic.Verdict{
				Ref: ref, Status: dynamic.Degraded, Code: dynamic.CodeDegraded, Reason: strings.Join(warnings, "; "),
			})
		}
	}
	return verdicts
}

// Certificates returns the leaves of the certificates that serve. It may be called from any goroutine.
func (c *Compiler) Certificates() []*x509.Certificate {
	set := c.tls.set.Load()
	if set == nil {
		return nil
	}
	return set.Leaves()
}
