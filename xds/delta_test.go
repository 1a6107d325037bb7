package xds_test

import (
	"maps"
	"net/netip"
	"slices"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
)

var second = netip.MustParseAddrPort("192.0.2.2:80")

// versions returns the versions of the resources of a response.
func versions(response *discoveryv3.DeltaDiscoveryResponse) map[string]string {
	all := map[string]string{}
	for _, one := range response.GetResources() {
		all[one.GetName()] = one.GetVersion()
	}
	return all
}

// TestListenersAreRemovedFirst removes a Service that a client has, which has not acknowledged the listener yet: until
// it has, and the removal of the listener is sent, nothing is removed that the listener leads to.
func TestListenersAreRemovedFirst(t *testing.T) {
	inBubble(t, []string{"k/a/one:80"}, func(t *testing.T, b *bubble) {
		s := b.delta()
		names := map[string]string{resource.EndpointType: "k/a/one:80"}
		order := []string{resource.ListenerType, resource.RouteType, resource.ClusterType, resource.EndpointType}
		for _, typeURL := range order[:3] {
			names[typeURL] = "one.a:80"
		}
		var listener *discoveryv3.DeltaDiscoveryResponse
		for _, typeURL := range order {
			s.subscribe(typeURL, names[typeURL])
			response := s.next()
			if len(response.GetResources()) != 1 {
				t.Fatalf("%s: %v", typeURL, response)
			}
			if typeURL == resource.ListenerType {
				listener = response
			} else {
				s.acknowledge(response)
			}
		}
		b.remove("k/a/one:80")
		pass(time.Minute)
		for response := s.next(); response != nil; response = s.next() { // The endpoints may be empty before.
			if len(response.GetRemovedResources()) > 0 {
				t.Errorf("%s: %v is removed before the listener", response.GetTypeUrl(), response.GetRemovedResources())
			}
			s.acknowledge(response)
		}
		s.acknowledge(listener)
		var removed []string
		for response := s.next(); response != nil; response = s.next() {
			if !slices.Equal(response.GetRemovedResources(), []string{names[response.GetTypeUrl()]}) {
				t.Errorf("%v", response)
			}
			removed = append(removed, response.GetTypeUrl())
		}
		if !slices.Equal(removed, order) {
			t.Errorf("removed in the order %v, want %v", removed, order)
		}
	})
}

// TestAClientThatConnectsAgain names what it has from an earlier stream: what is the same is not sent, and what is gone
// is removed.
func TestAClientThatConnectsAgain(t *testing.T) {
	inBubble(t, []string{"k/a/one:80", "k/a/two:80", "k/a/three:80"}, func(t *testing.T, b *bubble) {
		s := b.delta()
		all := []string{"k/a/one:80", "k/a/three:80", "k/a/two:80"}
		s.subscribe(resource.EndpointType, all...)
		had := versions(s.expect(all, nil))
		s.subscribe(resource.ClusterType, "*")
		clusters := versions(s.expect([]string{"one.a:80", "three.a:80", "two.a:80"}, nil))
		b.set("k/a/two:80", second)
		s.expect([]string{"k/a/two:80"}, nil)
		b.remove("k/a/three:80")
		pass(time.Minute)
		again := b.delta()
		resume := func(typeURL string, versions map[string]string, names ...string) {
			t.Helper()
			again.send(&discoveryv3.DeltaDiscoveryRequest{
				TypeUrl: typeURL, ResourceNamesSubscribe: names, InitialResourceVersions: versions,
			})
		}
		resume(resource.EndpointType, had, all...)
		again.expect([]string{"k/a/two:80"}, []string{"k/a/three:80"})
		resume(resource.ClusterType, clusters, "*")
		again.expect(nil, []string{"three.a:80"})
		again.nothing("after everything")
	})
}

