package docker

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	enginetypes "github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/events"
	"github.com/moby/moby/api/types/network"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/providertest"
)

// stage is a provider that runs on a fake engine, with all its messages.
type stage struct {
	t        *testing.T
	engine   *fakeEngine
	provider *Provider

	mu       sync.Mutex // The fields below are also used by the receiver of messages.
	messages []dynamic.Message
	config   *dynamic.Configuration
	sets     map[string]dynamic.EndpointSet
}

// play runs a test in a bubble of time; the containers are there from the beginning.
func play(t *testing.T, options map[string]any, containers []*enginetypes.InspectResponse, test func(*stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &stage{
			t: t, engine: newFakeEngine(), provider: newTestProvider(t, options),
			sets: map[string]dynamic.EndpointSet{},
		}
		s.provider.connect = s.engine.connect
		s.provider.resolve = func(context.Context) netip.Addr { return netip.MustParseAddr("192.0.2.1") }
		for _, one := range containers {
			s.engine.put(one)
		}
		s.run(func() { test(s) })
		s.engine.check(t)
	})
}

func (s *stage) run(during func()) {
	ctx, cancel := context.WithCancel(s.t.Context())
	messages, done, taken := make(chan dynamic.Message), make(chan error, 1), make(chan struct{})
	go func() {
		done <- s.provider.Provide(ctx, messages)
		close(messages)
	}()
	go func() {
		defer close(taken)
		for message := range messages {
			s.take(message)
		}
	}()
	synctest.Wait()
	during()
	cancel()
	if err := <-done; err != nil {
		s.t.Errorf("Provide: %v", err)
	}
	<-taken
}

func (s *stage) take(message dynamic.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.messages = append(s.messages, message)
	if message.Configuration != nil {
		s.config = message.Configuration
	}
	for _, set := range message.Endpoints {
		if set.Deleted {
			delete(s.sets, set.Key)
		} else {
			s.sets[set.Key] = set
		}
	}
}

// news returns the messages since the last call, when the provider is at rest.
func (s *stage) news() []dynamic.Message {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.messages
	s.messages = nil
	return out
}

// wait lets time go by.
func (s *stage) wait(d time.Duration) {
	timer := time.NewTimer(d)
	<-timer.C
	synctest.Wait()
}

// want checks the routers and the addresses of their services.
func (s *stage) want(lines ...string) {
	s.t.Helper()
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	var got []string
	if s.config != nil {
		for _, name := range slices.Sorted(s.config.HTTP.Routers.Keys()) {
			line := name
			for _, endpoint := range s.sets["docker/"+s.config.HTTP.Routers.Get(name).Service].Endpoints {
				line += " " + endpoint.Address.Addr().String()
				if endpoint.Terminating {
					line += " (leaving)"
				}
			}
			got = append(got, line)
		}
	}
	if diff := cmp.Diff(lines, got); diff != "" {
		s.t.Errorf("routers (-want +got):\n%s", diff)
	}
}

func TestFirstState(t *testing.T) {
	play(t, nil, nil, func(s *stage) {
		first := s.news()
		if len(first) != 1 || first[0].Configuration == nil || first[0].State != dynamic.StateSynced ||
			first[0].Provider != Name {
			t.Errorf("the first messages are %+v, want one empty state", first)
		}
	})
}

