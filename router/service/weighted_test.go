package service_test

import (
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/loadbalancer/sticky"
	"github.com/sluiceproxy/sluice/router/service"
)

// shares sends many requests and returns how many each child got.
func shares(t *testing.T, handler http.Handler, times int, of ...*named) []int64 {
	t.Helper()
	for _, one := range of {
		one.count.Store(0)
	}
	for range times {
		ask(t, handler)
	}
	found := make([]int64, len(of))
	for i, one := range of {
		found[i] = one.count.Load()
	}
	return found
}

func wantShares(t *testing.T, what string, got []int64, want ...float64) {
	t.Helper()
	for i := range want {
		if math.Abs(float64(got[i])-want[i]) > max(1, 0.01*want[i]) {
			t.Errorf("%s: requests %v, want %v", what, got, want)
			return
		}
	}
}

func TestWeightedSharesByWeight(t *testing.T) {
	a, b, c := &named{name: "a"}, &named{name: "b"}, &named{name: "c"}
	children := []service.Child{a.child(3), b.child(1), c.child(0)}
	w := service.NewWeighted(service.WeightedOptions{Name: "w@file", Children: children, State: service.NewState()})
	wantShares(t, "all up", shares(t, w, 400, a, b, c), 300, 100, 0)
	a.down.Store(true)
	wantShares(t, "one down without health checks", shares(t, w, 400, a, b, c), 300, 100, 0)
}

func TestWeightedSkipsChildrenThatAreDown(t *testing.T) {
	a, b, c := &named{name: "a"}, &named{name: "b"}, &named{name: "c"}
	children := []service.Child{a.child(6), b.child(3), c.child(1)}
	w := service.NewWeighted(service.WeightedOptions{
		Name: "w@file", Children: children, HealthCheck: true,
		State: service.NewState(),
	})
	wantShares(t, "all up", shares(t, w, 1000, a, b, c), 600, 300, 100)
	a.down.Store(true)
	wantShares(t, "the heaviest down", shares(t, w, 4000, a, b, c), 0, 3000, 1000)
	b.down.Store(true)
	wantShares(t, "one left", shares(t, w, 100, a, b, c), 0, 0, 100)
	a.down.Store(false)
	wantShares(t, "the heaviest back", shares(t, w, 7000, a, b, c), 6000, 0, 1000)
}

func TestWeightedSaysWhyNoChildAnswers(t *testing.T) {
	a := &named{name: "a"}
	for name, row := range map[string]struct {
		options service.WeightedOptions
		down    bool
		reason  string
	}{
		"down": {
			service.WeightedOptions{Children: []service.Child{a.child(1)}, HealthCheck: true},
			true,
			"no service of the weighted service is up",
		},
		"no weight": {service.WeightedOptions{Children: []service.Child{a.child(0)}}, false, "have weight 0"},
		"no weight, too": {
			service.WeightedOptions{Children: []service.Child{a.child(0)}, HealthCheck: true},
			false,
			"have weight 0",
		},
		"no children": {service.WeightedOptions{}, false, "have weight 0"},
	} {
		a.down.Store(row.down)
		row.options.Name, row.options.State = "w@file", service.NewState()
		w := service.NewWeighted(row.options)
		response, record := ask(t, w)
		if response.StatusCode != http.StatusServiceUnavailable || record.Status != http.StatusServiceUnavailable ||
			record.Service != "w@file" || !strings.Contains(record.Reason, row.reason) {
			t.Errorf("%s: %d, record %+v, want 503 with %q", name, response.StatusCode, record, row.reason)
		}
		if w.Up() {
			t.Errorf("%s: it is up", name)
		}
	}
}

// A change of a weight must not send all requests to the first child.
func TestWeightedGoesOnWhereItStood(t *testing.T) {
	a, b := &named{name: "a"}, &named{name: "b"}
	state := service.NewState()
	for range 200 {
		w := service.NewWeighted(service.WeightedOptions{
			Name: "w@file", Children: []service.Child{a.child(1), b.child(1)},
			State: state,
		})
		ask(t, w)
	}
	if a.count.Load() != 100 || b.count.Load() != 100 {
		t.Errorf("%d and %d requests with a new handler for each, want 100 and 100", a.count.Load(), b.count.Load())
	}
}

