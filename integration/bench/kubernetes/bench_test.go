package kubernetes

import (
	"fmt"
	"os"
	"runtime/debug"
	"testing"
	"time"
)

// BenchmarkKubernetes measures every row at every size, and writes the page.
func BenchmarkKubernetes(b *testing.B) {
	asked, err := parse()
	if err != nil {
		b.Fatal(err)
	}
	if asked == nil {
		b.Skip("it takes minutes: make bench KUBERNETES=only")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(1000)) // Clients that pause would be charged to Sluice.
	r := &results{out: os.Stdout, of: map[int]map[string]*figures{}}
	began := time.Now()
	w := newWorld(b)
	serve(b)
	for _, size := range asked.sizes {
		r.say(fmt.Sprintf("%5d routes: Services, EndpointSlices and IngressRoutes were written in %v", size, w.grow(b, size)))
		measure(b, w, r, asked, size)
	}
	if err := r.write(b, asked, began); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(0, "ns/op")
}

// measure measures all rows at one size.
func measure(b *testing.B, w *world, r *results, asked *settings, size int) {
	b.Helper()
	s := measureStart(b, w, r, asked.rounds)
	defer s.Stop()
	s.informer = newInformer(b, w.Kubeconfig)
	defer s.informer.stop(b)
	churn := asked.churn
	if size != judged(asked.sizes) {
		churn /= 10
	}
	parts := []struct {
		name    string
		measure func()
	}{
		{"moves", func() { s.measureMoves(b) }},
		{"crowd", func() { s.measureCrowd(b) }},
		{"changes", func() { s.measureCPU(b, asked.rounds) }},
		{"routes", func() { s.measureRoutes(b) }},
		{"edits", func() { s.measureEdits(b) }},
		{"churn", func() { s.measureChurn(b, churn) }},
	}
	for _, part := range parts {
		if asked.parts.MatchString(part.name) {
			part.measure()
		}
	}
	if asked.parts.MatchString("xds") && size == judged(asked.sizes) {
		s.Stop()
		measureXDS(b, w, r)
	}
	if asked.parts.MatchString("environments") && size == judged(asked.sizes) {
		s.Stop()
		measureEnvironments(b, w, r)
	}
}
