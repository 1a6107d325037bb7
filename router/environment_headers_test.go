package router

import (
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
)

// choosing is a middleware environment with the default options and a change.
func choosing(change func(*dynamic.EnvironmentMiddleware)) *dynamic.Middleware {
	config := &dynamic.EnvironmentMiddleware{}
	config.SetDefaults()
	if change != nil {
		change(config)
	}
	return &dynamic.Middleware{Environment: config}
}

// removing lists aliases, and trusts as given.
func removing(trust *dynamic.EnvironmentTrust, aliases ...string) *dynamic.Middleware {
	return choosing(func(e *dynamic.EnvironmentMiddleware) { e.Aliases, e.Trust = aliases, trust })
}

// aliased is an environment service that also reads the given headers.
func aliased(headers ...string) *dynamic.Service {
	return environmentOf(func(e *dynamic.Environment) {
		for _, header := range headers {
			e.Aliases = append(e.Aliases, dynamic.EnvironmentAlias{Name: header, Placeholder: "(@)"})
		}
	}, "dev")
}

// openBench has a router r with the given middlewares before the service s, and both compiled.
func openBench(t *testing.T, service *dynamic.Service, middlewares ...*dynamic.Middleware) *bench {
	t.Helper()
	b := newBench(t)
	b.service("dev@file", balancer("http://127.0.0.1:1"))
	b.service("s@file", service)
	var names []string
	for i, declared := range middlewares {
		names = append(names, string(rune('m'+i)))
		b.middleware(names[i]+"@file", declared)
	}
	b.router("r@file", "Path(`/`)", "s", names...)
	b.all()
	return b
}

// open returns what the verdict on the router says; empty without one.
func (b *bench) open() string {
	b.t.Helper()
	for _, verdict := range b.compiled.Verdicts {
		if verdict.Ref != ref(dynamic.KindRouter, "r@file") {
			continue
		}
		if verdict.Status != dynamic.Degraded || verdict.Code != dynamic.CodeUncoveredHeader {
			b.t.Errorf("the verdict is %+v", verdict)
		}
		return verdict.Reason
	}
	return ""
}

