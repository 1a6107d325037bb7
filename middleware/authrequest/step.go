package authrequest

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"

	"github.com/sluiceproxy/sluice/middleware/answer"
	"github.com/sluiceproxy/sluice/middleware/authorize"
	"github.com/sluiceproxy/sluice/telemetry"
)

// maxAnswer bounds how much of the body of an answer is read, in bytes, so that its connection can be used again.
const maxAnswer = 64 << 10

// step is an authRequest for one owner.
type step struct {
	*AuthRequest
	// owner is what the keys of answers that are kept begin with.
	owner []byte
}

// Wrap returns a handler that calls next when the server lets the request pass. It answers 401 or 403 as the server
// does, 302 in place of 401 where signinURL is set, and 500 for everything else.
func (s *step) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o, err := s.decide(r)
		switch {
		case err != nil:
			s.fail(w, r, err)
		case o.passes():
			s.counts.passed.Add(1)
			telemetry.RecordFrom(r.Context()).Authenticated = true
			s.settings.grant(r, o)
			if len(o.cookies) == 0 {
				next.ServeHTTP(w, r)
			} else {
				serveWithCookies(w, r, next, o.cookies, s.settings.alwaysSetsCookie)
			}
		default:
			s.refuse(w, r, o)
		}
	})
}

// decide returns the outcome for a request, kept or new.
func (s *step) decide(r *http.Request) (*outcome, error) {
	if !s.settings.keeps {
		o, _, err := s.ask(r)
		return o, err
	}
	key := sha256.Sum256(s.settings.key.Append(slices.Clip(s.owner), s.settings.valuesOf(r)))
	if o := s.answers.get(key); o != nil {
		s.counts.remembered.Add(1)
		return o, nil
	}
	o, header, err := s.ask(r)
	if err == nil {
		s.answers.put(key, o, s.settings.durations.of(o.status, header))
	}
	return o, err
}

// ask sends a request about r, and returns the outcome and the header of the answer.
func (s *step) ask(r *http.Request) (*outcome, http.Header, error) {
	ctx, cancel := context.WithTimeoutCause(r.Context(), timeout, errTimeout)
	defer cancel()
	q, err := s.settings.request(r)
	if err != nil {
		return nil, nil, err
	}
	if err := s.client.Acquire(ctx); err != nil {
		return nil, nil, err
	}
	defer s.client.Release()
	answered, err := s.client.Send(q.WithContext(ctx))
	if err != nil {
		return nil, nil, causeOf(ctx, err)
	}
	defer answered.Body.Close() //nolint:errcheck // It has been read, or is not needed.
	// An answer that is not whole refuses the request; of a long one only the head counts.
	err = authorize.CopyLimited(io.Discard, answered.Body, maxAnswer)
	if err != nil && !errors.Is(err, authorize.ErrTooLarge) {
		return nil, nil, causeOf(ctx, err)
	}
	return s.settings.outcome(answered), answered.Header, nil
}

// causeOf returns why an exchange has failed: the end of its context, if that was earlier.
func causeOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// refuse answers a request that the server does not let pass.
func (s *step) refuse(w http.ResponseWriter, r *http.Request, o *outcome) {
	reason := "the server answered with " + strconv.Itoa(o.status)
	redirects := o.status == http.StatusUnauthorized && s.settings.signsIn
	if s.settings.alwaysSetsCookie || redirects {
		addCookies(w.Header(), o.cookies)
	}
	if o.status == http.StatusUnauthorized && len(o.challenges) > 0 {
		w.Header()["Www-Authenticate"] = slices.Clone(o.challenges) // nginx sends them with a redirect too.
	}
	switch {
	case redirects:
		s.counts.refused.Add(1)
		answer.StandsFor(w, http.StatusUnauthorized)
		answer.Note(r, s.name, reason)
		location := s.settings.signIn.Append(nil, s.settings.valuesOf(r))
		w.Header()["Location"] = []string{string(location)}
		w.WriteHeader(http.StatusFound)
	case o.status == http.StatusUnauthorized || o.status == http.StatusForbidden:
		s.counts.refused.Add(1)
		answer.Refuse(w, r, o.status, s.name, reason)
	default:
		s.counts.failed.Add(1)
		answer.Refuse(w, r, http.StatusInternalServerError, s.name, reason)
	}
}

// fail answers a request about which no usable answer came, unless the client has left.
func (s *step) fail(w http.ResponseWriter, r *http.Request, err error) {
	ended := r.Context().Err()
	if ended == nil || errors.Is(ended, context.DeadlineExceeded) {
		s.counts.failed.Add(1)
	}
	switch {
	case ended != nil:
		answer.Leave(w, r, s.name, "the server answered")
	case errors.Is(err, errTimeout):
		answer.Refuse(w, r, http.StatusInternalServerError, s.name, "the server did not answer within "+timeout.String())
	default:
		answer.Refuse(w, r, http.StatusInternalServerError, s.name, "asking the server: "+err.Error())
	}
}
