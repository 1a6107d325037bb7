package xds

import (
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// world is the state-of-the-world protocol.
type world struct{}

// name implements protocol.
func (world) name() string { return "sotw" }

// takeWorld takes a state-of-the-world request. One that does not answer the last response is expired: the client will
// send another one. Only what it leaves out is noted. The caller holds the lock of the view.
func (s *stream) takeWorld(request *discoveryv3.DiscoveryRequest, typeURL string) error {
	one, isNew, err := s.subscriptionOf(request.GetNode(), typeURL)
	if one == nil {
		return err
	}
	nonce := request.GetResponseNonce()
	if nonce != "" && nonce != one.nonce {
		s.publisher.options.Meter.Expired(one.collection.kind.String())
	}
	if one.awaits && nonce != one.nonce {
		one.forgo(request.GetResourceNames())
		return nil
	}
	one.unanswered = one.unanswered || isNew
	if err := one.setNames(request.GetResourceNames()); err != nil {
		return err
	}
	switch {
	case nonce == "" || nonce != one.nonce:
	case request.GetErrorDetail() != nil:
		one.answered(false, request.GetErrorDetail().GetMessage())
	case request.GetVersionInfo() == one.sent && !one.rejectionStands(nonce):
		one.answered(true, "")
	default:
		one.awaits = false // The names have changed with the version that was accepted before.
	}
	return nil
}

// rejectionStands reports whether the client has rejected the response of a nonce, which has the version that it had
// accepted before: a request with the version of both says which one it has, and is no acknowledgement. A response with
// more names has the version of the one before, unless something has changed.
func (s *subscription) rejectionStands(nonce string) bool {
	return s.refused == nonce && s.acked == s.sent
}

// compose implements protocol. A removed resource is missing from a response that has all subscribed ones; for the
// other types the protocol has no removal.
func (world) compose(s *subscription, version, nonce string, _ bool) (proto.Message, int) {
	response := &discoveryv3.DiscoveryResponse{
		VersionInfo: version, TypeUrl: s.collection.kind.typeURL(), Nonce: nonce,
	}
	size := 0
	add := func(one *record) {
		if one.content != nil {
			response.Resources = append(response.Resources, one.content)
			size += len(one.content.GetValue())
		}
	}
	switch {
	case !s.collection.kind.sentInFull():
		for one := range s.marked {
			if s.covers(one) {
				add(one)
			}
		}
	case s.wildcard:
		response.Resources = make([]*anypb.Any, 0, len(s.collection.records))
		for _, one := range s.collection.records {
			add(one)
		}
	default:
		response.Resources = make([]*anypb.Any, 0, len(s.names))
		for _, one := range s.names {
			add(one)
		}
	}
	s.unmark()
	if len(response.GetResources()) == 0 && !s.unanswered && !s.collection.kind.sentInFull() {
		return nil, 0
	}
	return response, size
}
