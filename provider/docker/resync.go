package docker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	enginetypes "github.com/moby/moby/api/types/container"
)

// resync reads all containers again and publishes the result.
func (s *session) resync(ctx context.Context, from engine, box *eventQueue) error {
	noticed := time.Now()
	listed, err := from.list(ctx)
	if err != nil {
		return fmt.Errorf("listing the containers: %w", err)
	}
	present := make(map[string]bool, len(listed))
	for i := range listed {
		present[listed[i].ID] = s.worthInspecting(&listed[i])
	}
	maps.DeleteFunc(s.containers, func(id string, _ *container) bool { return !present[id] })
	maps.DeleteFunc(s.uninspected, func(id string, _ string) bool { return !present[id] })
	maps.DeleteFunc(present, func(_ string, worth bool) bool { return !worth })
	clear(s.leaving)
	clear(s.asked)
	if err := s.inspectAll(ctx, from, box, slices.Sorted(maps.Keys(present))); err != nil {
		return err
	}
	s.hostAddress = netip.Addr{}
	s.publish(ctx, noticed)
	return nil
}

// worthInspecting reports whether a container can contribute: one that does not run only if it has labels.
func (s *session) worthInspecting(summary *enginetypes.Summary) bool {
	return summary.State == enginetypes.StateRunning || summary.State == "" ||
		s.memory.read(summary.Labels).Options.Docker.AllowNonRunning
}

// update inspects the containers named by events, and publishes the changes.
func (s *session) update(ctx context.Context, from engine, box *eventQueue) error {
	changes := box.take()
	for _, one := range changes.late {
		if err := s.note(one); err != nil {
			return err
		}
	}
	maps.DeleteFunc(s.leaving, func(id string, _ time.Time) bool { return changes.containers[id] })
	if err := s.inspectAll(ctx, from, box, slices.Sorted(maps.Keys(changes.containers))); err != nil {
		return err
	}
	for id, signals := range changes.signals {
		if known := s.containers[id]; known != nil && slices.Contains(signals, known.stopSignal) {
			s.leaving[id] = time.Now().Add(max(grace, known.stopTimeout))
		}
	}
	s.publish(ctx, changes.since)
	return nil
}

// beat pings the engine and retries failed inspections. Containers that have not stopped within the grace period serve
// again.
func (s *session) beat(ctx context.Context, from engine, box *eventQueue) error {
	if err := from.ping(ctx); err != nil {
		return err
	}
	s.retry(ctx, from, box)
	now := time.Now()
	before := len(s.leaving)
	maps.DeleteFunc(s.leaving, func(_ string, until time.Time) bool { return now.After(until) })
	if len(s.leaving) != before {
		s.publish(ctx, now)
	}
	return nil
}

// retry inspects containers again that could not be inspected, without waiting for the results.
func (s *session) retry(ctx context.Context, from engine, box *eventQueue) {
	var ids []string
	for _, id := range slices.Sorted(maps.Keys(s.uninspected)) {
		if s.asked[id] == 0 {
			ids = append(ids, id)
		}
	}
	if len(ids) > 0 {
		s.later(s.inspections(ctx, from, ids), len(ids), box)
	}
}

// later puts the results of late inspections into the queue.
func (s *session) later(results <-chan inspected, count int, box *eventQueue) {
	s.running.Go(func() {
		for range count {
			box.add(<-results)
		}
	})
}

// inspected is the result of an inspection.
type inspected struct {
	id string
	// number identifies the inspection.
	number uint64
	what   *enginetypes.InspectResponse
	err    error
}

// inspectAll inspects containers concurrently. One that fails keeps its last state. If the engine makes no progress for
// slowInspection, the remaining results are processed when they arrive.
func (s *session) inspectAll(ctx context.Context, from engine, box *eventQueue, ids []string) error {
	results, waiting := s.inspections(ctx, from, ids), map[string]bool{}
	for _, id := range ids {
		waiting[id] = true
	}
	slow := time.NewTimer(slowInspection)
	defer slow.Stop()
	for len(waiting) > 0 {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case one := <-results:
			delete(waiting, one.id)
			slow.Reset(slowInspection)
			if err := s.note(one); err != nil {
				return err
			}
		case <-slow.C:
			for id := range waiting {
				s.uninspected[id] = fmt.Sprintf("the engine has not answered within %s", slowInspection)
			}
			s.later(results, len(waiting), box)
			return nil
		}
	}
	return nil
}

// inspections starts inspections. The channel has room for all results.
func (s *session) inspections(ctx context.Context, from engine, ids []string) <-chan inspected {
	results, slots := make(chan inspected, len(ids)), make(chan struct{}, parallel)
	for _, id := range ids {
		s.number++
		number := s.number
		s.asked[id] = number
		s.running.Go(func() {
			slots <- struct{}{}
			what, err := from.inspect(ctx, id)
			<-slots
			results <- inspected{id, number, what, err}
		})
	}
	return results
}

// note stores the result of an inspection, unless a newer one is running. It returns an error if the connection is
// lost.
func (s *session) note(one inspected) error {
	if s.asked[one.id] != one.number {
		return nil
	}
	delete(s.asked, one.id)
	switch {
	case errors.Is(one.err, errGone):
		delete(s.containers, one.id)
		delete(s.uninspected, one.id)
	case one.err != nil && !errors.Is(one.err, context.DeadlineExceeded) && lost(one.err):
		return fmt.Errorf("inspecting a container: %w", one.err)
	case one.err != nil:
		s.uninspected[one.id] = one.err.Error()
	default:
		delete(s.uninspected, one.id)
		s.containers[one.id] = newContainer(one.what, s.memory.read)
	}
	return nil
}
