package report

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
)

// holder returns the holder of the Lease.
func (s *apiServer) holder() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for path, object := range s.objects {
		if strings.HasSuffix(path, "/namespaces/sluice-system/leases/sluice") {
			holder, _ := object["spec"].(map[string]any)["holderIdentity"].(string)
			return holder
		}
	}
	return ""
}

// tellBoth publishes the same verdict to several instances, as each of them has a pipeline.
func tellBoth(name string, rigs ...*rig) {
	for _, r := range rigs {
		r.Publish([]dynamic.Verdict{verdict(route("traefik.io", name), name, dynamic.Quarantined, "bad rule")})
	}
}

func TestOneLeaderWritesAndHandsOverWhenItStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newAPIServer(t)
		first, second := newRig(t, server, "first", nil), newRig(t, server, "second", nil)
		stop := first.run()
		pass(time.Second)
		second.run()
		tellBoth("web", first, second)
		pass(30 * time.Second)
		if diff := cmp.Diff([]string{"web Warning InvalidRule x1: quarantined: bad rule"},
			eventLines(server.events())); diff != "" || server.holder() != "first" {
			t.Fatalf("leader %s, events (-want +got):\n%s", server.holder(), diff)
		}
		if by := server.events()[0].ReportingInstance; by != "first" {
			t.Errorf("written by %s", by)
		}
		stop()
		if holder := server.holder(); holder != "" {
			t.Errorf("the Lease is held by %q after its leader has stopped", holder)
		}
		pass(5 * time.Second)
		if holder := server.holder(); holder != "second" {
			t.Errorf("the Lease is held by %q, want second", holder)
		}
		// What the first one has reported is reported again, and counted.
		tellBoth("late", second)
		pass(time.Second)
		want := []string{
			"late Warning InvalidRule x1: quarantined: bad rule",
			"web Warning InvalidRule x2: quarantined: bad rule",
		}
		if diff := cmp.Diff(want, eventLines(server.events())); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}

// A leader that reaches the API server no longer stops writing before another one begins.
func TestALeaderThatIsCutOffStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newAPIServer(t)
		cut := &cutOff{apiServer: server}
		first := newRig(t, server, "first", func(o *Options) { o.Clients = cut })
		second := newRig(t, server, "second", nil)
		first.run()
		pass(time.Second)
		second.run()
		cut.set(true)
		pass(12 * time.Second)
		tellBoth("web", first, second)
		pass(10 * time.Second)
		if server.holder() != "second" {
			t.Fatalf("the Lease is held by %q, want second", server.holder())
		}
		cut.set(false)
		pass(time.Minute)
		if diff := cmp.Diff([]string{"web Warning InvalidRule x1: quarantined: bad rule"},
			eventLines(server.events())); diff != "" || server.holder() != "second" {
			t.Errorf("leader %s, events (-want +got):\n%s", server.holder(), diff)
		}
		if by := server.events()[0].ReportingInstance; by != "second" {
			t.Errorf("written by %s", by)
		}
	})
}

func TestALeaseThatMayNotBeTakenIsSaidOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newAPIServer(t)
		server.refuse("GET leases", true)
		r := newRig(t, server, "one", nil)
		r.run()
		tellBoth("web", r)
		pass(time.Minute)
		if n := r.log.count("may not get leases.coordination.k8s.io"); n != 1 || len(r.log.lines) != 1 {
			t.Errorf("log: %v, want one line", r.log.lines)
		}
		server.refuse("GET leases", false)
		pass(10 * time.Second)
		if diff := cmp.Diff([]string{"web Warning InvalidRule x1: quarantined: bad rule"},
			eventLines(server.events())); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}
