package dns01

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mholt/acmez/v3/acme"
)

// waitForPropagation checks the name servers until all have the record, within the limit of the provider.
func (s *Solver) waitForPropagation(ctx context.Context, c acme.Challenge) error {
	name, value := c.DNS01TXTRecordName()+".", c.DNS01KeyAuthorization()
	limited, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	begin := time.Now()
	var last error
	for {
		short := s.timeout-time.Since(begin) < s.dns.timeout
		err := s.propagated(limited, name, value)
		if err == nil {
			s.logger.Debug("The name servers have the record", "record", name, "after", time.Since(begin).String())
			return nil
		}
		// A query that the limit or the context has cut short says nothing about the servers.
		if last == nil || limited.Err() == nil && !(short && timedOut(err)) {
			last = err
		}
		s.logger.Debug("The name servers do not have the record yet", "record", name, "reason", err.Error())
		if pause(limited, s.interval) != nil {
			break
		}
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("waiting for the record of %s: %w; last seen: %w", name, err, last)
	}
	return fmt.Errorf("the record of %s was not seen within %s: %w", name, s.timeout, last)
}

// timedOut reports whether a query got no answer in its time.
func timedOut(err error) bool {
	var failed net.Error
	return errors.As(err, &failed) && failed.Timeout()
}

// propagated checks once. Resolvers are asked last, because they remember for a time that a record did not exist.
func (s *Solver) propagated(ctx context.Context, name, value string) error {
	name, err := s.dns.follow(ctx, name)
	if err != nil {
		return err
	}
	if s.check.authoritative {
		servers, err := s.dns.authorities(ctx, name)
		if err != nil {
			return err
		}
		if err := s.allHave(ctx, servers, name, value, false); err != nil {
			return err
		}
	}
	if !s.check.recursive {
		return nil
	}
	servers := make([]server, 0, len(s.dns.servers))
	for _, address := range s.dns.servers {
		servers = append(servers, server{addresses: []string{address}})
	}
	return s.allHave(ctx, servers, name, value, true)
}

// allHave asks all servers at the same time. Its error has the answer of each one that lacks the value.
func (s *Solver) allHave(ctx context.Context, servers []server, name, value string, recursive bool) error {
	lacking := make([]error, len(servers))
	var group sync.WaitGroup
	for i, one := range servers {
		group.Go(func() { lacking[i] = s.has(ctx, one, name, value, recursive) })
	}
	group.Wait()
	return joined(lacking)
}

// has returns why a server does not have the value; nil if it does.
func (s *Solver) has(ctx context.Context, one server, name, value string, recursive bool) error {
	values, err := s.dns.values(ctx, one, name, recursive)
	switch {
	case err != nil:
		return err
	case slices.Contains(values, value):
		return nil
	case len(values) == 0:
		return fmt.Errorf("%s has no TXT record of %s", one, name)
	}
	return fmt.Errorf("%s has other TXT records of %s: %q", one, name, values)
}

// joined puts errors on one line; nil if there are none.
func joined(all []error) error {
	all = slices.DeleteFunc(slices.Clone(all), func(err error) bool { return err == nil })
	if len(all) < 2 {
		return errors.Join(all...)
	}
	return list(all)
}

// list is several errors on one line.
type list []error

// Error returns the texts, separated by semicolons.
func (l list) Error() string {
	texts := make([]string, 0, len(l))
	for _, err := range l {
		texts = append(texts, err.Error())
	}
	return strings.Join(texts, "; ")
}

// Unwrap returns the errors.
func (l list) Unwrap() []error { return l }
