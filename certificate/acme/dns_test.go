package acme_test

import (
	"context"
	"strings"
	"testing"

	legodns "github.com/go-acme/lego/v5/challenge/dns01"
	"github.com/letsencrypt/challtestsrv"
	"github.com/mholt/acmez/v3"

	"github.com/sluiceproxy/sluice/certificate/acme/acmetest"
	"github.com/sluiceproxy/sluice/certificate/acme/dns01"
	"github.com/sluiceproxy/sluice/static"
)

// records writes TXT records to the DNS server of the authority.
type records struct{ server *challtestsrv.ChallSrv }

// Present implements dns01.Provider.
func (r records) Present(ctx context.Context, domain, _, keyAuth string) error {
	info := legodns.GetChallengeInfo(ctx, domain, keyAuth)
	r.server.AddDNSTXTRecord(info.EffectiveFQDN, info.Value)
	return nil
}

// CleanUp implements dns01.Provider.
func (r records) CleanUp(ctx context.Context, domain, _, keyAuth string) error {
	r.server.DeleteDNSTXTRecord(legodns.GetChallengeInfo(ctx, domain, keyAuth).EffectiveFQDN)
	return nil
}

// Wildcards are validated by DNS, together with the name above them, whose records have the same name.
func TestWildcardsByDNS(t *testing.T) {
	group := newReplicas(t)
	authority := newAuthority(t, group, acmetest.Options{})
	group.options.DNS = func(config static.DNSChallenge) (acmez.Solver, error) {
		return dns01.New(records{authority.DNS}, dns01.Options{Challenge: config, Logger: testLogger{t}})
	}
	config := authority.Config()
	config.HTTPChallenge = nil
	config.DNSChallenge = &static.DNSChallenge{
		Provider: "test", Propagation: &static.Propagation{DisableChecks: true},
	}
	replica := group.one(config)
	replica.Want(want("le", "example.com", "*.example.com", "a.example.org"), uncovered)
	leaf := replica.await(t, "le", "any.example.com")
	if err := leaf.VerifyHostname("a.example.org"); err != nil || len(authority.Orders()) != 1 {
		t.Errorf("names %q, orders %q", leaf.DNSNames, authority.Orders())
	}
}

// A wildcard without a DNS challenge is a verdict that says so.
func TestWildcardNeedsDNS(t *testing.T) {
	group := newReplicas(t)
	authority := newAuthority(t, group, acmetest.Options{})
	replica := group.one(authority.Config())
	replica.Want(want("le", "*.example.com"), uncovered)
	eventually(t, func() bool {
		for _, verdict := range replica.Verdicts() {
			if strings.Contains(verdict.Reason, "*.example.com only by dns-01") &&
				strings.Contains(verdict.Reason, "a wildcard needs dnsChallenge") {
				return true
			}
		}
		return false
	}, func() string { return "no verdict" })
}