func TestEvents(t *testing.T) {
	web := fakeContainer("web", "198.51.100.7")
	other := fakeContainer("other", "198.51.100.8")
	play(t, nil, []*enginetypes.InspectResponse{web, other}, func(s *stage) {
		s.want("other 198.51.100.8", "web 198.51.100.7")
		s.engine.inspections()
		id := s.engine.start(fakeContainer("late", "198.51.100.9"))
		s.want("late 198.51.100.9", "other 198.51.100.8", "web 198.51.100.7")
		if diff := cmp.Diff(map[string]int{id: 1}, s.engine.inspections()); diff != "" {
			t.Errorf("inspected (-want +got):\n%s", diff)
		}
		s.engine.change(id, func(c *enginetypes.InspectResponse) { c.State.Status = enginetypes.StatePaused })
		s.engine.emit("pause", id)
		s.want("other 198.51.100.8", "web 198.51.100.7")
		s.engine.change(id, func(c *enginetypes.InspectResponse) { c.State.Status = enginetypes.StateRunning })
		s.engine.emit("unpause", id)
		s.want("late 198.51.100.9", "other 198.51.100.8", "web 198.51.100.7")
		s.engine.change(id, func(c *enginetypes.InspectResponse) { c.Name = "/early" })
		s.engine.emit("rename", id)
		s.want("early 198.51.100.9", "other 198.51.100.8", "web 198.51.100.7")
		s.engine.change(id, func(c *enginetypes.InspectResponse) {
			c.State.Health = &enginetypes.Health{Status: "unhealthy"}
		})
		s.engine.emit("health_status: unhealthy", id)
		s.want("other 198.51.100.8", "web 198.51.100.7")
		s.engine.change(id, func(c *enginetypes.InspectResponse) { c.State.Health = &enginetypes.Health{Status: "healthy"} })
		s.engine.emit("health_status: healthy", id)
		s.want("early 198.51.100.9", "other 198.51.100.8", "web 198.51.100.7")
		s.engine.change(id, func(c *enginetypes.InspectResponse) {
			c.NetworkSettings = &enginetypes.NetworkSettings{
				Ports:    c.NetworkSettings.Ports,
				Networks: map[string]*network.EndpointSettings{"a": {IPAddress: netip.MustParseAddr("203.0.113.9")}},
			}
		})
		s.engine.send(events.Message{
			Type: events.NetworkEventType, Action: "connect",
			Actor: events.Actor{ID: "network", Attributes: map[string]string{"container": id}},
		})
		s.want("early 203.0.113.9", "other 198.51.100.8", "web 198.51.100.7")
		s.engine.remove(id)
		s.engine.emit("die", id)
		s.engine.emit("destroy", id)
		s.want("other 198.51.100.8", "web 198.51.100.7")
		if got := s.engine.inspections(); got[web.ID]+got[other.ID] != 0 {
			t.Error("containers were inspected that no event has named")
		}
	})
}

func TestEventsThatSayNothing(t *testing.T) {
	web := fakeContainer("web", "198.51.100.7")
	play(t, nil, []*enginetypes.InspectResponse{web}, func(s *stage) {
		s.news()
		s.engine.inspections()
		s.engine.emit("exec_create: /bin/true", web.ID)
		s.engine.emit("kill", web.ID, "signal", "1")
		s.engine.send(events.Message{Type: events.NetworkEventType, Action: "connect"})
		if news := s.news(); len(news) != 0 {
			t.Errorf("messages = %+v, want none", news)
		}
		s.engine.emit("health_status: healthy", web.ID)
		if news := s.news(); len(news) != 0 || s.engine.inspections()[web.ID] != 1 {
			t.Errorf("messages = %+v, want none after one inspection", news)
		}
	})
}

func replica(number int) *enginetypes.InspectResponse {
	return fakeContainer(fmt.Sprintf("shop_web_%d", number), fmt.Sprintf("198.51.100.%d", number),
		composeProject, "shop", composeService, "web", "traefik.http.routers.shop.rule", "Host(`shop.example`)")
}

