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

func (i *eventQueue) addEjectionCandidate(member *Member, result Result) {
	i.mutex.Lock()
	i.ejectionCandidates = append(i.ejectionCandidates, ejectionCandidate{member, result})
	i.mutex.Unlock()
	i.notify()
}

func (i *eventQueue) addCheckResult(probe *probe, result health.Result) {
	i.mutex.Lock()
	i.results = append(i.results, checkResult{probe, result})
	i.mutex.Unlock()
	i.notify()
}

func (i *eventQueue) setZone(zone string) {
	i.mutex.Lock()
	i.zone = &zone
	i.mutex.Unlock()
	i.notify()
}

func (i *eventQueue) notify() {
	select {
	case i.changed <- struct{}{}:
	default: // A notification is pending already.
	}
}

func (i *eventQueue) take() ([]ejectionCandidate, []checkResult, *string) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	ejectionCandidates, results, zone := i.ejectionCandidates, i.results, i.zone
	i.ejectionCandidates, i.results, i.zone = nil, nil, nil
	return ejectionCandidates, results, zone
}
