package metrics_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluiceproxy/sluice/telemetry/metrics"
)

// retention is how long removed series are shown.
const retention = 5 * time.Minute

// stage is metrics whose routers and services a test removes.
type stage struct {
	*metrics.Metrics

	routers, services map[string]bool
}

func newStage() *stage {
	s := &stage{
		Metrics: metrics.New(metrics.Options{
			EntryPoints: true, Routers: true, Services: true, Pushed: &metrics.View{Routers: true},
		}),
		routers:  map[string]bool{"a@file": true, "b@file": true},
		services: map[string]bool{"old@file": true, "new@file": true},
	}
	s.ServeOnly(func() (map[string]bool, map[string]bool) { return s.routers, s.services })
	return s
}

// pass lets time pass in a bubble of synctest.
func pass(duration time.Duration) { <-time.NewTimer(duration).C }

// request counts one for a router and its service.
func (s *stage) request(router, service *metrics.Series) {
	s.Entrypoint("web").Count(&metrics.Request{Method: "GET", Status: 200, Router: router, Service: service})
}

// expect demands that the page shows a router and its service with these counts; -1 means not at all.
func (s *stage) expect(t *testing.T, when, router, service string, wantRouter, wantService int) {
	t.Helper()
	recorder := httptest.NewRecorder()
	s.Handler().ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
	count := func(series string) int {
		_, rest, found := strings.Cut(recorder.Body.String(), series+"} ")
		if !found {
			return -1
		}
		value, _, _ := strings.Cut(rest, "\n")
		count, err := strconv.Atoi(value)
		if err != nil {
			t.Fatal(err)
		}
		return count
	}
	const labels = `requests_total{code="200",method="GET",protocol="http",`
	ofRouter := count(fmt.Sprintf("traefik_router_%srouter=%q,service=%q", labels, router, service))
	ofService := count(fmt.Sprintf("traefik_service_%sservice=%q", labels, service))
	if ofRouter != wantRouter || ofService != wantService {
		t.Errorf("%s: %s to %s is shown with %d and %d requests, want %d and %d", when, router, service, ofRouter,
			ofService, wantRouter, wantService)
	}
}

// pushed returns how many requests of routers are pushed.
func (s *stage) pushed(t *testing.T) (count float64) {
	t.Helper()
	families, err := s.Pushed().Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == "traefik_router_requests_total" {
			for _, metric := range family.GetMetric() {
				count += metric.GetCounter().GetValue()
			}
		}
	}
	return count
}

// TestLastCountsAreShownForFiveMinutes demands that every scrape and push has them, however many there are.
func TestLastCountsAreShownForFiveMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		router, service := s.Router("a@file", "old@file"), s.Service("old@file")
		s.request(router, service)
		s.expect(t, "while it exists", "a@file", "old@file", 1, 1)
		s.request(router, service)
		delete(s.routers, "a@file")
		delete(s.services, "old@file")
		for range 5 {
			s.expect(t, "after the removal", "a@file", "old@file", 2, 2)
			if got := s.pushed(t); got != 2 {
				t.Errorf("%v requests are pushed after the removal, want 2", got)
			}
			pass(retention / 5)
		}
		s.expect(t, "after five minutes", "a@file", "old@file", -1, -1)
		if got := s.pushed(t); got != 0 {
			t.Errorf("%v requests are pushed after five minutes", got)
		}
		s.request(router, service) // A request that took long.
		s.expect(t, "when a late request has ended", "a@file", "old@file", 3, 3)
		pass(retention - 1)
		s.request(router, nil)
		s.expect(t, "when another one has ended", "a@file", "old@file", 4, 3)
		pass(time.Nanosecond)
		s.expect(t, "five minutes after the first one", "a@file", "old@file", 4, -1)
		pass(retention)
		s.expect(t, "five minutes after the last one", "a@file", "old@file", -1, -1)
		if got := s.Traffic(metrics.TrafficEntrypoints, nil)[0].Requests; got != 4 {
			t.Errorf("the entrypoint has %d requests, want 4", got)
		}
	})
}

