package pipeline

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
)

// faultyWait is how long Once waits for a pending provider that has reported an error, which may have tried again by
// then.
const faultyWait = time.Second

// Once runs the source until every provider has delivered its first state, or the timeout is over, compiles and
// activates one settled table, and stops everything. A provider that did not deliver is shown as timed out. One that
// cannot read its source, and says why, gets a second at most. Once waits for endpoint sets as Run does. It fails when
// ctx ends before that, or when the source cannot run.
func (p *Pipeline) Once(ctx context.Context, timeout time.Duration) (*State, error) {
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	var source sync.WaitGroup
	failed := make(chan error, 1)
	source.Go(func() {
		if err := p.options.Source.Run(running); err != nil {
			failed <- err
		}
	})
	defer source.Wait()
	defer cancel()
	begin := time.Now()
	p.receive(begin)
	first := begin.Add(min(timeout, faultyWait))
	if err := p.receiveUntil(ctx, failed, first, func() bool { return !p.pending() }); err != nil {
		return nil, err
	}
	if err := p.receiveUntil(ctx, failed, begin.Add(timeout), func() bool { return !p.pendingFaultless() }); err != nil {
		return nil, err
	}
	late, waited := p.late(), time.Since(begin).Round(time.Second)
	p.apply(time.Now(), true)
	if err := p.receiveUntil(ctx, failed, p.activateAt(), func() bool {
		p.activate(time.Now())
		return p.waiting == nil
	}); err != nil {
		return nil, err
	}
	p.activate(time.Now())
	for next := p.options.Endpoints.Flush(time.Now()); !next.IsZero(); next = p.options.Endpoints.Flush(next) {
	}
	p.giveUp(late, waited)
	p.publishState()
	return p.State(), nil
}

// receiveUntil receives until done or the deadline.
func (p *Pipeline) receiveUntil(ctx context.Context, failed <-chan error, deadline time.Time, done func() bool) error {
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("stopped before the first state was complete: %w", context.Cause(ctx))
		case err := <-failed:
			return err
		case <-timer.C:
			return nil
		case <-p.options.Source.Changed():
			p.receive(time.Now())
		}
	}
	return nil
}

// late returns the names of the providers that are still pending.
func (p *Pipeline) late() []string {
	var names []string
	for name, status := range p.update.States {
		if status.State == dynamic.StatePending {
			names = append(names, name)
		}
	}
	return names
}

// pendingFaultless reports whether a provider is pending that has not reported why.
func (p *Pipeline) pendingFaultless() bool {
	for _, status := range p.update.States {
		if status.State == dynamic.StatePending && status.Reason == "" {
			return true
		}
	}
	return false
}

// giveUp shows the providers that were late as timed out, also those that have spoken after the table was made.
func (p *Pipeline) giveUp(late []string, waited time.Duration) {
	for _, name := range late {
		status := p.update.States[name]
		reason := fmt.Sprintf("no first state within %s", waited)
		if status.Reason != "" {
			reason += "; " + status.Reason
		}
		status.State, status.Since, status.Reason = dynamic.StateTimedOut, time.Now(), reason
		p.update.States[name] = status
	}
}
