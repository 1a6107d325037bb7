package client

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
)

// stream is one stream. It belongs to the goroutine of Client.Run.
type stream struct {
	client   *Client
	consumer Consumer
	inner    discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesClient
	// versions are those of the resources that the consumer has accepted, by type and name; they outlive the stream.
	versions map[string]map[string]string
	// subscribed are the names that the server knows, by type.
	subscribed map[string]subscriptions
	introduced bool // the node was sent
	answered   bool // the server has sent a header or a response
}

// run connects, subscribes, and receives until the stream ends.
func (s *stream) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	connection, err := s.client.connect()
	if err != nil {
		return err
	}
	defer connection.Close() //nolint:errcheck // The stream has ended already.
	if s.client.options.Token != nil {
		token, err := s.client.options.Token()
		if err != nil {
			return err
		}
		if token != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, "authorization", bearer(token))
		}
	}
	s.inner, err = discoveryv3.NewAggregatedDiscoveryServiceClient(connection).DeltaAggregatedResources(ctx)
	if err != nil {
		return err
	}
	received, failed := make(chan *discoveryv3.DeltaDiscoveryResponse), make(chan error, 1)
	go func() { failed <- receive(ctx, s.inner, received) }() // It ends with ctx.
	opened := make(chan struct{}, 1)
	go func() {
		if header, err := s.inner.Header(); err == nil && header != nil {
			opened <- struct{}{}
		}
	}()
	if err := s.subscribe(); err != nil {
		return s.cause(err, failed)
	}
	for {
		select {
		case err := <-failed:
			return err
		case <-opened:
			s.admitted()
		case <-s.client.wake:
			err = s.subscribe()
		case message := <-received:
			err = s.accept(message)
		}
		if err != nil {
			return s.cause(err, failed)
		}
	}
}

// cause returns why sending failed: the stream's status, which only its receiving side has.
func (s *stream) cause(err error, failed <-chan error) error {
	if errors.Is(err, io.EOF) {
		return <-failed
	}
	return err
}

// receive gives on the messages of a stream until it ends.
func receive(ctx context.Context, from discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesClient,
	to chan<- *discoveryv3.DeltaDiscoveryResponse,
) error {
	for {
		message, err := from.Recv()
		if err != nil {
			return err
		}
		select {
		case to <- message:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// subscribe sends the differences between the wanted names and those that the server knows. Names are unsubscribed from
// first: a server need not send the resource of a name again that it knows.
func (s *stream) subscribe() error {
	wanted := s.client.take()
	for _, typeURL := range slices.Sorted(maps.Keys(wanted)) {
		known, first := s.subscribed[typeURL], s.subscribed[typeURL] == nil
		added, removed := known.added(wanted[typeURL]), known.removed(wanted[typeURL])
		s.subscribed[typeURL] = wanted[typeURL]
		for _, name := range removed {
			delete(s.versions[typeURL], name)
		}
		if len(removed) > 0 {
			request := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: typeURL, ResourceNamesUnsubscribe: removed}
			if err := s.send(request); err != nil {
				return err
			}
		}
		if len(added) == 0 {
			continue
		}
		request := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: typeURL, ResourceNamesSubscribe: added}
		if first {
			request.InitialResourceVersions = s.held(typeURL, wanted[typeURL])
		}
		if err := s.send(request); err != nil {
			return err
		}
	}
	return nil
}

// held returns the versions of the wanted resources that the consumer has, and forgets the others.
func (s *stream) held(typeURL string, wanted subscriptions) map[string]string {
	maps.DeleteFunc(s.versions[typeURL], func(name, _ string) bool {
		_, ok := wanted[name]
		return !ok
	})
	return maps.Clone(s.versions[typeURL])
}

// send sends a request, with the node in the first one.
func (s *stream) send(request *discoveryv3.DeltaDiscoveryRequest) error {
	if !s.introduced {
		request.Node, s.introduced = s.client.node(), true
	}
	return s.inner.Send(request)
}

// admitted notes that the server has accepted the stream.
func (s *stream) admitted() {
	if !s.answered {
		s.answered = true
		s.consumer.Connected(nil)
	}
}

// accept gives a response to the consumer and answers it. A rejected response leaves the versions as they were.
func (s *stream) accept(message *discoveryv3.DeltaDiscoveryResponse) error {
	s.admitted()
	answer := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: message.GetTypeUrl(), ResponseNonce: message.GetNonce()}
	response := toResponse(message)
	if err := s.consumer.Receive(response); err != nil {
		answer.ErrorDetail = &status.Status{Code: int32(codes.InvalidArgument), Message: err.Error()}
		return s.send(answer)
	}
	versions := s.versions[response.TypeURL]
	if versions == nil {
		versions = map[string]string{}
		s.versions[response.TypeURL] = versions
	}
	for _, one := range response.Resources {
		versions[one.Name] = one.Version
	}
	for _, name := range response.Removed {
		delete(versions, name)
	}
	return s.send(answer)
}
