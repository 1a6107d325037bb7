package router

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	ptypes "github.com/traefik/paerser/types"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/httpio"
	"github.com/sluiceproxy/sluice/middleware"
)

// hourly lets one request an hour through, so that a second one shows whether the bucket is the same.
func (b *bench) hourly(name string, change func(*dynamic.RateLimit)) {
	b.t.Helper()
	limit := &dynamic.RateLimit{}
	limit.SetDefaults()
	limit.Average, limit.Period = 1, ptypes.Duration(3600e9)
	if change != nil {
		change(limit)
	}
	b.middleware(name, &dynamic.Middleware{RateLimit: limit})
}

// statuss returns the owners of a middleware.
func (b *bench) owners(name string) []string {
	b.t.Helper()
	var owners []string
	for status := range b.compiler.Middlewares() {
		if status.Name == name {
			for _, owner := range status.Owners {
				owners = append(owners, owner.Owner)
			}
		}
	}
	return owners
}

// TestStateIsKeptForEachRouter spends the only token of routers and checks which of them have it back after each
// change.
func TestStateIsKeptForEachRouter(t *testing.T) {
	b := newBench(t)
	b.hourly("limit@file", nil)
	first := b.router("first@file", "Host(`first.test`)", "a@internal", "limit@file")
	b.router("second@file", "Host(`second.test`)", "a@internal", "limit@file")
	b.all()
	b.wantStatus("http://first.test/", http.StatusOK)
	b.wantStatus("http://first.test/", http.StatusTooManyRequests)
	b.wantStatus("http://second.test/", http.StatusOK)
	change := func(edit func(*dynamic.Router)) {
		changed := *first
		edit(&changed)
		first = &changed
		b.config.HTTP.Routers = b.config.HTTP.Routers.With("first@file", first)
		b.apply(true, ref(dynamic.KindRouter, "first@file"))
	}
	change(func(r *dynamic.Router) { r.Service = "b@internal" })
	b.wantStatus("http://first.test/", http.StatusTooManyRequests)
	change(func(r *dynamic.Router) { r.Service = "absent@file" })
	b.wantStatus("http://first.test/", http.StatusServiceUnavailable)
	change(func(r *dynamic.Router) { r.Service = "a@internal" })
	b.wantStatus("http://first.test/", http.StatusTooManyRequests)
	if diff := cmp.Diff([]string{"router first@file", "router second@file"}, b.owners("limit@file")); diff != "" {
		t.Error(diff)
	}
	change(func(r *dynamic.Router) { r.Middlewares = nil })
	b.wantStatus("http://first.test/", http.StatusOK)
	if diff := cmp.Diff([]string{"router second@file"}, b.owners("limit@file")); diff != "" {
		t.Error(diff)
	}
	change(func(r *dynamic.Router) { r.Middlewares = []string{"limit@file"} })
	b.wantStatus("http://first.test/", http.StatusOK)
	b.wantStatus("http://first.test/", http.StatusTooManyRequests)
	b.hourly("limit@file", func(limit *dynamic.RateLimit) { limit.Burst = 2 })
	b.apply(true, ref(dynamic.KindMiddleware, "limit@file"))
	b.wantStatus("http://first.test/", http.StatusOK)
	b.wantStatus("http://first.test/", http.StatusOK)
	b.wantStatus("http://first.test/", http.StatusTooManyRequests)
	b.config.HTTP.Routers = dynamic.Objects[dynamic.Router]{}
	b.apply(true, ref(dynamic.KindRouter, "first@file"), ref(dynamic.KindRouter, "second@file"))
	if owners := b.owners("limit@file"); len(owners) > 0 || len(b.compiler.instances.owners) > 0 {
		t.Errorf("routers that are gone own %v, %v", owners, slices.Collect(maps.Keys(b.compiler.instances.owners)))
	}
}

