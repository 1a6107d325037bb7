package jwt

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// What bounds the fetching of a key set.
const (
	// fetchTimeout is how long one fetch may take, and so how long a request waits for it.
	fetchTimeout = 5 * time.Second
	// minInterval lies between the beginnings of two fetches, whatever causes them.
	minInterval = 10 * time.Second
	// maxBackoff is the longest pause after a fetch that failed, if the interval is not shorter.
	maxBackoff = 5 * time.Minute
	// staleTime is how long the last key set counts beyond the time at which it should have been fetched again.
	staleTime = 24 * time.Hour
	// maxWaiting is how many requests wait for one fetch. More are judged by the keys that are there.
	maxWaiting = 1000
)

// state is how the keys stand.
type state int32

const (
	waiting state = iota // Nothing has been fetched yet.
	sound
	stale // The last fetch failed, and the keys of the one before count.
	none  // There are no keys.
)

// remote is keys that are fetched: when the first request comes, then again and again, and when a token names a key
// that is not there, all within one pace. There is one fetch at a time, whose goroutine ends with it, and between
// fetches a timer.
type remote struct {
	get       func(ctx context.Context) ([]byte, error)
	allowed   []jose.SignatureAlgorithm
	every     time.Duration
	report    reporter
	current   atomic.Pointer[fetched]
	state     atomic.Int32
	queue     atomic.Int64
	good, bad atomic.Uint64
	context   context.Context // It ends with the object.
	cancel    context.CancelFunc

	mutex    sync.Mutex
	began    time.Time     // When the last fetch did.
	running  chan struct{} // Closed when the fetch that runs has ended.
	timer    *time.Timer
	closed   bool
	failures int // In a row. It belongs to the running fetch.
}

// fetched is a key set, and how long it counts.
type fetched struct {
	set   *keySet
	sum   [sha256.Size]byte
	until time.Time
}

// startless returns keys that are fetched with the first request; nothing runs before.
func startless(get func(ctx context.Context) ([]byte, error), allowed []jose.SignatureAlgorithm, every time.Duration,
	report reporter,
) *remote {
	ctx, cancel := context.WithCancel(context.Background())
	return &remote{get: get, allowed: allowed, every: every, report: report, context: ctx, cancel: cancel}
}

// fresh returns the keys if there are any that count.
func (r *remote) fresh() *keySet {
	last := r.current.Load()
	if last == nil || len(last.set.keys) == 0 || time.Now().After(last.until) {
		return nil
	}
	return last.set
}

func (r *remote) now(ctx context.Context) *keySet {
	if set := r.fresh(); set != nil {
		return set
	}
	r.wait(ctx)
	return r.fresh()
}

func (r *remote) after(ctx context.Context, old *keySet) *keySet {
	if set := r.fresh(); set != old {
		return set
	}
	r.wait(ctx)
	return r.fresh()
}

// wait waits for a fetch, which begins unless there was one a moment ago.
func (r *remote) wait(ctx context.Context) {
	if r.queue.Add(1) <= maxWaiting {
		if running := r.begin(); running != nil {
			select {
			case <-running:
			case <-ctx.Done():
			}
		}
	}
	r.queue.Add(-1)
}

// begin returns what is closed when the fetch that runs has ended. There is none when one began less than a
// minInterval ago.
func (r *remote) begin() <-chan struct{} {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.running != nil {
		return r.running
	}
	if r.closed || !r.began.IsZero() && time.Since(r.began) < minInterval {
		return nil
	}
	if r.timer != nil {
		r.timer.Stop()
	}
	r.began = time.Now()
	r.running = make(chan struct{})
	go r.fetch()
	return r.running
}

// fetch fetches once, and schedules the next fetch.
func (r *remote) fetch() {
	ctx, cancel := context.WithTimeout(r.context, fetchTimeout)
	err := r.load(ctx)
	cancel()
	if r.context.Err() == nil {
		r.note(err)
	}
	next := r.next(err)
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if !r.closed {
		r.timer = time.AfterFunc(next, func() { r.begin() })
	}
	close(r.running)
	r.running = nil
}

// errKeyless says that a key set was received that holds no usable key.
var errKeyless = errors.New("it holds no key that can be used")

// load fetches the keys and applies them. A set without keys is applied, too: keys that its issuer removed are no
// longer valid.
func (r *remote) load(ctx context.Context) error {
	text, err := r.get(ctx)
	if err != nil {
		return err
	}
	next := &fetched{sum: sha256.Sum256(text), until: time.Now().Add(r.every + staleTime)}
	if last := r.current.Load(); last != nil && last.sum == next.sum {
		next.set = last.set // Tokens that were verified by it stay so.
	} else {
		keys, ignored, err := parseJWKS(text)
		if err != nil {
			return fmt.Errorf("the answer %w", err)
		}
		next.set = newKeySet(keys, r.allowed)
		r.report.ignored(ignored)
	}
	r.current.Store(next)
	if len(next.set.keys) == 0 {
		return errKeyless
	}
	return nil
}

// note counts, and writes a line when something has changed.
func (r *remote) note(err error) {
	before, after := state(r.state.Load()), sound
	switch {
	case err == nil:
		r.failures = 0
		r.good.Add(1)
	case r.fresh() != nil:
		after = stale
	default:
		after = none
	}
	if err != nil {
		r.failures++
		r.bad.Add(1)
	}
	r.state.Store(int32(after))
	r.report.changed(before, after, err)
}

// next returns how long to wait for the next fetch: a tenth less than the interval at most, so that instances that
// began together do not stay so, and after one that failed longer and longer.
func (r *remote) next(err error) time.Duration {
	if err == nil {
		return max(minInterval, r.every-rand.N(r.every/10+1))
	}
	wait := minInterval << max(0, min(r.failures-1, 10))
	return min(wait, maxBackoff, r.every) + rand.N(minInterval/10)
}

// status returns the state as [JWT.Status] reports it.
func (r *remote) status() string {
	switch state(r.state.Load()) {
	case waiting:
		return "waiting"
	case stale:
		return "stale"
	case none:
		return "keyless"
	case sound:
	}
	return ""
}

// close ends what runs.
func (r *remote) close() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.closed = true
	r.cancel()
	if r.timer != nil {
		r.timer.Stop()
	}
}
