package router

import (
	"crypto/tls"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forward"
)

// anyIdentity accepts everything.
type anyIdentity struct{}

func (anyIdentity) Authenticate(*tls.Config, *dynamic.Spiffe) error { return nil }
func (anyIdentity) Ready() error                                    { return nil }

// A transport with spiffe is refused without a Workload API, and told about an option without effect with one.
func TestTransportsWithSpiffe(t *testing.T) {
	both := &dynamic.Spiffe{IDs: []string{"spiffe://own.test/shop"}, TrustDomain: "own.test"}
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
			b := newBench(t)
			b.compiler.options.Identity = test.identity
			b.config.HTTP.ServersTransports = b.config.HTTP.ServersTransports.With("t@file", &dynamic.ServersTransport{
				Spiffe: both,
			})
			transport := ref(dynamic.KindServersTransport, "t@file")
			b.compile(true, transport)
			for _, verdict := range b.compiled.Verdicts {
				if verdict.Ref == transport {
					if verdict.Status != test.status || !strings.Contains(verdict.Reason, test.reason) {
						t.Errorf("got %v", verdict)
					}
					return
				}
			}
			t.Errorf("no verdict among %v", b.compiled.Verdicts)
		})
	}
}
