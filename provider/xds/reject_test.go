package xds_test

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	typeurl "github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/xds/resource"
)

// scripted is an xDS server whose resources the test gives it. It answers each subscription once, and sends what push
// adds.
type scripted struct {
	discoveryv3.UnimplementedAggregatedDiscoveryServiceServer

	address    string
	mu         sync.Mutex
	resources  map[string]map[string]proto.Message // by type URL and name
	pushes     chan *discoveryv3.DeltaDiscoveryResponse
	rejections chan string
}

// DeltaAggregatedResources serves one stream.
func (s *scripted) DeltaAggregatedResources(
	stream discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer,
) error {
	requests := make(chan *discoveryv3.DeltaDiscoveryRequest)
	go func() {
		defer close(requests)
		for {
			request, err := stream.Recv()
			if err != nil {
				return
			}
			requests <- request
		}
	}()
	for {
		select {
		case request, open := <-requests:
			if !open {
				return nil
			}
			if request.GetErrorDetail() != nil {
				s.rejections <- request.GetErrorDetail().GetMessage()
			}
			if err := s.answer(stream, request); err != nil {
				return err
			}
		case push := <-s.pushes:
			if err := stream.Send(push); err != nil {
				return err
			}
		}
	}
}

func (s *scripted) answer(
	stream discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer,
	request *discoveryv3.DeltaDiscoveryRequest,
) error {
	if len(request.GetResourceNamesSubscribe()) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	response := &discoveryv3.DeltaDiscoveryResponse{TypeUrl: request.GetTypeUrl(), Nonce: "1"}
	for _, name := range request.GetResourceNamesSubscribe() {
		if content := s.resources[request.GetTypeUrl()][name]; content != nil {
			response.Resources = append(response.Resources, packed(name, content))
		} else {
			response.RemovedResources = append(response.RemovedResources, name)
		}
	}
	return stream.Send(response)
}

func packed(name string, content proto.Message) *discoveryv3.Resource {
	packed, _ := anypb.New(content) // The messages of the test are valid.
	return &discoveryv3.Resource{Name: name, Version: "1", Resource: packed}
}

// push sends a resource that has changed.
func (s *scripted) push(typeURL, name string, content proto.Message) {
	s.pushes <- &discoveryv3.DeltaDiscoveryResponse{
		TypeUrl: typeURL, Nonce: "2", Resources: []*discoveryv3.Resource{packed(name, content)},
	}
}

// serveScript serves the resources of services until the test ends.
func serveScript(t *testing.T, services map[string]*dynamic.Service) *scripted {
	t.Helper()
	s := &scripted{
		pushes: make(chan *discoveryv3.DeltaDiscoveryResponse), rejections: make(chan string, 10),
		resources: map[string]map[string]proto.Message{
			typeurl.ListenerType: {}, typeurl.RouteType: {}, typeurl.ClusterType: {}, typeurl.EndpointType: {},
		},
	}
	for name, service := range services {
		bundle := bundleOf(t, name, service)
		s.resources[typeurl.ListenerType][name] = bundle.Listeners[0]
		s.resources[typeurl.RouteType][name] = bundle.Routes[0]
		s.resources[typeurl.ClusterType][name] = bundle.Clusters[0]
		s.resources[typeurl.EndpointType][name] = bundle.Assignments[0].Assignment(noSet)
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.address = listener.Addr().String()
	server := grpc.NewServer()
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(server, s)
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	t.Cleanup(func() {
		server.Stop()
		serving.Wait()
	})
	return s
}

// bundleOf returns the resources of a service.
func bundleOf(t *testing.T, name string, service *dynamic.Service) resource.Bundle {
	t.Helper()
	bundle, _, err := resource.OfService(name, service, func(string) *dynamic.Service { return nil })
	if err != nil {
		t.Fatal(err)
	}
	return bundle
}

// noSet says that there is no endpoint set.
func noSet(string) (dynamic.EndpointSet, bool) { return dynamic.EndpointSet{}, false }

// odd returns a cluster with an option that is not read.
func odd(cluster *clusterv3.Cluster) *clusterv3.Cluster {
	changed := proto.CloneOf(cluster)
	changed.ConnectTimeout = durationpb.New(1)
	return changed
}

// TestWhatIsNotReadIsRejected changes a cluster to one with an option that is not read: the server gets a rejection
// that names the field, the provider has a verdict, and the last cluster stays in use.
func TestWhatIsNotReadIsRejected(t *testing.T) {
	service := servers("192.0.2.1:80")
	s := serveScript(t, map[string]*dynamic.Service{"a@file": service})
	cluster := bundleOf(t, "a@file", service).Clusters[0]
	r := run(t, s.address, func(config *static.XDSProvider) { config.Names = []string{"a@file"} })
	before := r.synced().service("a.file")
	if before == nil {
		t.Fatal("there is no service")
	}
	s.push(typeurl.ClusterType, "a@file", odd(cluster))
	const want = "a@file: the field connect_timeout is not supported"
	if rejection := <-s.rejections; !strings.Contains(rejection, want) {
		t.Errorf("the server gets %q, want %q", rejection, want)
	}
	last := r.until("a verdict", func(s sent) bool { return len(s.configuration.Verdicts) == 1 })
	verdict := last.configuration.Verdicts[0]
	if verdict.Ref.Name != "xds cluster a@file" || !strings.Contains(verdict.Reason, "the last one stays in use") {
		t.Errorf("the verdict is %s", verdict)
	}
	if last.service("a.file") != before {
		t.Error("the service has changed")
	}

	s.push(typeurl.ClusterType, "a@file", cluster)
	r.until("no verdict", func(s sent) bool { return len(s.configuration.Verdicts) == 0 })
	if known, err := r.Discover(context.WithoutCancel(t.Context()), "a.b", 80); known || err != nil {
		t.Errorf("another host: %v %v", known, err)
	}
}
