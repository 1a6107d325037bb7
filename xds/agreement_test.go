package xds_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/xds"
)

// subscriber is a client that keeps what it gets.
type subscriber struct {
	names map[string][]string // by type URL
	// rejects says whether the client rejects its next response.
	rejects func() bool

	mu   sync.Mutex
	seen map[string]map[string]string // encoded resources by type URL and name
	// held are the versions of the same resources, of an incremental client; nil for one of the other protocol.
	held map[string]map[string]string
}

func newSubscriber(names map[string][]string, rejects func() bool) *subscriber {
	return &subscriber{names: names, rejects: rejects, seen: map[string]map[string]string{}}
}

// newIncremental returns an incremental client.
func newIncremental(names map[string][]string, rejects func() bool) *subscriber {
	s := newSubscriber(names, rejects)
	s.held = map[string]map[string]string{}
	for typeURL := range names {
		s.seen[typeURL], s.held[typeURL] = map[string]string{}, map[string]string{}
	}
	return s
}

// put keeps a resource.
func (s *subscriber) put(t *testing.T, typeURL string, packed interface{ UnmarshalNew() (proto.Message, error) }) {
	message, err := packed.UnmarshalNew()
	if err != nil {
		t.Error(err)
		return
	}
	s.seen[typeURL][cache.GetResourceName(message)] = encoded(t, message)
}

func encoded(t *testing.T, message proto.Message) string {
	text, err := proto.MarshalOptions{Deterministic: true}.Marshal(message)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

// view returns a copy of what the client has.
func (s *subscriber) view() map[string]map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]map[string]string{}
	for typeURL, resources := range s.seen {
		all[typeURL] = maps.Clone(resources)
	}
	return all
}

// world follows a state-of-the-world stream until ctx ends.
func (s *subscriber) world(ctx context.Context, t *testing.T, w *world) {
	channel := w.raw()
	defer func() { _ = channel.Close() }()
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(channel).StreamAggregatedResources(ctx)
	if err != nil {
		return
	}
	for typeURL, names := range s.names {
		_ = stream.Send(&discoveryv3.DiscoveryRequest{TypeUrl: typeURL, ResourceNames: names})
	}
	for {
		response, err := stream.Recv()
		if err != nil {
			return
		}
		typeURL := response.GetTypeUrl()
		request := &discoveryv3.DiscoveryRequest{
			TypeUrl: typeURL, ResourceNames: s.names[typeURL], ResponseNonce: response.GetNonce(),
			VersionInfo: response.GetVersionInfo(),
		}
		s.mu.Lock()
		if s.rejects() {
			request.VersionInfo, request.ErrorDetail = "", &rpcstatus.Status{Message: "no"}
		}
		// What is rejected is kept as well: the next version may not come, and the view is to be compared.
		if full := typeURL == resource.ListenerType || typeURL == resource.ClusterType; full || s.seen[typeURL] == nil {
			s.seen[typeURL] = map[string]string{}
		}
		for _, packed := range response.GetResources() {
			s.put(t, typeURL, packed)
		}
		s.mu.Unlock()
		_ = stream.Send(request)
	}
}

// delta follows an incremental stream until ctx ends. It begins with what the client has from earlier ones.
func (s *subscriber) delta(ctx context.Context, t *testing.T, w *world) {
	channel := w.raw()
	defer func() { _ = channel.Close() }()
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(channel).DeltaAggregatedResources(ctx)
	if err != nil {
		return
	}
	for typeURL, names := range s.names {
		_ = stream.Send(&discoveryv3.DeltaDiscoveryRequest{
			TypeUrl: typeURL, ResourceNamesSubscribe: names, InitialResourceVersions: maps.Clone(s.held[typeURL]),
		})
	}
	for {
		response, err := stream.Recv()
		if err != nil {
			return
		}
		typeURL := response.GetTypeUrl()
		request := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: typeURL, ResponseNonce: response.GetNonce()}
		s.mu.Lock()
		if s.rejects() {
			request.ErrorDetail = &rpcstatus.Status{Message: "no"}
		}
		for _, one := range response.GetResources() {
			s.put(t, typeURL, one.GetResource())
			s.held[typeURL][one.GetName()] = one.GetVersion()
		}
		for _, name := range response.GetRemovedResources() {
			delete(s.seen[typeURL], name)
			delete(s.held[typeURL], name)
		}
		s.mu.Unlock()
		_ = stream.Send(request)
	}
}

