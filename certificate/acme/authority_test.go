package acme_test

import (
	"crypto/ecdsa"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/letsencrypt/pebble/v2/ca"

	"github.com/sluiceproxy/sluice/certificate/acme"
	"github.com/sluiceproxy/sluice/certificate/acme/acmetest"
	"github.com/sluiceproxy/sluice/certificate/storage"
	"github.com/sluiceproxy/sluice/certificate/storage/storagetest"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/static"
)

// one starts one replica with one resolver named le.
func (r *replicas) one(config *static.ACME) *replica {
	return r.start(map[string]*static.ACME{"le": config})
}

func TestRejectedNoncesAreOvercome(t *testing.T) {
	for _, percent := range []int{0, 50} {
		t.Run(fmt.Sprint(percent), func(t *testing.T) {
			group := newReplicas(t)
			authority := newAuthority(t, group, acmetest.Options{RejectedNonces: percent})
			replica := group.one(authority.Config())
			replica.Want(want("le", "a.example.com"), uncovered)
			replica.await(t, "le", "a.example.com")
		})
	}
}

func TestKeyTypes(t *testing.T) {
	for kind, check := range map[string]func(key any) bool{
		"EC256":   func(key any) bool { k, ok := key.(*ecdsa.PublicKey); return ok && k.Curve.Params().BitSize == 256 },
		"EC384":   func(key any) bool { k, ok := key.(*ecdsa.PublicKey); return ok && k.Curve.Params().BitSize == 384 },
		"RSA2048": func(key any) bool { k, ok := key.(*rsa.PublicKey); return ok && k.N.BitLen() == 2048 },
		"RSA4096": func(key any) bool { k, ok := key.(*rsa.PublicKey); return ok && k.N.BitLen() == 4096 },
	} {
		t.Run(kind, func(t *testing.T) {
			group := newReplicas(t)
			authority := newAuthority(t, group, acmetest.Options{})
			config := authority.Config()
			config.KeyType = kind
			replica := group.one(config)
			replica.Want(want("le", "a.example.com"), uncovered)
			if leaf := replica.await(t, "le", "a.example.com"); !check(leaf.PublicKey) {
				t.Errorf("the key is a %T", leaf.PublicKey)
			}
		})
	}
}

// The key of a new account is an RSA key, since acme.json of Traefik has no others. A registration keeps it.
func TestAccountKey(t *testing.T) {
	group := newReplicas(t)
	group.storage = storagetest.NewMemory()
	authority := newAuthority(t, group, acmetest.Options{})
	replica := group.one(authority.Config())
	replica.Want(want("le", "a.example.com"), uncovered)
	replica.await(t, "le", "a.example.com")
	value, err := group.storage.Get(t.Context(), storage.Key{Kind: storage.KindAccount, Resolver: "le"})
	if err != nil {
		t.Fatal(err)
	}
	var account storage.Account
	if err := json.Unmarshal(value, &account); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(account.Key, "-----BEGIN RSA PRIVATE KEY-----") || account.Email != "operator@example.com" ||
		!strings.HasPrefix(account.URI, authority.URL) || !strings.Contains(string(account.Body), "valid") {
		t.Errorf("account %s %s %s", account.Email, account.URI, account.Body)
	}
}

func TestOneHundredNamesAreInOneCertificate(t *testing.T) {
	group := newReplicas(t)
	authority := newAuthority(t, group, acmetest.Options{
		AlwaysValid: true,
		Profiles:    map[string]ca.Profile{"named": {ValidityPeriod: 90 * 24 * 3600, PromoteCommonName: true}},
	})
	replica := group.one(authority.Config())
	var names []string
	for i := range 100 {
		names = append(names, fmt.Sprintf("n%02d.example.com", i))
	}
	replica.Want(want("le", names...), uncovered)
	leaf := replica.await(t, "le", "n99.example.com")
	if len(leaf.DNSNames) != 100 || len(authority.Orders()) != 1 {
		t.Errorf("%d names, %d orders", len(leaf.DNSNames), len(authority.Orders()))
	}
	if leaf.Subject.CommonName != "n00.example.com" {
		t.Errorf("common name %q", leaf.Subject.CommonName)
	}
}

// macKey is the key of an external account.
const macKey = "zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W"

