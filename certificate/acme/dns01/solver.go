// Package dns01 solves the DNS-01 challenge of ACME with the DNS providers of lego.
//
// In: challenges of an order, from the client of ACME, and the options of dnsChallenge. Out: calls of the provider,
// which writes and removes TXT records, and DNS queries, which say when all name servers have the record. A solver
// belongs to one certificate resolver. It keeps which challenges have a record, and runs no goroutine of its own.
package dns01

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/mholt/acmez/v3/acme"

	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

// Provider writes and removes the TXT record of a challenge. It may also have the methods
// Timeout() (timeout, interval time.Duration), the limit and the interval of the propagation check, and
// Sequential() time.Duration, which says that it holds one challenge at a time, with that pause in between. The
// providers of lego have these methods.
type Provider interface {
	// Present writes the record.
	Present(ctx context.Context, domain, token, keyAuth string) error
	// CleanUp removes it.
	CleanUp(ctx context.Context, domain, token, keyAuth string) error
}

// Options are what a Solver is made of beside its provider.
type Options struct {
	// Challenge is the section of the configuration.
	Challenge static.DNSChallenge
	// Logger gets what providers and name servers answer while a challenge is solved. None means no log.
	Logger telemetry.Logger
	// Settled reports whether the authority is done with a challenge that was initiated. It is asked when a provider
	// that holds one challenge at a time gets the next one. Without it, such a challenge counts as settled when
	// the pause of the provider has passed since it was ready.
	Settled func(ctx context.Context, c acme.Challenge) (bool, error)
}

// Solver solves DNS-01 challenges. It implements the interfaces Solver and Waiter of acmez, and may be used by several
// orders at the same time.
type Solver struct {
	provider Provider
	settled  func(ctx context.Context, c acme.Challenge) (bool, error)
	logger   telemetry.Logger
	check    checks
	dns      resolver

	timeout, interval time.Duration
	// A sequential provider holds one challenge at a time, with the pause in between.
	sequential bool
	pause      time.Duration

	mu      sync.Mutex
	records map[string]*record // by domain and key authorization
	turn    turn
}

// record is the TXT record of one or more equal challenges.
type record struct {
	users     int
	presented bool // The provider was asked for it.
}

// Limits of a provider that names none, as in lego, and of removing a record after the order has ended.
const (
	defaultTimeout  = time.Minute
	defaultInterval = 2 * time.Second
	cleanUpTimeout  = 30 * time.Second
)

// limitedProvider is a Provider with a limit and an interval of the propagation check, like challenge.ProviderTimeout
// of lego.
type limitedProvider interface {
	Timeout() (timeout, interval time.Duration)
}

// sequentialProvider is a Provider that holds one challenge at a time, with a pause in between.
type sequentialProvider interface {
	Sequential() time.Duration
}

// New makes a Solver. It fails on resolvers that are not addresses.
func New(provider Provider, options Options) (*Solver, error) {
	servers, err := Resolvers(options.Challenge)
	if err != nil {
		return nil, err
	}
	s := &Solver{
		provider: provider, settled: options.Settled, logger: options.Logger,
		check:   checksOf(options.Challenge),
		dns:     newResolver(servers),
		timeout: defaultTimeout, interval: defaultInterval,
		records: map[string]*record{}, turn: newTurn(),
	}
	if s.logger == nil {
		s.logger = telemetry.Discard{}
	}
	if limited, ok := provider.(limitedProvider); ok {
		s.timeout, s.interval = limited.Timeout()
	}
	if s.timeout <= 0 {
		s.timeout = defaultTimeout
	}
	if s.interval <= 0 {
		s.interval = defaultInterval
	}
	if one, ok := provider.(sequentialProvider); ok {
		s.sequential, s.pause = true, one.Sequential()
	}
	return s, nil
}

// Present has the provider write the record. A client of ACME presents all challenges of an order before it waits for
// the first one; so with a provider that holds one challenge at a time, Wait has the record written instead.
func (s *Solver) Present(ctx context.Context, c acme.Challenge) error {
	s.mu.Lock()
	one := s.records[key(c)]
	if one == nil {
		one = &record{}
		s.records[key(c)] = one
	}
	one.users++
	write := !s.sequential && !one.presented
	one.presented = one.presented || write
	s.mu.Unlock()
	if !write {
		return nil
	}
	return s.present(ctx, c)
}

func (s *Solver) present(ctx context.Context, c acme.Challenge) error {
	if err := s.provider.Present(ctx, c.Identifier.Value, c.Token, c.KeyAuthorization); err != nil {
		return fmt.Errorf("the DNS provider did not write the record of %s: %w", c.DNS01TXTRecordName(), err)
	}
	s.logger.Debug("The DNS provider has written the record", "record", c.DNS01TXTRecordName())
	return nil
}

// Wait returns when the name servers have the record, by the options of propagation.
func (s *Solver) Wait(ctx context.Context, c acme.Challenge) error {
	if s.sequential {
		if err := s.takeTurn(ctx, c); err != nil {
			return err
		}
		defer s.turn.handOver(key(c))
	}
	if err := pause(ctx, s.check.delay); err != nil {
		return err
	}
	if s.check.none() {
		return nil
	}
	return s.waitForPropagation(ctx, c)
}

// CleanUp has the provider remove the record, when no other challenge needs it. It does so after the end of the
// order's context too, within a limit of its own.
func (s *Solver) CleanUp(ctx context.Context, c acme.Challenge) error {
	last, written := s.release(c)
	if s.sequential && last {
		defer s.turn.end(key(c))
	}
	if !last || !written {
		return nil
	}
	return s.remove(ctx, c)
}

// release forgets a challenge, and reports whether it was the last one with its record, and whether that was written.
func (s *Solver) release(c acme.Challenge) (last, written bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.records[key(c)]
	if one == nil {
		return true, false
	}
	if one.users--; one.users > 0 {
		return false, one.presented
	}
	delete(s.records, key(c))
	return true, one.presented
}

func (s *Solver) remove(ctx context.Context, c acme.Challenge) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpTimeout)
	defer cancel()
	if err := s.provider.CleanUp(ctx, c.Identifier.Value, c.Token, c.KeyAuthorization); err != nil {
		return fmt.Errorf("the DNS provider did not remove the record of %s: %w", c.DNS01TXTRecordName(), err)
	}
	return nil
}

// key tells challenges apart. An authority may give the same token for a domain and for its wildcard.
func key(c acme.Challenge) string { return c.Identifier.Value + " " + c.KeyAuthorization }

// pause waits, unless the context ends before.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
