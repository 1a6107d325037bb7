package acme_test

import (
	"testing"

	"github.com/sluiceproxy/sluice/certificate/acme/acmetest"
	"github.com/sluiceproxy/sluice/static"
)

// Each challenge that replicas answer validates names, whichever replica gets the request.
func TestChallengesAreAnsweredByEveryReplica(t *testing.T) {
	for _, kind := range []string{"http", "tls"} {
		t.Run(kind, func(t *testing.T) {
			group := newReplicas(t)
			authority := newAuthority(t, group, acmetest.Options{RejectedNonces: 5})
			config := authority.Config()
			if kind == "tls" {
				config.HTTPChallenge, config.TLSChallenge = nil, &static.TLSChallenge{}
			}
			resolvers := map[string]*static.ACME{"le": config}
			replicas := []*replica{group.start(resolvers), group.start(resolvers), group.start(resolvers)}
			names := []string{"a.example.com", "b.example.com", "c.example.com", "d.example.com"}
			for _, one := range replicas {
				one.Want(want("le", names...), uncovered)
			}
			for _, one := range replicas {
				for _, name := range names {
					one.await(t, "le", name)
				}
			}
			if got := authority.Orders(); len(got) != 1 {
				t.Errorf("%d orders: %q", len(got), got)
			}
			group.mutex.Lock()
			defer group.mutex.Unlock()
			for _, one := range replicas {
				if group.validated[one] == 0 {
					t.Error("a replica has answered no validation")
				}
			}
		})
	}
}
