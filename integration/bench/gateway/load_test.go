package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluiceproxy/sluice/integration/harness"
)

const (
	// churnRate is how many routes are edited per second.
	churnRate = 20
	// rest is how long the use of CPU without edits is measured.
	rest = 30 * time.Second
	// longest is how long a subject may take to serve the last route.
	longest = 10 * time.Minute
)

// spread returns the namespace of a number of them.
func spread(i int) string { return fmt.Sprintf("load-%02d", i) }

// subject is a process that applies the routes of a Gateway.
type subject struct {
	name    string
	pid     int
	address string
	gateway string
}

// measureLoad edits routes among many, with Sluice alone and then, where its binary is given, with Traefik alone.
func (w *world) measureLoad(tb testing.TB) {
	tb.Helper()
	w.furnish(tb)
	ours := w.churn(tb, &subject{name: "Sluice", pid: w.sluice.PID(), address: w.gateway(tb, "load"), gateway: "load"})
	w.results.note("load-cpu", milliseconds(ours.used)/float64(ours.edits))
	w.results.note("load-rss", float64(ours.resident)/1e6)
	if w.asked.traefik == "" {
		return
	}
	w.sluice.Stop()
	traefik, stop := w.startTraefik(tb)
	theirs := w.churn(tb, traefik)
	stop()
	w.results.note("load-traefik-cpu", milliseconds(theirs.used)/float64(theirs.edits))
	w.results.note("load-traefik-rss", float64(theirs.resident)/1e6)
	w.results.note("load-share", 100*ours.used.Seconds()/theirs.used.Seconds())
	w.start(tb)
	w.sluice.Addr("traefik") // Before it listens, a signal kills it.
}

// spent is what a subject has used while routes were edited.
type spent struct {
	edits    int
	used     time.Duration // of CPU, without what it uses at rest
	resident int64         // at most, in bytes
}

// churn creates routes, edits some of them at a constant rate, and removes them.
func (w *world) churn(tb testing.TB, s *subject) spent {
	tb.Helper()
	perNamespace := w.asked.routes / w.asked.namespaces
	name := func(i int) string { return fmt.Sprintf("load-%05d", i) }
	begun := time.Now()
	each(tb, w.asked.routes, func(ctx context.Context, i int) error {
		return w.create(ctx, route(spread(i/perNamespace), name(i), name(i)+".example.com",
			parent{"Gateway", home, s.gateway}, blue))
	})
	made := time.Since(begun)
	last := w.applied(tb, s, name(w.asked.routes-1)+".example.com")
	settle(tb, s.pid)
	used := harness.CPU(tb, s.pid)
	pause(tb.Context(), rest)
	idle := harness.CPU(tb, s.pid) - used

	edits := int(w.asked.churn.Seconds() * churnRate)
	hosts := make(chan string, 1)
	sampled := w.sample(tb, s, hosts)
	used, begun = harness.CPU(tb, s.pid), time.Now()
	var peak int64
	ticker := time.NewTicker(time.Second / churnRate)
	for n := range edits {
		<-ticker.C
		i := n * 7919 % w.asked.routes // 7919 is a prime number, so that routes are edited in turns.
		host := fmt.Sprintf("edit%d.example.com", n)
		patch, err := json.Marshal(map[string]any{"spec": map[string]any{"hostnames": []any{host}}})
		if err != nil {
			tb.Fatal(err)
		}
		if _, err := w.routes(spread(i/perNamespace)).Patch(tb.Context(), name(i), types.MergePatchType, patch,
			metav1.PatchOptions{}); err != nil {
			tb.Fatal(err)
		}
		select {
		case hosts <- host:
		default: // The one before is still awaited.
		}
		peak = max(peak, resident(tb, s.pid))
	}
	ticker.Stop()
	length := time.Since(begun)
	close(hosts)
	took := <-sampled
	settle(tb, s.pid)
	all := harness.CPU(tb, s.pid) - used
	result := spent{edits, max(0, all-idle*time.Duration(time.Since(begun)/rest)), peak}
	w.results.say("%s: %d routes in %d namespaces (created in %v, the last one served %v later), %d edits in %v, of which "+
		"%d were awaited: applied after: %v; CPU %v until it had settled (%v in %v without edits), at most %d MiB resident",
		s.name, w.asked.routes, w.asked.namespaces, rounded(made), rounded(last), edits, rounded(length), len(took), took,
		rounded(all), rounded(idle), rest, peak>>20)
	for i := range w.asked.namespaces {
		w.remove(tb, spread(i))
	}
	settle(tb, s.pid)
	return result
}

// applied waits until a host is served, and returns how long that took.
func (w *world) applied(tb testing.TB, s *subject, host string) time.Duration {
	tb.Helper()
	begun := time.Now()
	for {
		p, err := dial(tb.Context(), s.address)
		if err != nil {
			tb.Fatal(err)
		}
		when, _, err := p.await(tb.Context(), host, "/")
		p.close()
		if err == nil {
			return when.Sub(begun)
		}
		if time.Since(begun) > longest {
			tb.Fatal(err)
		}
	}
}

// sample awaits one host after another, and returns the times that this took once there are no more.
func (w *world) sample(tb testing.TB, s *subject, hosts <-chan string) <-chan times {
	tb.Helper()
	p, err := dial(tb.Context(), s.address)
	if err != nil {
		tb.Fatal(err)
	}
	sampled := make(chan times, 1)
	go func() {
		defer p.close()
		var took times
		for host := range hosts {
			edited := time.Now()
			when, _, err := p.await(tb.Context(), host, "/")
			if err != nil {
				tb.Error(err)
				break
			}
			took = append(took, when.Sub(edited))
		}
		sampled <- took
	}()
	return sampled
}

// furnish creates the namespaces of many routes, with a Service in each.
func (w *world) furnish(tb testing.TB) {
	tb.Helper()
	for i := range w.asked.namespaces {
		w.Apply(namespaceManifest(spread(i)), serviceManifest(spread(i), blue.String()))
		w.writeSlice(tb, spread(i), blue.String(), place(blue, 0))
	}
}