// TestNothingHasChangedMeanwhile connects again where everything is the same: a client of names gets no response, and
// one of everything an empty one, which says that it has everything. The next change is a push.
func TestNothingHasChangedMeanwhile(t *testing.T) {
	inBubble(t, []string{"k/a/one:80"}, func(t *testing.T, b *bubble) {
		s := b.delta()
		s.subscribe(resource.EndpointType, "k/a/one:80")
		had := versions(s.expect([]string{"k/a/one:80"}, nil))
		named, all := b.delta(), b.delta()
		for stream, name := range map[*deltaStream]string{named: "k/a/one:80", all: "*"} {
			stream.send(&discoveryv3.DeltaDiscoveryRequest{
				TypeUrl: resource.EndpointType, ResourceNamesSubscribe: []string{name}, InitialResourceVersions: maps.Clone(had),
			})
		}
		named.nothing("a client of names")
		all.expect(nil, nil)
		all.nothing("after the empty response")
		b.meter.causes = nil
		b.set("k/a/one:80", second)
		for _, stream := range []*deltaStream{s, named, all} {
			stream.expect([]string{"k/a/one:80"}, nil)
		}
		if want := []string{"push", "push", "push"}; !slices.Equal(b.meter.causes, want) {
			t.Errorf("the responses to the change count as %v", b.meter.causes)
		}
	})
}

// TestANameIsSubscribedAgain sends its resource again, whether or not it was unsubscribed in between.
func TestANameIsSubscribedAgain(t *testing.T) {
	inBubble(t, []string{"k/a/one:80"}, func(_ *testing.T, b *bubble) {
		s := b.delta()
		for range 2 {
			s.subscribe(resource.EndpointType, "k/a/one:80")
			s.expect([]string{"k/a/one:80"}, nil)
		}
		s.unsubscribe(resource.EndpointType, "k/a/one:80")
		b.set("k/a/one:80", second)
		s.nothing("a change after the end of the subscription")
		s.subscribe(resource.EndpointType, "k/a/one:80", "k/a/absent:80")
		s.expect([]string{"k/a/one:80"}, []string{"k/a/absent:80"})
		s.subscribe(resource.EndpointType, "k/a/absent:80")
		s.expect(nil, []string{"k/a/absent:80"})
	})
}

// TestNamesUnderAWildcard unsubscribes from names while everything is subscribed: the client gets to know whether they
// exist, and their changes.
func TestNamesUnderAWildcard(t *testing.T) {
	inBubble(t, []string{"k/a/one:80", "k/a/two:80"}, func(_ *testing.T, b *bubble) {
		s := b.delta()
		s.subscribe(resource.EndpointType, "*", "k/a/one:80", "k/a/absent:80")
		s.expect([]string{"k/a/one:80", "k/a/two:80"}, []string{"k/a/absent:80"})
		s.unsubscribe(resource.EndpointType, "k/a/one:80", "k/a/two:80", "k/a/absent:80")
		s.expect([]string{"k/a/one:80", "k/a/two:80"}, []string{"k/a/absent:80"})
		b.set("k/a/one:80", second)
		s.expect([]string{"k/a/one:80"}, nil)
		b.set("k/a/absent:80", second)
		s.expect([]string{"k/a/absent:80"}, nil)
	})
}

// TestAWildcardEnds unsubscribes from everything but a name while changes wait for an acknowledgement: only that of the
// name is sent.
func TestAWildcardEnds(t *testing.T) {
	inBubble(t, []string{"k/a/one:80", "k/a/two:80", "k/a/three:80"}, func(t *testing.T, b *bubble) {
		s := b.delta()
		s.subscribe(resource.EndpointType, "*", "k/a/one:80")
		first := s.next()
		if len(first.GetResources()) != 3 {
			t.Fatalf("%v", first)
		}
		b.set("k/a/one:80", second)
		b.set("k/a/two:80", second)
		b.remove("k/a/three:80")
		pass(time.Minute)
		s.unsubscribe(resource.EndpointType, "*")
		s.acknowledge(first)
		s.expect([]string{"k/a/one:80"}, nil)
		b.set("k/a/two:80", address)
		s.nothing("a change of another name")
	})
}