// TestClientsAgree edits sets and services at random while clients of both protocols reject responses and connect
// anew, with other names or with what they have: in the end all have what is published of their names.
func TestClientsAgree(t *testing.T) {
	const steps, clients = 300, 4
	random := rand.New(rand.NewPCG(1, 2))
	w := start(t, xds.ServerOptions{})
	w.complete(nil, nil)
	until(t, "streams are served", func() bool { return w.served(t.Context()) == nil })
	keys := []string{"a/shop/one:80", "b/shop/one:80", "a/shop/two:80", "a/other/three:80"}
	services := []string{"one@file", "two@file", "both@file"}
	typeURLs := map[string]string{
		resource.ListenerType: "lds", resource.RouteType: "rds", resource.ClusterType: "cds", resource.EndpointType: "eds",
	}
	possible := slices.Concat(keys, services, []string{"one.shop:80", "two.shop:80", "three.other:80", "absent"})
	all, stops := make([]*subscriber, clients), make([]func(), clients)
	run := func(i int) {
		one := all[i]
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		stops[i] = func() { cancel(); <-done }
		go func() {
			defer close(done)
			if one.held == nil {
				one.world(ctx, t, w)
			} else {
				one.delta(ctx, t, w)
			}
		}()
	}
	follow := func(i int) {
		names := map[string][]string{}
		for typeURL := range typeURLs {
			for _, name := range possible {
				if random.IntN(2) == 0 {
					names[typeURL] = append(names[typeURL], name)
				}
			}
			names[typeURL] = append(names[typeURL], "absent")
		}
		own := rand.New(rand.NewPCG(random.Uint64(), 1))
		rejects := func() bool { return own.IntN(5) == 0 }
		if all[i] = newSubscriber(names, rejects); i%2 == 1 {
			all[i] = newIncremental(names, rejects)
		}
		run(i)
	}
	for i := range clients {
		follow(i)
	}
	present := map[string]*dynamic.Service{}
	for range steps {
		switch key, name := keys[random.IntN(len(keys))], services[random.IntN(len(services))]; random.IntN(10) {
		case 0, 1, 2, 3, 4:
			var addresses []netip.AddrPort
			for range random.IntN(4) {
				addresses = append(addresses, netip.AddrPortFrom(address.Addr(), uint16(1+random.IntN(9)))) //nolint:gosec // small
			}
			w.set(key, addresses...)
		case 5:
			w.remove(key)
		case 6, 7:
			present = maps.Clone(present)
			if present[name] = servers([]string{"wrr", "leastrequest"}[random.IntN(2)]); name == "both@file" {
				present[name].LoadBalancer.EndpointSet = key
			}
			w.complete(present, nil)
		case 8:
			present = maps.Clone(present)
			delete(present, name)
			w.complete(present, nil)
		default:
			i := random.IntN(clients)
			stops[i]()
			if all[i].held != nil && random.IntN(2) == 0 {
				run(i)
			} else {
				follow(i)
			}
		}
		<-time.After(time.Duration(random.IntN(3)) * time.Millisecond) //nolint:forbidigo // edits come at different times
	}
	for i, one := range all {
		var missed string
		until(t, fmt.Sprintf("client %d has what is published", i), func() bool {
			missed = difference(one, w.published(t), typeURLs)
			return missed == ""
		})
	}
	for _, stop := range stops {
		stop()
	}
}

// published returns the published resources by type URL and name.
func (w *world) published(t *testing.T) map[string]map[string]string {
	t.Helper()
	all := map[string]map[string]string{}
	channel := w.raw()
	defer func() { _ = channel.Close() }() // Connections are bounded, and it may be asked for often.
	for _, typeURL := range []string{
		resource.ListenerType, resource.RouteType, resource.ClusterType, resource.EndpointType,
	} {
		stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(channel).StreamAggregatedResources(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		one := newSubscriber(nil, func() bool { return false })
		one.seen[typeURL] = map[string]string{}
		_ = stream.Send(&discoveryv3.DiscoveryRequest{TypeUrl: typeURL, ResourceNames: []string{"*"}})
		response, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		for _, packed := range response.GetResources() {
			one.put(t, typeURL, packed)
		}
		all[typeURL] = one.seen[typeURL]
		_ = stream.CloseSend()
	}
	return all
}

// difference returns the first name of which the client has not what is published. A state-of-the-world client is not
// told of routes and endpoints that are removed.
func difference(one *subscriber, published map[string]map[string]string, typeURLs map[string]string) string {
	seen := one.view()
	for typeURL, kind := range typeURLs {
		for _, name := range one.names[typeURL] {
			want, exists := published[typeURL][name]
			if exists && seen[typeURL][name] != want {
				return kind + " " + name
			}
			_, has := seen[typeURL][name]
			if told := one.held != nil || kind == "lds" || kind == "cds"; told && has && !exists {
				return kind + " " + name + " is gone"
			}
		}
	}
	return ""
}
