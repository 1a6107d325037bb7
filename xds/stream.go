package xds

import (
	"context"
	"slices"
	"sync"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
)

// stream is the state of one stream. It implements the callbacks of both protocols, which are called on the stream's
// goroutine.
type stream struct {
	publisher *Publisher
	view      *view
	id        uint64
	address   string
	identity  string
	// namespaces are those that the client may see; nil for all.
	namespaces []string
	since      time.Time

	mu    sync.Mutex
	delta bool
	node  *corev3.Node
	types map[string]*subscription // by type URL
}

// subscription is the state of one type of a stream.
type subscription struct {
	names    map[string]struct{}
	sent     string // version
	nonce    string
	acked    string
	sentAt   time.Time
	ackedAt  time.Time
	notice   time.Time // of the change that was sent and is not acknowledged yet
	requests bool      // a request has not been answered yet
	rejected *Rejection
}

// Rejection is a response that a client has not accepted (NACK).
type Rejection struct {
	// Version is the version of the response.
	Version string `json:"version"`
	// Message is the client's error message.
	Message string `json:"message"`
	// Time is when it was received.
	Time time.Time `json:"time"`
}

// received notes the request of a client. It returns whether names were added that are no resources of the type. A
// state-of-the-world request with an expired nonce changes nothing.
func (s *stream) received(
	typeURL string, node *corev3.Node, nonce string, detail *status.Status, added, removed []string,
) (unknown bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if node != nil && s.node == nil {
		s.node = proto.CloneOf(node)
	}
	meter, kind := s.publisher.options.Meter, shortType(typeURL)
	one := s.types[typeURL]
	if one != nil && nonce != "" && nonce != one.nonce {
		meter.Expired(kind)
		if !s.delta {
			return false
		}
		nonce = ""
	}
	if one == nil {
		one = &subscription{names: map[string]struct{}{}, requests: true}
		s.types[typeURL] = one
	}
	for _, name := range added {
		if _, known := one.names[name]; !known {
			one.names[name], one.requests = struct{}{}, true
		}
	}
	for _, name := range removed {
		delete(one.names, name)
	}
	switch {
	case nonce == "":
	case detail != nil:
		one.rejected = &Rejection{Version: one.sent, Message: detail.GetMessage(), Time: time.Now()}
		meter.Rejected(kind)
		s.publisher.reject(typeURL, s.nodeID(), one.rejected)
	case one.acked != one.sent || one.ackedAt.Before(one.sentAt):
		one.acked, one.ackedAt, one.rejected = one.sent, time.Now(), nil
		s.publisher.accept(typeURL, s.nodeID())
		if !one.notice.IsZero() {
			meter.Acknowledged(one.ackedAt.Sub(one.notice))
			one.notice = time.Time{}
		}
	}
	return len(s.view.lacks(typeURL, added)) > 0
}

// responded notes a response that is about to be sent.
func (s *stream) responded(typeURL, version, nonce string, size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.types[typeURL]
	if one == nil {
		return
	}
	cause := "push"
	if one.requests {
		cause, one.requests = "request", false
	} else if typeURL == resource.EndpointType {
		one.notice = s.view.noticedAt(version)
	}
	one.sent, one.nonce, one.sentAt = version, nonce, time.Now()
	s.publisher.options.Meter.Sent(shortType(typeURL), cause, size)
}

// nodeID returns the id of the client's node. The caller holds the lock.
func (s *stream) nodeID() string { return s.node.GetId() }

// OnStreamOpen implements sotw.Callbacks.
func (s *stream) OnStreamOpen(context.Context, int64, string) error { return nil }

// OnStreamClosed implements sotw.Callbacks.
func (s *stream) OnStreamClosed(int64, *corev3.Node) {}

// OnStreamRequest implements sotw.Callbacks. The names of a request are all names of the type. For listeners and
// clusters a response contains all resources of the request, so a name that is missing from it does not exist; a
// request without a version always gets one, so the version of a request with an unknown name is dropped.
func (s *stream) OnStreamRequest(_ int64, request *discoveryv3.DiscoveryRequest) error {
	added, removed := s.differences(request.GetTypeUrl(), request.GetResourceNames())
	unknown := s.received(
		request.GetTypeUrl(), request.GetNode(), request.GetResponseNonce(), request.GetErrorDetail(), added, removed,
	)
	if request.GetErrorDetail() != nil { // A rejection is not answered, also where the client has accepted no version yet.
		request.VersionInfo = s.sentVersion(request.GetTypeUrl())
		return nil
	}
	full := request.GetTypeUrl() == resource.ListenerType || request.GetTypeUrl() == resource.ClusterType
	if unknown && full {
		request.VersionInfo = ""
	}
	return nil
}

// sentVersion returns the version of the last response of a type.
func (s *stream) sentVersion(typeURL string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.types[typeURL]; one != nil {
		return one.sent
	}
	return ""
}

// differences returns which names of a type are new, and which are gone.
func (s *stream) differences(typeURL string, names []string) (added, removed []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.types[typeURL]
	if one == nil {
		return names, nil
	}
	for _, name := range names {
		if _, known := one.names[name]; !known {
			added = append(added, name)
		}
	}
	if len(one.names)+len(added) == len(names) {
		return added, nil
	}
	for name := range one.names {
		if !slices.Contains(names, name) {
			removed = append(removed, name)
		}
	}
	return added, removed
}

// OnStreamResponse implements sotw.Callbacks.
func (s *stream) OnStreamResponse(
	_ context.Context, _ int64, _ *discoveryv3.DiscoveryRequest, response *discoveryv3.DiscoveryResponse,
) {
	s.responded(response.GetTypeUrl(), response.GetVersionInfo(), response.GetNonce(), proto.Size(response))
}

// OnDeltaStreamOpen implements delta.Callbacks.
func (s *stream) OnDeltaStreamOpen(context.Context, int64, string) error { return nil }

// OnDeltaStreamClosed implements delta.Callbacks.
func (s *stream) OnDeltaStreamClosed(int64, *corev3.Node) {}

// OnStreamDeltaRequest implements delta.Callbacks.
func (s *stream) OnStreamDeltaRequest(_ int64, request *discoveryv3.DeltaDiscoveryRequest) error {
	s.received(
		request.GetTypeUrl(), request.GetNode(), request.GetResponseNonce(), request.GetErrorDetail(),
		request.GetResourceNamesSubscribe(), request.GetResourceNamesUnsubscribe(),
	)
	return nil
}

// OnStreamDeltaResponse implements delta.Callbacks.
func (s *stream) OnStreamDeltaResponse(
	_ int64, _ *discoveryv3.DeltaDiscoveryRequest, response *discoveryv3.DeltaDiscoveryResponse,
) {
	s.responded(response.GetTypeUrl(), response.GetSystemVersionInfo(), response.GetNonce(), proto.Size(response))
}
