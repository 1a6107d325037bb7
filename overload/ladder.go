package overload

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

const (
	// settling is how long nothing is measured after Ready: the first table has just been built.
	settling = 10 * time.Second
	// falling is how much the pressure that counts falls in a second at most.
	falling = 0.05
	// repeated is the time between two lines of the log about one action.
	repeated = time.Minute
	// shareBits is the resolution of a refused share.
	shareBits = 16
	shareMax  = 1<<shareBits - 1
)

// Monitor measures the pressure on one resource.
type Monitor interface {
	// Pressure returns it: 0 is none, 1 the limit, and it may be above. The manager calls it at every sample, with the
	// time, from one goroutine.
	Pressure(now time.Time) float64
}

// Queue is a monitor of a resource that work waits for.
type Queue interface {
	Monitor
	// Measured returns how long work waited by the last measurement, and when that was, which may be before the last
	// sample.
	Measured() (wait time.Duration, at time.Time)
}

// Monitored is a monitor with what it leads to.
type Monitored struct {
	// Name is that in metrics and in the log.
	Name string
	// Option is the static option that sets its limit, for the log.
	Option string
	// Monitor measures the pressure, by which a share of the requests is refused.
	Monitor Monitor
	// Queue is set in its place for a resource that work waits for. Requests are then refused by a limit of how many are
	// served at a time, which is found by the pressure. One monitor has it at most.
	Queue Queue
	// Actions are those that the pressure can begin.
	Actions []Action
	// Processors is how many requests the resource of Queue works on at a time; no limit is lower. 0 is 1.
	Processors int
	// Connections is how many connections use up the resource, about; it is needed for StopAccepting.
	Connections float64
}

// Options are what a Ladder needs beside its configuration.
type Options struct {
	// Monitors are sampled in this order.
	Monitors []Monitored
	// Logger takes the beginnings and ends of actions, each of them once a minute at most.
	Logger telemetry.Logger
	// Ready is closed when the first configuration serves; the first sample is taken ten seconds later. Nil is ready.
	Ready <-chan struct{}
	// Resetter is what ResetLargest calls; nil has nothing to end.
	Resetter Resetter
}

// Ladder runs the actions. All methods but Run may be called from any goroutine, and before Run.
type Ladder struct {
	interval, retryAfter time.Duration
	hysteresis           float64
	steps                [actionCount]step
	logger               telemetry.Logger
	ready                <-chan struct{}
	reset                reset

	// state has the refused shares of the classes from the lowest bits on, and then one bit for each active action.
	state atomic.Uint64
	shed  [classCount]atomic.Uint64
	gate  gate
	// concurrency is nil without a monitor that is a Queue.
	concurrency *concurrency

	// samples are those of the monitors, in their order; they belong to Run.
	samples []sample

	// monitors and actions are written by Run, under the mutex.
	mutex    sync.Mutex
	monitors []monitored
	actions  [actionCount]running
}

// sample is what a monitor has measured.
type sample struct {
	pressure float64
	// wait and at are those of a Queue.
	wait time.Duration
	at   time.Time
}

// monitored is a monitor with its last samples.
type monitored struct {
	Monitored

	// last is the last sample, and counts the pressure that counts, which is 1 at most.
	last, counts float64
	// measured is when the last sample of a Queue was measured.
	measured time.Time
}

// running is the state of an action.
type running struct {
	active bool
	// reached says that it is active by its threshold.
	reached bool
	begun   uint64
	since   time.Time
	// logged is when the last line was written, and announced says that there is one about this beginning.
	logged    time.Time
	announced bool
}

// New returns a manager with the thresholds of the configuration, in which nothing is active.
func New(config static.Overload, options Options) *Ladder {
	m := &Ladder{
		interval: time.Duration(config.Interval), retryAfter: time.Duration(config.RetryAfter),
		hysteresis: float64(config.Hysteresis) / 100, steps: stepsOf(config.Actions), logger: options.Logger,
		ready: options.Ready, reset: reset{resetter: options.Resetter},
	}
	m.gate.set(unlimited)
	for _, one := range options.Monitors {
		if one.Queue != nil {
			one.Monitor, m.concurrency = one.Queue, newConcurrency(one.Processors)
		}
		m.monitors = append(m.monitors, monitored{Monitored: one})
	}
	m.samples = make([]sample, len(m.monitors))
	return m
}

// Run samples the monitors until ctx ends. Actions stay as they are then. Without a monitor it returns at once.
func (m *Ladder) Run(ctx context.Context) {
	if len(m.monitors) == 0 {
		return
	}
	if m.ready != nil {
		select {
		case <-m.ready:
		case <-ctx.Done():
			return
		}
		settled := time.NewTimer(settling)
		defer settled.Stop()
		select {
		case <-settled.C:
		case <-ctx.Done():
			return
		}
	}
	ticker := time.NewTicker(m.interval)
	defer ticker.Stop()
	before := time.Now()
	for {
		select {
		case <-ticker.C:
			now := time.Now() // The tick may have waited.
			m.measure(now)
			if m.judge(now, now.Sub(before)) {
				m.resetLargest(now)
			}
			before = now
		case <-ctx.Done():
			return
		}
	}
}

// measure samples all monitors, without the mutex: a measurement may read files.
func (m *Ladder) measure(now time.Time) {
	for i := range m.monitors {
		one := &m.monitors[i].Monitored
		m.samples[i].pressure = max(one.Monitor.Pressure(now), 0)
		if one.Queue != nil {
			m.samples[i].wait, m.samples[i].at = one.Queue.Measured()
		}
	}
}

