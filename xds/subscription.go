package xds

import (
	"time"

	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	serverstream "github.com/envoyproxy/go-control-plane/pkg/server/stream/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// subscription is the state of one type of a stream.
type subscription struct {
	// names are what the implementation of the protocol knows as subscribed; started is set when it does.
	names     serverstream.Subscription
	started   bool
	nameBytes int

	sent  string // version
	nonce string
	// expected is the nonce that the next state-of-the-world request must have; empty once one had it.
	expected string
	// refused is the nonce of the last response that the client has rejected.
	refused string
	acked   string
	sentAt  time.Time
	ackedAt time.Time
	notice  time.Time // of the change that was sent and is not acknowledged yet
	// requests is set while a request has not been answered; unanswered is set if the answer may not be left out.
	requests, unanswered bool
	rejected             *Rejection
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

// tooManyNames returns the error that ends the stream of a client with too many names.
func tooManyNames() error { return status.Error(codes.ResourceExhausted, "too many names of one type") }

// sentInFull reports whether a state-of-the-world response contains all subscribed resources of the type.
func sentInFull(typeURL string) bool {
	return typeURL == resource.ListenerType || typeURL == resource.ClusterType
}

// setNames takes the names of a state-of-the-world request, which are all names of the type.
func (s *subscription) setNames(seen *view, typeURL string, names []string) {
	var added []string
	for _, name := range names {
		if !s.has(name) {
			added = append(added, name)
		}
	}
	switch {
	case s.started && len(added) == 0 && len(names) == len(s.names.SubscribedResources()):
		return // An acknowledgement repeats the names.
	case s.started:
		s.names.SetResourceSubscription(names)
	default:
		s.names, s.started = serverstream.NewSotwSubscription(names, sentInFull(typeURL)), true
	}
	if len(added) > 0 {
		s.requests = true
		s.unanswered = s.unanswered || sentInFull(typeURL) && len(seen.lacks(typeURL, added)) > 0
	}
}

// addNames takes the names of an incremental request.
func (s *subscription) addNames(typeURL string, added, removed []string) error {
	fresh := map[string]struct{}{}
	for _, name := range added {
		if _, again := fresh[name]; again || s.has(name) {
			continue
		}
		fresh[name] = struct{}{}
		if name != wildcard {
			s.nameBytes += len(name)
		}
	}
	if s.nameBytes > maxNameBytes || len(s.names.SubscribedResources())+len(fresh) > maxNames {
		return tooManyNames()
	}
	if s.started {
		s.names.UpdateResourceSubscriptions(added, nil)
	} else {
		s.names, s.started = serverstream.NewDeltaSubscription(added, nil, nil, sentInFull(typeURL)), true
	}
	before := len(s.names.SubscribedResources())
	for _, name := range removed {
		if s.names.UpdateResourceSubscriptions(nil, []string{name}); len(s.names.SubscribedResources()) < before {
			before--
			s.nameBytes -= len(name)
		}
	}
	s.names.SetReturnedResources(map[string]string{})
	s.requests = s.requests || len(fresh) > 0
	return nil
}

// has reports whether a name is subscribed.
func (s *subscription) has(name string) bool {
	if name == wildcard {
		return s.names.IsWildcard()
	}
	_, ok := s.names.SubscribedResources()[name]
	return ok
}
