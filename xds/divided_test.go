package xds_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"

	"github.com/sluiceproxy/sluice/dynamic"
)

const dividedKey = "k/shop/web:80"

// division returns how the set dividedKey is divided by tags.
func division(tags ...string) *dynamic.Environment {
	by := &dynamic.Environment{Service: dividedKey}
	by.SetDefaults()
	by.Default = "dev"
	for _, tag := range tags {
		by.Subsets = append(by.Subsets, dynamic.EnvironmentSubset{Tag: tag, Service: dividedKey + "#" + tag})
	}
	return by
}

// divide applies the set dividedKey with a division.
func (b *bubble) divide(by *dynamic.Environment) {
	b.publisher.Apply(dynamic.EndpointSet{
		Key: dividedKey, Environment: by, Endpoints: []dynamic.Endpoint{{Address: address}},
	})
}

// published returns the names of the resources of a kind.
func (b *bubble) published(kind string) (names []string) {
	synctest.Wait()
	all, _ := b.server.Resources("")
	for _, one := range all {
		if one.Type == kind {
			names = append(names, one.Name)
		}
	}
	slices.Sort(names)
	return names
}

// expect wants the resources of a kind to have these names.
func (b *bubble) expect(when, kind string, want ...string) {
	b.t.Helper()
	if got := b.published(kind); !slices.Equal(got, want) {
		b.t.Errorf("%s: %s %q, want %q", when, kind, got, want)
	}
}

// routeOf returns the RouteConfiguration of a response.
func routeOf(t *testing.T, response *discoveryv3.DeltaDiscoveryResponse) *routev3.VirtualHost {
	t.Helper()
	route := &routev3.RouteConfiguration{}
	if err := response.GetResources()[0].GetResource().UnmarshalTo(route); err != nil {
		t.Fatal(err)
	}
	return route.GetVirtualHosts()[0]
}

// TestASetIsDivided divides a set, changes its environments, and undoes it: routes change at once, and what they have
// led to stays for a while.
func TestASetIsDivided(t *testing.T) {
	inBubble(t, []string{dividedKey}, func(t *testing.T, b *bubble) {
		client := b.delta()
		client.subscribe(resource.RouteType, "web.shop:80")
		got := routeOf(t, client.expect([]string{"web.shop:80"}, nil))
		if len(got.GetRoutes()) != 1 || got.GetMetadata() != nil {
			t.Errorf("%v, want one route", got)
		}
		b.divide(division("dev"))
		client.nothing("the set of the environment has not arrived")
		b.expect("before the set has arrived", "cds", "web.shop:80")
		b.set(dividedKey+"#dev", address)
		if got := routeOf(t, client.expect([]string{"web.shop:80"}, nil)); len(got.GetRoutes()) != 5 {
			t.Errorf("%d routes, want those of an environment", len(got.GetRoutes()))
		}
		b.expect("divided", "lds", "web.shop.svc.cluster.local:80", "web.shop:80")
		b.expect("divided", "cds", "web.shop:80", "web.shop:80#dev")
		pass(11 * time.Second)
		b.expect("later", "cds", "web.shop:80#dev")
		b.expect("later", "eds", dividedKey+"#dev")

		by := division("dev", "dev.a")
		b.set(dividedKey+"#dev.a", netip.MustParseAddrPort("192.0.2.2:80"))
		client.nothing("an environment that is not declared")
		b.divide(by)
		client.expect([]string{"web.shop:80"}, nil)
		b.expect("another environment", "cds", "web.shop:80#dev", "web.shop:80#dev.a")
		b.divide(by)
		client.nothing("the same division")

		endpoints := b.delta()
		endpoints.subscribe(resource.EndpointType, dividedKey+"#dev.a")
		endpoints.expect([]string{dividedKey + "#dev.a"}, nil)
		b.divide(nil)
		b.remove(dividedKey + "#dev")
		b.remove(dividedKey + "#dev.a")
		if got := routeOf(t, client.expect([]string{"web.shop:80"}, nil)); len(got.GetRoutes()) != 1 {
			t.Errorf("%v, want one route again", got)
		}
		endpoints.nothing("clients still have the old route")
		b.expect("whole again", "cds", "web.shop:80", "web.shop:80#dev", "web.shop:80#dev.a")
		pass(11 * time.Second)
		b.expect("later", "cds", "web.shop:80")
		b.expect("later", "eds", dividedKey)
	})
}

