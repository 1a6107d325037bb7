package xds

import (
	"context"
	"sync"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	// maxNames and maxNameBytes bound the names of one type of a stream.
	maxNames, maxNameBytes = 10_000, maxRequestBytes
	// maxUnknownTypes bounds the types of a stream that are not published.
	maxUnknownTypes = 16
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
	// typeURL is the type of a stream of one type, and resource.AnyType for an aggregated one.
	typeURL string

	mu      sync.Mutex
	delta   bool
	node    *corev3.Node
	types   map[string]*subscription // by type URL
	unknown map[string]struct{}      // type URLs that are not published
}

// OnStreamOpen implements sotw.Callbacks.
func (s *stream) OnStreamOpen(context.Context, int64, string) error { return nil }

// OnStreamClosed implements sotw.Callbacks.
func (s *stream) OnStreamClosed(int64, *corev3.Node) {}

// OnDeltaStreamOpen implements delta.Callbacks.
func (s *stream) OnDeltaStreamOpen(context.Context, int64, string) error { return nil }

// OnDeltaStreamClosed implements delta.Callbacks.
func (s *stream) OnDeltaStreamClosed(int64, *corev3.Node) {}

// OnStreamRequest implements sotw.Callbacks. The names of a request are all names of the type. For listeners and
// clusters a response contains all resources of the request, so a name that is missing from it does not exist; a
// request without a version always gets one, so the version of a request is dropped while a name waits for an answer.
func (s *stream) OnStreamRequest(_ int64, request *discoveryv3.DiscoveryRequest) error {
	detail, typeURL := request.GetErrorDetail(), request.GetTypeUrl()
	request.ErrorDetail, request.ResourceLocators = nil, nil // What is not used is not kept.
	request.ProtoReflect().SetUnknown(nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	one, err := s.subscriptionOf(request.GetNode(), typeURL)
	if one == nil {
		return err
	}
	nonce := request.GetResponseNonce()
	if nonce != "" && nonce != one.nonce {
		s.publisher.options.Meter.Expired(shortType(typeURL))
	}
	if one.expected != "" && nonce != one.expected {
		return nil // The implementation of the protocol ignores it.
	}
	one.expected = ""
	if len(request.GetResourceNames()) > maxNames {
		return tooManyNames()
	}
	s.view.share(typeURL, request.GetResourceNames())
	one.setNames(s.view, typeURL, request.GetResourceNames())
	switch {
	case nonce == "" || nonce != one.nonce:
	case detail != nil:
		s.rejected(typeURL, one, detail.GetMessage())
	case request.GetVersionInfo() == one.sent:
		s.acknowledged(typeURL, one)
	}
	switch {
	case one.unanswered:
		request.VersionInfo = ""
	case detail != nil: // A rejection is not answered, also where the client has accepted no version yet.
		request.VersionInfo = one.sent
	}
	return nil
}

// OnStreamDeltaRequest implements delta.Callbacks.
func (s *stream) OnStreamDeltaRequest(_ int64, request *discoveryv3.DeltaDiscoveryRequest) error {
	detail := request.GetErrorDetail()
	request.ErrorDetail, request.ResourceLocatorsSubscribe, request.ResourceLocatorsUnsubscribe = nil, nil, nil
	request.ProtoReflect().SetUnknown(nil)
	if request.GetTypeUrl() == "" {
		request.TypeUrl = s.typeURL
	}
	typeURL, nonce := request.GetTypeUrl(), request.GetResponseNonce()
	s.mu.Lock()
	defer s.mu.Unlock()
	one, err := s.subscriptionOf(request.GetNode(), typeURL)
	if one == nil {
		return err
	}
	added, removed := request.GetResourceNamesSubscribe(), request.GetResourceNamesUnsubscribe()
	if err := one.addNames(typeURL, added, removed); err != nil {
		return err
	}
	switch {
	case nonce == "":
	case nonce != one.nonce:
		s.publisher.options.Meter.Expired(shortType(typeURL))
	case detail != nil:
		s.rejected(typeURL, one, detail.GetMessage())
	default:
		s.acknowledged(typeURL, one)
	}
	return nil
}

// subscriptionOf notes who sends a request, and returns the state of its type: nil for one that is not published. The
// caller holds the lock.
func (s *stream) subscriptionOf(node *corev3.Node, typeURL string) (*subscription, error) {
	if node != nil && node != s.node { // The implementation of the protocol gives the first node to later requests.
		shrink(node)
		if s.node == nil {
			s.node = node
		}
	}
	if one := s.types[typeURL]; one != nil {
		return one, nil
	}
	if s.view.publishes(typeURL) {
		one := &subscription{requests: true, unanswered: sentInFull(typeURL)}
		s.types[typeURL] = one
		return one, nil
	}
	if _, known := s.unknown[typeURL]; known || typeURL == resource.AnyType {
		return nil, nil
	}
	if len(s.unknown) >= maxUnknownTypes {
		return nil, status.Error(codes.ResourceExhausted, "too many types that are not published")
	}
	s.unknown[typeURL] = struct{}{}
	s.publisher.options.Logger.Debug("an xDS client wants a type that is not published",
		"type", printable(typeURL), "node", s.nodeID(), "address", s.address)
	return nil, nil
}

// rejected notes a response that the client has not accepted (NACK). Only the first rejection of a response counts. The
// caller holds the lock.
func (s *stream) rejected(typeURL string, one *subscription, message string) {
	if one.refused == one.nonce {
		return
	}
	one.refused = one.nonce
	one.rejected = &Rejection{Version: one.sent, Message: shortened(message), Time: time.Now()}
	s.publisher.options.Meter.Rejected(shortType(typeURL))
	s.publisher.reject(s.id, typeURL, s.nodeID(), one.rejected)
}

// acknowledged notes the client's acknowledgement of the last response (ACK). The caller holds the lock.
func (s *stream) acknowledged(typeURL string, one *subscription) {
	if one.acked == one.sent && !one.ackedAt.Before(one.sentAt) {
		return
	}
	one.acked, one.ackedAt = one.sent, time.Now()
	if one.rejected != nil {
		one.rejected = nil
		s.publisher.accept(s.id, typeURL)
	}
	if !one.notice.IsZero() {
		s.publisher.options.Meter.Acknowledged(one.ackedAt.Sub(one.notice))
		one.notice = time.Time{}
	}
}

// responded notes a response that is about to be sent; size is that of its resources in bytes.
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
	one.sent, one.nonce, one.expected, one.sentAt, one.unanswered = version, nonce, nonce, time.Now(), false
	s.publisher.options.Meter.Sent(shortType(typeURL), cause, size)
}

// nodeID returns the id of the client's node. The caller holds the lock.
func (s *stream) nodeID() string { return s.node.GetId() }

// OnStreamResponse implements sotw.Callbacks.
func (s *stream) OnStreamResponse(
	_ context.Context, _ int64, _ *discoveryv3.DiscoveryRequest, response *discoveryv3.DiscoveryResponse,
) {
	size := 0
	for _, one := range response.GetResources() {
		size += len(one.GetValue())
	}
	s.responded(response.GetTypeUrl(), response.GetVersionInfo(), response.GetNonce(), size)
}

// OnStreamDeltaResponse implements delta.Callbacks.
func (s *stream) OnStreamDeltaResponse(
	_ int64, _ *discoveryv3.DeltaDiscoveryRequest, response *discoveryv3.DeltaDiscoveryResponse,
) {
	size := 0
	for _, one := range response.GetResources() {
		size += len(one.GetResource().GetValue())
	}
	s.responded(response.GetTypeUrl(), response.GetSystemVersionInfo(), response.GetNonce(), size)
}