func TestScalingTouchesNoConfiguration(t *testing.T) {
	play(t, nil, []*enginetypes.InspectResponse{replica(1)}, func(s *stage) {
		s.want("shop 198.51.100.1")
		before := s.config
		s.news()
		second := s.engine.start(replica(2))
		news := s.news()
		if len(news) != 1 || news[0].Configuration != nil || len(news[0].Endpoints) != 1 ||
			news[0].Endpoints[0].Noticed.IsZero() {
			t.Errorf("messages = %+v, want one with endpoints alone", news)
		}
		s.want("shop 198.51.100.1 198.51.100.2")
		first := s.engine.put(replica(1)) // another incarnation at the same address
		s.engine.remove(first)
		for id := range s.engine.containers {
			if id != second {
				s.engine.remove(id)
				s.engine.emit("die", id)
			}
		}
		s.want("shop 198.51.100.2")
		if s.config != before {
			t.Error("the configuration is another one though only endpoints have changed")
		}
		if uid := s.sets["docker/web-shop"].Endpoints[0].UID; uid != second {
			t.Errorf("the endpoint's uid is %s, want the container's id", uid)
		}
	})
}

func TestLeavingContainers(t *testing.T) {
	quitting := replica(3)
	quitting.Config.StopSignal = "SIGQUIT"
	play(t, nil, []*enginetypes.InspectResponse{replica(1), replica(2), quitting}, func(s *stage) {
		s.news()
		ids := map[string]string{}
		for id, one := range s.engine.containers {
			ids[one.Name] = id
		}
		s.engine.emit("kill", ids["/shop_web_2"], "signal", "15")
		s.engine.emit("kill", ids["/shop_web_3"], "signal", "15")
		s.want("shop 198.51.100.1 198.51.100.2 (leaving) 198.51.100.3")
		s.engine.emit("kill", ids["/shop_web_3"], "signal", "3")
		s.want("shop 198.51.100.1 198.51.100.2 (leaving) 198.51.100.3 (leaving)")
		s.engine.emit("start", ids["/shop_web_2"])
		s.want("shop 198.51.100.1 198.51.100.2 198.51.100.3 (leaving)")
		s.wait(grace + 2*heartbeat)
		s.want("shop 198.51.100.1 198.51.100.2 198.51.100.3")
	})
}

func TestConnectionLost(t *testing.T) {
	web, doomed := fakeContainer("web", "198.51.100.7"), fakeContainer("doomed", "198.51.100.8")
	play(t, nil, []*enginetypes.InspectResponse{web, doomed}, func(s *stage) {
		s.news()
		before := s.config.HTTP.Routers.Get("web")
		s.engine.cut(errors.New("no listener"))
		s.wait(time.Minute)
		news := s.news()
		if len(news) != 1 || news[0].State != dynamic.StateSynced || !strings.Contains(news[0].Reason, "can't be read") {
			// The first reason is that of the stream, the second that of the attempts.
			if len(news) != 2 || !strings.Contains(news[1].Reason, "no listener") {
				t.Errorf("messages = %+v, want the reason once", news)
			}
		}
		s.want("doomed 198.51.100.8", "web 198.51.100.7")
		s.engine.remove(doomed.ID)
		s.engine.put(fakeContainer("fresh", "198.51.100.9"))
		s.engine.cut(nil)
		s.wait(lastDelay)
		s.want("fresh 198.51.100.9", "web 198.51.100.7")
		if s.config.HTTP.Routers.Get("web") != before {
			t.Error("a router that has not changed has another pointer after the resync")
		}
		news = s.news()
		if last := news[len(news)-1]; last.State != dynamic.StateSynced || last.Reason != "" {
			t.Errorf("the last message is %+v, want synced without a reason", last)
		}
	})
}

func TestReconnectsFastAndBacksOff(t *testing.T) {
	play(t, nil, nil, func(s *stage) {
		s.engine.put(fakeContainer("web", "198.51.100.7"))
		s.engine.cut(nil)
		s.wait(firstDelay)
		s.want("web 198.51.100.7")
		s.engine.cut(errCut)
		s.wait(10 * time.Minute)
		s.engine.mu.Lock()
		attempts := s.engine.refused
		s.engine.mu.Unlock()
		if attempts < 60 || attempts > 140 {
			t.Errorf("%d attempts in ten minutes, want about 80", attempts)
		}
	})
}

