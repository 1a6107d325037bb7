package router

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/guard"
)

// guardian is a middleware before the API, and whether it restricts access on entrypoints in each situation.
type guardian struct {
	name       string
	definition dynamic.Middleware
	guards     guard.TrustLevels
	// excuse is a part of what the verdict says of it.
	excuse string
}

func allowing(strategy *dynamic.IPStrategy, sources ...string) dynamic.Middleware {
	return dynamic.Middleware{IPAllowList: &dynamic.IPAllowList{SourceRange: sources, IPStrategy: strategy}}
}

func asking(address string) dynamic.Middleware {
	return dynamic.Middleware{ForwardAuth: &dynamic.ForwardAuth{Address: address}}
}

func requesting(address string) dynamic.Middleware {
	return dynamic.Middleware{AuthRequest: &dynamic.AuthRequest{URL: address}}
}

// reading is a jwt with a key set that is fetched.
func reading(change func(*dynamic.JWT)) dynamic.Middleware {
	token := &dynamic.JWT{}
	token.SetDefaults()
	token.JwksURL = "https://issuer.test/keys"
	change(token)
	return dynamic.Middleware{JWT: token}
}

func addressGuardians() []guardian {
	one, wide, sixtyFour := 1, 3, 64
	const everybody = "ipAllowList m@file lists half of the Internet or more"
	return []guardian{
		{
			"chosen addresses", allowing(nil, "192.0.2.0/24", "2001:db8::/32"), guard.TrustedPeers | guard.AnyForwarded,
			"m@file reads the address of a PROXY header",
		},
		{"all of IPv4", allowing(nil, "0.0.0.0/0"), 0, everybody},
		{"all of IPv6", allowing(nil, "192.0.2.0/24", "::/0"), 0, everybody},
		{"two halves", allowing(nil, "0.0.0.0/1", "128.0.0.0/1"), 0, everybody},
		{"two halves of IPv6", allowing(nil, "::/1", "8000::/1"), 0, everybody},
		{"all of IPv4 in IPv6", allowing(nil, "::ffff:0:0/96"), 0, everybody},
		{
			"all by the old name",
			dynamic.Middleware{IPWhiteList: &dynamic.IPWhiteList{SourceRange: []string{"0.0.0.0/0"}}},
			0,
			"ipWhiteList m@file lists half",
		},
		{"an empty strategy", allowing(&dynamic.IPStrategy{}, "192.0.2.0/24"), guard.TrustedPeers | guard.AnyForwarded, ""},
		{
			"depth", allowing(&dynamic.IPStrategy{Depth: 1}, "192.0.2.0/24"), guard.TrustedPeers,
			"m@file reads X-Forwarded-For, which any client can set",
		},
		{
			"excluded", allowing(&dynamic.IPStrategy{ExcludedIPs: []string{"10.0.0.0/8"}}, "192.0.2.0/24"), guard.TrustedPeers,
			"m@file reads X-Forwarded-For",
		},
		{"depth for all", allowing(&dynamic.IPStrategy{Depth: 1}, "0.0.0.0/0"), 0, everybody},
		{
			"subnets", allowing(&dynamic.IPStrategy{IPv6Subnet: &sixtyFour}, "2001:db8::1"),
			guard.TrustedPeers | guard.AnyForwarded, "",
		},
		{"the address that half of IPv6 counts as", allowing(&dynamic.IPStrategy{IPv6Subnet: &one}, "::"), 0, everybody},
		{
			"the prefix that the Internet counts as", allowing(&dynamic.IPStrategy{IPv6Subnet: &wide}, "2000::/64"), 0,
			everybody,
		},
		{
			"IPv4 beside wide subnets", allowing(&dynamic.IPStrategy{IPv6Subnet: &one}, "192.0.2.1"),
			guard.TrustedPeers | guard.AnyForwarded, "",
		},
	}
}

func tokenGuardians() []guardian {
	const itself, anyToken = "forwardAuth m@file sends its requests to an entrypoint of Sluice itself", "jwt m@file takes every token"
	return []guardian{
		{
			"users",
			dynamic.Middleware{BasicAuth: &dynamic.BasicAuth{Users: []string{"a:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g="}}},
			guard.Always, "",
		},
		{"another server", asking("https://auth.test/verify"), guard.Always, ""},
		{"another server on this machine", asking("http://127.0.0.1:9091/verify"), guard.Always, ""},
		{"Sluice's ping", asking("http://127.0.0.1:443/ping"), 0, itself},
		{"Sluice by name", asking("http://LOCALHOST./ping"), 0, itself},
		{"Sluice by IPv6", asking("https://[::1]/ping"), 0, itself},
		{"Sluice by IPv4 in IPv6", asking("http://[::ffff:127.0.0.2]:80/"), 0, itself},
		{"Sluice by no address", asking("http://0.0.0.0/ping"), 0, itself},
		{"every token of a key set", reading(func(*dynamic.JWT) {}), 0, anyToken},
		{"any subject", reading(func(j *dynamic.JWT) { j.Claims = []dynamic.JWTClaim{{Name: "sub"}} }), 0, anyToken},
		{"an issuer", reading(func(j *dynamic.JWT) { j.Issuers = []string{"https://issuer.test"} }), guard.Always, ""},
		{"an audience", reading(func(j *dynamic.JWT) { j.Audiences = []string{"sluice"} }), guard.Always, ""},
		{"a role", reading(func(j *dynamic.JWT) {
			j.Claims = []dynamic.JWTClaim{{Name: "role", Values: []string{"admin"}}}
		}), guard.Always, ""},
		{"a secret of one's own", reading(func(j *dynamic.JWT) {
			j.JwksURL, j.SigningSecret = "", strings.Repeat("s", 32)
		}), guard.Always, ""},
		{"a server with another request", requesting("https://auth.test/verify"), guard.Always, ""},
		{
			"Sluice's ping with another request", requesting("http://127.0.0.1:443/ping"), 0,
			"authRequest m@file sends its requests to an entrypoint of Sluice itself",
		},
		{
			"addresses that are refused",
			dynamic.Middleware{IPDenyList: &dynamic.IPDenyList{SourceRange: []string{"192.0.2.0/24"}}},
			0, "",
		},
		{
			"no certificate is demanded",
			dynamic.Middleware{ClientCertificate: &dynamic.ClientCertificate{Mode: "off"}},
			0,
			"clientCertificate m@file lets clients without a certificate pass",
		},
		{"a certificate passed on", dynamic.Middleware{PassTLSClientCert: &dynamic.PassTLSClientCert{PEM: true}}, 0, ""},
	}
}

