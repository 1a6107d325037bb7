package loadbalancer

import (
	"testing"
	"time"
)

func TestTrafficOfAMember(t *testing.T) {
	b := newRig(t, nil)
	pool := b.shop(2, Policies{})
	for member := range pool.Snapshot().Members() {
		if member.Address() != "192.0.2.1:80" {
			continue
		}
		for _, result := range []Result{
			{Outcome: Answered, Status: 200},
			{Outcome: Answered, Status: 404},
			{Outcome: Answered, Status: 503},
			{Outcome: Unreachable},
			{Outcome: Broken, Status: 200},
			{Outcome: Abandoned},
		} {
			member.Count(&result)
		}
		member.Took(2 * time.Second)
		member.Took(time.Second)
	}
	want := Traffic{Requests: 5, Errors: 3, Timed: 2, Duration: 3 * time.Second}
	equal(t, "the counts", membership1(t, b, "192.0.2.1:80").Traffic, want)
	equal(t, "the counts of its neighbour", membership1(t, b, "192.0.2.2:80").Traffic, Traffic{})
}

// BenchmarkTraffic is what a request costs that is counted for its endpoint.
func BenchmarkTraffic(b *testing.B) {
	member, result := new(Member), Result{Outcome: Answered, Status: 200}
	b.Run("serial", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			member.Count(&result)
			member.Took(time.Millisecond)
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				member.Count(&result)
				member.Took(time.Millisecond)
			}
		})
	})
}
