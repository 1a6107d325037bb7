package report

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/sluiceproxy/sluice/dynamic"
)

const (
	// maxQueue is how many objects may wait for an Event. What exceeds it is counted as dropped, and written with the next
	// repetition.
	maxQueue = 1000
	// repeatEvery is how often Events about what is still wrong are repeated: the API server deletes them after an hour.
	repeatEvery = 30 * time.Minute
	// eventBurst Events may be written at once, and one more every eventInterval.
	eventBurst    = 100
	eventInterval = 100 * time.Millisecond
	// objectBurst Events may be written about one object at once, and one more every objectInterval.
	objectBurst    = 5
	objectInterval = 30 * time.Second
)

// events writes verdicts as Kubernetes Events. Every instance keeps the verdicts on each object; the leader writes the
// newest state of each object only.
type events struct {
	writer    *eventWriter
	providers []string
	exists    func(*dynamic.Resource) bool
	drop      func()
	noted     chan struct{}

	mu sync.Mutex
	// objects are those that have verdicts, or had some recently, by their uid.
	objects map[string]*involvedObject
	// byRef are the objects with verdicts on a declared object: more than one, when several declare the same name.
	byRef map[dynamic.Ref][]*involvedObject
	// queue has the objects about which an Event is to be written, queued their number by namespace. Both are empty while
	// this instance is not the leader.
	queue   []*involvedObject
	queued  map[string]int
	leading bool
	limit   *rate.Limiter
	// pausedUntil is when writing goes on after a failure, namespacePausedUntil that of one namespace after a refusal.
	pausedUntil          time.Time
	namespacePausedUntil map[string]time.Time
}

// involvedObject is an object that Events are about.
type involvedObject struct {
	resource *dynamic.Resource
	verdicts map[dynamic.Ref][]dynamic.Verdict
	queued   bool
	// written is the last Event that this instance has written since it became the leader; zero when there is none.
	written event
	limit   *rate.Limiter
}

func newEvents(options Options, permissions *permissionErrors) *events {
	return &events{
		writer:    &eventWriter{clients: options.Clients, permissions: permissions, identity: options.Identity},
		providers: options.Providers,
		exists:    options.Exists,
		drop:      options.Metrics.DropEvent,
		noted:     make(chan struct{}, 1),
		objects:   map[string]*involvedObject{},
		byRef:     map[dynamic.Ref][]*involvedObject{},
		queued:    map[string]int{},
		limit:     rate.NewLimiter(rate.Every(eventInterval), eventBurst),

		namespacePausedUntil: map[string]time.Time{},
	}
}

// note takes published verdicts: those on one declared object follow each other.
func (e *events) note(verdicts []dynamic.Verdict) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for len(verdicts) > 0 {
		ref := verdicts[0].Ref
		n := 1
		for n < len(verdicts) && verdicts[n].Ref == ref {
			n++
		}
		if e.concerns(ref) {
			e.replace(ref, verdicts[:n])
		}
		verdicts = verdicts[n:]
	}
	select {
	case e.noted <- struct{}{}:
	default:
	}
}

// concerns reports whether an object may have been declared in this cluster. Objects without a provider (the default
// TLS options) may.
func (e *events) concerns(ref dynamic.Ref) bool {
	at := strings.LastIndexByte(ref.Name, '@')
	return at < 0 || len(e.providers) == 0 || slices.Contains(e.providers, ref.Name[at+1:])
}

// replace replaces the verdicts on one declared object.
func (e *events) replace(ref dynamic.Ref, verdicts []dynamic.Verdict) {
	for _, one := range e.byRef[ref] {
		delete(one.verdicts, ref)
		if len(one.verdicts) == 0 && !e.leading {
			delete(e.objects, one.resource.UID)
		}
		e.enqueue(one)
	}
	delete(e.byRef, ref)
	for _, verdict := range verdicts {
		resource := verdict.Origin.Resource
		if resource == nil || resource.UID == "" || verdict.Status == dynamic.Accepted {
			continue
		}
		if verdict.Code == dynamic.CodeNotPublished {
			continue // The object works; that it is not for xDS clients concerns who runs Sluice, not its owner.
		}
		one := e.objects[resource.UID]
		if one == nil {
			one = &involvedObject{
				verdicts: map[dynamic.Ref][]dynamic.Verdict{},
				limit:    rate.NewLimiter(rate.Every(objectInterval), objectBurst),
			}
			e.objects[resource.UID] = one
		}
		one.resource = resource
		one.verdicts[ref] = append(one.verdicts[ref], verdict)
		if !slices.Contains(e.byRef[ref], one) {
			e.byRef[ref] = append(e.byRef[ref], one)
		}
		e.enqueue(one)
	}
}

// enqueue has an Event about an object written.
func (e *events) enqueue(one *involvedObject) {
	if one.queued || !e.leading {
		return
	}
	if len(e.queue) >= maxQueue {
		e.drop()
		if !e.makeRoom(one.resource.Namespace) {
			return
		}
	}
	one.queued = true
	e.queue = append(e.queue, one)
	e.queued[one.resource.Namespace]++
}

