package gateway

import (
	"testing"
	"time"
)

const (
	// failFor is how long an endpoint fails or is away, and how long it is there between two failures.
	failFor = 5 * time.Second
	// notice is the time from the removal of an endpoint until it stops, as Kubernetes gives a pod.
	notice = time.Second
)

// measureFailover removes one endpoint of four under traffic, and then lets it refuse connections, without retries.
func (w *world) measureFailover(tb testing.TB) {
	tb.Helper()
	address := w.gateway(tb, "failover")
	const host, service = "failover.example.com", "four"
	w.Apply(serviceManifest(home, service))
	all := []string{place(blue, 0), place(blue, 1), place(blue, 2), place(blue, 3)}
	tb.Cleanup(startEndpoint(tb, blue, 2).stop)
	failing := startEndpoint(tb, blue, 3)
	defer func() { failing.stop() }()
	w.writeSlice(tb, home, service, all...)
	object := route(home, "failover", host, parent{"Gateway", home, "failover"}, blue)
	object.Object["spec"].(map[string]any)["rules"].([]any)[0].(map[string]any)["backendRefs"] = []any{
		map[string]any{"name": service, "port": int64(80)},
	}
	if err := w.create(tb.Context(), object); err != nil {
		tb.Fatal(err)
	}
	p, err := dial(tb.Context(), address)
	if err != nil {
		tb.Fatal(err)
	}
	if _, _, err := p.await(tb.Context(), host, "/"); err != nil {
		tb.Fatal(err)
	}
	p.close()
	for _, removed := range []bool{true, false} {
		t := &tally{}
		stop := traffic(tb, address, host, t)
		for range w.asked.failing {
			if removed {
				w.writeSlice(tb, home, service, all[:3]...)
				pause(tb.Context(), notice)
			}
			failing.stop()
			pause(tb.Context(), failFor)
			failing = startEndpoint(tb, blue, 3)
			if removed {
				w.writeSlice(tb, home, service, all...)
			}
			pause(tb.Context(), failFor)
		}
		stop()
		what, key, failed := "refuses connections", "dead-failed", float64(t.failed)/float64(w.asked.failing)
		if removed {
			what, key, failed = "is removed, and stops a second later", "removed-failed", float64(t.failed)
		}
		w.results.note(key, failed)
		w.results.say("one endpoint of four %s, %d times for %v: %d of %d requests failed %s", what, w.asked.failing, failFor,
			t.failed, t.all, t.firstWrong)
	}
	w.remove(tb, home)
}
