package balance

import (
	"net/http"
	"syscall"
	"testing"
	"time"
)

// TestNoStorm breaks all endpoints of a pool under load, in each way: they receive at most 1.2 x the requests of
// clients, also in the first second, and 5 s after they are repaired all requests succeed.
func TestNoStorm(t *testing.T) {
	each := func(do func(*endpoint)) func([]*endpoint) {
		return func(fleet []*endpoint) {
			for _, e := range fleet {
				do(e)
			}
		}
	}
	setMode := func(mode int64) func([]*endpoint) { return each(func(e *endpoint) { e.mode.Store(mode) }) }
	setStatus := func(status int64) func([]*endpoint) { return each(func(e *endpoint) { e.status.Store(status) }) }
	const rate = 300
	for _, test := range []struct {
		name, options string
		fail, recover func([]*endpoint)
		// perTry is the timeout of a try, 0 without one.
		perTry time.Duration
	}{
		{
			name: "all answer 500", options: `retry: {attempts: 3, status: ["5xx"]}, ` + ejecting,
			fail: setStatus(http.StatusInternalServerError), recover: setStatus(http.StatusOK),
		},
		{
			name: "all hang", options: "retry: {attempts: 3, perTryTimeout: 200ms}",
			fail: setMode(hangs), recover: setMode(answers), perTry: 200 * time.Millisecond,
		},
		{
			name: "all refuse", options: "retry: {attempts: 3}",
			fail: killTogether, recover: each((*endpoint).restart),
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			both := startFleet(t, 8)
			fleet := both[:4]
			p := startProxy(t, site{
				"pool": pool(test.options, servers(fleet...)...), "calm": pool(test.options, servers(both[4:]...)...),
			})
			load, calm := p.send(plan{service: "pool", rate: rate}), p.send(plan{service: "calm", rate: rate / 6})
			beside := sendDirect(t, both[4:]...)
			pass(t, 2*time.Second)

			before := load.mark(p, fleet)
			test.fail(fleet)
			began := time.Now()
			pass(t, time.Second)
			second := load.mark(p, fleet)
			pass(t, 1500*time.Millisecond)
			end := load.mark(p, fleet)
			test.recover(fleet)
			mended := time.Now()

			expectNoStorm(t, "first second", before, second, rate)
			expectNoStorm(t, "outage", before, end, rate)
			back := load.awaitShares(t, mended, 0.15, names(fleet))
			all := load.end()
			// A request that waits when it ends may be answered then.
			outage := all.from(began).before(mended.Add(-500 * time.Millisecond))
			if succeeded := len(outage) - len(outage.failed()); succeeded > len(outage)/10 {
				t.Errorf("%d of %d requests succeeded, which is no outage", succeeded, len(outage))
			}
			unbroken, ended, after5s := calm.end(), time.Now(), mended.Add(5*time.Second)
			stalled := beside.stalled(mended.Add(4*time.Second), ended)
			expectNoneLate(t, all.from(after5s), unbroken.from(after5s), test.perTry, stalled)
			after := all.from(mended).failed()
			t.Logf("sent, arrived, tried again, and waiting before: in the first second %v, in the outage %v; %d requests "+
				"failed after it; each endpoint had its share %v after it; %v",
				second.since(before), end.since(before), len(after), back, p.counts("pool"))
		})
	}
}

// expectNoneLate expects that no request fails, to endpoints that were broken and to others, except by the timeout of a
// try while the machine stands still for as long.
func expectNoneLate(t *testing.T, repaired, unbroken record, perTry, stalled time.Duration) {
	t.Helper()
	excused := func(a answer) bool {
		return perTry > 0 && stalled >= perTry && a.status == http.StatusGatewayTimeout
	}
	late := append(repaired.failed(), unbroken.failed()...)
	if faults := late.where(func(a answer) bool { return !excused(a) }); len(faults) > 0 {
		t.Errorf("5 s after the end: %s; to endpoints that were never broken: %s; direct requests were held up for %v",
			repaired.failed(), unbroken.failed(), stalled)
	} else if len(late) > 0 {
		t.Logf("5 s after the end: %s, when direct requests were held up for %v", late, stalled)
	}
}

// killTogether ends all processes before it waits for the first.
func killTogether(fleet []*endpoint) {
	for _, e := range fleet {
		e.signal(syscall.SIGKILL)
	}
	for _, e := range fleet {
		e.kill()
	}
}

// tally is how many requests clients have sent, how many arrived at the endpoints, and how many further tries were
// made; and for how many answers the clients are waiting.
type tally struct{ sent, arrived, retries, waiting int }

// mark takes a tally. The metrics come first, since they take their time.
func (t *traffic) mark(p *proxy, fleet []*endpoint) tally {
	retries := p.counts(t.plan.service)["retries"]
	answers, sent := t.so()
	return tally{sent, int(arrivals(fleet)), retries, sent - len(answers)}
}

func (t tally) since(before tally) tally {
	return tally{t.sent - before.sent, t.arrived - before.arrived, t.retries - before.retries, before.waiting}
}

// expectNoStorm expects that no more than a fifth of the requests was tried again. What was sent in one second may be a
// few requests less than in the one before, by which the budget goes: then a fifth of that counts, and a few that were
// under way. Those that were sent before may arrive later.
func expectNoStorm(t *testing.T, when string, before, after tally, rate int) {
	t.Helper()
	got := after.since(before)
	limit := max(got.sent, rate)/5 + rate/20
	if got.arrived > got.waiting+got.sent+limit {
		t.Errorf("%s: %d requests arrived, of %d that were sent", when, got.arrived, got.sent)
	}
	if got.retries > limit {
		t.Errorf("%s: %d tries more than the %d requests that were sent", when, got.retries, got.sent)
	}
	if ratio := float64(max(got.arrived-got.waiting, got.sent+got.retries)) / float64(got.sent); got.sent > 2*rate &&
		ratio > 1.2 {
		t.Errorf("%s: %.2f tries for each request", when, ratio)
	}
}
