package xds

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluiceproxy/sluice/integration/cluster"
	"github.com/sluiceproxy/sluice/integration/harness"
)

// crew is how many pods a Deployment has.
const crew = 4

// field is a cluster, the Sluice that publishes it, and the clients that call its Services.
type field struct {
	t         testing.TB
	c         *cluster.Cluster
	publisher *harness.Sluice
	clients   []client
	missing   string // why there is no client of Node.js
}

// open starts everything and waits until every client calls both Services.
func open(t *testing.T) *field {
	t.Helper()
	c := prepare(t)
	c.Apply(namespace("shop"), deployment("shop/polite", "polite", fmt.Sprint(crew)),
		deployment("shop/rude", "exit", fmt.Sprint(crew)))
	for _, service := range services() {
		c.Deployed("shop/" + service)
	}
	f := &field{t: t, c: c, publisher: publish(t, c, files())}
	reader := harness.Start(t, harness.Setup{Static: staticReader})
	f.clients = []client{newReader(t, reader), newGRPC(t), newDNS(t, serveNames(t, c))}
	var js *node
	if js, f.missing = newNode(t); js != nil {
		f.clients = append(f.clients, js)
	}
	for _, service := range services() {
		f.start(service + ".shop")
		for _, one := range f.clients {
			f.spread(one, service+".shop", crew)
		}
	}
	return f
}

// services are the Services that are called all the time.
func services() []string { return []string{"polite", "rude"} }

// on returns the same for a subtest.
func (f *field) on(t testing.TB) *field {
	own := *f
	own.t, own.c = t, f.c.For(t)
	return &own
}

func (f *field) start(service string) {
	for _, one := range f.clients {
		one.start(service)
	}
}

// spread waits until a client's calls are answered by exactly so many pods. DNS may lag behind: it is not waited for.
func (f *field) spread(one client, service string, count int) {
	f.t.Helper()
	if balances(one) {
		f.reaches(one, service, count)
	}
}

func (f *field) reaches(one client, service string, count int) {
	f.t.Helper()
	before := one.tally()
	var last score
	until(f.t, func() bool {
		now := one.tally()
		last = now.since(before)[key(service, unary)]
		if last.Sent < 8*count {
			return false
		}
		before = now
		return len(last.Pods) == count
	}, func() string {
		return fmt.Sprintf("%s: %d pods of %s answer, want %d: %v %q", one, len(last.Pods), service, count, last.Pods,
			last.Failed)
	})
}

// balances reports whether a client is one of xDS.
func balances(one client) bool { return strings.HasSuffix(one.String(), " xds") }

// settled waits until the pods that have left are gone.
func (f *field) settled(count int) {
	f.t.Helper()
	f.c.UntilAll("Pod", "shop", fmt.Sprintf("%d pods", count), func(pods []*unstructured.Unstructured) bool {
		return len(pods) == count
	})
}

// during makes something happen, and looks at the calls that each client has made meanwhile.
func (f *field) during(happens func()) {
	f.t.Helper()
	before := map[client]scores{}
	for _, one := range f.clients {
		before[one] = one.tally()
	}
	happens()
	for _, one := range f.clients {
		f.judge(one, one.tally().since(before[one]))
	}
}

// judge compares the scores of a client with what the protocol allows. Pods that die take calls with them that have
// been sent: gRPC must not repeat these. A Sluice repeats requests with GET. DNS is shown for comparison only.
func (f *field) judge(one client, got scores) {
	f.t.Helper()
	for _, name := range slices.Sorted(maps.Keys(got)) {
		result := got[name]
		f.t.Logf("%-12s %-20s %s by %d pods", one, name, result, len(result.Pods))
		reasons := result.reasons()
		for _, reason := range slices.Sorted(maps.Keys(reasons)) {
			f.t.Logf("%-12s %-20s %d x %.200s", one, name, reasons[reason], reason)
			dies := strings.HasPrefix(name, "rude.") && one.String() != "sluice xds"
			if balances(one) && !(dies && hadBeenSent(reason)) {
				f.t.Errorf("%s: %s: a call fails that should not: %s", one, name, reason)
			}
		}
		if result.Sent == 0 {
			f.t.Errorf("%s: %s: no calls, so this shows nothing", one, name)
		}
	}
}

// hadBeenSent reports whether a call failed on a connection that was open.
func hadBeenSent(reason string) bool {
	return slices.ContainsFunc([]string{
		"error reading from server", "connection reset by peer", "closed the connection", "Connection dropped", "ECONNRESET",
		"broken pipe", "transport is closing", "Stream closed", "RST_STREAM",
	}, func(sign string) bool { return strings.Contains(reason, sign) })
}
