package router

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/dynamic"
)

// crlInterval is the period in which verdicts on CRLs are looked at.
const crlInterval = time.Minute

// CRLs returns the certificate revocation lists of the TLS options that are active, sorted by the name of the options.
// It may be called from any goroutine.
func (c *Compiler) CRLs() []certificate.CRL {
	var all []certificate.CRL
	for _, options := range c.tls.withCRLs() {
		all = append(all, options.CRLs()...)
	}
	return all
}

// CRLVerdicts says of the active TLS options when one of their CRLs is about to expire or has. What had happened when
// the options were compiled is among the verdicts of the Compiler. Its methods may be called from any goroutine.
type CRLVerdicts struct {
	compiler *Compiler
	changed  chan struct{}
}

// NewCRLVerdicts returns the verdicts on the options of a Compiler. Changes are noticed while Run runs.
func NewCRLVerdicts(compiler *Compiler) *CRLVerdicts {
	return &CRLVerdicts{compiler: compiler, changed: make(chan struct{}, 1)}
}

// Changed returns a channel that holds a value when Verdicts returns others than before.
func (c *CRLVerdicts) Changed() <-chan struct{} { return c.changed }

// Verdicts returns those of the present time.
func (c *CRLVerdicts) Verdicts() []dynamic.Verdict {
	now := time.Now()
	var all []dynamic.Verdict
	for _, options := range c.compiler.tls.withCRLs() {
		if warnings := options.LateWarnings(now); len(warnings) > 0 {
			all = append(all, dynamic.Verdict{
				Ref:    dynamic.Ref{Kind: dynamic.KindTLSOptions, Name: options.Name},
				Status: dynamic.Degraded, Code: dynamic.CodeDegraded, Reason: strings.Join(warnings, "; "),
			})
		}
	}
	return all
}

// Run looks at the time once a minute until ctx ends.
func (c *CRLVerdicts) Run(ctx context.Context) {
	tick := time.NewTicker(crlInterval)
	defer tick.Stop()
	var reasons []string
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		var now []string
		for _, verdict := range c.Verdicts() {
			now = append(now, verdict.Ref.Name, verdict.Reason)
		}
		if slices.Equal(reasons, now) {
			continue
		}
		reasons = now
		select {
		case c.changed <- struct{}{}:
		default:
		}
	}
}

// withCRLs returns the active options that have CRLs, sorted by name.
func (t *tlsObjects) withCRLs() []*certificate.Options {
	if active := t.revoking.Load(); active != nil {
		return *active
	}
	return nil
}

// activateCRLs makes the options that were compiled those that withCRLs returns.
func (t *tlsObjects) activateCRLs() {
	var all []*certificate.Options
	for _, node := range t.memory {
		if node.options != nil && len(node.options.CRLs()) > 0 {
			all = append(all, node.options)
		}
	}
	slices.SortFunc(all, func(a, b *certificate.Options) int { return strings.Compare(a.Name, b.Name) })
	t.revoking.Store(&all)
}
