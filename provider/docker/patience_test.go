package docker

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	enginetypes "github.com/moby/moby/api/types/container"
)

// TestFirstStateIsWhole asserts that an engine with many containers is waited for as long as it goes on telling.
func TestFirstStateIsWhole(t *testing.T) {
	play(t, nil, nil, func(s *stage) {
		for i := range 80 {
			one := fakeContainer(fmt.Sprintf("web%02d", i), fmt.Sprintf("198.51.100.%d", i+1))
			one.ID = fmt.Sprintf("%064x", i+1)
			s.engine.put(one)
		}
		s.engine.mu.Lock()
		s.engine.slow = 600 * time.Millisecond // 80 of them, eight at a time, take twice slowInspection.
		s.engine.mu.Unlock()
		s.news()
		s.engine.cut(nil)
		s.wait(time.Minute)
		var states []int
		for _, message := range s.news() {
			if message.Configuration != nil {
				states = append(states, message.Configuration.HTTP.Routers.Len())
			}
		}
		if len(states) != 1 || states[0] != 80 {
			t.Errorf("configurations with %v routers, want one with 80", states)
		}
	})
}

// TestRetryDoesNotBlock asserts that events are followed while an inspection is retried.
func TestRetryDoesNotBlock(t *testing.T) {
	stuck := fakeContainer("stuck", "198.51.100.7")
	play(t, nil, []*enginetypes.InspectResponse{stuck}, func(s *stage) {
		s.want("stuck 198.51.100.7")
		answer := make(chan struct{})
		s.engine.mu.Lock()
		s.engine.hang[stuck.ID] = answer
		s.engine.mu.Unlock()
		s.engine.change(stuck.ID, func(c *enginetypes.InspectResponse) { c.State.Status = enginetypes.StatePaused })
		s.engine.emit("pause", stuck.ID)
		s.wait(heartbeat) // It is inspected again.
		s.engine.start(fakeContainer("other", "198.51.100.8"))
		s.want("other 198.51.100.8", "stuck 198.51.100.7")
		s.engine.mu.Lock()
		delete(s.engine.hang, stuck.ID)
		s.engine.mu.Unlock()
		close(answer)
		s.want("other 198.51.100.8")
	})
}

// TestLeavingGoesOn asserts that a draining container gets no requests because of another event.
func TestLeavingGoesOn(t *testing.T) {
	play(t, nil, []*enginetypes.InspectResponse{replica(1), replica(2)}, func(s *stage) {
		s.news()
		ids := map[string]string{}
		for id, one := range s.engine.containers {
			ids[one.Name] = id
		}
		s.engine.emit("kill", ids["/shop_web_2"], "signal", "15")
		s.want("shop 198.51.100.1 198.51.100.2 (leaving)")
		s.engine.emit("health_status: healthy", ids["/shop_web_2"])
		s.want("shop 198.51.100.1 198.51.100.2 (leaving)")
		s.engine.emit("start", ids["/shop_web_2"])
		s.want("shop 198.51.100.1 198.51.100.2")
	})
}

// TestInboxKeepsOrder asserts that a signal counts only for the run of a container that it was sent to.
func TestInboxKeepsOrder(t *testing.T) {
	kill, start := containerEvent("kill", "signal", "15"), containerEvent("start")
	box := newEventQueue()
	box.put(containerEvent("exec_start: true"))
	if changes := box.take(); !changes.since.IsZero() {
		t.Error("an event that says nothing is when a change was noticed")
	}
	box.put(kill)
	box.put(start)
	if changes := box.take(); !changes.containers["c"] || len(changes.signals) != 0 {
		t.Errorf("changed %v, asked %v after a restart", changes.containers, changes.signals)
	}
	box.put(start)
	box.put(kill)
	if changes := box.take(); !changes.containers["c"] || len(changes.signals["c"]) != 1 {
		t.Errorf("changed %v, asked %v after a start and a signal", changes.containers, changes.signals)
	}
}

// TestSlowContainerGetsIn asserts that a container whose inspection is always slow is read, and that results from
// before a change are dropped.
func TestSlowContainerGetsIn(t *testing.T) {
	play(t, nil, nil, func(s *stage) {
		s.engine.mu.Lock()
		s.engine.slow = 2 * slowInspection
		s.engine.mu.Unlock()
		id := s.engine.start(fakeContainer("slow", "198.51.100.7"))
		s.wait(3 * slowInspection)
		s.want("slow 198.51.100.7")
		s.engine.emit("update", id)
		s.wait(slowInspection + time.Second)
		s.engine.change(id, func(c *enginetypes.InspectResponse) { c.State.Status = enginetypes.StateExited })
		s.engine.emit("die", id)
		s.wait(3 * slowInspection)
		s.want()
		if count := s.engine.inspections()[id]; count > 3 {
			t.Errorf("it was inspected %d times, want 3", count)
		}
	})
}

// TestComposeNamesWithoutMeasure asserts that the length of names from labels is limited.
func TestComposeNamesWithoutMeasure(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	web := fakeContainer("web", "198.51.100.7", composeProject, long, composeService, long)
	play(t, nil, []*enginetypes.InspectResponse{web}, func(s *stage) { s.want("web 198.51.100.7") })
}

// TestLeavingWithWeights asserts that servers that are listed leave as well, but never all of them.
func TestLeavingWithWeights(t *testing.T) {
	weighed := func(name, address, weight string) *enginetypes.InspectResponse {
		return fakeContainer(name, address, "traefik.http.services.app.loadbalancer.server.weight", weight)
	}
	play(t, nil, nil, func(s *stage) {
		a, b := s.engine.start(weighed("a", "198.51.100.1", "3")), s.engine.start(weighed("b", "198.51.100.2", "1"))
		servers := func() (out []string) {
			synctest.Wait()
			for _, one := range s.config.HTTP.Services.Get("app").LoadBalancer.Servers {
				out = append(out, one.URL)
			}
			return out
		}
		s.engine.emit("kill", a, "signal", "15")
		if got := servers(); len(got) != 1 || got[0] != "http://198.51.100.2:80" {
			t.Errorf("servers are %v, want the one that stays", got)
		}
		s.engine.emit("kill", b, "signal", "15")
		if got := servers(); len(got) != 2 {
			t.Errorf("servers are %v, want both", got)
		}
	})
}