func TestExternalAccountBinding(t *testing.T) {
	group := newReplicas(t)
	authority := newAuthority(t, group, acmetest.Options{RequireEAB: true})
	if err := authority.Database.AddExternalAccountKeyByID("kid-1", macKey); err != nil {
		t.Fatal(err)
	}
	config := authority.Config()
	replica := group.one(config)
	replica.Want(want("le", "a.example.com"), uncovered)
	eventually(t, func() bool {
		verdicts := replica.Verdicts()
		return len(verdicts) == 1 && strings.Contains(verdicts[0].Reason, "externalAccountRequired")
	}, func() string { return fmt.Sprint(replica.Verdicts()) })
	group.stop(replica)

	group.expireAttempts(t)
	bound := *config
	bound.EAB = &static.EAB{Kid: "kid-1", HmacEncoded: macKey}
	second := group.one(&bound)
	second.Want(want("le", "a.example.com"), uncovered)
	second.await(t, "le", "a.example.com")
}

func TestProfilesAndChains(t *testing.T) {
	group := newReplicas(t)
	authority := newAuthority(t, group, acmetest.Options{
		AlternateRoots: 2,
		Profiles: map[string]ca.Profile{
			"short": {ValidityPeriod: 3600}, "long": {ValidityPeriod: 90 * 24 * 3600},
		},
	})
	var issuers []string
	for i := range 3 {
		issuers = append(issuers, authority.Root(i))
	}
	config := authority.Config()
	config.Profile, config.PreferredChain, config.DisableCommonName = "short", issuers[2], true
	config.EmailAddresses = []string{"admin@example.com"}
	replica := group.one(config)
	replica.Want(want("le", "a.example.com"), uncovered)
	leaf := replica.await(t, "le", "a.example.com")
	if life := leaf.NotAfter.Sub(leaf.NotBefore); life > 2*time.Hour {
		t.Errorf("the certificate lives %v", life)
	}
	if leaf.Subject.CommonName != "" {
		t.Errorf("common name %q", leaf.Subject.CommonName)
	}
	if got := replica.topIssuer("le"); got != issuers[2] {
		t.Errorf("the chain ends at %q, want %q", got, issuers[2])
	}
}

// A certificate that is due by the authority's suggestion is renewed, once, and the order says what it replaces.
func TestRenewalByTheAuthoritysSuggestion(t *testing.T) {
	group := newReplicas(t)
	authority := newAuthority(t, group, acmetest.Options{})
	replica := group.one(authority.Config())
	replica.Want(want("le", "a.example.com"), uncovered)
	first := replica.await(t, "le", "a.example.com")
	past := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
	before := time.Now().Add(-2 * time.Hour).UTC().Format(time.RFC3339)
	authority.Suggest(first, fmt.Sprintf(`{"suggestedWindow":{"start":%q,"end":%q}}`, before, past))
	group.stop(replica)
	group.expireRechecks(t)

	second := group.one(authority.Config())
	second.Want(want("le", "a.example.com"), uncovered)
	eventually(t, func() bool {
		leaf := second.leaf("le", "a.example.com")
		return leaf != nil && leaf.SerialNumber.Cmp(first.SerialNumber) != 0
	}, func() string { return fmt.Sprintf("%+v", second.Status()) })
	if replaced := authority.Replaced(); len(replaced) != 1 {
		t.Errorf("orders that replace a certificate: %q", replaced)
	}
}

// An authority that knows nothing of the replaced certificate gets an order that replaces none.
func TestRenewalOfACertificateThatTheAuthorityHasLost(t *testing.T) {
	group := newReplicas(t)
	authority := newAuthority(t, group, acmetest.Options{})
	replica := group.one(authority.Config())
	replica.Want(want("le", "a.example.com"), uncovered)
	first := replica.await(t, "le", "a.example.com")
	awaitSchedule(t, group.storage)

	var refused atomic.Int64
	authority.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/order-plz" || !acmetest.IsReplacement(r) {
			return false
		}
		refused.Add(1)
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, `{"type":"urn:ietf:params:acme:error:serverInternal","detail":"no such certificate"}`)
		return true
	})
	if _, err := acme.RenewNow(t.Context(), group.storage, "le", "a.example.com"); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool {
		return replica.leaf("le", "a.example.com").SerialNumber.Cmp(first.SerialNumber) != 0
	}, func() string { return fmt.Sprintf("%+v", replica.Status()) })
	if refused.Load() == 0 {
		t.Error("no order named the certificate that it replaces")
	}
}

