package xds

import (
	"crypto/sha256"
	"encoding/hex"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
)

// delta is the incremental protocol.
type delta struct{}

// name implements protocol.
func (delta) name() string { return "delta" }

// takeDelta takes an incremental request: its names count whether or not it answers the last response. The caller holds
// the lock of the view.
func (s *stream) takeDelta(request *discoveryv3.DeltaDiscoveryRequest, typeURL string) error {
	one, isNew, err := s.subscriptionOf(request.GetNode(), typeURL)
	if one == nil {
		return err
	}
	if err := one.changeNames(request.GetResourceNamesSubscribe(), request.GetResourceNamesUnsubscribe()); err != nil {
		return err
	}
	if isNew {
		one.known(request.GetInitialResourceVersions())
		one.unanswered = one.wildcard // A client waits for the first response to know that it has everything.
	} else if !one.wildcard {
		one.unanswered = false // Each name has a mark of its own.
	}
	if !one.unanswered && len(one.marked) == 0 {
		one.requests = false // Without a response, the next one is for a change.
	}
	switch nonce := request.GetResponseNonce(); {
	case nonce == "":
	case nonce != one.nonce:
		s.publisher.options.Meter.Expired(one.collection.kind.String())
	case request.GetErrorDetail() != nil:
		one.answered(false, request.GetErrorDetail().GetMessage())
	default:
		one.answered(true, "")
	}
	return nil
}

// compose implements protocol. A name that is subscribed and does not exist is removed, so that the client does not
// wait for it.
func (delta) compose(s *subscription, version, nonce string, removals bool) (proto.Message, int) {
	response := &discoveryv3.DeltaDiscoveryResponse{
		SystemVersionInfo: version, TypeUrl: s.collection.kind.typeURL(), Nonce: nonce,
	}
	size := 0
	for one := range s.marked {
		switch {
		case one.content != nil:
			response.Resources = append(response.Resources, &discoveryv3.Resource{
				Name: one.name, Version: one.contentVersion(), Resource: one.content,
			})
			size += len(one.content.GetValue())
		case !removals:
			continue
		case !s.collection.has(one.name): // Otherwise there is a new record of the name.
			response.RemovedResources = append(response.RemovedResources, one.name)
		}
		delete(s.marked, one)
	}
	if len(s.marked) == 0 {
		s.unmark()
	}
	if len(response.GetResources())+len(response.GetRemovedResources()) == 0 && !s.unanswered {
		return nil, 0
	}
	return response, size
}

// contentVersion returns the version of a resource in the incremental protocol. It depends on the content alone, so
// that a client which connects again gets only what has changed. It is computed once for all clients.
func (r *record) contentVersion() string {
	if r.version == "" {
		sum := sha256.Sum256(r.content.GetValue())
		r.version = hex.EncodeToString(sum[:16])
	}
	return r.version
}
