package authority

import (
	"slices"
	"time"
)

const (
	// settle is how old an authority must be before leaves of it are presented, if there is another one: clients take some
	// time to get the bundle.
	settle = time.Minute
	// maxAuthorities is how many authorities are kept. There are two during a rotation; more come from clocks that jump.
	maxAuthorities = 6
	// maxFuture is how many authorities are kept that were made by a clock that is ahead.
	maxFuture = 2
)

// Plan says what is due with the authorities of a Secret at a time.
type Plan struct {
	// Keep are the authorities that stay, the oldest first.
	Keep []Authority
	// Create is set when a new authority must be added.
	Create bool
	// Signer signs leaves; its key is nil when there is none that can.
	Signer Authority
	// Next is when the plan changes without a change of the Secret; zero with Create.
	Next time.Time
}

// NewPlan returns the plan for authorities, the oldest first. It depends on nothing else, so that all replicas have the
// same one.
//
// The youngest authority that is valid and older than a minute signs; one that is half its age is replaced; and one
// that has been replaced is removed when all of its leaves have expired. Authorities that begin in the future, since
// they were made while a clock was ahead, are kept and not used.
func NewPlan(known []Authority, now time.Time) Plan {
	var plan Plan
	var youngest, signer *Authority
	for i := range known {
		one := &known[i]
		if one.Key == nil || !valid(one, now) {
			continue
		}
		// Without one that is old enough, such as at the first start, the oldest signs.
		if youngest = one; signer == nil || !one.created().Add(settle).After(now) {
			signer = one
		}
	}
	plan.Keep = keep(known, signer, now)
	if signer != nil {
		plan.Signer = *signer
	}
	if youngest == nil || !halfLife(youngest).After(now) {
		plan.Create = true
		return plan
	}
	plan.Next = halfLife(youngest)
	if youngest != signer {
		plan.Next = youngest.created().Add(settle)
	}
	for _, one := range plan.Keep {
		if gone := removal(plan.Keep, one); !gone.IsZero() && gone.After(now) && gone.Before(plan.Next) {
			plan.Next = gone
		}
	}
	return plan
}

func valid(one *Authority, now time.Time) bool {
	return !now.Before(one.Certificate.NotBefore) && now.Before(one.Certificate.NotAfter)
}

// halfLife returns when an authority is to be replaced.
func halfLife(one *Authority) time.Time {
	return one.created().Add(one.Certificate.NotAfter.Sub(one.created()) / 2)
}

// removal returns when an authority has no leaves that are valid: some time after a younger one has begun to sign. It
// is zero while there is no younger one.
func removal(known []Authority, one Authority) time.Time {
	for _, younger := range known {
		if younger.Key != nil && younger.Certificate.NotBefore.After(one.Certificate.NotBefore) {
			return younger.created().Add(settle + LeafLifetime + backdate)
		}
	}
	return time.Time{}
}

// keep returns the authorities that stay.
func keep(known []Authority, signer *Authority, now time.Time) []Authority {
	var stay []Authority
	future := 0
	for _, one := range known {
		if now.Before(one.Certificate.NotBefore) {
			if future++; future <= maxFuture {
				stay = append(stay, one)
			}
			continue
		}
		gone := removal(known, one)
		replaced := signer != nil && !gone.IsZero() && !gone.After(now)
		if !replaced || one.Certificate.Equal(signer.Certificate) {
			stay = append(stay, one)
		}
	}
	for len(stay) > maxAuthorities {
		// The oldest goes, unless it is the only one that signs.
		at := 0
		if signer != nil && stay[0].Certificate.Equal(signer.Certificate) {
			at = 1
		}
		stay = slices.Delete(stay, at, at+1)
	}
	return stay
}