func TestEventsAreRefused(t *testing.T) {
	play(t, nil, []*enginetypes.InspectResponse{fakeContainer("web", "198.51.100.7")}, func(s *stage) {
		s.engine.mu.Lock()
		s.engine.deaf, s.engine.connected = errors.New("forbidden by the proxy"), 0
		s.engine.mu.Unlock()
		s.engine.cut(nil)
		s.wait(10 * time.Minute)
		s.want("web 198.51.100.7")
		s.engine.mu.Lock()
		defer s.engine.mu.Unlock()
		if s.engine.connected < 60 || s.engine.connected > 140 {
			t.Errorf("%d connections in ten minutes, want about 80", s.engine.connected)
		}
	})
}

func TestNoChangeNoMessageAfterReconnect(t *testing.T) {
	play(t, nil, []*enginetypes.InspectResponse{fakeContainer("web", "198.51.100.7")}, func(s *stage) {
		s.news()
		before := s.config
		s.engine.cut(nil)
		s.wait(time.Second)
		for _, message := range s.news() {
			if message.Configuration != nil || len(message.Endpoints) != 0 {
				t.Errorf("message %+v says something anew", message)
			}
		}
		if s.config != before {
			t.Error("the configuration has another pointer")
		}
	})
}

func TestForbidden(t *testing.T) {
	play(t, nil, nil, func(s *stage) {
		s.engine.cut(fmt.Errorf("%w: /var/run/docker.sock", errDenied))
		s.wait(time.Second)
		news := s.news()
		if last := news[len(news)-1]; last.State != dynamic.StateForbidden || !strings.Contains(last.Reason,
			"permission denied") {
			t.Errorf("the last message is %+v, want forbidden", last)
		}
		s.engine.cut(nil)
		s.wait(lastDelay)
		news = s.news()
		if last := news[len(news)-1]; last.State != dynamic.StateSynced {
			t.Errorf("the last message is %+v, want synced", last)
		}
	})
}

func TestContainerThatCannotBeInspected(t *testing.T) {
	web := fakeContainer("web", "198.51.100.7")
	play(t, nil, []*enginetypes.InspectResponse{web, fakeContainer("other", "198.51.100.8")}, func(s *stage) {
		s.engine.mu.Lock()
		s.engine.broken[web.ID] = errors.New("the driver failed")
		s.engine.mu.Unlock()
		s.engine.emit("update", web.ID)
		s.want("other 198.51.100.8", "web 198.51.100.7")
		want := "container web: source web: it can't be inspected: the driver failed; its last state stays in use"
		if len(s.config.Verdicts) != 1 || strings.ReplaceAll(s.config.Verdicts[0].String(), `"`, "") != want {
			t.Errorf("verdicts = %v, want %s", s.config.Verdicts, want)
		}
		s.engine.mu.Lock()
		clear(s.engine.broken)
		s.engine.mu.Unlock()
		s.wait(heartbeat)
		s.want("other 198.51.100.8", "web 198.51.100.7")
		if len(s.config.Verdicts) != 0 {
			t.Errorf("verdicts = %v, want none any more", s.config.Verdicts)
		}
	})
}

func TestSlowInspectionDelaysNoOther(t *testing.T) {
	slow := fakeContainer("slow", "198.51.100.7")
	play(t, nil, []*enginetypes.InspectResponse{slow}, func(s *stage) {
		s.want("slow 198.51.100.7")
		answer := make(chan struct{})
		s.engine.mu.Lock()
		s.engine.hang[slow.ID] = answer
		s.engine.mu.Unlock()
		s.engine.change(slow.ID, func(c *enginetypes.InspectResponse) { c.State.Status = enginetypes.StatePaused })
		s.engine.emit("pause", slow.ID)
		s.engine.start(fakeContainer("other", "198.51.100.8"))
		s.wait(slowInspection)
		s.want("other 198.51.100.8", "slow 198.51.100.7")
		s.engine.mu.Lock()
		delete(s.engine.hang, slow.ID)
		s.engine.mu.Unlock()
		close(answer)
		s.want("other 198.51.100.8")
	})
}

