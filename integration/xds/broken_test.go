package xds

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	statusv3 "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// files are services of the publisher beside those of the cluster, the second of which cannot be published: gRPC
// clients would send their own host names to it.
func files() map[string]string {
	return map[string]string{"services.yaml": `
http:
  services:
    plain: {loadBalancer: {servers: [{url: "h2c://198.18.0.98:8080"}]}}
    renamed: {loadBalancer: {passHostHeader: false, servers: [{url: "h2c://198.18.0.98:8080"}]}}
`}
}

// publishes waits until an address is among the published endpoints, or is not.
func (f *field) publishes(address string, wanted bool) {
	f.t.Helper()
	management := harness.NewClient(f.t, harness.H1, f.publisher.Addr("traefik"), "localhost", nil)
	var text string
	until(f.t, func() bool {
		text = management.Get("/api/xds/resources?type=eds&search=polite").Text
		return strings.Contains(text, address) == wanted
	}, func() string { return fmt.Sprintf("%s is published: want %v: %.2000s", address, wanted, text) })
}

// brokenResources has a service that cannot be published, and a client that rejects what is published. Both are
// findings, and other clients are not affected.
func brokenResources(f *field) {
	f.during(func() {
		f.finds("NotPublished", "renamed@file")
		rejecting := reject(f.t)
		f.finds("RejectedByClient", "fussy")
		f.c.Scale("shop/polite", crew+1)
		for _, one := range f.clients {
			f.spread(one, "polite.shop", crew+1)
		}
		f.c.Scale("shop/polite", crew)
		f.settled(2 * crew)
		rejecting()
		f.publisher.Until("no finding of a client that is gone", func(r harness.Readiness) bool {
			return !slices.ContainsFunc(r.Verdicts, func(one harness.Finding) bool { return one.Code == "RejectedByClient" })
		})
	})
}

// finds waits for a finding of the publisher.
func (f *field) finds(code, object string) {
	f.t.Helper()
	f.publisher.Until(code, func(r harness.Readiness) bool {
		return slices.ContainsFunc(r.Verdicts, func(one harness.Finding) bool {
			return one.Code == code && strings.Contains(one.Name, object)
		})
	})
}

// reject subscribes to the endpoints of a Service and rejects them, as the client fussy, until it is stopped.
func reject(t testing.TB) (stop func()) {
	t.Helper()
	channel, err := grpc.NewClient("passthrough:///"+serverAddress, grpc.WithNoProxy(),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	stop = func() { cancel(); _ = channel.Close() }
	t.Cleanup(stop)
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(channel).StreamAggregatedResources(ctx)
	if err != nil {
		t.Fatal(err)
	}
	request := &discoveryv3.DiscoveryRequest{
		Node: &corev3.Node{Id: "fussy"}, TypeUrl: resource.ListenerType, ResourceNames: []string{"polite.shop:80"},
	}
	if err := stream.Send(request); err != nil {
		t.Fatal(err)
	}
	response, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	request.ResponseNonce = response.GetNonce()
	request.ErrorDetail = &statusv3.Status{Code: int32(codes.InvalidArgument), Message: "the listener is not wanted"}
	if err := stream.Send(request); err != nil {
		t.Fatal(err)
	}
	return stop
}

// namespaceIsDeleted deletes a namespace whose Service is called, and makes it again. Calls to it fail meanwhile, and
// others do not.
func namespaceIsDeleted(f *field) {
	manifests := []string{namespace("gone"), deployment("gone/web", "polite", "1")}
	f.c.Apply(manifests...)
	f.c.Deployed("gone/web")
	callers := map[string]call{"grpc-go xds": calls(dialXDS(f.t, "web.gone:80"))[unary]}
	for _, one := range f.clients {
		if l, ok := one.(*local); ok && l.name == "sluice xds" {
			callers[l.name] = l.calls("web.gone")[unary]
		}
	}
	f.during(func() {
		f.become(callers, true)
		f.c.DeleteNow("Namespace", "gone")
		f.become(callers, false)
		f.c.UntilAll("Pod", "gone", "none", func(pods []*unstructured.Unstructured) bool { return len(pods) == 0 })
		f.c.Until("Namespace", "gone", "gone", func(object *unstructured.Unstructured) bool { return object == nil })
		f.c.Apply(manifests...)
		f.c.Deployed("gone/web")
		f.become(callers, true)
	})
}

// become waits until calls of all callers succeed, or fail.
func (f *field) become(callers map[string]call, served bool) {
	f.t.Helper()
	for name, call := range callers {
		var last error
		until(f.t, func() bool {
			ctx, cancel := context.WithTimeout(f.t.Context(), patience)
			defer cancel()
			_, last = call(ctx)
			return (last == nil) == served
		}, func() string { return fmt.Sprintf("%s: served: want %v: %v", name, served, last) })
		f.t.Logf("%s: served: %v: %v", name, served, last)
	}
}

// roll rolls both Deployments and waits until their endpoints are new.
func (f *field) roll() {
	f.t.Helper()
	for _, service := range services() {
		f.c.Rollout("shop/" + service)
	}
	for _, service := range services() {
		f.c.Endpoints("shop/"+service, crew)
		for _, one := range f.clients {
			f.spread(one, service+".shop", crew)
		}
	}
}
