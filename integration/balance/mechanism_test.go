package balance

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// The options of the mechanisms that TestMechanisms switches on.
const (
	noRetry   = "retry: {attempts: 0}"
	noOutlier = "outlierDetection: {consecutiveFailures: 0}"
	retrying  = `retry: {attempts: 3, perTryTimeout: 500ms, status: ["5xx"]}`
	ejecting  = `outlierDetection: {status: ["5xx"]}`
	checking  = "healthCheck: {path: /health, interval: 200ms, timeout: 800ms}"
	passive   = "passiveHealthCheck: {failureWindow: 2s, maxFailedAttempts: 1}"
)

// mechanism is a row of the table: a pool with options.
type mechanism struct{ name, title, options string }

func mechanisms() []mechanism {
	both := func(options ...string) string { return strings.Join(options, ", ") }
	return []mechanism{
		{"nothing", "nothing", both(noRetry, noOutlier)},
		{"default", "what is on by default", ""},
		{"retry", "`retry`", retrying},
		{"outlier", "`outlierDetection` with `status`, no retries", both(ejecting, noRetry)},
		{"check", "`healthCheck`, no retries", both(checking, noOutlier, noRetry)},
		{"passive", "`passiveHealthCheck`, no retries", both(passive, noRetry)},
		{"all", "`retry`, `outlierDetection` and `healthCheck`", both(retrying, ejecting, checking)},
	}
}

const (
	// warmUp is how long traffic runs before something breaks, outage how long it stays broken.
	warmUp = 3 * time.Second
	outage = 3 * time.Second
	// patience is the timeout of clients of TestMechanisms.
	patience = 2 * time.Second
)

// ruin kills the first endpoint, stops the second, and makes the third answer 500, whose check fails as well.
func ruin(fleet []*endpoint) {
	fleet[0].kill()
	fleet[1].stop()
	fleet[2].status.Store(http.StatusInternalServerError)
	fleet[2].health.Store(http.StatusInternalServerError)
}

// mend undoes it.
func mend(fleet []*endpoint) {
	fleet[0].restart()
	fleet[1].resume()
	fleet[2].status.Store(http.StatusOK)
	fleet[2].health.Store(http.StatusOK)
}

// TestOutageUnseen breaks three endpoints of five at the same time under load. With retries, repeatable requests do not
// fail, and repaired endpoints get their share again.
func TestOutageUnseen(t *testing.T) {
	fleet := startFleet(t, 5)
	// A machine that does much else may well keep a good endpoint from answering for half a second.
	patient := strings.Replace(retrying, "500ms", "1s", 1)
	var multiplexed []string
	for _, e := range fleet {
		multiplexed = append(multiplexed, e.h2c())
	}
	p := startProxy(t, site{"pool": pool(patient, servers(fleet...)...), "h2c": pool(patient, multiplexed...)})
	body := strings.Repeat("body ", 200)
	loads := []*traffic{
		p.send(plan{service: "pool", rate: 150}),
		p.send(plan{service: "pool", rate: 50, method: http.MethodPut, body: body}),
		p.send(plan{service: "h2c", rate: 100}),
		p.send(plan{service: "h2c", rate: 50, method: http.MethodPut, body: body}),
	}
	pass(t, warmUp)
	ruin(fleet)
	pass(t, outage)
	mend(fleet)
	mended := time.Now()
	back := loads[0].awaitShares(t, mended, 0.12, names(fleet))
	backToo := loads[2].awaitShares(t, mended, 0.12, names(fleet))
	for _, load := range loads {
		all := load.end()
		if failed := all.failed(); len(failed) > 0 {
			t.Errorf("%s to %s: %d of %d requests failed: %s", cmp.Or(load.plan.method, "GET"), load.plan.service, len(failed),
				len(all), failed)
		}
	}
	t.Logf("each endpoint had its share again after %v, over h2c after %v; %v, %v", back, backToo, p.counts("pool"),
		p.counts("h2c"))
}

// trial is what happened to the requests of each pool and method while endpoints were broken.
type trial struct {
	during map[string]record
	counts map[string]map[string]int
	// stalled is the longest time for which the machine held up direct requests to the endpoints that are not broken.
	stalled time.Duration
}