func TestSharedStateIsOne(t *testing.T) {
	b := newBench(t)
	b.hourly("limit@file", func(limit *dynamic.RateLimit) { limit.Shared = true })
	b.router("first@file", "Host(`first.test`)", "a@internal", "limit@file")
	b.router("second@file", "Host(`second.test`)", "a@internal", "limit@file")
	b.all()
	b.wantStatus("http://first.test/", http.StatusOK)
	b.wantStatus("http://second.test/", http.StatusTooManyRequests)
	if diff := cmp.Diff([]string{""}, b.owners("limit@file")); diff != "" {
		t.Error(diff)
	}
}

// TestARouterOnTwoEntrypointsHasOneState spends the only token of a router on one of its entrypoints.
func TestARouterOnTwoEntrypointsHasOneState(t *testing.T) {
	b := newBench(t)
	b.hourly("limit@file", nil)
	b.router("r@file", "Host(`x.test`)", "a@internal", "limit@file").EntryPoints = []string{"websecure", "web"}
	b.all()
	b.wantStatus("http://x.test/", http.StatusOK)
	recorder := httptest.NewRecorder()
	b.target.Handler("websecure").ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet,
		"http://x.test/", http.NoBody))
	if recorder.Code != http.StatusTooManyRequests {
		t.Errorf("the other entrypoint answers %d, want 429", recorder.Code)
	}
	if diff := cmp.Diff([]string{"router r@file"}, b.owners("limit@file")); diff != "" {
		t.Error(diff)
	}
}

// keeper is a step that may keep a part of a request.
type keeper struct{}

func (keeper) Wrap(next http.Handler) http.Handler { return next }

// TestOneStepThatKeepsAPartMakesTheWholeKeepIt puts one among others that keep nothing, in every place.
func TestOneStepThatKeepsAPartMakesTheWholeKeepIt(t *testing.T) {
	nothing, err := middleware.NewBuilder(middleware.Options{}).Build("m@file",
		&dynamic.Middleware{AddPrefix: &dynamic.AddPrefix{Prefix: "/x"}}, middleware.References{}, &middleware.Reads{})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		steps         []middleware.Middleware
		retains, want bool
	}{
		"none":        {[]middleware.Middleware{nothing, nothing}, false, false},
		"outermost":   {[]middleware.Middleware{keeper{}, nothing}, false, true},
		"innermost":   {[]middleware.Middleware{nothing, keeper{}}, false, true},
		"the service": {[]middleware.Middleware{nothing}, true, true},
		"no steps":    {nil, true, true},
	} {
		if _, keeps := wrap(test.steps, http.NotFoundHandler(), test.retains); keeps != test.want {
			t.Errorf("%s: the whole keeps a part: %v", name, keeps)
		}
	}
}

// TestAMiddlewareThatIsListedTwiceHasTwoStates demands what Traefik does: a limit of an entrypoint and of a router by
// the same name are two.
func TestAMiddlewareThatIsListedTwiceHasTwoStates(t *testing.T) {
	b := newBench(t)
	b.middleware("one@file", &dynamic.Middleware{InFlightReq: &dynamic.InFlightReq{Amount: 1}})
	b.middleware("both@file", &dynamic.Middleware{Chain: &dynamic.Chain{Middlewares: []string{"one", "one"}}})
	b.router("r@file", "Host(`x.test`)", "a@internal", "both@file")
	b.all()
	b.wantStatus("http://x.test/", http.StatusOK)
}