// makeRoom removes the last object of the namespace with the most objects in the queue, unless the newcomer's own
// namespace has about as many: many faults in one namespace do not suppress the Events of others.
func (e *events) makeRoom(newcomer string) bool {
	most := newcomer
	for namespace, count := range e.queued {
		if count > e.queued[most]+1 {
			most = namespace
		}
	}
	if most == newcomer {
		return false
	}
	for i := len(e.queue) - 1; i >= 0; i-- {
		if e.queue[i].resource.Namespace == most {
			e.dequeue(i)
			return true
		}
	}
	return false
}

// sweep removes objects without verdicts whose rate no longer needs a limit.
func (e *events) sweep(now time.Time) {
	for uid, one := range e.objects {
		if len(one.verdicts) == 0 && !one.queued && one.limit.TokensAt(now) >= objectBurst {
			delete(e.objects, uid)
		}
	}
	maps.DeleteFunc(e.namespacePausedUntil, func(_ string, until time.Time) bool { return until.Before(now) })
}

// begin makes this instance write. The Events of an earlier leader are not known, so all are written again.
func (e *events) begin() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.leading, e.pausedUntil = true, time.Time{}
	clear(e.namespacePausedUntil)
	for _, one := range e.objects {
		one.written = event{}
	}
	e.repeat()
}

// repeat enqueues every object with verdicts, those without an Event first.
func (e *events) repeat() {
	var wrong []*involvedObject
	for _, one := range e.objects {
		if len(one.verdicts) > 0 {
			wrong = append(wrong, one)
		}
	}
	slices.SortFunc(wrong, func(a, b *involvedObject) int {
		switch first := a.written == (event{}); {
		case first == (b.written == (event{})):
			return compareResources(a.resource, b.resource)
		case first:
			return -1
		}
		return 1
	})
	for _, one := range wrong {
		one.written = event{}
		e.enqueue(one)
	}
}

// end makes this instance stop writing.
func (e *events) end() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, one := range e.queue {
		one.queued = false
	}
	e.leading, e.queue = false, nil
	clear(e.queued)
	for uid, one := range e.objects {
		if len(one.verdicts) == 0 {
			delete(e.objects, uid)
		}
	}
}

// run writes until ctx ends.
func (e *events) run(ctx context.Context) {
	e.begin()
	defer e.end()
	repeat := time.NewTicker(repeatEvery)
	defer repeat.Stop()
	timer := newAlarm()
	defer timer.Stop()
	timer.within(gather)
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.noted:
			timer.within(gather)
		case <-repeat.C:
			e.again()
			timer.within(gather)
		case <-timer.C:
			timer.fired()
			if delay := e.write(ctx); delay > 0 {
				timer.within(delay)
			}
		}
	}
}

// again repeats the Events about what is wrong, and removes objects without verdicts.
func (e *events) again() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sweep(time.Now())
	e.repeat()
}

// write writes the queue as fast as the limits allow. It returns the delay until more may be written; 0 means that the
// queue is empty.
func (e *events) write(ctx context.Context) time.Duration {
	for ctx.Err() == nil {
		one, content, delay := e.next(time.Now())
		if one == nil {
			return delay
		}
		var err error
		if !content.accepts() || e.exists(&content.resource) {
			err = e.writer.write(ctx, content)
		}
		e.finish(one, content, err)
	}
	return 0
}

// next takes the first object out of the queue that the limits allow. When there is none, delay is the time until there
// may be; 0 means that the queue is empty.
func (e *events) next(now time.Time) (one *involvedObject, content event, delay time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if paused := e.pausedUntil.Sub(now); paused > 0 && len(e.queue) > 0 {
		return nil, event{}, paused
	}
	for i := 0; i < len(e.queue); {
		one := e.queue[i]
		if own := max(tokenDelay(one.limit, now), e.namespacePausedUntil[one.resource.Namespace].Sub(now)); own > 0 {
			delay, i = earlier(delay, own), i+1
			continue
		}
		content := one.event()
		if content == one.written || content.accepts() && one.written == (event{}) {
			e.dequeue(i)
			continue
		}
		if all := tokenDelay(e.limit, now); all > 0 {
			return nil, event{}, earlier(delay, all)
		}
		one.limit.AllowN(now, 1)
		e.limit.AllowN(now, 1)
		e.dequeue(i)
		return one, content, 0
	}
	return nil, event{}, delay
}

// dequeue removes an object from the queue.
func (e *events) dequeue(i int) {
	one := e.queue[i]
	one.queued = false
	e.queue = slices.Delete(e.queue, i, i+1)
	if e.queued[one.resource.Namespace]--; e.queued[one.resource.Namespace] <= 0 {
		delete(e.queued, one.resource.Namespace)
	}
}

// event returns the Event that the object should have.
func (o *involvedObject) event() event {
	var verdicts []dynamic.Verdict
	for _, some := range o.verdicts {
		verdicts = append(verdicts, some...)
	}
	return newEvent(o.resource, summarize(verdicts))
}

// finish takes the result of writing an Event.
func (e *events) finish(one *involvedObject, content event, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case err == nil || permanent(err):
		one.written = content
		return
	case apierrors.IsForbidden(err):
		e.namespacePausedUntil[content.resource.Namespace] = time.Now().Add(pauseAfterRefusal)
	default:
		e.pausedUntil = time.Now().Add(pauseAfterFailure)
	}
	e.enqueue(one)
}
