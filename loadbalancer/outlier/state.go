package outlier

import (
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// flags are what others than the holder of the lock look at.
const (
	// hasFailures is set if there are failures that a success resets.
	hasFailures uint32 = 1 << iota
	// suspected is set if a threshold was crossed.
	suspected
	// ejected is set if the member is ejected.
	ejected
	// unproven is set if the member was ejected, and has had no success since.
	unproven
)

// State is the state of a member by its requests. The zero value is ready, and must not be copied after use. It has 64
// bytes, and with passiveHealthCheck 8 more for each counted failure.
type State struct {
	flags atomic.Uint32
	// lock guards what follows. It is not taken for a success of a member that has no failures.
	lock sync.Mutex
	// run counts the consecutive failures for outlierDetection.
	run uint32
	// doublings is by how much the next ejection is longer than the first.
	doublings uint8
	// crossed is whose threshold was crossed.
	crossed uint8
	// failures are the times of the consecutive failures for passiveHealthCheck, oldest first.
	failures []time.Duration
	// until is when the last ejection was to end; since is when the member returned from it.
	until, since time.Duration
}

// Observe takes notice of how a request ended, and of when: now, on the clock of Eject and Return. It reports
// true when the result makes the member a suspect: once, until a success clears it or the member was out and
// has returned. Results of a member that is out are ignored, and so are those of requests from before its
// return. A success of a member without failures takes no lock and writes nothing.
func (s *State) Observe(p *Policy, r Result, now time.Duration) (suspect bool) {
	guilty, flags := p.detect(&r), s.flags.Load()
	switch {
	case flags&ejected != 0, guilty == 0 && flags&hasFailures == 0, r.silent():
		return false
	case flags&suspected != 0 && guilty == p.detectors():
		return false
	}
	began := now
	if r.Began > 0 {
		began = r.Began
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	if flags = s.flags.Load(); flags&ejected != 0 || began < s.since {
		return false
	}
	s.count(p, guilty, now)
	next := s.next(p)
	if guilty != 0 {
		next |= flags & unproven
	}
	s.flags.Store(next)
	return next&^flags&suspected != 0
}

// count adds a result to the recorded ones.
func (s *State) count(p *Policy, guilty detector, now time.Duration) {
	s.run++
	if guilty&byDetection == 0 {
		s.run = 0
	}
	if guilty&byPassive == 0 {
		s.failures = nil
		return
	}
	// Old failures are dropped, and those that are not needed to reach the threshold.
	first := max(0, len(s.failures)+1-p.attempts)
	for first < len(s.failures) && s.failures[first] <= now-p.window {
		first++
	}
	s.failures = append(s.failures[first:], now)
}

// next returns the flags that follow from the recorded results.
func (s *State) next(p *Policy) uint32 {
	var crossed detector
	if p.consecutive > 0 && int64(s.run) >= int64(p.consecutive) {
		crossed |= byDetection
	}
	if p.attempts > 0 && len(s.failures) >= p.attempts {
		crossed |= byPassive
	}
	s.crossed = uint8(crossed)
	switch {
	case crossed != 0:
		return hasFailures | suspected
	case s.run > 0 || len(s.failures) > 0:
		return hasFailures
	}
	return 0
}

// Suspect reports whether the member has crossed a threshold, was not ejected for it, and has had no success
// since: it is ejected when the limit allows it later.
func (s *State) Suspect() bool { return s.flags.Load()&(suspected|ejected) == suspected }

// Failing reports whether the member is a candidate for ejection, or was ejected and has had no success since.
func (s *State) Failing() bool {
	flags := s.flags.Load()
	return flags&ejected == 0 && flags&(suspected|unproven) != 0
}

// Eject ejects the member and returns the end of the ejection. passiveHealthCheck ejects for failureWindow;
// outlierDetection for baseEjectionTime, doubled for each recent ejection, up to maxEjectionTime, and shortened
// at random by up to a tenth, so that members that fail together do not return together. A systemic failure, in
// a pool without any success, ejects for baseEjectionTime and does not count as a recent ejection. Ejecting an
// ejected member changes nothing. Only the single writer calls it.
func (s *State) Eject(p *Policy, now time.Duration, systemic bool) (until time.Duration) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.flags.Load()&ejected != 0 {
		return s.until
	}
	var out time.Duration
	if detector(s.crossed)&byPassive != 0 {
		out = p.window
	}
	if detector(s.crossed)&byDetection != 0 || s.crossed == 0 {
		out = max(out, s.backOff(p, now, systemic))
	}
	s.forget()
	s.flags.Store(ejected)
	if s.until = now + out; s.until < now {
		s.until = math.MaxInt64 // An ejection for ever.
	}
	return s.until
}

// backOff returns how long outlierDetection takes a member out.
func (s *State) backOff(p *Policy, now time.Duration, systemic bool) time.Duration {
	out := p.base
	if !systemic {
		s.recover(p, now-s.since)
		out = p.after(s.doublings)
		if out < p.longest {
			s.doublings++
		}
	}
	return out - time.Duration(rand.Float64()*float64(out)/10)
}

// recover undoes a doubling for each time served that is as long as the next ejection would be.
func (s *State) recover(p *Policy, served time.Duration) {
	for s.doublings > 0 {
		if served -= p.after(s.doublings); served < 0 {
			return
		}
		s.doublings--
	}
}

// after returns how long an ejection lasts after so many doublings.
func (p *Policy) after(doublings uint8) time.Duration {
	out := p.base
	for range doublings {
		if out >= p.longest/2 {
			return p.longest
		}
		out *= 2
	}
	return out
}

// forget drops every failure.
func (s *State) forget() {
	s.run, s.crossed, s.failures = 0, 0, nil
}

// Return lets the member take requests again from now on. Requests that began before count for nothing any
// more. It is for the single writer.
func (s *State) Return(now time.Duration) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.forget()
	s.since = now
	s.flags.Store(hasFailures | unproven)
}

// Ejected reports whether the member is out.
func (s *State) Ejected() bool { return s.flags.Load()&ejected != 0 }