// TestADividedSetIsRemoved deletes a divided set: nothing stays of it.
func TestADividedSetIsRemoved(t *testing.T) {
	inBubble(t, []string{dividedKey + "#dev"}, func(_ *testing.T, b *bubble) {
		by := division("dev")
		by.Fallback = dynamic.FallbackAny
		b.divide(by)
		b.expect("divided", "cds", "web.shop:80", "web.shop:80#dev")
		b.expect("divided", "eds", dividedKey, dividedKey+"#dev")
		b.remove(dividedKey)
		b.remove(dividedKey + "#dev")
		b.expect("removed", "lds")
		b.expect("removed", "rds")
		pass(11 * time.Second)
		b.expect("later", "cds")
		b.expect("later", "eds")
	})
}

// TestNothingAnswers divides a set so that nothing answers some tags: clients get a cluster without endpoints for
// these, as long as there are such tags.
func TestNothingAnswers(t *testing.T) {
	inBubble(t, []string{dividedKey + "#dev"}, func(t *testing.T, b *bubble) {
		by := division("dev")
		by.Fallback = dynamic.FallbackReject
		b.divide(by)
		b.expect("reject", "cds", "web.shop:80#dev", "web.shop:80,none")
		client := b.delta()
		client.subscribe(resource.EndpointType, "web.shop:80,none")
		response := client.expect([]string{"web.shop:80,none"}, nil)
		assignment := &endpointv3.ClusterLoadAssignment{}
		if err := response.GetResources()[0].GetResource().UnmarshalTo(assignment); err != nil {
			t.Fatal(err)
		}
		if len(assignment.GetEndpoints()) != 0 {
			t.Errorf("the endpoints are %v, want none", assignment.GetEndpoints())
		}
		b.divide(division("dev"))
		pass(11 * time.Second)
		b.expect("default", "cds", "web.shop:80#dev")
		b.expect("default", "eds", dividedKey+"#dev")
		b.divide(by)
		b.expect("reject again", "eds", dividedKey+"#dev", "web.shop:80,none")
		b.remove(dividedKey)
		pass(11 * time.Second)
		b.expect("removed", "eds")
	})
}

// TestADivisionIsNotPublished divides a set by a header that clients do not route by: the host goes, with a reason,
// until the division changes.
func TestADivisionIsNotPublished(t *testing.T) {
	inBubble(t, []string{dividedKey, dividedKey + "#dev"}, func(t *testing.T, b *bubble) {
		b.expect("whole", "rds", "web.shop:80")
		odd := division("dev")
		odd.Header = "X-Env-Bin"
		b.divide(odd)
		b.expect("divided", "rds")
		verdicts := b.publisher.Verdicts()
		if len(verdicts) != 1 || verdicts[0].Ref != (dynamic.Ref{Kind: dynamic.KindSource, Name: "xds web.shop:80"}) ||
			verdicts[0].Code != dynamic.CodeNotPublished || !strings.Contains(verdicts[0].Reason, `the header "X-Env-Bin"`) {
			t.Errorf("the verdicts are %v", verdicts)
		}
		b.divide(division("dev"))
		b.expect("divided by another header", "rds", "web.shop:80")
		b.divide(odd)
		b.expect("divided again", "rds")
		b.remove(dividedKey)
		synctest.Wait()
		if verdicts := b.publisher.Verdicts(); len(verdicts) != 0 {
			t.Errorf("the verdicts are %v, want none on a set that is gone", verdicts)
		}
	})
}

// TestAnotherClusterHasADividedSet has two clusters with a Service, of which one divides it.
func TestAnotherClusterHasADividedSet(t *testing.T) {
	inBubble(t, []string{"l/shop/web:80", dividedKey + "#dev"}, func(_ *testing.T, b *bubble) {
		b.expect("alone", "eds", "l/shop/web:80")
		b.divide(division("dev"))
		b.expect("both", "cds", "web.shop:80", "web.shop:80#dev")
		pass(11 * time.Second)
		b.expect("the first one", "cds", "web.shop:80#dev")
		b.remove(dividedKey)
		b.expect("the other one again", "rds", "web.shop:80")
		pass(11 * time.Second)
		b.expect("the other one alone", "cds", "web.shop:80")
		b.expect("the other one alone", "eds", "l/shop/web:80")
	})
}
