package metrics

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// stage is metrics whose routers and services a test takes away.
type stage struct {
	*Metrics
	routers, services map[string]bool
}

func newStage(options Options) *stage {
	s := &stage{
		Metrics: New(options),
		routers: map[string]bool{"a@file": true, "b@file": true}, services: map[string]bool{
			"old@file": true,
			"new@file": true,
		},
	}
	s.ServeOnly(func() (map[string]bool, map[string]bool) { return s.routers, s.services })
	return s
}

// kept returns how many series are kept.
func (s *stage) kept() (routers, services int) {
	return len(s.list(TrafficRouters, nil)), len(s.list(TrafficServices, nil))
}

// request counts one for a router and its service.
func (s *stage) request(router, service *Series) {
	s.Entrypoint("web").Count(&Request{
		Method: "GET", Status: 200, Router: router,
		Service: service,
	})
}

// shows returns how often the router and its service are shown as having been asked, or -1 where they are not.
func shows(t *testing.T, page, router, service string) (asked, answered int) {
	t.Helper()
	find := func(line string) int {
		_, rest, found := strings.Cut(page, line)
		if !found {
			return -1
		}
		return int(rest[0] - '0')
	}
	return find(`traefik_router_requests_total{code="200",method="GET",protocol="http",router="` + router + `",service="` +
			service + `"} `),
		find(`traefik_service_requests_total{code="200",method="GET",protocol="http",service="` + service + `"} `)
}

// expect demands that the page shows a router and its service with these counts.
func (s *stage) expect(t *testing.T, when, router, service string, wantAsked, wantAnswered int) {
	t.Helper()
	asked, answered := shows(t, scrape(t, s.Metrics), router, service)
	if asked != wantAsked || answered != wantAnswered {
		t.Errorf("%s: %s to %s is shown with %d and %d requests, want %d and %d", when, router, service, asked, answered,
			wantAsked, wantAnswered)
	}
}

func TestSeriesOfWhatIsGoneAreShownOnceMore(t *testing.T) {
	s := newStage(everything())
	router, service := s.Router("a@file", "old@file"), s.Service("old@file")
	s.request(router, service)
	s.expect(t, "while it exists", "a@file", "old@file", 1, 1)
	s.expect(t, "while it still exists", "a@file", "old@file", 1, 1)
	s.request(router, service)
	delete(s.routers, "a@file")
	delete(s.services, "old@file")
	s.expect(t, "once more", "a@file", "old@file", 2, 2)
	s.expect(t, "when it is gone", "a@file", "old@file", -1, -1)
	if routers, services := s.kept(); routers+services != 0 {
		t.Error("series are kept that are gone")
	}
	if asked := s.Traffic(TrafficEntrypoints, nil)[0].Requests; asked != 2 {
		t.Errorf("the entrypoint has %d requests, want 2", asked)
	}
	s.request(router, service) // A request that took long.
	s.expect(t, "when a late request has ended", "a@file", "old@file", 3, 3)
	s.expect(t, "after that", "a@file", "old@file", -1, -1)
}

// TestSeriesComeBackWithTheirRouter demands that a router which the compiler made before it existed, or which
// comes back, is counted.
func TestSeriesComeBackWithTheirRouter(t *testing.T) {
	s := newStage(everything())
	delete(s.routers, "a@file")
	router, service := s.Router("a@file", "old@file"), s.Service("old@file")
	s.expect(t, "before it exists", "a@file", "old@file", -1, -1)
	s.expect(t, "before it still exists", "a@file", "old@file", -1, -1)
	s.routers["a@file"] = true
	s.request(router, service)
	s.expect(t, "when it exists", "a@file", "old@file", 1, 1)
	s.expect(t, "and after that", "a@file", "old@file", 1, 1)
	if s.Router("a@file", "old@file") != router {
		t.Error("there are two series of one router")
	}
	delete(s.routers, "a@file")
	scrape(t, s.Metrics)
	s.routers["a@file"] = true
	successor := s.Router("a@file", "old@file")
	if successor == router {
		t.Fatal("the series was not dropped")
	}
	s.request(successor, service)
	s.request(router, service)
	s.expect(t, "when another one has its place", "a@file", "old@file", 1, 3)
}

// TestARouterMayChangeItsService demands that the series with the old service goes when that service does.
func TestARouterMayChangeItsService(t *testing.T) {
	s := newStage(everything())
	s.request(s.Router("a@file", "old@file"), nil)
	s.request(s.Router("a@file", "new@file"), nil)
	if traffic := s.Traffic(TrafficRouters, nil); len(traffic) != 1 || traffic[0].Requests != 2 {
		t.Errorf("the router's traffic is %v, want 2 requests", traffic)
	}
	s.expect(t, "while the old service exists", "a@file", "old@file", 1, -1)
	delete(s.services, "old@file")
	s.expect(t, "once more", "a@file", "old@file", 1, -1)
	s.expect(t, "without the old service", "a@file", "old@file", -1, -1)
	s.expect(t, "with the new service", "a@file", "new@file", 1, -1)
}

// TestEveryReaderSeesTheLastCounts demands that neither the page nor what is pushed takes the last counts from
// the other.
func TestEveryReaderSeesTheLastCounts(t *testing.T) {
	options := everything()
	options.Pushed = &View{Routers: true}
	s := newStage(options)
	s.request(s.Router("a@file", "old@file"), nil)
	scrape(t, s.Metrics)
	pushes := func() bool { return gathered(t, s.Metrics.Pushed())["traefik_router_requests_total"] != nil }
	if !pushes() {
		t.Fatal("nothing is pushed")
	}
	delete(s.routers, "a@file")
	s.expect(t, "once more", "a@file", "old@file", 1, -1)
	s.expect(t, "when it was shown", "a@file", "old@file", -1, -1)
	if !pushes() {
		t.Error("the last counts were not pushed")
	}
	if pushes() {
		t.Error("the last counts were pushed twice")
	}
	if routers, _ := s.kept(); routers != 0 {
		t.Error("the series is kept")
	}
}

// TestNobodyNeedsToRead demands that series are dropped although nobody reads metrics any more.
func TestNobodyNeedsToRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(everything())
		s.request(s.Router("a@file", "old@file"), s.Service("old@file"))
		scrape(t, s.Metrics)
		delete(s.routers, "a@file")
		stop := s.start(t)
		<-time.NewTimer(2 * time.Minute).C
		synctest.Wait()
		if routers, _ := s.kept(); routers != 1 {
			t.Error("the series was dropped before somebody who reads could see it")
		}
		<-time.NewTimer(readerIdle).C
		synctest.Wait()
		if routers, services := s.kept(); routers != 0 || services != 1 {
			t.Errorf("%d and %d series are kept, want 0 and 1", routers, services)
		}
		stop()
	})
}
