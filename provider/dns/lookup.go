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
	// secondFamilyDelay is how long the addresses of one family wait for those of the other one: a server that drops AAAA
	// queries must not delay the IPv4 endpoints.
	secondFamilyDelay = 300 * time.Millisecond
	// negativeTTL is the default TTL of negative answers (RFC 2308, section 5).
	negativeTTL = 5 * time.Second
)

// family is the result for the IPv4 or IPv6 addresses of a name.
type family struct {
	addresses []netip.Addr
	ttl       time.Duration
	// missing is set if the name does not exist.
	missing bool
	err     error
}

// families holds IPv4 first.
type families [2]family

func (f *families) found() bool { return len(f[0].addresses)+len(f[1].addresses) > 0 }

// err returns why the name could not be resolved; nil if at least one family was answered.
func (f *families) err() error {
	if f[0].err != nil && f[1].err != nil {
		return f[0].err
	}
	return nil
}

// lookup resolves a name as the system would. Candidates of the search list are tried in order; a candidate without an
// answer ends the search, since the next one could be another host.
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

// split sorts addresses that need no query into families; they are valid until the files change.
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

// both queries both families of one fully qualified name concurrently.
func (s *system) both(ctx context.Context, name string) families {
	ctx, cancel := context.WithCancel(ctx)
	type answer struct {
		place int
		family
	}
	answers := make(chan answer, 2)
	var queries sync.WaitGroup
	for place, kind := range []uint16{mdns.TypeA, mdns.TypeAAAA} {
		queries.Go(func() { answers <- answer{place, s.query(ctx, name, kind)} })
	}
	defer queries.Wait()
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
