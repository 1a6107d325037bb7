package dns

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	mdns "github.com/miekg/dns"
	"golang.org/x/net/idna"
)

const (
	// secondFamilyDelay is how long the addresses of one family wait for those of the other one: a server that drops
	// questions for AAAA must not keep a route from its IPv4 endpoints.
	secondFamilyDelay = 300 * time.Millisecond
	// negativeTTL counts where a server does not say how long a name will not exist (RFC 2308, section 5).
	negativeTTL = 5 * time.Second
)

// family is what is known of the IPv4 or of the IPv6 addresses of a name.
type family struct {
	addresses []netip.Addr
	ttl       time.Duration
	// missing says that the name itself does not exist.
	missing bool
	err     error
}

// families holds IPv4 first.
type families [2]family

func (f *families) found() bool { return len(f[0].addresses)+len(f[1].addresses) > 0 }

// err returns why nothing is known; nil when at least one family has been answered.
func (f *families) err() error {
	if f[0].err != nil && f[1].err != nil {
		return f[0].err
	}
	return nil
}

// lookup finds the addresses of a name as the system would. Candidates of the search list are tried in order; one that
// gets no answer ends the search, since the next one could be another host.
func (s *system) lookup(ctx context.Context, name string) families {
	if addresses, ok := s.local(name); ok {
		return split(addresses)
	}
	ascii, err := idna.ToASCII(name)
	if err != nil {
		return failed(fmt.Errorf("bad name: %w", err))
	}
	if _, ok := mdns.IsDomainName(ascii); !ok {
		return failed(errors.New("bad name"))
	}
	result := families{}
	for i, candidate := range s.config.NameList(ascii) {
		answer := s.both(ctx, candidate)
		if answer.found() || answer[0].err != nil || answer[1].err != nil {
			return answer
		}
		for f := range answer {
			if i == 0 || answer[f].ttl < result[f].ttl {
				result[f].ttl = answer[f].ttl
			}
		}
	}
	return result
}

func failed(err error) families { return families{{err: err}, {err: err}} }

// split sorts addresses that need no server into families; they hold until the files change.
func split(addresses []netip.Addr) families {
	result := families{{ttl: DefaultMaxTTL}, {ttl: DefaultMaxTTL}}
	for _, address := range addresses {
		f := 0
		if address.Is6() {
			f = 1
		}
		result[f].addresses = append(result[f].addresses, address)
	}
	return result
}

// both asks for both families of one fully qualified name at the same time.
func (s *system) both(ctx context.Context, name string) families {
	ctx, cancel := context.WithCancel(ctx)
	type answer struct {
		place int
		family
	}
	answers := make(chan answer, 2)
	var asking sync.WaitGroup
	for place, kind := range []uint16{mdns.TypeA, mdns.TypeAAAA} {
		asking.Go(func() { answers <- answer{place, s.ask(ctx, name, kind)} })
	}
	defer asking.Wait()
	defer cancel()
	result := failed(errors.New("no answer yet"))
	var late <-chan time.Time
	for range 2 {
		select {
		case one := <-answers:
			if one.missing && !result.found() {
				// The name does not exist for any type (RFC 2308, section 2.1).
				return families{one.family, one.family}
			}
			result[one.place] = one.family
			if len(one.addresses) > 0 && late == nil {
				timer := time.NewTimer(secondFamilyDelay)
				defer timer.Stop()
				late = timer.C
			}
		case <-late:
			return result
		}
	}
	return result
}
