package telemetry

import (
	"context"
	"maps"
	"math"
	"sync/atomic"
	"time"
)

const (
	// failureQueue is how many failed requests may wait for the log; further ones are dropped and counted.
	failureQueue = 512
	// failureKinds is how many kinds of failures are counted separately; further ones are grouped by code.
	failureKinds = 256
	// failureWindow is how long failures of a kind are counted before one line reports their number.
	failureWindow = 10 * time.Second
	// failureTick is the interval of the check for windows that are over.
	failureTick = time.Second
	// failureClosed marks the count of a kind that has been removed.
	failureClosed = math.MinInt64
)

// StatusClientClosedRequest is recorded when the client left before a response began; it is never sent.
const StatusClientClosedRequest = 499

// StatusNoResponse is recorded when the exchange was reset on purpose before a response began, as nginx records it; it
// is never sent.
const StatusNoResponse = 444

// Failures logs requests that failed in Sluice or at an endpoint (refused or broken connections, time-outs, clients
// that left), and likewise connections of TCP routers and sessions of UDP routers, outside the request's goroutine. The
// first failure of a kind is one line at once; those that follow are counted, and every ten seconds one line has their
// number. A kind is a code, a router, a service and a class of status codes. At most 256 kinds are counted separately
// at a time.
type Failures struct {
	logger  Logger
	queue   chan failure
	dropped atomic.Uint64
	// kinds is replaced, and not changed, by the goroutine of Run.
	kinds atomic.Pointer[map[failureKind]*failureCount]
}

// failureCount counts failures of one kind beyond the first.
type failureCount struct {
	more  atomic.Int64
	since time.Time
}

// NewFailures returns a log of failures; Run writes it.
func NewFailures(logger Logger) *Failures {
	f := &Failures{logger: logger, queue: make(chan failure, failureQueue)}
	f.kinds.Store(&map[failureKind]*failureCount{})
	return f
}

// Finished queues or counts a record with a code or a reason. It does not block.
func (f *Failures) Finished(record *Record) {
	if record.Code == "" && record.Reason == "" {
		return
	}
	kind := kindOf(record)
	if f.count(kind) {
		return
	}
	select {
	case f.queue <- failureOf(record, kind):
	default:
		f.dropped.Add(1)
	}
}

// count counts a failure of a kind that has been logged, and reports whether it has been.
func (f *Failures) count(kind failureKind) bool {
	kinds := *f.kinds.Load()
	count := kinds[kind]
	if count == nil && len(kinds) >= failureKinds {
		count = kinds[kind.withoutNames()]
	}
	return count != nil && count.more.Add(1) > 0
}

// Dropped returns how many failures were neither written nor counted because the queue was full.
func (f *Failures) Dropped() uint64 { return f.dropped.Load() }

// Run writes failures until ctx ends, and then what is left.
func (f *Failures) Run(ctx context.Context) {
	ticker := time.NewTicker(failureTick)
	defer ticker.Stop()
	for {
		select {
		case failed := <-f.queue:
			f.first(failed)
		case <-ticker.C:
			f.summarize(failureWindow)
		case <-ctx.Done():
			for len(f.queue) > 0 {
				f.first(<-f.queue)
			}
			f.summarize(0)
			return
		}
	}
}

// first writes the first failure of a kind, and counts further ones.
func (f *Failures) first(failed failure) {
	if f.count(failed.kind) {
		return
	}
	kinds, kind := maps.Clone(*f.kinds.Load()), failed.kind
	if len(kinds) >= failureKinds {
		kind = kind.withoutNames()
	}
	kinds[kind] = &failureCount{since: time.Now()}
	f.kinds.Store(&kinds)
	failed.write(f.logger)
}

// summarize logs the number of failures of each kind whose window is over, and removes kinds that had none.
func (f *Failures) summarize(window time.Duration) {
	now := time.Now()
	kinds := *f.kinds.Load()
	quiet := map[failureKind]bool{}
	for kind, count := range kinds {
		took := now.Sub(count.since)
		if took < window {
			continue
		}
		if count.more.CompareAndSwap(0, failureClosed) {
			quiet[kind] = true
			continue
		}
		count.since = now
		kind.write(f.logger, count.more.Swap(0), took)
	}
	if len(quiet) == 0 {
		return
	}
	kinds = maps.Clone(kinds)
	maps.DeleteFunc(kinds, func(kind failureKind, _ *failureCount) bool { return quiet[kind] })
	f.kinds.Store(&kinds)
}