// TestHeadersThatLetChoose says which headers the middlewares before an environment service leave to it.
func TestHeadersThatLetChoose(t *testing.T) {
	office := &dynamic.EnvironmentTrust{SourceRange: []string{"192.0.2.0/24"}}
	again := &dynamic.EnvironmentTrust{SourceRange: []string{"192.0.2.0/24"}}
	authenticated := &dynamic.EnvironmentTrust{Authenticated: true}
	anyone := &dynamic.EnvironmentTrust{Anyone: true}
	signed := &dynamic.EnvironmentTrust{Signed: &dynamic.EnvironmentSigning{Key: strings.Repeat("k", 32)}}
	cookie := choosing(func(e *dynamic.EnvironmentMiddleware) {
		e.Trust, e.Sources = office, &dynamic.EnvironmentSources{Cookie: "env"}
	})
	lab := choosing(func(e *dynamic.EnvironmentMiddleware) { e.Header = "X-Lab" })
	type steps []*dynamic.Middleware
	for _, test := range []struct {
		name  string
		steps steps
		reads []string
		want  string // The headers, then the middleware; empty for no warning.
	}{
		{name: "no middleware", reads: []string{"baggage"}},
		{name: "no alias", steps: steps{removing(office)}},
		{name: "covered", steps: steps{removing(office, "Baggage", "x-env")}, reads: []string{"baggage", "X-Env"}},
		{name: "covered in another spelling", steps: steps{removing(office, "X_Env")}, reads: []string{"x-env"}},
		{name: "the header itself", steps: steps{removing(office)}, reads: []string{"x_virtual_env"}},
		{name: "open", steps: steps{removing(office, "x-env")}, reads: []string{"X-Env", "baggage"}, want: "baggage m"},
		{name: "two", steps: steps{removing(nil)}, reads: []string{"X-Env", "baggage"}, want: "X-Env, baggage m"},
		{name: "signed tags alone", steps: steps{removing(signed)}, reads: []string{"baggage"}, want: "baggage m"},
		{name: "anyone", steps: steps{removing(anyone)}, reads: []string{"baggage"}},
		{name: "cookie", steps: steps{cookie}, reads: []string{"cookie"}},
		{name: "cookie that is not read", steps: steps{removing(office)}, reads: []string{"cookie"}, want: "cookie m"},
		{name: "host and client", steps: steps{removing(office)}, reads: []string{"Host", "X-Forwarded-Host"}},
		{name: "another header", steps: steps{lab}, want: "X-Virtual-Env m"},
		{name: "another header beside", steps: steps{lab, removing(office, "baggage")}, reads: []string{"baggage"}},
		{name: "both open", steps: steps{lab, removing(office)}, reads: []string{"baggage"}, want: "baggage n"},
		{
			name: "covered by one without trust", steps: steps{removing(nil, "baggage"), removing(office)},
			reads: []string{"baggage"},
		},
		{
			name: "covered by one of the same trust", steps: steps{removing(office, "baggage"), removing(again)},
			reads: []string{"baggage"},
		},
		{
			name: "covered by one that trusts others", steps: steps{removing(office, "baggage"), removing(authenticated)},
			reads: []string{"baggage"}, want: "baggage n",
		},
		{
			name: "removed by none where anyone is trusted", steps: steps{removing(anyone, "baggage"), removing(nil)},
			reads: []string{"baggage"}, want: "baggage n",
		},
	} {
		got := openBench(t, aliased(test.reads...), test.steps...).open()
		headers, name := "", ""
		if at := strings.LastIndexByte(test.want, ' '); at >= 0 {
			headers, name = test.want[:at], test.want[at+1:]
		}
		begin := `middleware "` + name + `@file" does not remove ` + headers + `, from which service "s@file" takes the tag`
		if test.want == "" && got != "" || test.want != "" && !strings.HasPrefix(got, begin) ||
			strings.Count(got, "does not remove") > 1 {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// TestHeadersThatLetChooseBelow goes through services of services, chains, and middlewares of services.
func TestHeadersThatLetChooseBelow(t *testing.T) {
	office := &dynamic.EnvironmentTrust{SourceRange: []string{"192.0.2.0/24"}}
	for name, test := range map[string]struct {
		change func(*bench)
		want   bool
	}{
		"weighted":    {func(b *bench) { b.service("s@file", weightedOf("dev", "inner")) }, true},
		"hashed":      {func(b *bench) { b.service("s@file", hashedOf("dev", "inner")) }, true},
		"failover":    {func(b *bench) { b.service("s@file", failoverOf("dev", "inner")) }, true},
		"mirror":      {func(b *bench) { b.service("s@file", mirroringOf("dev", 100, "inner")) }, true},
		"environment": {func(b *bench) { b.service("s@file", environmentBefore("inner")) }, true},
		"two levels": {func(b *bench) {
			b.service("s@file", weightedOf("middle"))
			b.service("middle@file", weightedOf("inner"))
		}, true},
		"no environment service": {func(b *bench) { b.service("s@file", weightedOf("dev")) }, false},
		"chain": {func(b *bench) {
			b.service("s@file", weightedOf("inner"))
			b.middleware("c@file", &dynamic.Middleware{Chain: &dynamic.Chain{Middlewares: []string{"m"}}})
			b.router("r@file", "Path(`/`)", "s", "c")
		}, true},
		"entrypoint": {func(b *bench) {
			b.service("s@file", weightedOf("inner"))
			b.router("r@file", "Path(`/`)", "s")
			b.compiler.options.EntryPoints[0].Middlewares = []string{"m@file"}
		}, true},
		"middleware of the service": {func(b *bench) {
			inner := aliased("baggage")
			inner.Middlewares = []string{"m"}
			b.service("inner@file", inner)
			b.service("s@file", weightedOf("inner"))
			b.router("r@file", "Path(`/`)", "s")
		}, true},
		"covered by a middleware of the service": {func(b *bench) {
			outer := weightedOf("inner")
			outer.Middlewares = []string{"n"}
			b.service("s@file", outer)
			b.middleware("n@file", removing(office, "baggage"))
		}, false},
	} {
		b := openBench(t, weightedOf("dev"), removing(office))
		b.service("inner@file", aliased("baggage"))
		test.change(b)
		b.all()
		if got := b.open(); (got != "") != test.want || test.want && !strings.Contains(got, `service "inner@file"`) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestHeadersThatLetChooseFollowChanges of the middleware and of the service below.
func TestHeadersThatLetChooseFollowChanges(t *testing.T) {
	office := &dynamic.EnvironmentTrust{SourceRange: []string{"192.0.2.0/24"}}
	b := openBench(t, weightedOf("dev"), removing(office))
	b.service("inner@file", aliased())
	b.service("s@file", weightedOf("inner"))
	b.all()
	if got := b.open(); got != "" {
		t.Errorf("without aliases: %q", got)
	}
	b.service("inner@file", aliased("baggage", "cookie"))
	b.apply(true, ref(dynamic.KindService, "inner@file"))
	want := `so that clients that may not choose an environment can: list baggage in environment.aliases, and name the ` +
		`cookie in environment.sources.cookie`
	if got := b.open(); !strings.HasSuffix(got, want) {
		t.Errorf("with aliases: %q", got)
	}
	b.middleware("m@file", choosing(func(e *dynamic.EnvironmentMiddleware) {
		e.Aliases, e.Trust, e.Sources = []string{"baggage"}, office, &dynamic.EnvironmentSources{Cookie: "env"}
	}))
	b.apply(true, ref(dynamic.KindMiddleware, "m@file"))
	if got := b.open(); got != "" {
		t.Errorf("all of them are covered: %q", got)
	}
	b.service("inner@file", aliased("x-late"))
	b.apply(true, ref(dynamic.KindService, "inner@file"))
	if got := b.open(); !strings.Contains(got, "does not remove x-late,") {
		t.Errorf("with another alias: %q", got)
	}
}

// environmentBefore is an environment service whose subset is another service.
func environmentBefore(service string) *dynamic.Service {
	declared := aliased()
	declared.Environment.Subsets[0].Service = service
	return declared
}