// TestSeriesThatReturnContinueTheirCounts demands this within the retention, and later while requests are running.
func TestSeriesThatReturnContinueTheirCounts(t *testing.T) {
	for _, away := range []time.Duration{time.Minute, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			s := newStage()
			router, service := s.Router("a@file", "old@file"), s.Service("old@file")
			s.request(router, service)
			delete(s.routers, "a@file")
			s.expect(t, "after the removal", "a@file", "old@file", 1, 1)
			pass(away)
			s.expect(t, "before the return", "a@file", "old@file", map[bool]int{true: 1, false: -1}[away < retention], 1)
			runtime.GC()
			s.routers["a@file"] = true
			s.request(s.Router("a@file", "old@file"), service)
			s.request(router, service)
			for range 2 {
				s.expect(t, "after the return", "a@file", "old@file", 3, 3)
				pass(2 * retention)
			}
		})
	}
}

// TestARouterMayBeCompiledLongBeforeItExists demands this, too, for a service without endpoints of its own.
func TestARouterMayBeCompiledLongBeforeItExists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		delete(s.routers, "a@file")
		router := s.Router("a@file", "weighted@file")
		for range 3 {
			s.expect(t, "before it exists", "a@file", "weighted@file", -1, -1)
			pass(retention)
		}
		s.routers["a@file"] = true
		s.request(router, nil)
		for range 3 {
			s.expect(t, "when it exists", "a@file", "weighted@file", 1, -1)
			pass(retention)
		}
	})
}

// TestARouterMayChangeItsService demands that the series with the old service goes when that service does.
func TestARouterMayChangeItsService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		s.request(s.Router("a@file", "old@file"), nil)
		s.request(s.Router("a@file", "new@file"), nil)
		if traffic := s.Traffic(metrics.TrafficRouters, nil); len(traffic) != 1 || traffic[0].Requests != 2 {
			t.Errorf("the router's traffic is %v, want 2 requests", traffic)
		}
		pass(2 * retention)
		s.expect(t, "while the old service exists", "a@file", "old@file", 1, -1)
		delete(s.services, "old@file")
		s.expect(t, "after its removal", "a@file", "old@file", 1, -1)
		pass(retention)
		s.expect(t, "five minutes later", "a@file", "old@file", -1, -1)
		s.expect(t, "with the new service", "a@file", "new@file", 1, -1)
	})
}

// TestTheOldestRemovedSeriesAreDroppedFirst demands a bound of those that are kept.
func TestTheOldestRemovedSeriesAreDroppedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		for _, name := range []string{"old@file", "new@file"} {
			s.request(nil, s.Service(name))
			delete(s.services, name)
			s.expect(t, "after its removal", "", name, -1, 1)
			pass(time.Second)
		}
		for i := range 9_999 {
			s.Service(strconv.Itoa(i))
		}
		s.expect(t, "beyond the limit", "", "old@file", -1, -1)
		s.expect(t, "within the limit", "", "new@file", -1, 1)
	})
}

// TestSeriesAreDroppedWithoutScrapes demands that removed series do not pile up.
func TestSeriesAreDroppedWithoutScrapes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		s.Service("old@file")
		s.Router("a@file", "old@file")
		delete(s.routers, "a@file")
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { s.Run(ctx) })
		pass(retention + 3*time.Minute)
		cancel()
		running.Wait()
		routers, services := s.Traffic(metrics.TrafficRouters, nil), s.Traffic(metrics.TrafficServices, nil)
		if len(routers) != 0 || len(services) != 1 {
			t.Errorf("%d and %d series are kept, want 0 and 1", len(routers), len(services))
		}
	})
}

// TestNoRequestIsLostWhileASeriesIsDropped counts at the moment of the drop.
func TestNoRequestIsLostWhileASeriesIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		router, service := s.Router("a@file", "old@file"), s.Service("old@file")
		delete(s.routers, "a@file")
		const rounds, requests = 50, 4
		for round := range rounds {
			s.pushed(t)
			pass(retention)
			var all sync.WaitGroup
			for range requests {
				all.Go(func() { s.request(router, service) })
			}
			all.Go(func() { s.pushed(t) })
			all.Wait()
			s.expect(t, "after the drop", "a@file", "old@file", (round+1)*requests, (round+1)*requests)
		}
	})
}