// TestOwnersWithAFaultKeepNoStateOfWhatIsGone changes a definition again and again, where a router and a service that
// list it can't be built.
func TestOwnersWithAFaultKeepNoStateOfWhatIsGone(t *testing.T) {
	b := newBench(t)
	b.compiler.options.EntryPoints[1].Middlewares = []string{"absent@file"}
	b.hourly("limit@file", nil)
	b.router("r@file", "Host(`x.test`)", "a@internal", "limit@file").EntryPoints = []string{"web", "websecure"}
	weighted := &dynamic.WeightedRoundRobin{Services: []dynamic.WeightedService{{Name: "a@internal"}}}
	service := &dynamic.Service{Weighted: weighted, Middlewares: []string{"limit@file"}}
	b.service("s@file", service)
	b.all()
	want := func(owners ...string) {
		t.Helper()
		if diff := cmp.Diff(owners, slices.Sorted(maps.Keys(b.compiler.instances.owners))); diff != "" {
			t.Error(diff)
		}
		for owner, kept := range b.compiler.instances.owners {
			if len(kept) != 1 {
				t.Errorf("%s keeps %d states of one middleware", owner, len(kept))
			}
		}
	}
	want("router r@file", "service s@file")
	faulty := *service
	faulty.Middlewares = []string{"limit@file", "absent@file"}
	b.service("s@file", &faulty)
	b.apply(true, ref(dynamic.KindService, "s@file"))
	want("router r@file", "service s@file")
	for burst := range int64(3) {
		b.hourly("limit@file", func(limit *dynamic.RateLimit) { limit.Burst = 2 + burst })
		b.apply(true, ref(dynamic.KindMiddleware, "limit@file"))
		want("router r@file")
	}
}

// closing is a step that counts how often it was closed.
type closing struct {
	middleware.Middleware
	times int
}

func (c *closing) Close() { c.times++ }

// TestUnusedStepsAreClosed drops a definition. A router that serves as it last did still uses the step.
func TestUnusedStepsAreClosed(t *testing.T) {
	b := newBench(t)
	b.hourly("limit@file", nil)
	b.hourly("other@file", nil)
	b.router("r@file", "Host(`x.test`)", "a@internal", "limit@file")
	b.all()
	used, other := &closing{}, &closing{}
	b.compiler.instances.built["limit@file"].middleware, b.compiler.instances.built["other@file"].middleware = used, other
	want := func(times, others int) {
		t.Helper()
		if used.times != times || other.times != others {
			t.Errorf("closed %d and %d times, want %d and %d", used.times, other.times, times, others)
		}
	}
	limit := ref(dynamic.KindMiddleware, "limit@file")
	b.config.HTTP.Middlewares = b.config.HTTP.Middlewares.Without("limit@file")
	b.apply(false, limit)
	b.wantStatus("http://x.test/", http.StatusOK)
	want(0, 0)
	b.hourly("other@file", func(limit *dynamic.RateLimit) { limit.Burst = 2 })
	b.compiler.Compile(Input{
		Configuration: b.config, Changed: []dynamic.Ref{ref(dynamic.KindMiddleware, "other@file")},
		Final: true,
	})
	want(0, 0) // What the compilation made does not serve.
	b.apply(true)
	b.wantStatus("http://x.test/", http.StatusServiceUnavailable)
	want(1, 1)
	b.apply(true)
	want(1, 1)
}

// TestStepsThatKeepNothingSaySoForEachOwner looks at the steps that routers wrap, which are not those that were built.
func TestStepsThatKeepNothingSaySoForEachOwner(t *testing.T) {
	for _, definition := range []*dynamic.Middleware{
		{RateLimit: &dynamic.RateLimit{Average: 1}},
		{InFlightReq: &dynamic.InFlightReq{Amount: 1}},
		{CircuitBreaker: &dynamic.CircuitBreaker{Expression: "NetworkErrorRatio() > 0.5"}},
	} {
		builder := middleware.NewBuilder(middleware.Options{})
		step, err := builder.Build("m@file", definition, middleware.References{}, &middleware.Reads{})
		if err != nil {
			t.Fatal(err)
		}
		_, all := step.(httpio.NoRetainer)
		if _, one := step.(middleware.Scoped).For("router r@file").(httpio.NoRetainer); !one || !all {
			t.Errorf("%T keeps nothing: %v, and for an owner: %v", step, all, one)
		}
	}
}

