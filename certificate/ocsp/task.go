package ocsp

import (
	"cmp"
	"crypto/x509"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/dynamic"
)

const (
	// shortestRenewal is the shortest time between two requests for one certificate.
	shortestRenewal = time.Minute
	// lateLife is the part of a response's life at whose beginning renewals that fail get a verdict.
	lateLife = 4
	// notWaiting is the index of a task that is not in the queue.
	notWaiting = -1
)

// status is what a responder has said last.
type status int

const (
	statusNone status = iota
	statusGood
	statusRevoked
	statusUnknown
)

// The states of a certificate.
const (
	// StatePending is for a certificate whose responders have not been queried yet.
	StatePending = "pending"
	// StateGood is for one whose response is stapled.
	StateGood = "good"
	// StateRevoked is for one that is revoked.
	StateRevoked = "revoked"
	// StateUnknown is for one that its responder does not know.
	StateUnknown = "unknown"
	// StateFailing is for one whose last attempt has failed. The response before may still be stapled.
	StateFailing = "failing"
)

// task is a certificate with its response. The mutex of the Stapler guards it; leaf, urls, host and must do not change.
type task struct {
	leaf    *x509.Certificate
	urls    []string
	host    string
	must    bool // The certificate demands a staple.
	pairs   []*certificate.Pair
	objects []dynamic.Ref
	gone    bool

	due   time.Time
	index int // That in the queue.

	// What the last good, revoked or unknown response has said, and until when it counts.
	status     status
	response   []byte
	thisUpdate time.Time
	nextUpdate time.Time
	until      time.Time
	responder  string
	detail     string
	expired    bool
	// The failures since then.
	failures int
	since    time.Time
	problem  string
	// unknowns counts the responses in a row that do not know the certificate.
	unknowns int
	// reported is the reason of the last verdict.
	reported string
}

// pause returns how long to wait after a number of failures, between three and five quarters of a step. The longest one
// goes on for ever.
func pause(failures int) time.Duration {
	steps := [...]time.Duration{
		30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour,
	}
	step := steps[min(max(failures, 1), len(steps))-1]
	return step*3/4 + rand.N(step/2) //nolint:gosec // Only spreads requests.
}

// fail takes a failed attempt.
func (t *task) fail(now time.Time, err error) {
	if t.failures == 0 {
		t.since = now
	}
	t.failures++
	t.problem = err.Error()
	t.due = now.Add(pause(t.failures))
	late := t.until.Add(-t.until.Sub(t.thisUpdate) / lateLife)
	for _, at := range []time.Time{late, t.until} {
		if at.After(now) && at.Before(t.due) {
			t.due = at // What is said from then on is said in time.
		}
	}
}

// succeed takes a response. It is renewed at the half-way point of its life, or, past that, of what is left; one that
// does not know the certificate, which may have been issued just now, is renewed soon.
func (t *task) succeed(now time.Time, answered answer) {
	t.status, t.response, t.responder = answered.status, answered.response, answered.responder
	t.thisUpdate, t.nextUpdate, t.until = answered.thisUpdate, answered.nextUpdate, answered.until
	t.detail = answered.detail
	t.expired, t.failures, t.since, t.problem = false, 0, time.Time{}, ""
	t.due = t.thisUpdate.Add(t.until.Sub(t.thisUpdate) / 2)
	if !t.due.After(now) {
		t.due = now.Add(t.until.Sub(now) / 2)
	}
	if soonest := now.Add(shortestRenewal); t.due.Before(soonest) {
		t.due = soonest
	}
	if t.status != statusUnknown {
		t.unknowns = 0
		return
	}
	t.unknowns++
	if soon := now.Add(pause(t.unknowns)); soon.Before(t.due) {
		t.due = soon
	}
}

// current reports whether the last response has not ended.
func (t *task) current(now time.Time) bool { return t.status != statusNone && now.Before(t.until) }

// stapled reports whether there is a response to staple.
func (t *task) stapled(now time.Time) bool { return t.status == statusGood && t.current(now) }

// staple hands the response to what handshakes read.
func (t *task) staple(now time.Time) {
	response := t.response
	if !t.stapled(now) {
		response = nil
	}
	for _, pair := range t.pairs {
		pair.Staple(response, t.until)
	}
}

// state returns the state at a time.
func (t *task) state(now time.Time) string {
	switch {
	case t.current(now) && t.status == statusRevoked:
		return StateRevoked
	case t.current(now) && t.status == statusUnknown:
		return StateUnknown
	case t.failures > 0 || t.status != statusNone && !t.current(now):
		return StateFailing
	case t.status == statusGood:
		return StateGood
	}
	return StatePending
}

