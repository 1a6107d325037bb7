package acme

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mholt/acmez/v3"
	"github.com/mholt/acmez/v3/acme"
	"golang.org/x/sync/errgroup"

	"github.com/sluiceproxy/sluice/redact"
)

// preferredTypes are the types of challenges, in the order in which they are tried where several are configured.
func preferredTypes() []string {
	return []string{acme.ChallengeTypeTLSALPN01, acme.ChallengeTypeHTTP01, acme.ChallengeTypeDNS01}
}

// failedTypes holds the types of challenges that failed, by name.
type failedTypes map[string][]string

// otherType is the failure of a challenge where another type remains.
type otherType struct{ err error }

// Error returns the text.
func (e *otherType) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *otherType) Unwrap() error { return e.err }

// authorization is a name of an order that is being validated.
type authorization struct {
	acme.Authorization
	solver    acmez.Solver
	challenge acme.Challenge
}

// authorize has the names of an order validated that are not yet. failed is amended.
func (r *resolver) authorize(ctx context.Context, s *session, order acme.Order, failed failedTypes) error {
	all := make([]acme.Authorization, len(order.Authorizations))
	if err := each(len(all), func(i int) (err error) {
		all[i], err = s.client.GetAuthorization(ctx, s.account, order.Authorizations[i])
		return err
	}); err != nil {
		return fmt.Errorf("authorization: %w", err)
	}
	var pending []*authorization
	for _, found := range all {
		switch found.Status {
		case acme.StatusValid:
		case acme.StatusPending:
			one := &authorization{Authorization: found}
			if err := r.pick(one, failed); err != nil {
				return err
			}
			pending = append(pending, one)
		default:
			return fmt.Errorf("the authorization of %s is %s", found.IdentifierValue(), found.Status)
		}
	}
	defer r.cleanUp(ctx, pending)
	if err := r.present(ctx, pending); err != nil {
		return err
	}
	if err := each(len(pending), func(i int) error { return initiate(ctx, s, pending[i]) }); err != nil {
		return err
	}
	return r.await(ctx, s, pending, failed)
}

// initiate has the authority validate a challenge, unless it has begun to for an earlier leader.
func initiate(ctx context.Context, s *session, one *authorization) error {
	_, err := s.client.InitiateChallenge(ctx, s.account, one.challenge)
	if err == nil {
		return nil
	}
	if isProblem(err, acme.ProblemTypeMalformed) {
		current, getErr := s.client.GetAuthorization(ctx, s.account, one.Location)
		if getErr == nil && (current.Status != acme.StatusPending || slices.ContainsFunc(current.Challenges, begun)) {
			return nil
		}
	}
	return fmt.Errorf("%s: %w", one.IdentifierValue(), err)
}

// begun reports whether the authority validates a challenge, or has.
func begun(challenge acme.Challenge) bool { return challenge.Status != acme.StatusPending }

// pick chooses the challenge for a name.
func (r *resolver) pick(one *authorization, failed failedTypes) error {
	var offered []string
	for _, kind := range preferredTypes() {
		for _, challenge := range one.Challenges {
			if challenge.Type != kind {
				continue
			}
			offered = append(offered, kind)
			solver := r.solvers[kind]
			if solver != nil && !slices.Contains(failed[one.IdentifierValue()], kind) {
				one.solver, one.challenge = solver, challenge
				return nil
			}
		}
	}
	reason := fmt.Sprintf("the authority validates %s only by %s, which the resolver does not use", one.IdentifierValue(),
		strings.Join(offered, " or "))
	if one.Wildcard {
		reason += "; a wildcard needs dnsChallenge"
	}
	return &localError{errors.New(reason)}
}

// present fulfils the challenges, and waits until each can be validated.
func (r *resolver) present(ctx context.Context, pending []*authorization) error {
	for _, one := range pending {
		if err := one.solver.Present(ctx, one.challenge); err != nil {
			return &localError{fmt.Errorf("%s: %s: %w", one.IdentifierValue(), one.challenge.Type, err)}
		}
	}
	for _, one := range pending {
		waiter, ok := one.solver.(acmez.Waiter)
		if !ok {
			continue
		}
		if err := waiter.Wait(ctx, one.challenge); err != nil {
			return &localError{fmt.Errorf("%s: %s: %w", one.IdentifierValue(), one.challenge.Type, err)}
		}
	}
	return nil
}

// await waits until the authority has validated all names. The error names each name that failed.
func (r *resolver) await(ctx context.Context, s *session, pending []*authorization, failed failedTypes) error {
	results := make([]error, len(pending))
	_ = each(len(pending), func(i int) error {
		_, results[i] = s.client.PollAuthorization(ctx, s.account, pending[i].Authorization)
		return nil
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var faults []error
	remains := true
	for i, one := range pending {
		err := results[i]
		if err == nil {
			continue
		}
		name := one.IdentifierValue()
		faults = append(faults, fmt.Errorf("%s: %s: %w", name, one.challenge.Type, err))
		failed[name] = append(failed[name], one.challenge.Type)
		remains = remains && r.pick(&authorization{Authorization: one.Authorization}, failed) == nil
	}
	if len(faults) == 0 {
		return nil
	}
	if err := errors.Join(faults...); !remains {
		return err
	}
	return &otherType{errors.Join(faults...)}
}

// cleanUp removes what was presented. At the end of a leader's term, challenges in the storage are left to the next
// leader, which presents the same ones for the same order.
func (r *resolver) cleanUp(ctx context.Context, pending []*authorization) {
	limit, ended := cleanupTimeout, errors.Is(context.Cause(ctx), context.Canceled)
	if ended {
		limit = lastCleanup
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	for _, one := range pending {
		if _, isShared := one.solver.(*sharedSolver); isShared && ended {
			continue
		}
		if err := one.solver.CleanUp(ctx, one.challenge); err != nil {
			r.logger.Warn("a challenge cannot be cleaned up", "resolver", r.name, "name", one.IdentifierValue(),
				"type", one.challenge.Type, "error", redact.Queries(err.Error()))
		}
	}
}

// rehearse has names validated at the staging directory of the authority, whose limits are wide.
func (r *resolver) rehearse(ctx context.Context, names []string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, orderTimeout, errors.New("the order took longer than an hour"))
	defer cancel()
	s, err := r.rehearsal(ctx)
	if err != nil {
		return &stagingError{err}
	}
	failed := failedTypes{}
	for {
		order, err := r.create(ctx, s, names, nil)
		if err == nil {
			err = r.authorize(ctx, s, order, failed)
		}
		var again *otherType
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !errors.As(err, &again):
			if isProblem(err, acme.ProblemTypeAccountDoesNotExist) {
				r.sessionLock.Lock()
				r.staging = nil
				r.sessionLock.Unlock()
			}
			return &stagingError{err}
		}
	}
}

// topIssuer returns the common name of the issuer of the last certificate of a chain.
func topIssuer(chain []byte) (string, error) {
	var last *x509.Certificate
	for block, rest := pem.Decode(chain); block != nil; block, rest = pem.Decode(rest) {
		parsed, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return "", err
		}
		last = parsed
	}
	if last == nil {
		return "", errors.New("no certificate")
	}
	return last.Issuer.CommonName, nil
}

// maxRequests is how many requests about the names of one order are under way at a time.
const maxRequests = 8

// each calls do for the numbers below n, some at a time, and returns the first error.
func each(n int, do func(i int) error) error {
	var group errgroup.Group
	group.SetLimit(maxRequests)
	for i := range n {
		group.Go(func() error { return do(i) })
	}
	return group.Wait()
}

// wait waits for a duration.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
