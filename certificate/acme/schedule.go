package acme

import (
	"crypto/x509"
	"errors"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/mholt/acmez/v3/acme"

	"github.com/sluiceproxy/sluice/redact"
)

const (
	// duplicateWindow and duplicateLimit are a limit of Let's Encrypt on certificates for exactly the same names.
	duplicateWindow = 7 * 24 * time.Hour
	duplicateLimit  = 5
	// dailyLimit is how many certificates for the same names are ordered in a day, or in the lifetime of a certificate if
	// that is shorter, whatever the authority suggests.
	dailyLimit = 2
	// leastLife is the part of the lifetime at whose beginning a certificate is renewed whatever the authority suggests.
	leastLife = 20
	// renewalSpread is the part of the lifetime over which renewals that nothing else spreads are distributed.
	renewalSpread = 30
	// shortestRecheck and longestRecheck bound how often the suggestion of the authority is read (RFC 9773, section 4.3).
	shortestRecheck = time.Minute
	longestRecheck  = 24 * time.Hour
	defaultRecheck  = 6 * time.Hour
)

// pauses returns how long to wait after a number of failures. It ends with the longest pause, which goes on for ever.
func pauses(failures int) time.Duration {
	steps := [...]time.Duration{
		time.Minute, 5 * time.Minute, 10 * time.Minute, 20 * time.Minute, 30 * time.Minute,
		time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour,
	}
	return steps[min(max(failures, 1), len(steps))-1]
}

// Failure is why an order failed.
type Failure struct {
	// Time is when it failed.
	Time time.Time `json:"time"`
	// Type is the type of the problem document (RFC 8555, section 6.7) without urn:ietf:params:acme:error:; empty if the
	// authority has sent none.
	Type string `json:"type,omitempty"`
	// Detail is one sentence.
	Detail string `json:"detail"`
	// Names are the names that failed with their own reasons, if the authority said so.
	Names map[string]string `json:"names,omitempty"`
}

// schedule says when a certificate is ordered next. It is stored, so that a restart neither forgets a failure nor asks
// again, and replicas agree.
type schedule struct {
	// Names are those of the certificate, the main one first.
	Names []string `json:"names,omitempty"`
	// Renewal is for the certificate with this serial number, in hexadecimal.
	Serial string `json:"serial,omitempty"`
	// Renew is when the certificate is renewed, picked once from the window that the authority suggests.
	Renew time.Time `json:"renew,omitzero"`
	// WindowStart and WindowEnd are that window (RFC 9773, section 4.2), Explanation is a URL that explains it, and
	// Recheck is when it is read again.
	WindowStart time.Time `json:"windowStart,omitzero"`
	WindowEnd   time.Time `json:"windowEnd,omitzero"`
	Explanation string    `json:"explanation,omitempty"`
	Recheck     time.Time `json:"recheck,omitzero"`
	// Stored is when the renewal information was stored last.
	Stored time.Time `json:"stored,omitzero"`
	// Failures counts the failures since the last success, and Next is when the next attempt is due.
	Failures int       `json:"failures,omitempty"`
	Next     time.Time `json:"next,omitzero"`
	Last     *Failure  `json:"last,omitempty"`
	// Issued are the times of the last certificates for exactly these names.
	Issued []time.Time `json:"issued,omitempty"`
}

// fail returns the schedule after a failure. The next attempt is not before until.
func (s schedule) fail(now, until time.Time, failure *Failure) schedule {
	s.Failures++
	s.Last = failure
	s.Next = now.Add(pauses(s.Failures)).Round(0)
	if until.After(s.Next) {
		s.Next = until
	}
	return s
}

// succeed returns the schedule after a certificate was issued.
func (s schedule) succeed(now time.Time, names []string) schedule {
	issued := slices.DeleteFunc(slices.Clone(s.Issued), func(t time.Time) bool {
		return now.Sub(t) > duplicateWindow
	})
	return schedule{Names: names, Issued: append(issued, now.Round(0))}
}

// earliest returns when an order may be made at the earliest. Present is the certificate that it replaces, or nil. One
// of hours or minutes is of an authority without the limits of Let's Encrypt, and may be renewed twice in its lifetime.
func (s schedule) earliest(now time.Time, present *issuedCertificate) time.Time {
	next := s.Next
	if latest := now.Add(longestRetryAfter); next.After(latest) {
		next = latest // The clock was ahead.
	}
	week, day := duplicateWindow, 24*time.Hour
	if present != nil {
		life := present.leaf.NotAfter.Sub(present.leaf.NotBefore)
		week, day = min(week, 2*life), min(day, life)
	}
	recent := slices.DeleteFunc(slices.Clone(s.Issued), func(t time.Time) bool {
		return now.Sub(t) > week || t.After(now)
	})
	for limit, window := range map[int]time.Duration{duplicateLimit: week, dailyLimit: day} {
		if len(recent) < limit {
			continue
		}
		if free := recent[len(recent)-limit].Add(window); free.After(next) {
			next = free
		}
	}
	return next
}

