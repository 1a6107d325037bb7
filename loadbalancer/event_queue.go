package loadbalancer

import (
	"sync"

	"github.com/sluiceproxy/sluice/loadbalancer/health"
)

// eventQueue holds events that the single writer has not processed yet.
type eventQueue struct {
	mutex              sync.Mutex
	ejectionCandidates []ejectionCandidate
	results            []checkResult
	zone               *string
	held               bool
	changed            chan struct{}
}

// ejectionCandidate is a member whose failures crossed a threshold, with the last of them.
type ejectionCandidate struct {
	member *Member
	result Result
}

// checkResult is the result of an active check.
type checkResult struct {
	probe *probe
	health.Result
}

func newEventQueue() *eventQueue { return &eventQueue{changed: make(chan struct{}, 1)} }

func (q *eventQueue) addEjectionCandidate(member *Member, result Result) {
	q.mutex.Lock()
	q.ejectionCandidates = append(q.ejectionCandidates, ejectionCandidate{member, result})
	q.mutex.Unlock()
	q.notify()
}

func (q *eventQueue) addCheckResult(probe *probe, result health.Result) {
	q.mutex.Lock()
	q.results = append(q.results, checkResult{probe, result})
	q.mutex.Unlock()
	q.notify()
}

func (q *eventQueue) setZone(zone string) {
	q.mutex.Lock()
	q.zone = &zone
	q.mutex.Unlock()
	q.notify()
}

// setHeld notes that the drains have changed.
func (q *eventQueue) setHeld() {
	q.mutex.Lock()
	q.held = true
	q.mutex.Unlock()
	q.notify()
}

// takeHeld reports whether the drains have changed since it was called last.
func (q *eventQueue) takeHeld() bool {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	held := q.held
	q.held = false
	return held
}

func (q *eventQueue) notify() {
	select {
	case q.changed <- struct{}{}:
	default: // A notification is pending already.
	}
}

func (q *eventQueue) take() ([]ejectionCandidate, []checkResult, *string) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	ejectionCandidates, results, zone := q.ejectionCandidates, q.results, q.zone
	q.ejectionCandidates, q.results, q.zone = nil, nil, nil
	return ejectionCandidates, results, zone
}
