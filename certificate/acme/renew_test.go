package acme_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/certificate/acme"
	"github.com/sluiceproxy/sluice/certificate/acme/acmetest"
	"github.com/sluiceproxy/sluice/certificate/storage"
	"github.com/sluiceproxy/sluice/static"
)

// A renewal on request is ordered by the replicas that run, and a failed order is tried at once.
func TestRenewNow(t *testing.T) {
	group := newReplicas(t)
	authority := newAuthority(t, group, acmetest.Options{})
	config := authority.Config()
	resolvers := map[string]*static.ACME{"le": config}
	one, other := group.start(resolvers), group.start(resolvers)
	demands := want("le", "shop.example.com", "www.shop.example.com")
	for _, replica := range []*replica{one, other} {
		replica.Want(demands, uncovered)
	}
	before := one.await(t, "le", "shop.example.com")
	awaitSchedule(t, group.storage)
	renewal, err := acme.RenewNow(t.Context(), group.storage, "le", "WWW.shop.example.com")
	if err != nil || strings.Join(renewal.Names, " ") != "shop.example.com www.shop.example.com" ||
		!renewal.NotAfter.Equal(before.NotAfter) || renewal.Earliest.After(time.Now()) {
		t.Fatalf("%+v, %v", renewal, err)
	}
	for _, replica := range []*replica{one, other} {
		eventually(t, func() bool {
			leaf := replica.leaf("le", "www.shop.example.com")
			return leaf != nil && leaf.SerialNumber.Cmp(before.SerialNumber) != 0
		}, func() string { return "the certificate is not renewed" })
	}
	if _, err := acme.RenewNow(t.Context(), group.storage, "le", "other.example.com"); !errors.Is(err,
		acme.ErrNoCertificate) {
		t.Errorf("a name without a certificate: %v", err)
	}
	if _, err := acme.RenewNow(t.Context(), group.storage, "le", "no name"); err == nil {
		t.Error("a text that is no name is taken")
	}
}

// What the storage has describes certificates and failed orders as the replicas do, and a failed order can be tried.
func TestStoredStates(t *testing.T) {
	group := newReplicas(t)
	authority := newAuthority(t, group, acmetest.Options{})
	config := authority.Config()
	resolvers := map[string]*static.ACME{"le": config}
	one := group.start(resolvers)
	one.Want(want("le", "good.example.com"), uncovered)
	one.await(t, "le", "good.example.com")
	authority.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/order-plz") {
			return false
		}
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"type":"urn:ietf:params:acme:error:rejectedIdentifier","detail":"not this one"}`))
		return true
	})
	one.Want(append(want("le", "good.example.com"), want("le", "bad.example.com")...), uncovered)
	failing := func(all []acme.ResolverStatus) bool {
		return len(all) == 1 && len(all[0].Certificates) == 2 && all[0].Certificates[0].State == acme.StateFailing &&
			all[0].Certificates[0].Last != nil && all[0].Certificates[0].Last.Type == "rejectedIdentifier" &&
			all[0].Certificates[1].State == acme.StateValid
	}
	stored := func() []acme.ResolverStatus {
		values, err := storage.Snapshot(t.Context(), group.storage)
		if err != nil {
			t.Fatal(err)
		}
		return acme.Stored(values, resolvers)
	}
	for _, read := range []func() []acme.ResolverStatus{one.Status, stored} {
		eventually(t, func() bool { return failing(read()) }, func() string { return "the failure is not shown" })
	}
	authority.Intercept(nil)
	if renewal, err := acme.RenewNow(t.Context(), group.storage, "le", "bad.example.com"); err != nil ||
		!renewal.NotAfter.IsZero() || len(renewal.Names) != 1 {
		t.Fatalf("%+v, %v", renewal, err)
	}
	one.await(t, "le", "bad.example.com")
}