// judge stores the samples and sets the actions. It reports whether requests are to be ended.
func (m *Ladder) judge(now time.Time, since time.Duration) (resets bool) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for i := range m.monitors {
		one, sample := &m.monitors[i], &m.samples[i]
		if one.Queue == nil {
			one.take(sample.pressure, since)
			continue
		}
		if sample.at.After(one.measured) {
			measured := measurement{
				pressure: sample.pressure, lasting: min(sample.pressure, one.last), wait: sample.wait,
				since: one.measured.Add(-sample.wait),
			}
			one.take(sample.pressure, sample.at.Sub(one.measured))
			one.measured = sample.at
			m.concurrency.adjust(measured, &m.steps, now)
		}
	}
	var state uint64
	for i := range m.actions {
		action, running := Action(i), &m.actions[i]
		cause := m.highest(action)
		running.reached = cause != nil && m.reached(action, cause.counts)
		if running.reached && action >= ShedLow && action <= ShedHigh {
			state |= uint64(math.Round(shareMax*m.steps[action].share(cause.counts))) << shift(action)
		}
		if !running.reached {
			cause = m.limiting(action)
		}
		m.step(action, cause, now)
		if running.active {
			state |= bit(action)
		}
	}
	m.state.Store(state)
	m.gate.set(m.room())
	return m.resets()
}

// take adds a sample. The pressure that counts is at least the lower one of the last two samples, so that one alone
// changes nothing, and falls slowly.
func (m *monitored) take(sample float64, since time.Duration) {
	m.counts = max(min(m.last, sample, 1), m.counts-falling*since.Seconds(), 0)
	m.last = sample
}

// leadsTo reports whether the pressure can begin the action.
func (m *monitored) leadsTo(action Action) bool { return slices.Contains(m.Actions, action) }

// highest returns the monitor with the highest pressure of those that lead to the action by a threshold, nil when none
// does.
func (m *Ladder) highest(action Action) (highest *monitored) {
	for i := range m.monitors {
		one := &m.monitors[i]
		if one.leadsTo(action) && one.Queue == nil && (highest == nil || one.counts > highest.counts) {
			highest = one
		}
	}
	return highest
}

// reached reports whether a pressure is at the threshold of an action, or was and has not fallen below it by the
// hysteresis.
func (m *Ladder) reached(action Action, pressure float64) bool {
	threshold := m.steps[action].begins
	if m.actions[action].reached {
		return pressure >= threshold-m.hysteresis
	}
	return threshold > 0 && pressure >= threshold
}

// limiting returns the monitor that limits how many requests are served at a time, nil where the action does not limit
// them.
func (m *Ladder) limiting(action Action) *monitored {
	if m.concurrency == nil || action < ShedLow || action > ShedHigh || !m.concurrency.limits(action) {
		return nil
	}
	i := slices.IndexFunc(m.monitors, func(one monitored) bool { return one.Queue != nil })
	return &m.monitors[i]
}

// step begins an action that has a cause, or ends one that has none.
func (m *Ladder) step(action Action, cause *monitored, now time.Time) {
	state := &m.actions[action]
	switch {
	case cause != nil && !state.active:
		state.active, state.since, state.announced = true, now, false
		state.begun++
	case cause == nil && state.active:
		state.active = false
		if state.announced {
			m.logger.Info("overload: "+action.String()+" ends", "after", now.Sub(state.since).Round(time.Millisecond).String())
		}
	}
	if !state.active || !state.logged.IsZero() && now.Sub(state.logged) < repeated {
		return
	}
	verb := " begins"
	if state.announced {
		verb = " goes on"
	}
	state.logged, state.announced = now, true
	pressure := cause.counts
	if cause.Queue != nil { // One measurement can begin the action.
		pressure = max(pressure, cause.last)
	}
	m.logger.Warn("overload: "+action.String()+verb, "monitor", cause.Name, "option", cause.Option,
		"pressure", math.Round(100*pressure)/100)
}

// Active reports whether an action is under way.
func (m *Ladder) Active(action Action) bool { return m.state.Load()&bit(action) != 0 }

// Admit reports whether a request of a router of the class is served. If so, Release has to be called with the permit
// when it has ended, otherwise the client may try again after a time. Refused requests are counted. The class critical
// is never refused.
func (m *Ladder) Admit(class dynamic.PriorityClass) (permit uint32, retryAfter time.Duration, admitted bool) {
	if class < dynamic.PriorityLow || class > dynamic.PriorityHigh {
		return 0, 0, true
	}
	if m.sheds(class) {
		return 0, m.refused(class), false
	}
	if m.concurrency == nil {
		return 0, 0, true
	}
	if permit, admitted = m.concurrency.admit(class); !admitted {
		return 0, m.refused(class), false
	}
	return permit, 0, true
}

// Release ends a request that Admit has admitted.
func (m *Ladder) Release(permit uint32) {
	if m.concurrency != nil && permit != 0 {
		m.concurrency.release(permit)
	}
}

// sheds draws whether a request is one of the refused share.
func (m *Ladder) sheds(class dynamic.PriorityClass) bool {
	state := m.state.Load()
	if state == 0 {
		return false
	}
	share := uint32(state >> shift(shedding(class)) & shareMax)
	return share > 0 && (share == shareMax || rand.Uint32N(shareMax) < share) //nolint:gosec // Load is divided by it.
}

// refused counts a request, and returns the time after which the client may try again.
func (m *Ladder) refused(class dynamic.PriorityClass) time.Duration {
	m.shed[class-dynamic.PriorityLow].Add(1)
	return m.retryAfter
}

// shift returns the place of the refused share of an action that refuses requests.
func shift(action Action) uint { return shareBits * uint(action-ShedLow) }

// bit returns the bit of an active action.
func bit(action Action) uint64 { return 1 << (shareBits*uint(classCount) + uint(action)) }