func stickyWeighted(t *testing.T, healthCheck bool, children ...service.Child) *service.Weighted {
	t.Helper()
	cookie, err := sticky.New("w@file", &dynamic.Cookie{Name: "lb", HTTPOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	return service.NewWeighted(service.WeightedOptions{
		Name: "w@file", Children: children, Cookie: cookie,
		HealthCheck: healthCheck, State: service.NewState(),
	})
}

func TestWeightedKeepsAClientWithItsChild(t *testing.T) {
	a, b := &named{name: "a"}, &named{name: "b"}
	w := stickyWeighted(t, true, a.child(1), b.child(1))
	first, _ := ask(t, w)
	if got, want := first.Header.Get("Set-Cookie"), "lb="+sticky.ID(first.Header.Get("X-Service"))+
		"; Path=/; HttpOnly"; got != want {
		t.Fatalf("Set-Cookie %q, want %q", got, want)
	}
	aliases := sticky.Aliases("b")
	for _, row := range []struct {
		what, cookie, service string
		set                   bool
	}{
		{"today's value", "lb=" + sticky.ID("b"), "b", false},
		{"the name itself", "lb=b", "b", true},
		{"FNV of FNV", "lb=" + aliases[1], "b", true},
		{"FNV", "lb=" + aliases[2], "b", true},
		{"a stranger's cookie before", "lb=stranger; lb=" + sticky.ID("b"), "b", false},
		{"another cookie", "other=" + sticky.ID("b"), "", true},
		{"unknown value", "lb=" + sticky.ID("c"), "", true},
	} {
		for range 4 {
			response, _ := ask(t, w, "Cookie", row.cookie)
			if got := response.Header.Get("X-Service"); row.service != "" && got != row.service {
				t.Errorf("%s: service %q, want %q", row.what, got, row.service)
			}
			want := ""
			if row.set {
				want = "lb=" + sticky.ID(response.Header.Get("X-Service")) + "; Path=/; HttpOnly"
			}
			if got := response.Header.Get("Set-Cookie"); got != want {
				t.Errorf("%s: Set-Cookie %q, want %q", row.what, got, want)
			}
		}
	}
}

func TestWeightedMovesAClientWhoseChildIsDown(t *testing.T) {
	a, b := &named{name: "a"}, &named{name: "b"}
	w := stickyWeighted(t, true, a.child(1), b.child(1))
	b.down.Store(true)
	response, _ := ask(t, w, "Cookie", "lb="+sticky.ID("b"))
	if response.Header.Get("X-Service") != "a" || !strings.HasPrefix(response.Header.Get("Set-Cookie"),
		"lb="+sticky.ID("a")) {
		t.Errorf("header %v, want service a and its cookie", response.Header)
	}
	a.down.Store(true)
	if response, _ := ask(t, w, "Cookie", "lb="+sticky.ID("b")); response.StatusCode != http.StatusServiceUnavailable ||
		response.Header.Get("Set-Cookie") != "" {
		t.Errorf("with no child up: %d %v, want 503 without a cookie", response.StatusCode, response.Header)
	}
	w = stickyWeighted(t, false, a.child(1), b.child(1))
	if response, _ := ask(t, w, "Cookie", "lb="+sticky.ID("b")); response.Header.Get("X-Service") != "b" {
		t.Errorf("without health checks: %v, want service b", response.Header)
	}
	w = stickyWeighted(t, false, a.child(1), b.child(0))
	if response, _ := ask(t, w, "Cookie", "lb="+sticky.ID("b")); response.Header.Get("X-Service") != "a" {
		t.Errorf("with weight 0: %v, want service a", response.Header)
	}
}

// silent is a writer without a header to speak of.
type silent struct{ header http.Header }

func (s *silent) Header() http.Header         { return s.header }
func (s *silent) Write(p []byte) (int, error) { return len(p), nil }
func (s *silent) WriteHeader(int)             {}

func TestChoosingAllocatesNothing(t *testing.T) {
	nothing := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	up, down := func() bool { return true }, func() bool { return false }
	children := []service.Child{{Name: "a", Handler: nothing, Weight: 3, Up: down}, {
		Name: "b", Handler: nothing,
		Weight: 2, Up: up,
	}}
	cookie, err := sticky.New("w@file", nil)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://x.test/", http.NoBody)
	r.Header.Set("Cookie", cookie.Name()+"="+sticky.ID("b"))
	for name, handler := range map[string]http.Handler{
		"weighted": service.NewWeighted(service.WeightedOptions{Children: children, State: service.NewState()}),
		"weighted with health": service.NewWeighted(service.WeightedOptions{
			Children: children, HealthCheck: true,
			State: service.NewState(),
		}),
		"weighted with cookie": service.NewWeighted(service.WeightedOptions{
			Children: children, Cookie: cookie,
			State: service.NewState(),
		}),
		"failover": service.NewFailover(service.FailoverOptions{Main: children[0], Fallback: children[1]}),
		"mirroring 0 %": service.NewMirroring(service.MirroringOptions{
			Main: children[0],
			To:   []service.Mirror{{nothing, 0, 100}}, State: service.NewState(),
		}),
	} {
		w := &silent{header: http.Header{}}
		if n := testing.AllocsPerRun(100, func() { handler.ServeHTTP(w, r) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
