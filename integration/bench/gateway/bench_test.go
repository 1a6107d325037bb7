package gateway

import (
	"os"
	"runtime/debug"
	"testing"
	"time"
)

// BenchmarkGateway measures every part, and writes the page.
func BenchmarkGateway(b *testing.B) {
	asked, err := parse()
	if err != nil {
		b.Fatal(err)
	}
	if asked == nil {
		b.Skip("it takes minutes: make bench GATEWAY=small")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(1000)) // Clients that pause would be charged to Sluice.
	r := &results{out: os.Stdout, of: map[string]*figure{}}
	began := time.Now()
	w := newWorld(b, asked, r)
	for _, part := range []struct {
		name    string
		measure func(testing.TB)
	}{
		{"propagation", w.measurePropagation},
		{"attached", w.measureAttached},
		{"change", w.measureChange},
		{"failover", w.measureFailover},
		{"controllers", w.measureControllers},
		{"load", w.measureLoad},
		{"sets", w.measureSets},
	} {
		if !asked.parts.MatchString(part.name) {
			continue
		}
		part.measure(b)
		if err := r.write(b, asked, began); err != nil { // What was measured is kept when the rest fails.
			b.Fatal(err)
		}
	}
	b.ReportMetric(0, "ns/op")
}
