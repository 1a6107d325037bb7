package outlier

import (
	"testing"
	"time"
)

// BenchmarkObserve measures what each request pays.
func BenchmarkObserve(b *testing.B) {
	for _, bench := range []struct {
		name   string
		policy *Policy
	}{{"detection", policyOf(b, nil, nil)}, {"both", policyOf(b, passiveOf(time.Second, 3), detectionOf(nil))}} {
		b.Run(bench.name+"/success", func(b *testing.B) {
			var state State
			b.ReportAllocs()
			for b.Loop() {
				state.Observe(bench.policy, good, time.Hour)
			}
		})
		b.Run(bench.name+"/success/parallel", func(b *testing.B) {
			var state State
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					state.Observe(bench.policy, good, time.Hour)
				}
			})
		})
		b.Run(bench.name+"/failure", func(b *testing.B) {
			var state State
			b.ReportAllocs()
			for b.Loop() {
				state.Observe(bench.policy, refused, time.Hour)
				state.Observe(bench.policy, good, time.Hour)
			}
		})
	}
}
