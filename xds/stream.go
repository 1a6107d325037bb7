package xds

import (
	"context"
	"strconv"
	"sync"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

const (
	// maxNames and maxNameBytes bound the names of one type of a stream.
	maxNames, maxNameBytes = 10_000, maxRequestBytes
	// maxUnknownTypes bounds the types of a stream that are not published.
	maxUnknownTypes = 16
)

// stream is the state of one stream. A response is composed from the latest state when it can be sent, so a client that
// is slow misses states in between and delays no other.
type stream struct {
	publisher *Publisher
	view      *view
	id        uint64
	address   string
	// connection is closed if the client does not read; nil if it is not known.
	connection *connection
	identity   string
	// namespaces are those that the client may see; nil for all.
	namespaces []string
	since      time.Time
	// cancel ends the stream, with the error that the client gets; nil for a normal end.
	cancel context.CancelCauseFunc
	// protocol has the requests and responses of one of the two protocols, and send sends a response.
	protocol protocol
	send     func(proto.Message) error
	// deliveries are the responses that the client has not read yet.
	deliveries deliveries
	// sends are the goroutines that send.
	sends sync.WaitGroup

	// The lock of the view guards what follows.
	node    *corev3.Node
	types   [kinds]*subscription
	unknown map[string]struct{} // type URLs that are not published
	nonces  uint64
	sending bool
	ended   bool
}

// protocol is state of the world or incremental.
type protocol interface {
	// name is that in the API.
	name() string
	// compose returns the next response of a subscription with the sum of the sizes of its resources, or nil when there
	// is none to send. Without removals, what was removed stays to be sent.
	compose(s *subscription, version, nonce string, removals bool) (response proto.Message, size int)
}

// begin has the caller send what is due. It is false while another one does, and after the end. The caller holds the
// lock of the view.
func (s *stream) begin() bool {
	if s.sending || s.ended {
		return false
	}
	s.sending = true
	s.sends.Add(1)
	return true
}

// flush sends what is due. It follows begin.
func (s *stream) flush() {
	defer s.sends.Done()
	for {
		response, sent := s.next()
		if response == nil {
			return
		}
		s.publisher.options.Meter.Sent(sent.kind.String(), sent.cause, sent.bytes)
		if err := s.send(response); err != nil {
			s.cancel(err) // The stream is broken; begin is not successful any more.
			return
		}
	}
}

// sent describes a response for the metrics.
type sent struct {
	kind  kind
	cause string // request for the answer to a subscription, or push for a change
	bytes int
}

// next returns the next response; nil when there is nothing to send. Additions go out in the order of the kinds, and
// removals of a kind when none of a later kind is left.
func (s *stream) next() (proto.Message, sent) {
	s.view.mu.Lock()
	defer s.view.mu.Unlock()
	for of, one := range s.types {
		if s.ended || one == nil || !one.due() {
			continue
		}
		version, nonce := s.view.version(kind(of)), strconv.FormatUint(s.nonces+1, 10)
		notice := one.firstNotice()
		assignments := one.markedAssignments()
		response, size := s.protocol.compose(one, version, nonce, !s.removes(kind(of)+1))
		if response == nil {
			continue
		}
		s.repeat(assignments)
		s.nonces++
		cause := one.responded(version, nonce, notice)
		return response, sent{kind: kind(of), cause: cause, bytes: size}
	}
	s.sending = false
	return nil, sent{}
}

// markedAssignments returns the EDS resources of the clusters that are to be sent since they have changed.
func (s *subscription) markedAssignments() (names []string) {
	if s.collection.kind != clusters || s.requests {
		return nil
	}
	for one := range s.marked {
		if one.assignment != "" {
			names = append(names, one.assignment)
		}
	}
	return names
}

// repeat has subscribed EDS resources sent again: Envoy uses a cluster that has changed when it has received endpoints
// after it, also if these are the same.
func (s *stream) repeat(assignments []string) {
	subscribed := s.types[endpoints]
	if subscribed == nil {
		return
	}
	for _, name := range assignments {
		if one := subscribed.collection.records[name]; one != nil && one.content != nil && subscribed.covers(one) {
			subscribed.mark(one)
		}
	}
}

// removes reports whether removals of a kind or of a later one are to be sent.
func (s *stream) removes(from kind) bool {
	for _, one := range s.types[from:] {
		if one == nil {
			continue
		}
		for changed := range one.marked {
			if changed.content == nil {
				return true
			}
		}
	}
	return false
}

// firstNotice returns when the source noticed the first change that is to be sent; zero if unknown.
func (s *subscription) firstNotice() (first time.Time) {
	if s.collection.kind != endpoints {
		return first
	}
	for one := range s.marked {
		if !one.noticed.IsZero() && (first.IsZero() || one.noticed.Before(first)) {
			first = one.noticed
		}
	}
	return first
}

// responded notes a response that is about to be sent, and returns its cause.
func (s *subscription) responded(version, nonce string, notice time.Time) (cause string) {
	cause = "push"
	if s.requests {
		cause, notice = "request", time.Time{}
	}
	s.sent, s.nonce, s.sentAt, s.notice = version, nonce, time.Now(), notice
	s.requests, s.unanswered, s.awaits = false, false, true
	return cause
}

// answered takes the client's answer to a response: an acknowledgement (ACK), or a rejection (NACK) for a message that
// is not nil. The caller holds the lock of the view.
func (s *subscription) answered(accepted bool, message string) {
	s.awaits = false
	meter := s.stream.publisher.options.Meter
	switch {
	case !accepted && s.refused == s.nonce: // Only the first rejection of a response counts.
	case !accepted:
		s.refused = s.nonce
		s.rejected = &Rejection{Version: s.sent, Message: shortened(message), Time: time.Now()}
		meter.Rejected(s.collection.kind.String())
		s.stream.publisher.reject(rejectedType{s.stream.id, s.collection.kind}, s.stream.nodeID(), s.rejected)
	case s.acked == s.sent && !s.ackedAt.Before(s.sentAt):
	default:
		s.acked, s.ackedAt = s.sent, time.Now()
		if s.rejected != nil {
			s.rejected = nil
			s.stream.publisher.accept(rejectedType{s.stream.id, s.collection.kind})
		}
		if !s.notice.IsZero() {
			meter.Acknowledged(s.ackedAt.Sub(s.notice))
			s.notice = time.Time{}
		}
	}
}

// subscriptionOf notes who sends a request, and returns the state of its type, which is new for the first request: nil
// for a type that is not published. The caller holds the lock of the view.
func (s *stream) subscriptionOf(node *corev3.Node, typeURL string) (one *subscription, isNew bool, err error) {
	if node != nil && s.node == nil {
		s.node = shrunk(node)
	}
	of, ok := kindOf(typeURL)
	if !ok {
		return nil, false, s.addUnknown(typeURL)
	}
	if one = s.types[of]; one != nil {
		return one, false, nil
	}
	one = &subscription{
		stream: s, collection: &s.view.collections[of], implied: of.sentInFull(), requests: true,
	}
	s.types[of] = one
	return one, true, nil
}

// addUnknown notes a type that is not published: the stream goes on without it. The caller holds the lock of the view.
func (s *stream) addUnknown(typeURL string) error {
	if typeURL == resource.AnyType {
		return status.Error(codes.InvalidArgument, "the request has no type")
	}
	if _, known := s.unknown[typeURL]; known {
		return nil
	}
	if len(s.unknown) >= maxUnknownTypes {
		return status.Error(codes.ResourceExhausted, "too many types that are not published")
	}
	if s.unknown == nil {
		s.unknown = map[string]struct{}{}
	}
	s.unknown[typeURL] = struct{}{}
	s.publisher.options.Logger.Debug("an xDS client wants a type that is not published",
		"type", printable(typeURL), "node", s.nodeID(), "address", s.address)
	return nil
}

// handle takes a request and sends what is due then.
func (s *stream) handle(take func() error) error {
	s.view.mu.Lock()
	err := take()
	sends := err == nil && s.ready()
	s.view.mu.Unlock()
	if sends {
		s.flush()
	}
	return err
}

// ready reports whether something is due, and begins to send it. The caller holds the lock of the view.
func (s *stream) ready() bool {
	for _, one := range s.types {
		if one != nil && one.due() {
			return s.begin()
		}
	}
	return false
}

// nodeID returns the id of the client's node. The caller holds the lock of the view.
func (s *stream) nodeID() string { return s.node.GetId() }

// end ends the subscriptions, and waits for what is being sent. The context of the stream has ended.
func (s *stream) end() {
	s.view.mu.Lock()
	s.ended = true
	for _, one := range s.types {
		if one == nil {
			continue
		}
		one.end()
		if one.rejected != nil {
			s.publisher.accept(rejectedType{s.id, one.collection.kind})
		}
	}
	s.view.mu.Unlock()
	s.sends.Wait()
}
