package crd

import (
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/backend"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
)

// TestZeroIsNoDefault proves what goldens cannot show: that zeros and empty lists that are given replace defaults.
func TestZeroIsNoDefault(t *testing.T) {
	set := newManifestSet()
	for _, manifest := range []string{
		`{"metadata":{"name":"limit"},"spec":{"rateLimit":{"average":0,"burst":0,"period":0}}}`,
		`{"metadata":{"name":"breaker"},"spec":{"circuitBreaker":{"checkPeriod":0,"fallbackDuration":"0","responseCode":0}}}`,
		`{"metadata":{"name":"compress"},"spec":{"compress":{"encodings":[],"minResponseBodyBytes":0}}}`,
		`{"metadata":{"name":"forward"},"spec":{"forwardAuth":{"maxBodySize":0}}}`,
		`{"metadata":{"name":"errors"},"spec":{"errors":{"errorRequestHeaders":[],"service":{"name":"a@file","kind":"TraefikService"}}}}`,
		`{"metadata":{"name":"all"},"spec":{"errors":{"service":{"name":"a@file","kind":"TraefikService"}}}}`,
	} {
		set.add(t, []byte(`{"apiVersion":"traefik.io/v1alpha1","kind":"Middleware",`+manifest[1:]), nil)
	}
	zero := int64(0)
	want := map[string]*dynamic.Middleware{
		"limit":    {RateLimit: &dynamic.RateLimit{}},
		"breaker":  {CircuitBreaker: &dynamic.CircuitBreaker{RecoveryDuration: 10e9}},
		"compress": {Compress: &dynamic.Compress{Encodings: []string{}}},
		"forward":  {ForwardAuth: &dynamic.ForwardAuth{MaxBodySize: &zero}},
		"errors":   {Errors: &dynamic.ErrorPage{Service: "a@file", ErrorRequestHeaders: []string{}}},
		"all":      {Errors: &dynamic.ErrorPage{Service: "a@file"}},
	}
	got := map[string]*dynamic.Middleware{}
	for place := range set.custom {
		result := set.convert(t, place)
		for name, middleware := range declared[dynamic.Middleware](result) {
			got[name] = middleware
		}
		for _, verdict := range result.Verdicts {
			t.Errorf("unexpected verdict %s", verdict)
		}
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDurationsAreSecondsOrText(t *testing.T) {
	set := newManifestSet()
	set.add(t, []byte(`{"apiVersion":"traefik.io/v1alpha1","kind":"ServersTransport","metadata":{"name":"a"},
		"spec":{"forwardingTimeouts":{"dialTimeout":2,"responseHeaderTimeout":"2",
			"idleConnTimeout":0,"pingTimeout":"1m2s"}}}`), nil)
	got := declared[dynamic.ServersTransport](set.convert(t, 0))["a"].ForwardingTimeouts
	want := map[string]time.Duration{"dial": 2e9, "head": 2e9, "idle": 0, "ping": 62e9}
	if diff := gocmp.Diff(want, map[string]time.Duration{
		"dial": time.Duration(got.DialTimeout), "head": time.Duration(got.ResponseHeaderTimeout),
		"idle": time.Duration(got.IdleConnTimeout), "ping": time.Duration(got.PingTimeout),
	}); diff != "" {
		t.Error(diff)
	}
}

// TestAuthenticationFollowsItsSecret proves that a Middleware admits no request before its Secret is there, is made
// anew when the Secret changes, and stays the same object when only the Secret's metadata does.
func TestAuthenticationFollowsItsSecret(t *testing.T) {
	set := newManifestSet()
	set.add(t, []byte(`{"apiVersion":"traefik.io/v1alpha1","kind":"Middleware",
		"metadata":{"namespace":"shop","name":"auth"},
		"spec":{"basicAuth":{"secret":"login"}}}`), nil)
	kind := kindOf(v1alpha1.KindMiddleware, v1alpha1.GroupTraefik)
	source := translation.Source{Kind: kind, Namespace: "shop", Name: "auth"}
	login := translation.Source{Kind: backend.KindSecret, Namespace: "shop", Name: "login"}
	memory := translation.New(Name, []string{kind}, nil)
	update := func(touched translation.Source, secret *corev1.Secret) (users []string, verdicts []dynamic.Verdict,
		changed bool,
	) {
		if set.secrets["shop/login"] = secret; secret == nil {
			delete(set.secrets, "shop/login")
		}
		memory.Touch(touched)
		configuration, changed := memory.Update(func(asked translation.Source) (translation.Result, bool) {
			return set.convert(t, 0), asked == source
		})
		return configuration.HTTP.Middlewares.Get("shop-auth").BasicAuth.Users, configuration.Verdicts, changed
	}
	secret := func(password, version string) *corev1.Secret {
		made := &corev1.Secret{Type: corev1.SecretTypeBasicAuth, Data: map[string][]byte{
			"username": []byte("ann"),
			"password": []byte(password),
		}}
		made.ResourceVersion = version
		return made
	}

	users, verdicts, _ := update(source, nil)
	if len(users) > 0 || len(verdicts) != 1 || verdicts[0].Status != dynamic.Quarantined || !verdicts[0].Missing {
		t.Fatalf("without its Secret: users %q, verdicts %v", users, verdicts)
	}
	first, verdicts, _ := update(login, secret("one", "1"))
	if len(first) != 1 || len(verdicts) > 0 {
		t.Fatalf("with its Secret: users %q, verdicts %v", first, verdicts)
	}
	if _, _, changed := update(login, secret("one", "2")); changed {
		t.Error("a Secret that says the same makes another object")
	}
	second, _, changed := update(login, secret("two", "3"))
	if !changed || second[0] == first[0] {
		t.Error("another password leaves the users as they were")
	}
	users, verdicts, _ = update(login, nil)
	if len(users) > 0 || len(verdicts) != 1 || !verdicts[0].Missing {
		t.Errorf("when the Secret has gone: users %q, verdicts %v", users, verdicts)
	}
}

// TestCrossProviderNamespaces proves that a chain may leave the provider from the namespaces that are listed alone.
func TestCrossProviderNamespaces(t *testing.T) {
	for _, test := range []struct {
		allowed []string
		refused bool
	}{{nil, false}, {[]string{}, true}, {[]string{"admin"}, true}, {[]string{"admin", "shop"}, false}} {
		set := newManifestSet()
		set.options.CrossProviderNamespaces = test.allowed
		set.add(t, []byte(`{"apiVersion":"traefik.io/v1alpha1","kind":"Middleware","metadata":{"namespace":"shop","name":"a"},
			"spec":{"chain":{"middlewares":[{"name":"secure@file"}]}}}`), nil)
		if got := len(set.convert(t, 0).Verdicts) > 0; got != test.refused {
			t.Errorf("%q: refused is %t, want %t", test.allowed, got, test.refused)
		}
	}
}
