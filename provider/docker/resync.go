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

// resync reads all containers anew and publishes what they say.
func (s *session) resync(ctx context.Context, from engine, box *inbox) error {
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

// worthInspecting tells whether a container can have something to say: one that does not run has only if its labels say
// so.
func (s *session) worthInspecting(summary *enginetypes.Summary) bool {
	return summary.State == enginetypes.StateRunning || summary.State == "" ||
		s.memory.read(summary.Labels).Options.Docker.AllowNonRunning
}

// update inspects the containers that events have named, and publishes what has changed.
func (s *session) update(ctx context.Context, from engine, box *inbox) error {
	news := box.take()
	for _, one := range news.late {
		if err := s.note(one); err != nil {
			return err
		}
	}
	maps.DeleteFunc(s.leaving, func(id string, _ time.Time) bool { return news.changed[id] })
	if err := s.inspectAll(ctx, from, box, slices.Sorted(maps.Keys(news.changed))); err != nil {
		return err
	}
	for id, signals := range news.asked {
		if known := s.containers[id]; known != nil && slices.Contains(signals, known.stopSignal) {
			s.leaving[id] = time.Now().Add(max(grace, known.stopTimeout))
		}
	}
	s.publish(ctx, news.since)
	return nil
}

// beat asks whether the engine is still there, and tries again what it could not tell. Containers that were asked to
// end and have not done so for a while go on.
func (s *session) beat(ctx context.Context, from engine, box *inbox) error {
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

// retry asks again about containers that could not be inspected. Nobody waits for it.
func (s *session) retry(ctx context.Context, from engine, box *inbox) {
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

// later puts into the inbox what becomes of inspections that nobody waits for.
func (s *session) later(results <-chan inspected, count int, box *inbox) {
	s.running.Go(func() {
		for range count {
			box.tell(<-results)
		}
	})
}

// inspected is what became of the inspection of one container.
type inspected struct {
	id string
	// number tells the inspections of a container apart.
	number uint64
	what   *enginetypes.InspectResponse
	err    error
}

// inspectAll reads these containers anew, several at a time. One that can't be read stays as it was. When the engine
// has told nothing for a while, those that are left hold up nobody: they are read when it has found its voice.
func (s *session) inspectAll(ctx context.Context, from engine, box *inbox, ids []string) error {
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

// inspections starts to inspect containers. The channel has room for all results.
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

// note keeps what is known of a container, unless it has been asked about again meanwhile. It fails when nothing is
// known because the connection is lost.
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