// reason says what is wrong; empty if nothing is. It does not change from one attempt to the next unless its cause
// does.
func (t *task) reason(now time.Time) string {
	var text string
	switch state := t.state(now); {
	case state == StateRevoked || state == StateUnknown:
		text = fmt.Sprintf("%s, so that no OCSP response is stapled", t.detail)
	case state != StateFailing:
		return ""
	case !t.stapled(now):
		text = fmt.Sprintf("no OCSP response is stapled since %s: %s", shown(t.missingSince()),
			cmp.Or(t.problem, "the response has ended"))
		if t.detail != "" {
			text += "; before, " + t.detail
		}
	case t.until.Sub(now) > t.until.Sub(t.thisUpdate)/lateLife:
		return ""
	default:
		return fmt.Sprintf("certificate %s: the OCSP response ends on %s, and has not been renewed since %s: %s", t.name(),
			shown(t.until), shown(t.since), t.problem)
	}
	if t.must {
		text += "; clients will refuse the certificate, which demands one (RFC 7633)"
	}
	return "certificate " + t.name() + ": " + text
}

// missingSince returns since when nothing is stapled.
func (t *task) missingSince() time.Time {
	if t.status != statusNone {
		return t.until
	}
	return t.since
}

func shown(at time.Time) string { return at.UTC().Format(time.DateTime) }

// name returns the common name, or the first other name.
func (t *task) name() string {
	name := t.leaf.Subject.CommonName
	if len(t.leaf.DNSNames) > 0 {
		name = t.leaf.DNSNames[0]
	}
	return cmp.Or(name, "without a name") + " (serial number " + t.leaf.SerialNumber.Text(16) + ")"
}

// fields returns what names the certificate in the log.
func (t *task) fields() []any {
	fields := []any{"certificate", t.name()}
	if len(t.objects) > 0 {
		fields = append(fields, "object", t.objects[0].Name)
	}
	return fields
}

// Status is the state of a certificate's OCSP response.
type Status struct {
	// State is one of StatePending, StateGood, StateRevoked, StateUnknown and StateFailing.
	State string `json:"status"`
	// Stapled says whether clients get the response.
	Stapled bool `json:"stapled"`
	// ThisUpdate and NextUpdate are those of the last valid response; NextUpdate is zero if it had none.
	ThisUpdate time.Time `json:"thisUpdate,omitzero"`
	NextUpdate time.Time `json:"nextUpdate,omitzero"`
	// Responder is the scheme and host of who sent it.
	Responder string `json:"responder,omitempty"`
	// Error says why the last attempt failed, or why the certificate is not good.
	Error string `json:"error,omitempty"`
	// Failures counts the failed attempts since the last valid response.
	Failures int `json:"failures,omitempty"`
	// Next is when the responder is queried next.
	Next time.Time `json:"next,omitzero"`
}

// Status returns the state of a certificate by its fingerprint (see certificate.Pair); false for one without
// responders.
func (s *Stapler) Status(fingerprint string) (Status, bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	t := s.tasks[fingerprint]
	if t == nil {
		return Status{}, false
	}
	now := time.Now()
	return Status{
		State: t.state(now), Stapled: t.stapled(now), ThisUpdate: t.thisUpdate, NextUpdate: t.nextUpdate,
		Responder: t.responder, Error: cmp.Or(t.problem, t.detail), Failures: t.failures, Next: t.due,
	}, true
}

// States counts the certificates by state.
func (s *Stapler) States() map[string]int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	now := time.Now()
	counts := map[string]int{}
	for _, t := range s.tasks {
		counts[t.state(now)]++
	}
	return counts
}

// queue orders tasks by the time at which they are due, those that demand a staple first (container/heap).
type queue []*task

func (q queue) Len() int { return len(q) }

func (q queue) Less(i, j int) bool {
	if q[i].due.Equal(q[j].due) {
		return q[i].must && !q[j].must
	}
	return q[i].due.Before(q[j].due)
}

func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

// Push adds a task; container/heap calls it.
func (q *queue) Push(one any) {
	if t, ok := one.(*task); ok {
		t.index = len(*q)
		*q = append(*q, t)
	}
}

// Pop removes the last task; container/heap calls it.
func (q *queue) Pop() any {
	last := len(*q) - 1
	t := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	t.index = notWaiting
	return t
}