// experience breaks three endpoints of five under load. All pools have the same endpoints at the same time.
func experience(t *testing.T) trial {
	t.Helper()
	fleet := startFleet(t, 5)
	services := site{}
	for _, m := range mechanisms() {
		for _, method := range []string{"get", "post"} {
			services[m.name+"-"+method] = pool(m.options, servers(fleet...)...)
		}
	}
	p := startProxy(t, services)
	loads := map[string]*traffic{}
	for service := range services {
		what := plan{service: service, rate: 40, limit: patience}
		if strings.HasSuffix(service, "-post") {
			what.method, what.body = http.MethodPost, "a body"
		}
		loads[service] = p.send(what)
	}
	beside := sendDirect(t, fleet[3:]...)
	pass(t, warmUp)
	began := time.Now()
	ruin(fleet)
	pass(t, outage)
	ended := time.Now()
	mend(fleet)
	pass(t, patience)
	found := trial{map[string]record{}, map[string]map[string]int{}, beside.stalled(began, ended.Add(patience))}
	for service, load := range loads {
		found.during[service], found.counts[service] = load.end().from(began).before(ended), p.counts(service)
	}
	return found
}

// disturbed reports whether the machine held up an endpoint that is not broken for nearly as long as a try may take. No
// retry helps against that.
func (r trial) disturbed() bool { return r.stalled > 300*time.Millisecond }

// retried returns the failures of repeatable requests to the pools with retries, of which there should be none.
func (r trial) retried() record {
	return append(r.during["retry-get"].failed(), r.during["all-get"].failed()...)
}

// late reports whether an answer was a timeout, of a try or of the client.
func late(a answer) bool {
	timeout, _ := errors.AsType[net.Error](a.err)
	return a.status == http.StatusGatewayTimeout || timeout != nil && timeout.Timeout()
}

// String is the table of the documentation.
func (r trial) String() string {
	var table strings.Builder
	table.WriteString("| mechanism | method | sent | failed | late | retries | not retried | ejections | failed " +
		"checks | p99 ms |\n")
	table.WriteString("|---|---|---|---|---|---|---|---|---|---|\n")
	for _, m := range mechanisms() {
		for _, method := range []string{"get", "post"} {
			during, counts := r.during[m.name+"-"+method], r.counts[m.name+"-"+method]
			failed := during.failed()
			late := failed.where(func(a answer) bool { return a.err != nil })
			good := during.where(func(a answer) bool { return a.status == http.StatusOK })
			_, _ = fmt.Fprintf(&table, "| %s | %s | %d | %d | %d | %d | %d | %d | %d | %d |\n", m.title, strings.ToUpper(method),
				len(during), len(failed), len(late), counts["retries"], counts["retries_exhausted"], counts["ejections"],
				counts["checks_failed"], good.percentile(0.99).Milliseconds())
		}
	}
	return table.String()
}

// TestMechanisms breaks three endpoints of five under load, and compares the clients' failures with one mechanism after
// the other enabled. It prints the table of the documentation.
func TestMechanisms(t *testing.T) {
	found := experience(t)
	for range 3 {
		if !found.disturbed() {
			break
		}
		if failed := found.retried().where(func(a answer) bool { return !late(a) }); len(failed) > 0 {
			t.Errorf("%d failed requests in spite of retries: %s", len(failed), failed)
		}
		t.Logf("endpoints that are not broken were held up for %v, so once more:\n%s", found.stalled, found)
		found = experience(t)
	}
	t.Logf("\n%s", found)
	for _, service := range []string{"retry-get", "all-get"} {
		if failed := found.during[service].failed(); len(failed) > 0 {
			t.Errorf("%s: %d failed requests, %s", service, len(failed), failed)
		}
	}
	for _, method := range []string{"get", "post"} {
		byDefault, without := len(found.during["default-"+method].failed()), len(found.during["nothing-"+method].failed())
		if byDefault > without {
			t.Errorf("%s: %d failed requests by default, %d without anything", method, byDefault, without)
		}
	}
}
