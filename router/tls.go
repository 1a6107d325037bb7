package router

import (
	"crypto/x509"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/dynamic"
)

// tlsObjects holds certificates and TLS options between compilations. Handshakes read the set of certificates through
// an atomic pointer, so that new certificates need no new options.
type tlsObjects struct {
	tickets  *certificate.Tickets
	set      atomic.Pointer[certificate.Set]
	next     *certificate.Set
	problems []dynamic.Verdict
	memory   map[string]*optionsNode
	fallback *certificate.Options
	// changed is set when options were built anew in this compilation.
	changed bool
}

type optionsNode struct {
	options *certificate.Options
	err     error
}

func newTLSObjects(tickets *certificate.Tickets) *tlsObjects {
	return &tlsObjects{tickets: tickets, memory: map[string]*optionsNode{}}
}

// tlsOptionsName returns the qualified name of TLS options; the default ones have no provider.
func tlsOptionsName(name, provider string) string {
	if name == "" || name == dynamic.DefaultTLSName {
		return dynamic.DefaultTLSName
	}
	return Qualify(name, provider)
}

// update reads certificates anew if one changed, and forgets the options that changed.
func (t *tlsObjects) update(from source, dirty map[dynamic.Ref]struct{}) {
	t.changed = false
	certificates := t.next == nil
	for ref := range dirty {
		switch ref.Kind {
		case dynamic.KindCertificate, dynamic.KindTLSStore:
			certificates = true
		case dynamic.KindTLSOptions:
			delete(t.memory, ref.Name)
			t.changed = true
		}
	}
	if certificates {
		t.readCertificates(from)
	}
	if t.fallback == nil || t.changed {
		t.chooseFallback(from)
	}
}

// chooseFallback takes the default options; if those cannot be used, no handshake succeeds for hosts that name none.
func (t *tlsObjects) chooseFallback(from source) {
	options, err := t.options(from, dynamic.Ref{Kind: dynamic.KindTLSOptions, Name: dynamic.DefaultTLSName})
	if err != nil {
		options = nil
	}
	t.fallback, t.changed = options, true
}

func (t *tlsObjects) readCertificates(from source) {
	var entries []certificate.Entry
	var refs []dynamic.Ref
	t.problems = nil
	if from.config.TLS != nil {
		for _, entry := range from.config.TLS.Certificates {
			ref := dynamic.Ref{Kind: dynamic.KindCertificate, Name: entry.Name}
			if from.refused(ref) != nil {
				continue
			}
			entries = append(entries, certificate.Entry{Name: entry.Name, Certificate: entry.Certificate})
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
	if definition := from.tlsStore(dynamic.DefaultTLSName); definition != nil && from.refused(store) == nil {
		if definition.DefaultCertificate != nil {
			entries = append(entries, certificate.Entry{
				Name: store.Name, Certificate: *definition.DefaultCertificate, Default: true,
			})
			refs = append(refs, store)
		}
		if definition.DefaultGeneratedCert != nil {
			t.report(store, dynamic.Degraded, dynamic.CodeUnsupportedOption,
				"defaultGeneratedCert is not supported yet and has no effect")
		}
	}
	set, problems := certificate.NewSet(entries, t.next)
	t.next = set
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
func (t *tlsObjects) activate() { t.set.Store(t.next) }

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
		if node.err = from.refused(ref); node.err == nil {
			node.options, node.err = certificate.NewOptions(ref.Name, definition, t.set.Load, t.tickets)
			if inner := errors.Unwrap(node.err); inner != nil {
				node.err = inner // Whoever reports it names the object.
			}
		}
	}
	if !absent(node.err) { // Nobody would say when to forget the name.
		t.memory[ref.Name] = node
	}
	return node.options, node.err
}

// verdicts reports certificates and options that are not accepted, also options that no router names.
func (t *tlsObjects) verdicts(from source) []dynamic.Verdict {
	verdicts := append([]dynamic.Verdict(nil), t.problems...)
	if from.config.TLS == nil {
		return verdicts
	}
	for name := range from.config.TLS.Options.Keys() {
		ref := dynamic.Ref{Kind: dynamic.KindTLSOptions, Name: name}
		if _, err := t.options(from, ref); err != nil {
			verdicts = append(verdicts, dynamic.Verdict{
				Ref: ref, Status: dynamic.Quarantined, Code: codeOf(err), Reason: err.Error(),
				Missing: errors.Is(err, errMissing),
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
