package xds_test

import (
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
)

// fullStream is a state-of-the-world stream in a bubble.
type fullStream struct {
	worldStream

	responses chan *discoveryv3.DiscoveryResponse
}

func (b *bubble) full() *fullStream {
	b.t.Helper()
	inner, err := b.client().StreamAggregatedResources(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	s := &fullStream{
		worldStream: worldStream{t: b.t, stream: inner, last: &discoveryv3.DiscoveryResponse{}},
		responses:   make(chan *discoveryv3.DiscoveryResponse, 100),
	}
	go func() {
		for {
			response, err := inner.Recv()
			if err != nil {
				return
			}
			s.responses <- response
		}
	}()
	return s
}

// expect takes the next response, without answering it, and wants it to have these resources; none for no response.
func (s *fullStream) expect(when string, want ...string) {
	s.t.Helper()
	synctest.Wait()
	var names []string
	select {
	case s.last = <-s.responses:
		for _, packed := range s.last.GetResources() {
			message, err := packed.UnmarshalNew()
			if err != nil {
				s.t.Fatal(err)
			}
			names = append(names, cache.GetResourceName(message))
		}
	default:
	}
	slices.Sort(names)
	if !slices.Equal(names, want) {
		s.t.Errorf("%s: %v, want %v", when, names, want)
	}
}

// TestANameThatIsGivenUpForAMomentIsSentAgain has a client leave a name out and name it again while a response is under
// way, so that both requests are expired: it has dropped the resource, and gets it again.
func TestANameThatIsGivenUpForAMomentIsSentAgain(t *testing.T) {
	const one, two = "k/a/one:80", "k/a/two:80"
	inBubble(t, []string{one, two}, func(_ *testing.T, b *bubble) {
		for i, test := range []struct {
			name      string
			all, left []string
			again     []string
		}{
			{"a name", []string{one, two}, []string{two}, []string{one}},
			{"all names", []string{one, two}, []string{"other"}, []string{one, two}},
			{"the wildcard", []string{"*"}, []string{two}, []string{one, two}},
			{"a name that does not exist", []string{one, two, "other"}, []string{one, two}, nil},
		} {
			s := b.full()
			s.request(resource.EndpointType, test.all...)
			s.expect(test.name, one, two)
			s.request(resource.EndpointType, test.all...)
			acknowledged := s.last
			b.set(two, netip.AddrPortFrom(address.Addr(), uint16(1000+i))) //nolint:gosec // small
			s.expect(test.name+": a change", two)
			changed := s.last
			s.last = acknowledged
			s.request(resource.EndpointType, test.left...)
			s.request(resource.EndpointType, test.all...)
			s.last = changed
			s.request(resource.EndpointType, test.all...)
			s.expect(test.name+" again", test.again...)
			s.request(resource.EndpointType, test.all...)
			s.expect(test.name + " once")
		}
	})
}

// TestAListenerThatIsGivenUpForAMomentIsSentAgain does the same with a type that is sent in full.
func TestAListenerThatIsGivenUpForAMomentIsSentAgain(t *testing.T) {
	inBubble(t, []string{"k/a/one:80", "k/a/two:80"}, func(_ *testing.T, b *bubble) {
		s := b.full()
		s.request(resource.ListenerType, "one.a:80", "two.a:80")
		s.expect("both", "one.a:80", "two.a:80")
		s.request(resource.ListenerType, "one.a:80", "two.a:80")
		acknowledged := s.last
		b.remove("k/a/two:80")
		s.expect("without the second one", "one.a:80")
		changed := s.last
		s.last = acknowledged
		s.request(resource.ListenerType, "two.a:80")
		s.last = changed
		s.request(resource.ListenerType, "one.a:80", "two.a:80")
		s.expect("again", "one.a:80")
		s.request(resource.ListenerType, "one.a:80", "two.a:80")
		s.expect("once")
	})
}