// renewal returns when a certificate is renewed: when the authority suggests it, but never later than at a twentieth
// of its life; without a suggestion, lead before its end, spread by its serial number.
func (s schedule) renewal(leaf *x509.Certificate, lead time.Duration) time.Time {
	life := leaf.NotAfter.Sub(leaf.NotBefore)
	last := leaf.NotAfter.Add(-life / leastLife)
	renew := s.Renew
	if s.Serial != serialOf(leaf) || renew.IsZero() {
		hash := fnv.New32a()
		_, _ = hash.Write(leaf.SerialNumber.Bytes())
		early := time.Duration(uint64(life/renewalSpread) * uint64(hash.Sum32()) >> 32)
		renew = leaf.NotAfter.Add(-lead - early)
	}
	if renew.After(last) {
		return last
	}
	return renew
}

func serialOf(leaf *x509.Certificate) string { return leaf.SerialNumber.Text(16) }

// isDue reports whether the time to renew a certificate that was picked or requested has come.
func (s schedule) isDue(now time.Time, leaf *x509.Certificate) bool {
	return s.Serial == serialOf(leaf) && !s.Renew.IsZero() && !s.Renew.After(now)
}

// suggest returns the schedule with the suggestion of the authority for a certificate. The time in a window is picked
// once, and again only when the window changes; a renewal that is due stays due.
func (s schedule) suggest(now time.Time, leaf *x509.Certificate, info acme.RenewalInfo) schedule {
	start, end := info.SuggestedWindow.Start, info.SuggestedWindow.End
	isSame := s.Serial == serialOf(leaf)
	if !s.isDue(now, leaf) && (!isSame || !s.WindowStart.Equal(start) || !s.WindowEnd.Equal(end)) {
		s.Renew = info.SelectedTime
	}
	s.Serial, s.WindowStart, s.WindowEnd, s.Explanation = serialOf(leaf), start, end, info.ExplanationURL
	wait := defaultRecheck
	if info.RetryAfter != nil {
		wait = min(max(info.RetryAfter.Sub(now), shortestRecheck), longestRecheck)
	}
	s.Recheck = now.Add(wait).Round(0)
	return s
}

// withoutSuggestion returns the schedule after no suggestion could be read.
func (s schedule) withoutSuggestion(now time.Time, leaf *x509.Certificate) schedule {
	if s.Serial != serialOf(leaf) {
		s.Serial, s.Explanation = serialOf(leaf), ""
		s.Renew, s.WindowStart, s.WindowEnd = time.Time{}, time.Time{}, time.Time{}
	}
	s.Recheck = now.Add(defaultRecheck).Round(0)
	return s
}

// renewalLead returns how long before its end a certificate is renewed that no authority has a suggestion for: a third
// of its life, or what Traefik derives from certificatesDuration where that option was set and leaves two thirds.
func renewalLead(leaf *x509.Certificate, certificatesDuration time.Duration) time.Duration {
	life := leaf.NotAfter.Sub(leaf.NotBefore)
	if certificatesDuration == defaultCertificatesDuration {
		return life / 3
	}
	return min(durationLead(certificatesDuration), life*2/3)
}

// defaultCertificatesDuration is the default of the option certificatesDuration.
const defaultCertificatesDuration = 90 * 24 * time.Hour

// durationLead is how long before their end Traefik renews certificates of a duration.
func durationLead(duration time.Duration) time.Duration {
	const day = 24 * time.Hour
	switch {
	case duration >= 365*day:
		return 4 * 30 * day
	case duration >= 90*day:
		return 30 * day
	case duration >= 30*day:
		return 10 * day
	case duration >= 6*day:
		return 2 * day
	case duration >= day:
		return 6 * time.Hour
	}
	return 20 * time.Minute
}

// shortContext returns what is said before a problem document without the URL and the number of the attempt, which
// acmez adds.
func shortContext(text string) string {
	text, _, _ = strings.Cut(text, "attempt ")
	text, _, _ = strings.Cut(text, "https://")
	return text
}

// newFailure describes an error of an order, without the queries of URLs, in which DNS providers may have credentials.
func newFailure(now time.Time, err error) *Failure {
	failure := &Failure{Time: now.Round(0), Detail: redact.Queries(err.Error())}
	var problem acme.Problem
	if !errors.As(err, &problem) {
		return failure
	}
	failure.Type = problemType(problem)
	if context, _, found := strings.Cut(err.Error(), problem.Error()); found && problem.Detail != "" {
		failure.Detail = shortContext(context) + problem.Detail
	}
	for _, sub := range problem.Subproblems {
		if failure.Names == nil {
			failure.Names = map[string]string{}
		}
		failure.Names[sub.Identifier.Value] = problemType(sub.Problem) + ": " + sub.Detail
	}
	return failure
}
