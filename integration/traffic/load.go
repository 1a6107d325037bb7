package traffic

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// timeout bounds every wait for the proxy.
const timeout = time.Minute

// Load is a number of clients that send requests until Close. It must be made by [New].
type Load struct {
	// Between is the pause between the requests of a client, 5 ms by default. It is set before Start.
	Between time.Duration
	// Idle is the shortest pause of an idle connection, 5 s by default; the longest one is twice as long. It is set before
	// Start.
	Idle time.Duration

	t testing.TB
	// begun is when it was made.
	begun   time.Time
	done    chan struct{}
	work    sync.WaitGroup
	tallies []*Tally
}

// Tally counts the requests of the clients of one kind.
type Tally struct {
	// Name is that of the kind.
	Name string
	// Requests are those that have succeeded, and Failed those that have not.
	Requests, Failed atomic.Int64

	// latencies are those since the last window, for the kinds that record them.
	latencies Histogram
	// steady and changing are the 99th percentiles of windows without and with changes.
	steady, changing []time.Duration
	first            atomic.Pointer[error]
}

// First returns the first failure, or nil.
func (t *Tally) First() error {
	if first := t.first.Load(); first != nil {
		return *first
	}
	return nil
}

// succeeded counts a request.
func (t *Tally) succeeded() { t.Requests.Add(1) }

// took counts a request with its latency.
func (t *Tally) took(latency time.Duration) {
	t.Requests.Add(1)
	t.latencies.Record(latency)
}

// String returns the numbers as one line.
func (t *Tally) String() string {
	line := fmt.Sprintf("%s: %d requests, %d failed", t.Name, t.Requests.Load(), t.Failed.Load())
	if steady, changing := median(t.steady), median(t.changing); steady > 0 && changing > 0 {
		line += fmt.Sprintf(", p99 %v without and %v with changes (%.2f x)", steady.Round(time.Microsecond),
			changing.Round(time.Microsecond), float64(changing)/float64(steady))
	}
	if first := t.First(); first != nil {
		line += fmt.Sprintf("; the first: %v", first)
	}
	return line
}

// New returns a load without clients. The test ends it.
func New(t testing.TB) *Load {
	t.Helper()
	l := &Load{Between: 5 * time.Millisecond, Idle: 5 * time.Second, t: t, begun: time.Now(), done: make(chan struct{})}
	t.Cleanup(func() { l.Close() })
	return l
}

// Start starts clients of a kind. send is called by each of them again and again, and counts in the tally what has
// succeeded. An error is a request that has failed.
func (l *Load) Start(name string, clients int, send func(*Tally) error) {
	tally := &Tally{Name: name}
	l.tallies = append(l.tallies, tally)
	for range clients {
		l.work.Go(func() {
			for !l.over() {
				if err := send(tally); err != nil {
					tally.Failed.Add(1)
					tally.first.CompareAndSwap(nil, &err)
					l.Pause(50 * time.Millisecond)
				}
			}
		})
	}
}

// Discard forgets the latencies since the last window, which are those of a beginning.
func (l *Load) Discard() {
	for _, tally := range l.tallies {
		tally.latencies.Reset()
	}
}

// Window ends a window of latencies, with or without changes. Windows are seconds long: the median of many says more
// than one percentile of a long time, on a machine with other work.
func (l *Load) Window(changing bool) {
	for _, tally := range l.tallies {
		p99 := tally.latencies.Percentile(99)
		tally.latencies.Reset()
		if changing {
			tally.changing = append(tally.changing, p99)
		} else {
			tally.steady = append(tally.steady, p99)
		}
	}
}

// median returns that of some times, and 0 for none.
func median(times []time.Duration) time.Duration {
	if len(times) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(times))[len(times)/2]
}

// over reports whether the clients end.
func (l *Load) over() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// Pause waits for a time, or until Close.
func (l *Load) Pause(length time.Duration) {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.done:
	}
}

// Close ends the clients, waits for their last requests, and returns the tallies. It may be called again.
func (l *Load) Close() []*Tally {
	if !l.over() {
		close(l.done)
	}
	l.work.Wait()
	return l.tallies
}

// Tallies returns the tallies of the kinds that were started, which may still be counting.
func (l *Load) Tallies() []*Tally { return l.tallies }

// Finish ends the clients, logs a line for each kind, and fails the test if requests have failed.
func (l *Load) Finish(what string) {
	l.t.Helper()
	if failed := l.Report(what); failed > 0 {
		l.t.Errorf("%s: %d requests have failed", what, failed)
	}
}

// Report is Finish, but returns how many requests have failed.
func (l *Load) Report(what string) (failed int64) {
	l.t.Helper()
	for _, tally := range l.Close() {
		l.t.Logf("%s: %s", what, tally)
		failed += tally.Failed.Load()
	}
	return failed
}
