package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/certificate/spiffe"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forward"
	"github.com/sluiceproxy/sluice/pipeline"
	"github.com/sluiceproxy/sluice/router"
	"github.com/sluiceproxy/sluice/telemetry/log"
)

// firstIdentity is how long the start waits at most for the first X.509-SVID, and verdicts for the same.
const firstIdentity = 3 * time.Second

// identity is Sluice's SPIFFE identity towards endpoints, with a verdict on each transport that needs it while there is
// none (pipeline.VerdictSource).
type identity struct {
	spiffe *spiffe.Source
	state  func() *pipeline.State
	// byDefault are the default transports that have the option, with their origins.
	byDefault map[dynamic.Ref]dynamic.Origin
	// judging is true once a missing identity is worth a verdict.
	judging atomic.Bool
	changed chan struct{}
}

// newIdentity makes what the option spiffe configures.
func (s *system) newIdentity() error {
	if s.config.Spiffe == nil || s.config.Spiffe.WorkloadAPIAddr == "" {
		return nil
	}
	source, err := spiffe.New(spiffe.Options{
		Address: s.config.Spiffe.WorkloadAPIAddr, Logger: s.logs.For(log.SubsystemCertificates),
	})
	if err != nil {
		return fmt.Errorf("spiffe.workloadAPIAddr: %w", err)
	}
	s.observability.metrics.SPIFFE(source.SVID)
	s.identity = &identity{
		spiffe: source, changed: make(chan struct{}, 1), state: func() *pipeline.State { return s.pipeline.State() },
		byDefault: map[dynamic.Ref]dynamic.Origin{},
	}
	note := func(kind dynamic.Kind, option string) {
		s.identity.byDefault[dynamic.Ref{Kind: kind, Name: router.DefaultTransport}] = dynamic.Origin{Object: option}
	}
	if s.config.ServersTransport.Spiffe != nil {
		note(dynamic.KindServersTransport, "serversTransport")
	}
	if tcp := s.config.TCPServersTransport; tcp != nil && tcp.TLS != nil && tcp.TLS.Spiffe != nil {
		note(dynamic.KindTCPServersTransport, "tcpServersTransport")
	}
	return nil
}

// source returns what authenticates connections; nil without the option.
func (i *identity) source() forward.Identity {
	if i == nil {
		return nil
	}
	return i.spiffe
}

// awaitFirst waits for the first identity, so that the first requests do not fail for want of it.
func (i *identity) awaitFirst(ctx context.Context) {
	if i == nil {
		return
	}
	timer := time.NewTimer(firstIdentity)
	defer timer.Stop()
	select {
	case <-i.spiffe.First():
	case <-timer.C:
	case <-ctx.Done():
	}
}

// run follows the Workload API until ctx ends.
func (i *identity) run(ctx context.Context) {
	if i == nil {
		return
	}
	var following sync.WaitGroup
	following.Go(func() { i.spiffe.Run(ctx) })
	i.awaitFirst(ctx)
	i.judging.Store(true)
	i.follow(ctx)
	following.Wait()
}

// follow has the verdicts renewed whenever there is an identity or none again, and other transports need one.
func (i *identity) follow(ctx context.Context) {
	var known []dynamic.Ref
	if len(i.byDefault) > 0 && i.spiffe.Ready() != nil {
		i.notify()
	}
	for {
		state := i.state()
		if refs := transportsWithSpiffe(state.Configuration); i.spiffe.Ready() != nil && !slices.Equal(refs, known) {
			known = refs
			i.notify()
		}
		select {
		case <-ctx.Done():
			return
		case <-i.spiffe.Changed():
			i.notify()
		case <-state.Changed:
		}
	}
}

func (i *identity) notify() {
	select {
	case i.changed <- struct{}{}:
	default:
	}
}

// Changed returns a channel that holds a value when Verdicts returns others than before.
func (i *identity) Changed() <-chan struct{} { return i.changed }

// Verdicts returns a verdict on each transport that needs an identity, while there is none.
func (i *identity) Verdicts() []dynamic.Verdict {
	if !i.judging.Load() {
		return nil
	}
	err := i.spiffe.Ready()
	if err == nil {
		return nil
	}
	var verdicts []dynamic.Verdict
	note := func(ref dynamic.Ref, origin dynamic.Origin) {
		verdicts = append(verdicts, dynamic.Verdict{
			Ref: ref, Origin: origin, Status: dynamic.Degraded,
			Code: dynamic.CodeCertificatePending, Reason: "no connection can be made: " + err.Error(),
		})
	}
	for ref, origin := range i.byDefault {
		note(ref, origin)
	}
	for _, ref := range transportsWithSpiffe(i.state().Configuration) {
		note(ref, dynamic.Origin{})
	}
	return verdicts
}

// transportsWithSpiffe returns the transports with the option spiffe, in order.
func transportsWithSpiffe(configuration *dynamic.Configuration) []dynamic.Ref {
	if configuration == nil {
		return nil
	}
	var refs []dynamic.Ref
	if configuration.HTTP != nil {
		for name, transport := range configuration.HTTP.ServersTransports.All() {
			if transport != nil && transport.Spiffe != nil {
				refs = append(refs, dynamic.Ref{Kind: dynamic.KindServersTransport, Name: name})
			}
		}
	}
	if configuration.TCP != nil {
		for name, transport := range configuration.TCP.ServersTransports.All() {
			if transport != nil && transport.TLS != nil && transport.TLS.Spiffe != nil {
				refs = append(refs, dynamic.Ref{Kind: dynamic.KindTCPServersTransport, Name: name})
			}
		}
	}
	slices.SortFunc(refs, func(a, b dynamic.Ref) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return refs
}
