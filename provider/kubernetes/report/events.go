package report

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/sluiceproxy/sluice/dynamic"
)

const (
	// gather is how long news are held, so that several of one object make one Event.
	gather = 100 * time.Millisecond
	// maxDue is how many objects may wait for an Event; what comes on top is counted, and told when it is repeated.
	maxDue = 1000
	// repeatEvery is how often what is still wrong is told again: the API server forgets Events after an hour.
	repeatEvery = 30 * time.Minute
	// eventBurst Events may be written at once, and one more every eventInterval.
	eventBurst    = 100
	eventInterval = 100 * time.Millisecond
	// subjectBurst Events may be written about one object at once, and one more every subjectInterval.
	subjectBurst    = 5
	subjectInterval = 30 * time.Second
	// pauseAfterFailure is how long nothing is written after a failure, and pauseAfterRefusal after one for want of a right.
	pauseAfterFailure = 5 * time.Second
	pauseAfterRefusal = 30 * time.Second
)

// events tells verdicts as Kubernetes Events. Every instance follows what is wrong with which object; the leader tells
// it, the newest state of each object only.
type events struct {
	writer    *eventWriter
	providers []string
	view      func() View
	drop      func()
	noted     chan struct{}

	mu sync.Mutex
	// subjects are the objects with verdicts, or lately had some, by their uid.
	subjects map[string]*subject
	// places are the subjects in which each declared object has verdicts.
	places map[dynamic.Ref][]*subject
	// due are the subjects that are to be told, in order, and crowd says how many of them each namespace has; leading is
	// false while nobody tells them.
	due     []*subject
	crowd   map[string]int
	leading bool
	limit   bucket
	// paused is until when nothing is written after a failure, and until that for a namespace after a refusal: what may not
	// be written in one keeps nobody else waiting.
	paused time.Time
	until  map[string]time.Time
}

// subject is an object that Events are about.
type subject struct {
	resource *dynamic.Resource
	verdicts map[dynamic.Ref][]dynamic.Verdict
	due      bool
	// told is what the last Event said that this instance has written as the leader it is; zero when there is none.
	told  news
	limit bucket
}

func newEvents(options Options, refused *refusals) *events {
	return &events{
		writer:    &eventWriter{clients: options.Clients, refused: refused, identity: options.Identity},
		providers: options.Providers,
		view:      options.View,
		drop:      options.Metrics.DropEvent,
		noted:     make(chan struct{}, 1),
		subjects:  map[string]*subject{},
		places:    map[dynamic.Ref][]*subject{},
		crowd:     map[string]int{},
		until:     map[string]time.Time{},
		limit:     bucket{size: eventBurst, interval: eventInterval},
	}
}

// note takes the verdicts of a Publish.
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

// concerns reports whether an object was declared in this cluster. What belongs to no provider (the default TLS options)
// may have been.
func (e *events) concerns(ref dynamic.Ref) bool {
	at := strings.LastIndexByte(ref.Name, '@')
	return at < 0 || len(e.providers) == 0 || slices.Contains(e.providers, ref.Name[at+1:])
}

// replace takes the verdicts on one declared object in place of those that it had.
func (e *events) replace(ref dynamic.Ref, verdicts []dynamic.Verdict) {
	for _, one := range e.places[ref] {
		delete(one.verdicts, ref)
		if len(one.verdicts) == 0 && !e.leading {
			delete(e.subjects, one.resource.UID)
		}
		e.touch(one)
	}
	delete(e.places, ref)
	for _, verdict := range verdicts {
		resource := verdict.Origin.Resource
		if resource == nil || resource.UID == "" || verdict.Status == dynamic.Accepted {
			continue
		}
		one := e.subjects[resource.UID]
		if one == nil {
			one = &subject{
				verdicts: map[dynamic.Ref][]dynamic.Verdict{},
				limit:    bucket{size: subjectBurst, interval: subjectInterval},
			}
			e.subjects[resource.UID] = one
		}
		one.resource = resource
		one.verdicts[ref] = append(one.verdicts[ref], verdict)
		if !slices.Contains(e.places[ref], one) {
			e.places[ref] = append(e.places[ref], one)
		}
		e.touch(one)
	}
}

// touch notes that a subject is to be told.
func (e *events) touch(one *subject) {
	if one.due || !e.leading {
		return
	}
	if len(e.due) >= maxDue {
		e.drop()
		if !e.makeRoom(one.resource.Namespace) {
			return
		}
	}
	one.due = true
	e.due = append(e.due, one)
	e.crowd[one.resource.Namespace]++
}

// makeRoom takes the last subject of the namespace that has the most of what is due out of it, unless the newcomer's own
// namespace has about as many: nobody is to keep others from being told by making many mistakes.
func (e *events) makeRoom(newcomer string) bool {
	most := newcomer
	for namespace, count := range e.crowd {
		if count > e.crowd[most]+1 {
			most = namespace
		}
	}
	if most == newcomer {
		return false
	}
	for i := len(e.due) - 1; i >= 0; i-- {
		if e.due[i].resource.Namespace == most {
			e.take(i)
			return true
		}
	}
	return false
}