func TestStateOfAService(t *testing.T) {
	b := newBench(t)
	b.hourly("limit@file", nil)
	weighted := &dynamic.WeightedRoundRobin{Services: []dynamic.WeightedService{{Name: "a@internal"}}}
	service := &dynamic.Service{Weighted: weighted, Middlewares: []string{"limit@file"}}
	b.service("s@file", service)
	b.router("first@file", "Host(`first.test`)", "s@file")
	b.router("second@file", "Host(`second.test`)", "s@file")
	b.all()
	b.wantStatus("http://first.test/", http.StatusOK)
	b.wantStatus("http://second.test/", http.StatusTooManyRequests)
	changed := *service
	changed.Weighted = &dynamic.WeightedRoundRobin{Services: []dynamic.WeightedService{{Name: "b@internal"}}}
	b.service("s@file", &changed)
	b.apply(true, ref(dynamic.KindService, "s@file"))
	b.wantStatus("http://second.test/", http.StatusTooManyRequests)
	if diff := cmp.Diff([]string{"service s@file"}, b.owners("limit@file")); diff != "" {
		t.Error(diff)
	}
	b.config.HTTP.Services = b.config.HTTP.Services.Without("s@file")
	b.apply(true, ref(dynamic.KindService, "s@file"))
	if owners := b.owners("limit@file"); len(owners) > 0 {
		t.Errorf("a service that is gone owns %v", owners)
	}
	b.service("s@file", &changed)
	b.apply(true, ref(dynamic.KindService, "s@file"))
	b.wantStatus("http://second.test/", http.StatusOK)
	changed.Middlewares = nil
	b.apply(true, ref(dynamic.KindService, "s@file"))
	b.wantStatus("http://second.test/", http.StatusOK)
	if owners := b.owners("limit@file"); len(owners) > 0 {
		t.Errorf("owners are %v", owners)
	}
}

// TestErrorPagesFollowTheirService changes, drops and brings back the service that has the pages, and has it request
// itself.
func TestErrorPagesFollowTheirService(t *testing.T) {
	b := newBench(t)
	b.middleware("pages@file", &dynamic.Middleware{
		Errors: &dynamic.ErrorPage{Status: []string{"418"}, Service: "pages", Query: "/oops"},
	})
	b.compiler.options.Internal["teapot@internal"] = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
	})
	of := func(name string) *dynamic.Service {
		return &dynamic.Service{Weighted: &dynamic.WeightedRoundRobin{Services: []dynamic.WeightedService{{Name: name}}}}
	}
	pages := ref(dynamic.KindService, "pages@file")
	b.service("pages@file", of("a@internal"))
	b.router("r@file", "Host(`x.test`)", "teapot@internal", "pages@file")
	b.all()
	want := func(service string) {
		t.Helper()
		if code, got, body := b.get("http://x.test/"); code != http.StatusTeapot || got != service || body != "/oops" {
			t.Errorf("status %d from %q with %q, want 418 from %q with /oops", code, got, body, service)
		}
	}
	want("a")
	b.service("pages@file", of("b@internal"))
	b.apply(true, pages)
	want("b")
	b.config.HTTP.Services = b.config.HTTP.Services.Without("pages@file")
	b.apply(true, pages)
	b.wantStatus("http://x.test/", http.StatusServiceUnavailable)
	b.wantVerdict(ref(dynamic.KindMiddleware, "pages@file"), dynamic.Quarantined, "pages@file")
	itself := of("a@internal")
	itself.Middlewares = []string{"pages@file"}
	b.service("pages@file", itself)
	b.apply(true, pages)
	b.wantStatus("http://x.test/", http.StatusServiceUnavailable)
	b.service("pages@file", of("a@internal"))
	b.apply(true, pages)
	want("a")
	if len(b.compiled.Verdicts) > 0 {
		t.Errorf("verdicts: %v", b.compiled.Verdicts)
	}
}