func TestWithoutWatch(t *testing.T) {
	play(t, map[string]any{"watch": false}, []*enginetypes.InspectResponse{fakeContainer("web", "198.51.100.7")},
		func(s *stage) {
			s.engine.start(fakeContainer("late", "198.51.100.8"))
			s.wait(time.Hour)
			s.want("web 198.51.100.7")
			if s.engine.open != 0 {
				t.Error("the connection is still open")
			}
		})
}

func TestStartedAgain(t *testing.T) {
	play(t, nil, []*enginetypes.InspectResponse{fakeContainer("web", "198.51.100.7")}, func(s *stage) {
		s.want("web 198.51.100.7")
	})
	synctest.Test(t, func(t *testing.T) {
		s := &stage{t: t, engine: newFakeEngine(), provider: newTestProvider(t, nil), sets: map[string]dynamic.EndpointSet{}}
		s.provider.connect = s.engine.connect
		s.engine.put(fakeContainer("web", "198.51.100.7"))
		s.run(func() { s.want("web 198.51.100.7") })
		before := s.config.HTTP.Routers.Get("web")
		s.config, s.sets = nil, map[string]dynamic.EndpointSet{}
		s.run(func() { s.want("web 198.51.100.7") })
		if s.config.HTTP.Routers.Get("web") != before {
			t.Error("the router has another pointer after the provider was started again")
		}
	})
}

func TestHundredContainersLeaveNothing(t *testing.T) {
	play(t, nil, nil, func(s *stage) {
		for round := range 10 {
			var ids []string
			for i := range 10 {
				ids = append(ids, s.engine.start(fakeContainer(fmt.Sprintf("web-%d-%d", round, i), fmt.Sprintf("198.51.100.%d",
					i+1))))
			}
			if round%3 == 0 {
				s.engine.cut(nil)
			}
			for _, id := range ids {
				s.engine.remove(id)
				s.engine.emit("die", id)
			}
		}
		s.wait(time.Second)
		s.want()
		if len(s.sets) != 0 {
			t.Errorf("sets are left: %v", s.sets)
		}
	})
}

func TestRetainsTheSetOfAServiceThatIsListedNow(t *testing.T) {
	play(t, nil, []*enginetypes.InspectResponse{fakeContainer("a", "198.51.100.1",
		"traefik.http.services.app.loadbalancer.server.port", "80")}, func(s *stage) {
		s.news()
		id := s.engine.start(fakeContainer("b", "198.51.100.2", "traefik.http.services.app.loadbalancer.server.weight", "3"))
		s.want("a 198.51.100.1 198.51.100.2", "b 198.51.100.1 198.51.100.2")
		if app := s.config.HTTP.Services.Get("app").LoadBalancer; app.EndpointSet != "" || len(app.Servers) != 2 {
			t.Errorf("the load balancer is %+v, want two servers", app)
		}
		s.engine.remove(id)
		s.engine.emit("die", id)
		s.want("a 198.51.100.1")
		if balancer := s.config.HTTP.Services.Get("app").LoadBalancer; balancer.EndpointSet == "" {
			t.Error("the load balancer names no set any more")
		}
	})
}

func TestContract(t *testing.T) {
	providertest.Run(t, func(t *testing.T) providertest.Subject {
		fake := newFakeEngine()
		p := newTestProvider(t, nil)
		p.connect = fake.connect
		web := fakeContainer("web", "198.51.100.7")
		fake.put(web)
		fake.put(fakeContainer("other", "198.51.100.8"))
		return providertest.Subject{
			Provider: p,
			Change:   func(*testing.T) { fake.start(fakeContainer("late", "198.51.100.9")) },
			Break: func(*testing.T) {
				fake.mu.Lock()
				fake.broken[web.ID] = errors.New("broken")
				fake.mu.Unlock()
				fake.emit("update", web.ID)
			},
		}
	})
}
