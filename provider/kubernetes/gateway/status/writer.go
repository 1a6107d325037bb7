package status

import (
	"context"
	"reflect"
	"sync"
	"time"

	"golang.org/x/time/rate"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/sluiceproxy/sluice/provider/kubernetes/election"
	"github.com/sluiceproxy/sluice/telemetry"
)

const (
	// workers is the number of objects that are written at once.
	workers = 4
	// reserved is the part of the burst that routes and policies leave to Gateways, so that these never wait for them.
	reserved = 10
)

// Clients are the connections to the API groups that are written to; *client.Cluster is one.
type Clients interface {
	// REST returns the client of one group and version.
	REST(version schema.GroupVersion) (rest.Interface, error)
}

// Objects finds objects as the watches have them.
type Objects interface {
	// Object returns the object of a key with its status, uid, resourceVersion and finalizers, and the version of the API
	// (v1) by which it was read; false when it is not there. The object is shared and is not changed.
	Object(key Key) (object metav1.Object, version string, ok bool)
}

// Options are the dependencies of a Writer, all of them needed.
type Options struct {
	Clients Clients
	Objects Objects
	Logger  telemetry.Logger
	// Controller is the name of this controller.
	Controller gatewayv1.GatewayController
	// QPS is the largest number of requests per second on average, Burst that at once. Both are above 0.
	QPS   float64
	Burst int
}

// Writer writes the statuses that it is given last. Its methods may be called from any goroutine, Run by one at a time.
type Writer struct {
	options Options
	limit   *rate.Limiter
	wake    chan struct{}

	mu      sync.Mutex
	objects map[Key]*object
	// lanes hold the objects that are due: Gateways, classes and ListenerSets before routes and policies.
	lanes [2]lane
	busy  int
	// active says that Run runs; refused is until when a resource is not written after a refusal, by resource and
	// namespace.
	active  bool
	refused map[[2]string]time.Time
}

// New returns a Writer that writes nothing before Run.
func New(options Options) *Writer {
	return &Writer{
		options: options,
		limit:   rate.NewLimiter(rate.Limit(options.QPS), options.Burst),
		wake:    make(chan struct{}, 1),
		objects: map[Key]*object{},
		refused: map[[2]string]time.Time{},
	}
}

// Set replaces the desired statuses of the objects, which are kept and must not be changed. One that is equal to the
// one before is no change.
func (w *Writer) Set(all ...*Desired) {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, desired := range all {
		one := w.objects[desired.Key]
		switch {
		case one == nil:
			one = &object{index: -1}
			w.objects[desired.Key] = one
		case one.desired == desired || reflect.DeepEqual(one.desired, desired):
			continue
		}
		if one.desired == nil || one.complete || one.since.Before(one.wrote) {
			one.since = now
		}
		if one.writes > 0 && now.Sub(one.wrote) > forget {
			one.writes = 0
		}
		one.desired, one.changed = desired, now
		one.complete, one.restores, one.failures = false, 0, 0
		w.schedule(one, one.ready())
	}
	w.notify()
}

// Delete forgets objects: those that no longer exist, and those that this controller has nothing to say about and that
// have no entry of it.
func (w *Writer) Delete(keys ...Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, key := range keys {
		if one := w.objects[key]; one != nil {
			one.gone = true
			w.lane(key).remove(one)
			delete(w.objects, key)
		}
	}
}

// Touch notes that the watch has a new version of objects, whose statuses may no longer be the desired ones. Objects
// without a desired status are ignored.
func (w *Writer) Touch(keys ...Key) {
	due := time.Now().Add(gather)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, key := range keys {
		if one := w.objects[key]; one != nil && one.index < 0 {
			w.schedule(one, due)
		}
	}
	w.notify()
}

// Run writes until ctx ends; note gets the result of each request.
func (w *Writer) Run(ctx context.Context, note election.Note) {
	w.begin()
	var running sync.WaitGroup
	defer w.end()
	defer running.Wait()
	jobs := make(chan func())
	defer close(jobs)
	for range workers { // They are kept, so that the stack that encoding has grown is used again.
		running.Go(func() {
			for job := range jobs {
				job()
			}
		})
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.wake:
		case <-timer.C:
		}
		for {
			one, desired, delay := w.next(time.Now())
			if one == nil {
				if delay > 0 {
					timer.Reset(delay)
				}
				break
			}
			jobs <- func() { w.finish(one, desired, w.write(ctx, note, one, desired)) }
		}
	}
}

// begin makes every object due, since another instance has written before.
func (w *Writer) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.active = true
	clear(w.refused)
	now := time.Now()
	for _, one := range w.objects {
		one.over, one.version, one.complete, one.restores, one.failures, one.writes = "", "", false, 0, 0, 0
		w.schedule(one, now)
	}
}

func (w *Writer) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.active = false
	for i := range w.lanes {
		for w.lanes[i].first() != nil {
			w.lanes[i].remove(w.lanes[i].first())
		}
	}
}

// lane returns the lane of a key.
func (w *Writer) lane(key Key) *lane {
	switch key.Kind {
	case GatewayClass, Gateway, ListenerSet:
		return &w.lanes[0]
	}
	return &w.lanes[1]
}

// schedule has an object written at a time; the caller holds mu.
func (w *Writer) schedule(one *object, due time.Time) {
	switch {
	case !w.active:
	case one.busy:
		one.again = true
	default:
		w.lane(one.desired.Key).put(one, due)
	}
}

func (w *Writer) notify() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// next takes the object that is written next. Without one, it returns the delay until the next; 0 means that only a
// change brings one.
func (w *Writer) next(now time.Time) (one *object, desired *Desired, delay time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.busy >= workers {
		return nil, nil, 0
	}
	for i := range w.lanes {
		first := w.lanes[i].first()
		if first == nil {
			continue
		}
		needed := 1.0
		if i > 0 {
			needed += min(reserved, float64(w.options.Burst-1)/2)
		}
		wait := first.due.Sub(now)
		if missing := needed - w.limit.TokensAt(now); missing > 0 {
			wait = max(wait, time.Duration(missing/w.options.QPS*float64(time.Second))+1)
		}
		if wait > 0 {
			delay = earlier(delay, wait)
			continue
		}
		w.lanes[i].remove(first)
		first.busy, first.again = true, false
		w.busy++
		return first, first.desired, 0
	}
	return nil, nil, delay
}

func earlier(a, b time.Duration) time.Duration {
	if a == 0 {
		return b
	}
	return min(a, b)
}
