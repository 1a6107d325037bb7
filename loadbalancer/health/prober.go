package health

import (
	"context"
	"sync"
	"time"
)

// Prober runs probes. It is safe for concurrent use.
type Prober struct {
	parallel int
	base     context.Context
	cancel   context.CancelFunc
	workers  sync.WaitGroup

	// mutex guards the fields below, and the state of every probe.
	mutex sync.Mutex
	// running is the number of workers, at most that of probes in the queue and in checks.
	running int
	// first and last are the ends of the queue of probes that are due.
	first, last *Probe
	probes      map[*Probe]struct{}
	closed      bool
}

// NewProber returns a prober with a maximum number of concurrent checks, at least 1. Close ends it.
func NewProber(parallel int) *Prober {
	base, cancel := context.WithCancel(context.Background())
	return &Prober{parallel: max(parallel, 1), base: base, cancel: cancel, probes: map[*Probe]struct{}{}}
}

// Start begins to check a target, at once or after the checks that are due earlier. It calls changed with the
// first result and with each change, one call at a time. A call occupies one of the concurrent checks, so it
// must not block for long. Stop ends the probe. A closed prober starts nothing.
func (p *Prober) Start(target Target, check Check, changed func(Result)) *Probe {
	probe := &Probe{prober: p, target: target, check: check, changed: changed}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.closed {
		probe.state = stopped
		return probe
	}
	p.probes[probe] = struct{}{}
	p.enqueue(probe)
	return probe
}

// Close stops every probe and waits until none runs, calls of changed included: the caller must not hold a lock
// that changed needs.
func (p *Prober) Close() {
	p.mutex.Lock()
	p.closed = true
	for probe := range p.probes {
		probe.halt()
	}
	clear(p.probes)
	p.mutex.Unlock()
	p.cancel()
	p.workers.Wait()
}

// enqueue appends a probe to the queue, and starts a worker if needed.
func (p *Prober) enqueue(probe *Probe) {
	probe.state = queued
	if p.first == nil {
		p.first = probe
	} else {
		p.last.next = probe
	}
	p.last = probe
	if p.running < p.parallel {
		p.running++
		p.workers.Go(p.work)
	}
}

// work runs probes from the queue until it is empty.
func (p *Prober) work() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for p.first != nil {
		probe := p.first
		p.first, probe.next = probe.next, nil
		if probe.state == queued {
			p.run(probe)
		}
	}
	p.running--
}

// run runs one check and schedules the next one. It releases the lock, which the caller holds, during the check.
func (p *Prober) run(probe *Probe) {
	ctx, cancel := context.WithTimeout(p.base, probe.check.timeout)
	defer cancel()
	probe.state, probe.cancel = running, cancel
	p.mutex.Unlock()
	began := time.Now()
	answer := probe.check.run(ctx, &probe.target)
	p.mutex.Lock()
	if probe.state != running {
		return
	}
	probe.cancel = nil
	if answer.inconclusive {
		probe.retry()
		return
	}
	if probe.weigh(answer.up) {
		result := Result{Up: probe.up, Reason: answer.reason, At: time.Now()}
		p.mutex.Unlock()
		probe.changed(result)
		p.mutex.Lock()
	}
	if probe.state == running {
		probe.rest(time.Since(began))
	}
}
