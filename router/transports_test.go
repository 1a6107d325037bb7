package router_test

import (
	"crypto/tls"
	"slices"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forward"
	"github.com/sluiceproxy/sluice/immutable"
	"github.com/sluiceproxy/sluice/router"
)

// anyIdentity accepts everything.
type anyIdentity struct{}

func (anyIdentity) Authenticate(*tls.Config, *dynamic.Spiffe) error { return nil }
func (anyIdentity) Ready() error                                    { return nil }

// A transport with spiffe is refused without a Workload API. With one, an option without effect is a verdict.
func TestTransportsWithSpiffe(t *testing.T) {
	transport := dynamic.Ref{Kind: dynamic.KindServersTransport, Name: "t@file"}
	for name, test := range map[string]struct {
		identity forward.Identity
		status   dynamic.Status
		reason   string
	}{
		"no Workload API": {nil, dynamic.Quarantined, "spiffe.workloadAPIAddr"},
		"ids and domain": {
			anyIdentity{}, dynamic.Degraded, "spiffe.trustDomain has no effect beside spiffe.ids",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSecured(func(o *router.Options) { o.Identity = test.identity })
			verdicts, _ := s.apply(&dynamic.Configuration{HTTP: &dynamic.HTTPConfiguration{
				ServersTransports: immutable.Of(map[string]*dynamic.ServersTransport{
					transport.Name: {Spiffe: &dynamic.Spiffe{IDs: []string{"spiffe://own.test/shop"}, TrustDomain: "own.test"}},
				}),
			}}, []dynamic.Ref{transport})
			if !slices.ContainsFunc(verdicts, func(v dynamic.Verdict) bool {
				return v.Ref == transport && v.Status == test.status && strings.Contains(v.Reason, test.reason)
			}) {
				t.Errorf("verdicts %+v", verdicts)
			}
		})
	}
}