// What looks like a guard but admits all clients is none, and the verdict says why.
func TestGuardsThatDoNotGuard(t *testing.T) {
	for _, test := range append(addressGuardians(), tokenGuardians()...) {
		for _, now := range []guard.TrustLevels{guard.TrustedPeers, guard.AnyForwarded, guard.AnyProxy} {
			t.Run(fmt.Sprintf("%s/%d", test.name, now), func(t *testing.T) {
				b := apiBench(t)
				b.compiler.options.RequireAuth = true
				b.compiler.options.EntryPoints[0].AnyForwarded = now == guard.AnyForwarded
				b.compiler.options.EntryPoints[0].AnyPeer = now == guard.AnyProxy
				b.middleware("m@file", &test.definition)
				b.middleware("c@file", &dynamic.Middleware{Chain: &dynamic.Chain{Middlewares: []string{"m"}}})
				b.router("r@file", "Path(`/api`)", "api@internal", "c")
				b.all()
				reason := ""
				for _, verdict := range b.compiled.Verdicts {
					if verdict.Ref.Name == "r@file" && verdict.Status == dynamic.Quarantined {
						reason = verdict.Reason
					}
				}
				status, _, _ := b.get("http://x.test/api")
				switch {
				case test.guards&now != 0:
					if reason != "" {
						t.Errorf("the router is closed: %s", reason)
					}
				case status != http.StatusForbidden || !strings.Contains(reason, "api.requireAuth: nothing on its way") ||
					!strings.Contains(reason, test.excuse):
					t.Errorf("status %d, %q", status, reason)
				}
			})
		}
	}
}

// A guard that can't be built is a fault of the router, which then refuses all requests, whatever api.requireAuth says.
func TestGuardsWithFaultsRefuseAllRequests(t *testing.T) {
	for name, definition := range map[string]dynamic.Middleware{
		"basicAuth without users":        {BasicAuth: &dynamic.BasicAuth{}},
		"digestAuth without users":       {DigestAuth: &dynamic.DigestAuth{}},
		"forwardAuth without an address": {ForwardAuth: &dynamic.ForwardAuth{}},
		"jwt without keys":               {JWT: &dynamic.JWT{}},
		"ipAllowList without sources":    {IPAllowList: &dynamic.IPAllowList{}},
		"ipAllowList that can't be read": {IPAllowList: &dynamic.IPAllowList{SourceRange: []string{"everybody"}}},
		"two kinds":                      {BasicAuth: &dynamic.BasicAuth{Users: []string{"a:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g="}}, AddPrefix: &dynamic.AddPrefix{Prefix: "/x"}},
	} {
		b := apiBench(t)
		b.middleware("m@file", &definition)
		b.router("r@file", "Path(`/api`)", "api@internal", "m")
		b.all()
		if status, _, _ := b.get("http://x.test/api"); status != http.StatusServiceUnavailable {
			t.Errorf("%s: status %d", name, status)
		}
	}
}

// A guard counts where it stands: not for what is answered before it, beside it, or on another entrypoint.
func TestGuardsCountWhereTheyStand(t *testing.T) {
	behind := allowing(&dynamic.IPStrategy{Depth: 1}, "192.0.2.0/24")
	b := apiBench(t)
	b.middleware("m@file", &behind)
	b.compiler.options.EntryPoints[1].AnyForwarded = true
	b.router("r@file", "Path(`/api`)", "api@internal", "m").EntryPoints = []string{"web", "websecure"}
	b.all()
	b.wantVerdict(ref(dynamic.KindRouter, "r@file"), dynamic.Degraded,
		`entrypoint "websecure" shows the configuration without access control (ipAllowList m@file reads`)

	b = apiBench(t)
	nobody := allowing(nil, "0.0.0.0/0")
	b.middleware("m@file", &nobody)
	b.service("s@file", &dynamic.Service{Middlewares: []string{"m"}, Weighted: &dynamic.WeightedRoundRobin{
		Services: []dynamic.WeightedService{{Name: "api@internal"}},
	}})
	b.router("r@file", "Path(`/api`)", "s")
	b.all()
	b.wantVerdict(ref(dynamic.KindRouter, "r@file"), dynamic.Degraded,
		"(ipAllowList m@file lists half of the Internet or more): put basicAuth")
}

func TestExcusesAreBounded(t *testing.T) {
	var all access
	for i := range 2 * maxGaps {
		all = all.before(access{gaps: []guard.Gap{{On: guard.Always, Why: fmt.Sprint("reason ", i/2)}}})
	}
	if got := all.excuses(guard.TrustedPeers); got != " (reason 0; reason 1; reason 2)" {
		t.Errorf("excuses%s", got)
	}
	if err := fmt.Errorf("%w%s", errUnguarded, all.excuses(guard.TrustedPeers)); !errors.Is(err, errUnguarded) {
		t.Error("the fault is not known as that of an unguarded API")
	}
}