// A limit of the authority is a verdict with its time, and nothing is asked before.
func TestRetryAfterIsObeyed(t *testing.T) {
	group := newReplicas(t)
	authority := newAuthority(t, group, acmetest.Options{})
	authority.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/order-plz" {
			return false
		}
		w.Header().Set("Retry-After", "7200")
		w.Header().Set("Content-Type", "application/problem+json")
		w.Header().Set("Replay-Nonce", "unused")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, `{"type":"urn:ietf:params:acme:error:rateLimited",`+
			`"detail":"too many orders, see the documentation"}`)
		return true
	})
	replica := group.one(authority.Config())
	replica.Want(want("le", "a.example.com"), uncovered)
	eventually(t, func() bool {
		for _, one := range replica.Status()[0].Certificates {
			return one.State == "failing" && time.Until(one.Next) > 110*time.Minute
		}
		return false
	}, func() string { return fmt.Sprintf("%+v", replica.Status()) })
	reasons := fmt.Sprint(replica.Verdicts())
	for _, part := range []string{"a.example.com", "rateLimited", "too many orders", "next attempt at"} {
		if !strings.Contains(reasons, part) {
			t.Errorf("the verdict lacks %q: %s", part, reasons)
		}
	}
	if n := authority.Requests("/order-plz"); n != 1 {
		t.Errorf("%d orders were sent", n)
	}
}

// After a failure, names are validated at the staging directory first, and the authority itself gets no order.
func TestStagingComesFirstAfterAFailure(t *testing.T) {
	group := newReplicas(t)
	production := newAuthority(t, group, acmetest.Options{})
	staging := newAuthority(t, group, acmetest.Options{})
	group.options.Transport = acmetest.Transports{production, staging}
	_ = production.Database.AddBlockedDomain("blocked.example.com")
	_ = staging.Database.AddBlockedDomain("blocked.example.com")
	config := production.Config()
	config.StagingCAServer = staging.Config().CAServer
	replica := group.one(config)
	replica.Want(want("le", "blocked.example.com"), uncovered)
	failing := func(failures int) func() bool {
		return func() bool {
			list := replica.Status()[0].Certificates
			return len(list) == 1 && list[0].Failures == failures
		}
	}
	state := func() string { return fmt.Sprintf("%+v", replica.Status()) }
	eventually(t, failing(1), state)
	if production.Requests("/order-plz") != 1 || staging.Requests("/order-plz") != 0 {
		t.Errorf("orders: %d and %d", production.Requests("/order-plz"), staging.Requests("/order-plz"))
	}
	group.stop(replica)
	group.expireAttempts(t)
	replica = group.one(config)
	replica.Want(want("le", "blocked.example.com"), uncovered)
	eventually(t, failing(2), state)
	if production.Requests("/order-plz") != 1 || staging.Requests("/order-plz") != 1 {
		t.Errorf("orders: %d and %d", production.Requests("/order-plz"), staging.Requests("/order-plz"))
	}
	if reasons := fmt.Sprint(replica.Verdicts()); !strings.Contains(reasons, "staging") {
		t.Error(reasons)
	}
}

// Restarts order nothing, whatever the state was.
func TestRestartsCostNoOrder(t *testing.T) {
	group := newReplicas(t)
	authority := newAuthority(t, group, acmetest.Options{})
	_ = authority.Database.AddBlockedDomain("blocked.example.com")
	demands := slices.Concat(want("le", "a.example.com"), want("le", "blocked.example.com"))
	replica := group.one(authority.Config())
	replica.Want(demands, uncovered)
	replica.await(t, "le", "a.example.com")
	eventually(t, func() bool {
		return slices.ContainsFunc(replica.Verdicts(), func(v dynamic.Verdict) bool {
			return strings.Contains(v.Reason, "rejectedIdentifier")
		})
	}, func() string { return fmt.Sprint(replica.Verdicts()) })
	group.stop(replica)
	group.amend(t, func(schedule map[string]any) {
		if schedule["next"] != nil {
			schedule["next"] = time.Now().Add(time.Hour)
		}
	})
	before := authority.Requests("/order-plz")
	for range 1000 {
		replica := group.one(authority.Config())
		replica.Want(demands, uncovered)
		replica.await(t, "le", "a.example.com")
		group.stop(replica)
	}
	if after := authority.Requests("/order-plz"); after != before {
		t.Errorf("%d orders were sent by restarts", after-before)
	}
}

