package client

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/sluiceproxy/sluice/dynamic"
)

const (
	// A resource that is not served is looked for every two seconds; one that has been missing for long, every ten.
	firstLook, lastLook = 2 * time.Second, 10 * time.Second
	// grace is how long a resource that could be watched must be refused before the state changes: an API server that
	// starts refuses everything until it has loaded its rules.
	grace = 10 * time.Second
	// worry is how long a stream must have failed before that is worth a line in the log.
	worry = 10 * time.Second
)

// status is the state of an informer, of which Status is the published part.
type status struct {
	mu        sync.Mutex
	published Status

	full     bool      // the store holds what was there at some time
	watched  bool      // a watch has been established since the resource is there
	missing  int       // answers in a row that the resource is not served
	since    time.Time // of the first of them
	refused  time.Time // of the first refusal in a row
	troubled time.Time // of the first failure in a row that was an answer
	warned   bool      // about that trouble
}

// Status returns the status of the watch: forbidden if one of its namespaces is, else absent or synced, and pending
// until all of its namespaces are one of these.
func (w *Watched[T]) Status() Status {
	total := Status{State: dynamic.StateAbsent}
	var reasons []string
	for i, one := range w.informers {
		status := one.status.now()
		if i == 0 || rank(status.State) > rank(total.State) {
			total.State, reasons = status.State, nil
		}
		if status.State == total.State && status.Reason != "" && !slices.Contains(reasons, status.Reason) {
			reasons = append(reasons, status.Reason)
		}
	}
	total.Reason = strings.Join(reasons, "; ")
	return total
}

// rank orders states by precedence in the status of the whole watch.
func rank(state dynamic.ProviderState) int {
	switch state {
	case dynamic.StateAbsent:
		return 0
	case dynamic.StateSynced:
		return 1
	case dynamic.StateForbidden:
		return 2
	}
	return 3
}

// now returns the published status.
func (s *status) now() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.published.State == dynamic.StateUnchanged {
		return Status{State: dynamic.StatePending, Reason: s.published.Reason}
	}
	return s.published
}

// enter changes the status and reports whether it was another one. The caller holds mu.
func (s *status) enter(status Status) bool {
	before := s.published
	s.published = status
	return before != status
}

// absent records that the API server does not serve the resource, and returns when to check again. A resource that
// existed is absent after two such responses.
func (i *informer) absent() time.Duration {
	s := &i.status
	s.mu.Lock()
	if s.missing++; s.missing == 1 {
		s.since = time.Now()
	}
	look := min(max(firstLook, time.Since(s.since)/30), lastLook)
	if s.full && s.missing < 2 {
		s.mu.Unlock()
		return look
	}
	changed := s.enter(Status{State: dynamic.StateAbsent, Reason: i.target.String() + " is not served by the cluster"})
	s.full, s.watched, s.refused, s.troubled, s.warned = false, false, time.Time{}, time.Time{}, false
	s.mu.Unlock()
	if changed {
		i.store.clear()
		i.cluster.logger.Debug("not served by the cluster; picked up when it is", "resource", i.target.String())
		i.cluster.statusChanged()
	}
	return look
}

// filled notes that the store holds everything that is there.
func (i *informer) filled() {
	s := &i.status
	s.mu.Lock()
	s.full = true
	// While watching is refused, a list alone is no state to be relied on.
	changed := s.refused.IsZero() && s.enter(Status{State: dynamic.StateSynced})
	s.mu.Unlock()
	if changed {
		i.cluster.statusChanged()
	}
}

// granted notes that a watch has been established.
func (i *informer) granted() {
	s := &i.status
	s.mu.Lock()
	was := s.published
	s.watched, s.missing = true, 0
	s.refused = time.Time{}
	recovered := s.warned
	s.troubled, s.warned = time.Time{}, false
	changed := false
	if was.State == dynamic.StateForbidden {
		next := Status{State: dynamic.StatePending} // Its objects are about to arrive.
		if s.full {
			next.State = dynamic.StateSynced
		}
		changed = s.enter(next)
	}
	s.mu.Unlock()
	if changed {
		i.cluster.logger.Info("Kubernetes lets Sluice read it now", "resource", i.target.String())
		i.cluster.statusChanged()
	} else if recovered {
		i.cluster.logger.Info("reading from Kubernetes works again", "resource", i.target.String())
	}
}

// judge notes how an attempt to read has ended.
func (i *informer) judge(err error, by *stream) {
	switch {
	case err == nil:
	case apierrors.IsForbidden(err) && by != nil:
		i.refused("may not " + strings.Join(by.requests.verbs(), " and ") + " " + i.target.String())
	case apierrors.IsUnauthorized(err):
		i.refused("may not read " + i.target.String() + ": the API server does not accept the credentials")
	default:
		i.failed(err)
	}
}

// refused notes that the resource may not be read.
func (i *informer) refused(reason string) {
	s := &i.status
	s.mu.Lock()
	s.missing = 0
	if s.refused.IsZero() {
		s.refused = time.Now()
	}
	changed := false
	if !s.watched || time.Since(s.refused) >= grace {
		changed = s.enter(Status{State: dynamic.StateForbidden, Reason: reason})
	}
	s.mu.Unlock()
	if changed {
		i.cluster.logger.Warn("Kubernetes refuses a request of Sluice; everything else works, and this will as soon as "+
			"it is granted",
			"reason", reason)
		i.cluster.statusChanged()
	}
}

// failed records a failed attempt to read. An unreachable API server is logged by reach, once for all watches.
func (i *informer) failed(err error) {
	s := &i.status
	s.mu.Lock()
	s.missing = 0
	switch {
	case unreachable(err):
		s.troubled = time.Time{} // A server that has just come back may take a moment to be itself again.
	case s.troubled.IsZero():
		s.troubled = time.Now()
	}
	warn := !s.warned && !s.troubled.IsZero() && time.Since(s.troubled) >= worry
	s.warned = s.warned || warn
	changed := false
	if state := s.published.State; state == dynamic.StateUnchanged || state == dynamic.StatePending {
		changed = s.enter(Status{State: dynamic.StatePending, Reason: fmt.Sprintf("%s: %v", i.target, err)})
	}
	s.mu.Unlock()
	if warn {
		i.cluster.logger.Warn("reading from Kubernetes fails; what is known stays in use", "resource", i.target.String(),
			"error", err)
	}
	if changed {
		i.cluster.statusChanged()
	}
}

// unreachable reports whether there was no answer.
func unreachable(err error) bool {
	_, ok := errors.AsType[*url.Error](err)
	return ok
}

// Combined returns the status of several watches: pending while one of them is, then that of the first required one
// which is not synced. Otherwise it is synced, with what is missing of the others as the reason.
func Combined(required, others []Status) (state dynamic.ProviderState, reason string) {
	pending, waiting := false, ""
	for _, status := range append(required[:len(required):len(required)], others...) {
		if status.State == dynamic.StatePending {
			pending, waiting = true, cmp.Or(waiting, status.Reason)
		}
	}
	if pending {
		return dynamic.StatePending, waiting
	}
	for _, status := range required {
		if status.State != dynamic.StateSynced {
			return status.State, status.Reason
		}
	}
	var reasons []string
	for _, status := range others {
		if status.State != dynamic.StateSynced && status.Reason != "" {
			reasons = append(reasons, status.Reason)
		}
	}
	return dynamic.StateSynced, strings.Join(reasons, "; ")
}
