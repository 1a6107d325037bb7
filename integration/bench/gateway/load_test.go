package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// churnRate is how many routes are edited per second.
const churnRate = 20

// spread returns the namespace of a number of them.
func spread(i int) string { return fmt.Sprintf("load-%02d", i) }

// measureLoad edits routes among many.
func (w *world) measureLoad(tb testing.TB) {
	tb.Helper()
	address := w.gateway(tb, "load")
	w.furnish(tb)
	perNamespace := w.asked.routes / w.asked.namespaces
	name := func(i int) string { return fmt.Sprintf("load-%05d", i) }
	begun := time.Now()
	each(tb, w.asked.routes, func(ctx context.Context, i int) error {
		return w.create(ctx, route(spread(i/perNamespace), name(i), name(i)+".example.com", parent{"Gateway", home, "load"},
			blue))
	})
	made := time.Since(begun)
	w.settle(tb)
	used := cpu(tb, w.sluice.PID())
	pause(tb.Context(), w.asked.churn)
	idle := cpu(tb, w.sluice.PID()) - used
	used = cpu(tb, w.sluice.PID())
	edits := int(w.asked.churn.Seconds() * churnRate)
	p, err := dial(tb.Context(), address)
	if err != nil {
		tb.Fatal(err)
	}
	defer p.close()
	var took times
	var peak int64
	ticker := time.NewTicker(time.Second / churnRate)
	before := time.Now()
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
		edited := time.Now()
		when, _, err := p.await(tb.Context(), host, "/")
		if err != nil {
			tb.Fatal(err)
		}
		took = append(took, when.Sub(edited))
		now, _ := w.sluice.Memory()
		peak = max(peak, now)
	}
	ticker.Stop()
	length := time.Since(before)
	used = cpu(tb, w.sluice.PID()) - used
	w.results.note("load-cpu", milliseconds(used-idle)/float64(edits))
	w.results.note("load-rss", float64(peak)/1e6)
	w.results.say("%d routes in %d namespaces (created in %v), %d edits in %v: applied after: %v; CPU of Sluice %v "+
		"(idle for %v: %v), at most %d MiB resident", w.asked.routes, w.asked.namespaces, rounded(made), edits, rounded(length), took, rounded(used),
		w.asked.churn, rounded(idle), peak>>20)
	if got, err := p.ask("nothing.example.com", "/"); err != nil || got.status != http.StatusNotFound {
		tb.Errorf("no route: %d %v", got.status, err)
	}
	for i := range w.asked.namespaces {
		w.remove(tb, spread(i))
	}
	w.settle(tb)
}

// furnish creates the namespaces of many routes, with a Service in each.
func (w *world) furnish(tb testing.TB) {
	tb.Helper()
	for i := range w.asked.namespaces {
		w.Apply(namespaceManifest(spread(i)), serviceManifest(spread(i), blue.String()))
		w.writeSlice(tb, spread(i), blue.String(), place(blue, 0))
	}
}