// sweep forgets the subjects with which nothing is wrong any more, unless their rate is still to be limited.
func (e *events) sweep(now time.Time) {
	for uid, one := range e.subjects {
		if len(one.verdicts) == 0 && !one.due && one.limit.full(now) {
			delete(e.subjects, uid)
		}
	}
	maps.DeleteFunc(e.until, func(_ string, until time.Time) bool { return until.Before(now) })
}

// begin notes that this instance tells from now on. What another leader has told is not known, so everything that is
// wrong is told again.
func (e *events) begin() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.leading, e.paused = true, time.Time{}
	clear(e.until)
	for _, one := range e.subjects {
		one.told = news{}
	}
	e.repeat()
}

// repeat has everything told that is wrong, what has not been told yet first.
func (e *events) repeat() {
	var wrong []*subject
	for _, one := range e.subjects {
		if len(one.verdicts) > 0 {
			wrong = append(wrong, one)
		}
	}
	slices.SortFunc(wrong, func(a, b *subject) int {
		switch untold := a.told == (news{}); {
		case untold == (b.told == (news{})):
			return compareResources(a.resource, b.resource)
		case untold:
			return -1
		}
		return 1
	})
	for _, one := range wrong {
		one.told = news{}
		e.touch(one)
	}
}

// end notes that this instance tells nothing any more.
func (e *events) end() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, one := range e.due {
		one.due = false
	}
	e.leading, e.due = false, nil
	clear(e.crowd)
	for uid, one := range e.subjects {
		if len(one.verdicts) == 0 {
			delete(e.subjects, uid)
		}
	}
}

// run tells until ctx ends.
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
			timer.rang()
			if wait := e.tell(ctx); wait > 0 {
				timer.within(wait)
			}
		}
	}
}

// again repeats what is wrong and forgets what is right.
func (e *events) again() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sweep(time.Now())
	e.repeat()
}

// tell writes what is due as fast as it may, and returns when to go on; 0 means that nothing is left.
func (e *events) tell(ctx context.Context) time.Duration {
	for ctx.Err() == nil {
		one, told, wait := e.next(time.Now())
		if one == nil {
			return wait
		}
		var err error
		if told.reason != reasonAccepted || e.exists(told.resource.UID) {
			err = e.writer.write(ctx, told)
		}
		e.finish(one, told, err)
	}
	return 0
}

// exists reports whether an object declares anything in the active table; one that recovers by being deleted is not
// told so.
func (e *events) exists(uid string) bool {
	for _, configuration := range e.view().Configurations {
		for _, origin := range configuration.Origins {
			if origin.Resource != nil && origin.Resource.UID == uid {
				return true
			}
		}
	}
	return false
}

// next takes the first subject that may be told now. When there is none, wait says when to ask again; 0 means that
// nothing is due.
func (e *events) next(now time.Time) (one *subject, told news, wait time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if until := e.paused.Sub(now); until > 0 && len(e.due) > 0 {
		return nil, news{}, until
	}
	for i := 0; i < len(e.due); {
		one := e.due[i]
		if own := max(one.limit.wait(now), e.until[one.resource.Namespace].Sub(now)); own > 0 {
			wait, i = earlier(wait, own), i+1
			continue
		}
		told := one.news()
		if told == one.told || told.reason == reasonAccepted && one.told == (news{}) {
			e.take(i)
			continue
		}
		if all := e.limit.wait(now); all > 0 {
			return nil, news{}, earlier(wait, all)
		}
		one.limit.take()
		e.limit.take()
		e.take(i)
		return one, told, 0
	}
	return nil, news{}, wait
}

// take takes a subject out of what is due.
func (e *events) take(i int) {
	one := e.due[i]
	one.due = false
	e.due = slices.Delete(e.due, i, i+1)
	if e.crowd[one.resource.Namespace]--; e.crowd[one.resource.Namespace] <= 0 {
		delete(e.crowd, one.resource.Namespace)
	}
}

// earlier returns the shorter of two times to wait; 0 is none.
func earlier(a, b time.Duration) time.Duration {
	if a == 0 {
		return b
	}
	return min(a, b)
}

// news returns what there is to say about a subject now.
func (s *subject) news() news {
	var verdicts []dynamic.Verdict
	for _, some := range s.verdicts {
		verdicts = append(verdicts, some...)
	}
	total := summarize(verdicts)
	if total.status == dynamic.Accepted {
		total.message = "everything that it declares is put to work"
	}
	told := news{resource: *s.resource, reason: total.reason(), message: total.message}
	told.resource.Generation = 0 // A further version with the same fault is no news.
	return told
}

// finish notes how writing an Event ended.
func (e *events) finish(one *subject, told news, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case err == nil || hopeless(err):
		one.told = told
		return
	case apierrors.IsForbidden(err):
		e.until[told.resource.Namespace] = time.Now().Add(pauseAfterRefusal)
	default:
		e.paused = time.Now().Add(pauseAfterFailure)
	}
	e.touch(one)
}