// A storage that refuses writes loses no certificate, and nothing is ordered that could not be stored.
func TestStorageThatRefusesWrites(t *testing.T) {
	group := newReplicas(t)
	authority := newAuthority(t, group, acmetest.Options{})
	replica := group.one(authority.Config())
	memory := group.memory()
	replica.Want(want("le", "a.example.com"), uncovered)
	replica.await(t, "le", "a.example.com")

	full := fmt.Errorf("no space left on device")
	authority.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasPrefix(r.URL.Path, "/finalize-order/") {
			memory.Refuse(full)
		}
		return false
	})
	replica.Want(slices.Concat(want("le", "a.example.com"), want("le", "b.example.com")), uncovered)
	replica.await(t, "le", "b.example.com")
	if n := len(memory.Keys(storage.KindCertificate)); n != 1 {
		t.Errorf("%d certificates are stored", n)
	}
	replica.Want(slices.Concat(want("le", "a.example.com"), want("le", "c.example.com")), uncovered)
	eventually(t, func() bool {
		return strings.Contains(fmt.Sprint(replica.Verdicts()), "no space left on device")
	}, func() string { return fmt.Sprint(replica.Verdicts()) })
	if orders := authority.Orders(); slices.Contains(orders, "c.example.com") {
		t.Errorf("orders %q", orders)
	}
	group.stop(replica)
	memory.Refuse(nil)
	authority.Intercept(nil)
	// The order of b is open in the storage, so that its certificate is downloaded and not ordered again.
	next := group.one(authority.Config())
	next.Want(want("le", "b.example.com"), uncovered)
	next.await(t, "le", "b.example.com")
	if n := len(authority.Orders()); n != 2 {
		t.Errorf("%d orders: %q", n, authority.Orders())
	}
}

// The leader may end between the order and its completion: the next one resumes the same order.
func TestOpenOrdersSurviveTheLeader(t *testing.T) {
	group := newReplicas(t)
	authority := newAuthority(t, group, acmetest.Options{})
	reached, release := make(chan struct{}, 100), make(chan struct{})
	authority.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasPrefix(r.URL.Path, "/finalize-order/") {
			reached <- struct{}{}
			select {
			case <-release:
			case <-r.Context().Done():
				return true
			}
		}
		return false
	})
	resolvers := map[string]*static.ACME{"le": authority.Config()}
	first := group.start(resolvers)
	others := []*replica{group.start(resolvers), group.start(resolvers)}
	for _, one := range append(others, first) {
		one.Want(want("le", "a.example.com", "b.example.com"), uncovered)
	}
	<-reached
	group.stop(group.leader())
	close(release)
	for _, one := range group.running() {
		one.await(t, "le", "b.example.com")
	}
	if orders := authority.Orders(); len(orders) != 1 {
		t.Errorf("orders %q", orders)
	}
}

// A storage that loses everything costs no order and no certificate: what is valid serves on and is written again.
func TestStorageThatLosesEverything(t *testing.T) {
	group := newReplicas(t)
	authority := newAuthority(t, group, acmetest.Options{})
	resolvers := map[string]*static.ACME{"le": authority.Config()}
	replicas := []*replica{group.start(resolvers), group.start(resolvers)}
	for _, one := range replicas {
		one.Want(want("le", "a.example.com"), uncovered)
	}
	for _, one := range replicas {
		one.await(t, "le", "a.example.com")
	}
	memory := group.memory()
	certificates := func() []storage.Key { return memory.Keys(storage.KindCertificate) }
	for _, kind := range []storage.Kind{storage.KindCertificate, storage.KindSchedule, storage.KindAccount} {
		for _, key := range memory.Keys(kind) {
			if err := memory.Delete(t.Context(), key); err != nil {
				t.Fatal(err)
			}
		}
	}
	eventually(t, func() bool { return len(certificates()) == 1 }, func() string { return "it is not written again" })
	group.stop(group.leader())
	last := group.running()[0]
	last.await(t, "le", "a.example.com")
	if orders := authority.Orders(); len(orders) != 1 {
		t.Errorf("orders %q", orders)
	}
}
