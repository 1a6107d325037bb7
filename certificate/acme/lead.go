package acme

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/mholt/acmez/v3/acme"

	"github.com/sluiceproxy/sluice/certificate/storage"
)

const (
	// maxParallel is how many orders of a resolver are under way at a time.
	maxParallel = 8
	// maxRechecks is how many certificates' renewal information is read in one step.
	maxRechecks = 4
	// shortestStep is the shortest time between two plans.
	shortestStep = 5 * time.Millisecond
	// longestIdle is how long the leader waits at most before it makes a plan again.
	longestIdle = 10 * time.Minute
	// unusedLife is how long a certificate that is not needed stays in the storage after its end.
	unusedLife = 30 * 24 * time.Hour
	// longestLimit is how long a limit of the account makes all orders wait before one is tried.
	longestLimit = time.Hour
	// saveInterval is how often a certificate that the storage has refused is written again.
	saveInterval = 30 * time.Second
)

// lead orders certificates until ctx ends.
func (r *resolver) lead(ctx context.Context) {
	l := &leader{
		resolver: r, done: make(chan result), pace: newPace(r.config.CAServer), rechecking: make(chan struct{}, 1),
	}
	defer l.stop()
	r.logger.Info("this replica orders certificates", "resolver", r.name)
	for {
		began := time.Now()
		next := l.step(ctx, began)
		// With many certificates, plans take at most a fifth of one core.
		if wait(ctx, max(shortestStep, 4*time.Since(began))) != nil {
			return
		}
		timer := time.NewTimer(max(time.Until(next), time.Millisecond))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case finished := <-l.done:
			l.finish(ctx, finished)
		case <-r.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// leader is what one term of leadership keeps.
type leader struct {
	*resolver
	orders sync.WaitGroup
	done   chan result
	pace   *pace
	saved  time.Time
	// rechecking holds a value while renewal information is read.
	rechecking chan struct{}
}

// result is the end of an order.
type result struct {
	job
	certificate storage.Certificate
	err         error
	// until is from when the authority accepts the next request.
	until time.Time
}

// stop waits for the orders under way, which have been cancelled.
func (l *leader) stop() {
	go func() { l.orders.Wait(); close(l.done) }()
	for range l.done {
	}
	l.mutex.Lock()
	clear(l.running)
	l.mutex.Unlock()
}

// step starts what is due, and returns when the next step is.
func (l *leader) step(ctx context.Context, now time.Time) time.Time {
	next := now.Add(longestIdle)
	if !l.isReady() {
		return next
	}
	earlier := func(at time.Time) {
		if at.Before(next) {
			next = at
		}
	}
	p := plan(l.input(now))
	earlier(l.save(ctx, now))
	pausedUntil := l.state.schedule(resolverSchedule).Next
	for _, one := range p.jobs {
		at := one.start
		if pausedUntil.After(at) {
			at = pausedUntil
		}
		if at.After(now) {
			earlier(at)
			continue
		}
		if free := l.pace.free(now); free.After(now) {
			earlier(free)
			break
		}
		started, full := l.start(ctx, one)
		if full {
			break // The end of another order wakes the loop.
		}
		if !started {
			continue
		}
		l.pace.take(now)
		if l.state.schedule(resolverSchedule).Failures > 0 {
			break // The authority has failed: one order tries whether it works again.
		}
	}
	earlier(l.recheck(ctx, now, p))
	l.cleanUnused(ctx, now, p)
	return next
}

// resolverSchedule is the ID of the schedule of the resolver itself, which waits while the authority fails.
const resolverSchedule = ""

// start begins an order, unless enough are under way, the authority is being tried, or another one has one of the
// names.
func (l *leader) start(ctx context.Context, one job) (started, full bool) {
	limit := maxParallel
	if l.state.schedule(resolverSchedule).Failures > 0 {
		limit = 1
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if len(l.running) >= limit {
		return false, true
	}
	for _, other := range l.running {
		if slices.ContainsFunc(one.names, func(name string) bool { return slices.Contains(other.names, name) }) {
			return false, false // It is planned again when the other one has ended.
		}
	}
	l.running[one.id] = one
	l.changed.send()
	l.orders.Go(func() {
		ctx, until := noteRetryAfter(ctx)
		certificate, err := l.perform(ctx, one)
		l.done <- result{job: one, certificate: certificate, err: err, until: until()}
	})
	return true, false
}

// perform carries out an order. After a failure it is tried at the staging directory first, so that the limits of the
// authority are not used up.
func (l *leader) perform(ctx context.Context, one job) (storage.Certificate, error) {
	_, open := l.state.order(one.id)
	if l.state.schedule(one.id).Failures > 0 && !open && stagingOf(l.config) != "" {
		if err := l.rehearse(ctx, one.names); err != nil {
			return storage.Certificate{}, err
		}
	}
	// Without a storage, the next start would not know of the order.
	if err := l.put(ctx, storage.KindSchedule, one.id, l.state.schedule(one.id)); err != nil {
		return storage.Certificate{}, &localError{errors.Join(errStorage, err)}
	}
	if one.renews == nil {
		return l.obtain(ctx, one.names, nil)
	}
	return l.obtain(ctx, one.names, one.renews.leaf)
}

var errStorage = errors.New("the storage refuses writes, so no certificate is ordered")

// finish takes the result of an order.
func (l *leader) finish(ctx context.Context, finished result) {
	l.mutex.Lock()
	delete(l.running, finished.id)
	if finished.err == nil {
		for _, name := range finished.names {
			delete(l.asked, name)
		}
	}
	l.mutex.Unlock()
	defer l.changed.send()
	if ctx.Err() != nil && finished.err != nil {
		return // The next leader resumes the order.
	}
	now := time.Now()
	if finished.err != nil {
		l.failed(ctx, now, finished)
		return
	}
	l.pace.consecutive = 0
	l.metrics.Ordered(l.name, "issued")
	l.logger.Info("a certificate was issued", "resolver", l.name, "names", finished.names)
	l.accept(ctx, finished.id, finished.certificate)
	l.keep(ctx, finished.id, l.state.schedule(finished.id).succeed(now, finished.names))
	if l.state.schedule(resolverSchedule).Failures > 0 {
		l.keep(ctx, resolverSchedule, schedule{})
	}
}

// accept stores a certificate. If the storage refuses it, it serves from memory and is written again later; its order
// stays open in the storage, so that the next leader can download it.
func (l *leader) accept(ctx context.Context, id string, record storage.Certificate) {
	if err := l.put(ctx, storage.KindCertificate, id, record); err != nil {
		l.logger.Error("a certificate cannot be stored; it serves from memory, and storing it is tried again",
			"resolver", l.name, "names", record.Names(), "error", err)
		l.state.keepCertificate(id, record)
		return
	}
	if err := l.remove(ctx, storage.KindOrder, id); err != nil {
		l.logger.Warn("an order cannot be removed from the storage", "resolver", l.name, "names", record.Names(),
			"error", err)
	}
}

// keep stores a schedule, or keeps it in memory where the storage refuses it.
func (l *leader) keep(ctx context.Context, id string, next schedule) {
	if err := l.put(ctx, storage.KindSchedule, id, next); err != nil {
		l.state.keepSchedule(id, next)
		l.logger.Warn("the state of an order cannot be stored", "resolver", l.name, "names", next.Names, "error", err)
	}
}

// failed takes the failure of an order. If the authority itself fails, or limits the account, all orders wait.
func (l *leader) failed(ctx context.Context, now time.Time, finished result) {
	l.metrics.Ordered(l.name, "failed")
	failure := newFailure(now, finished.err)
	var staging *stagingError
	isStaging := errors.As(finished.err, &staging)
	if !isStaging && isProblem(finished.err, acme.ProblemTypeAccountDoesNotExist) {
		l.dropSession(ctx)
	}
	// The order itself waits too, so that the next attempt at the authority is for another one.
	next := l.state.schedule(finished.id)
	next.Names = finished.names
	next = next.fail(now, finished.until, failure)
	l.keep(ctx, finished.id, next)
	if !isStaging && (l.pace.limited(finished.err) || blamesAuthority(finished.err)) {
		until := finished.until
		if latest := now.Add(longestLimit); until.After(latest) {
			until = latest
		}
		own := l.state.schedule(resolverSchedule).fail(now, until, failure)
		l.keep(ctx, resolverSchedule, own)
		l.logger.Error("the certificate authority fails; all orders wait", "resolver", l.name, "names", finished.names,
			"attempt", own.Failures, "next", own.Next, "error", failure.String())
		return
	}
	l.logger.Error("no certificate was issued", "resolver", l.name, "names", finished.names, "attempt", next.Failures,
		"next", next.Next, "error", failure.String())
	if l.state.schedule(resolverSchedule).Failures > 0 { // The authority has answered.
		l.keep(ctx, resolverSchedule, schedule{})
	}
}

// save writes again what the storage has refused, and returns when to try again.
func (l *leader) save(ctx context.Context, now time.Time) time.Time {
	unsaved := l.state.unsavedCertificates()
	if len(unsaved) == 0 {
		return now.Add(longestIdle)
	}
	if now.Sub(l.saved) >= saveInterval {
		l.saved = now
		for id, record := range unsaved {
			l.accept(ctx, id, record)
		}
	}
	return l.saved.Add(saveInterval)
}

// recheck begins to read the renewal information of certificates in use that is due, and returns when the next is.
func (l *leader) recheck(ctx context.Context, now time.Time, p planned) time.Time {
	next := now.Add(longestIdle)
	if l.state.schedule(resolverSchedule).Failures > 0 {
		return next
	}
	var due []*issuedCertificate
	for _, id := range sortedKeys(p.inUse) {
		c, s := p.inUse[id], l.state.schedule(id)
		switch {
		case s.Serial != serialOf(c.leaf) || !s.Recheck.After(now):
			due = append(due, c)
		case s.Recheck.Before(next):
			next = s.Recheck
		}
	}
	if len(due) == 0 {
		return next
	}
	select {
	case l.rechecking <- struct{}{}:
	default:
		return next // The end of the reading wakes the loop.
	}
	l.orders.Go(func() {
		defer func() { <-l.rechecking; l.notify() }()
		for _, c := range due[:min(len(due), maxRechecks)] {
			l.suggestion(ctx, c)
		}
		_ = wait(ctx, time.Second)
	})
	return next
}

// cleanUnused deletes what is not needed: certificates that ended long ago, orders and challenges that were left, and
// schedules of names that are not wanted.
func (l *leader) cleanUnused(ctx context.Context, now time.Time, p planned) {
	wanted := map[string]bool{resolverSchedule: true}
	for _, one := range p.jobs {
		wanted[one.id] = true
	}
	for _, c := range l.state.list() {
		if p.inUse[c.id] == nil && now.Sub(c.leaf.NotAfter) > unusedLife {
			if err := l.remove(ctx, storage.KindCertificate, c.id); err == nil {
				l.logger.Info("a certificate that ended long ago was deleted", "resolver", l.name, "names", c.names)
			}
			continue
		}
		wanted[c.id] = true
	}
	for id, open := range l.state.openOrders() {
		if !wanted[id] && now.Sub(open.Created) > orderLife {
			_ = l.remove(ctx, storage.KindOrder, id)
		}
	}
	l.cleanChallenges(ctx, now)
	l.cleanDemands(ctx, now)
	for _, id := range l.state.scheduleIDs() {
		if s := l.state.schedule(id); !wanted[id] && now.After(s.Next) && now.After(s.earliest(now, nil)) {
			_ = l.remove(ctx, storage.KindSchedule, id) // It is tried again in the next step.
		}
	}
}

// cleanChallenges deletes challenges whose leader has died, and whose order was not resumed. Nothing is deleted while
// orders are under way, which may present the same challenges.
func (l *leader) cleanChallenges(ctx context.Context, now time.Time) {
	l.mutex.Lock()
	busy := len(l.running) > 0
	l.mutex.Unlock()
	if busy {
		return
	}
	for id, created := range l.state.presentedSince() {
		if now.Sub(created) > orderTimeout {
			_ = l.remove(ctx, storage.KindChallenge, id)
		}
	}
}

// forgottenFailures is the number of failures after which a name that a client has asked for is forgotten.
const forgottenFailures = 10

// cleanDemands forgets the names that clients have asked for and that cannot be validated, or not any more.
func (l *leader) cleanDemands(ctx context.Context, now time.Time) {
	for _, name := range l.state.demandNames() {
		if l.state.schedule(storage.CertificateID([]string{name})).Failures < forgottenFailures ||
			l.state.find(name, now) != nil {
			continue
		}
		if err := l.remove(ctx, storage.KindDemand, name); err == nil {
			l.logger.Info("a name that a client has asked for is forgotten", "resolver", l.name, "name", name)
		}
	}
}
