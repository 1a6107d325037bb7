package xds_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/immutable"
	"github.com/sluiceproxy/sluice/pipeline"
	"github.com/sluiceproxy/sluice/provider"
	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/xds"
)

// assignments returns the EDS resources of a response.
func assignments(t *testing.T, response *discoveryv3.DiscoveryResponse) []*endpointv3.ClusterLoadAssignment {
	t.Helper()
	var all []*endpointv3.ClusterLoadAssignment
	for _, packed := range response.GetResources() {
		one := &endpointv3.ClusterLoadAssignment{}
		if err := packed.UnmarshalTo(one); err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	return all
}

// TestTheSuccessorOfASetTakesOver deletes the set of one cluster where another cluster has the Service too: a client
// gets the other cluster's endpoints, and never none.
func TestTheSuccessorOfASetTakesOver(t *testing.T) {
	w := start(t, xds.ServerOptions{})
	w.set("a/shop/web:80", address)
	w.set("b/shop/web:80", address)
	w.ready()
	endpoints, clusters := w.stream(), w.stream()
	endpoints.request(resource.EndpointType, "a/shop/web:80")
	endpoints.receive()
	endpoints.request(resource.EndpointType, "a/shop/web:80")
	clusters.request(resource.ClusterType, "web.shop:80")
	clusters.receive()
	clusters.request(resource.ClusterType, "web.shop:80")
	w.remove("a/shop/web:80")
	clusters.receive() // Names the other set.
	endpoints.request(resource.EndpointType, "a/shop/web:80", "b/shop/web:80")
	if got := assignments(t, endpoints.receive()); len(got) != 1 || got[0].GetClusterName() != "b/shop/web:80" {
		t.Errorf("%v, want the endpoints of the other set alone", got)
	}
}

// quiet is a publisher in a bubble of synctest, without a network.
func quiet(t *testing.T, state *pipeline.State, views ...[]string) (*xds.Publisher, *xds.Server) {
	t.Helper()
	publisher := xds.NewPublisher(xds.Options{
		State: func() *pipeline.State { return state }, Logger: telemetry.Discard{}, Views: views, Started: time.Now(),
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		publisher.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return publisher, xds.NewServer(publisher, xds.ServerOptions{MaxStreams: 1})
}

// TestClustersStayForAWhile removes a set: routes go at once, clusters and endpoints ten seconds later, also when the
// set was there again in between.
func TestClustersStayForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		state := &pipeline.State{State: provider.State{Changed: make(chan struct{})}, Ready: true}
		publisher, server := quiet(t, state)
		count := func(kind string) (n int) {
			synctest.Wait()
			resources, _ := server.Resources("")
			for _, one := range resources {
				if one.Type == kind {
					n++
				}
			}
			return n
		}
		set := dynamic.EndpointSet{Key: "k/shop/web:80", Endpoints: []dynamic.Endpoint{{Address: address}}}
		gone := dynamic.EndpointSet{Key: "k/shop/web:80", Deleted: true}
		publisher.Apply(set)
		if count("lds") != 2 {
			t.Fatal("the set is not published")
		}
		publisher.Apply(gone)
		if count("lds") != 0 || count("cds") != 1 || count("eds") != 1 {
			t.Error("clusters and endpoints go with the listeners")
		}
		<-time.After(5 * time.Second) //nolint:forbidigo // a clock that costs no time
		publisher.Apply(set)
		synctest.Wait()
		publisher.Apply(gone)
		<-time.After(9 * time.Second) //nolint:forbidigo // a clock that costs no time
		if count("cds") != 1 || count("eds") != 1 {
			t.Error("an earlier removal shortens the delay")
		}
		<-time.After(2 * time.Second) //nolint:forbidigo // a clock that costs no time
		if count("cds") != 0 || count("eds") != 0 {
			t.Error("clusters and endpoints stay for longer than the delay")
		}
	})
}

// TestAServiceMovesToAnotherNamespace declares a service in another namespace: who is bound to the first one does not
// see it any more, but keeps its cluster and endpoints for a while.
func TestAServiceMovesToAnotherNamespace(t *testing.T) {
	w := start(t, xds.ServerOptions{Authenticator: bound{"shop"}}, []string{"shop"})
	services := map[string]*dynamic.Service{"cart@kubernetescrd": servers("wrr")}
	declare := func(namespace string) {
		ref := dynamic.Ref{Kind: dynamic.KindService, Name: "cart"}
		own := &dynamic.Configuration{Origins: immutable.Of(map[dynamic.Ref]dynamic.Origin{
			ref: {Resource: &dynamic.Resource{Namespace: namespace}},
		})}
		w.publish(services, map[string]*dynamic.Configuration{"kubernetescrd": own})
	}
	declare("shop")
	s := w.stream()
	s.request(resource.ListenerType, "cart@kubernetescrd")
	if got := len(s.receive().GetResources()); got != 1 {
		t.Fatalf("%d listeners, want that of the namespace", got)
	}
	s.request(resource.ListenerType, "cart@kubernetescrd")
	declare("other")
	if got := len(s.receive().GetResources()); got != 0 {
		t.Errorf("%d listeners, want none", got)
	}
	s.request(resource.ClusterType, "cart@kubernetescrd")
	if got := len(s.receive().GetResources()); got != 1 {
		t.Errorf("%d clusters, want the one that is kept for a while", got)
	}
}
