package telemetry_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sluiceproxy/sluice/telemetry"
)

// counting runs a test with a sink that counts.
func counting(t *testing.T, test func(t *testing.T, unmatched *telemetry.Unmatched)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		unmatched := telemetry.NewUnmatched()
		go unmatched.Run(ctx)
		test(t, unmatched)
		end()
		synctest.Wait()
	})
}

// counted returns the counts after the queue was read.
func counted(unmatched *telemetry.Unmatched) telemetry.UnmatchedRequests {
	<-time.NewTimer(time.Second).C // On the clock of the bubble.
	synctest.Wait()
	return unmatched.Requests()
}

func notFound(host, path string) *telemetry.Record {
	return &telemetry.Record{
		Code: telemetry.CodeNoRouter, Status: 404, Entrypoint: "web", Method: "GET", Host: host, Path: path,
		Query: "token=hunter2",
	}
}

func TestUnmatchedRequestsAreCounted(t *testing.T) {
	counting(t, func(t *testing.T, unmatched *telemetry.Unmatched) {
		for range 3 {
			unmatched.Finished(notFound("shop.test", "/cart"))
		}
		other := notFound("shop.test", "/cart")
		other.Entrypoint, other.Method = "other", "BREW"
		unmatched.Finished(other)
		unmatched.Finished(&telemetry.Record{Status: 404, Host: "shop.test", Path: "/of-an-endpoint"})
		unmatched.Finished(&telemetry.Record{Protocol: telemetry.ProtocolTCP, Code: telemetry.CodeNoRouter})
		unmatched.Finished(notFound("x\u202etset", "/\x1b[2J\xff"+strings.Repeat("é", 200)))
		want := telemetry.UnmatchedRequests{Total: 5, Requests: []telemetry.UnmatchedRequest{
			{EntryPoint: "web", Host: "shop.test", Path: "/cart", Method: "GET", Requests: 3},
			{EntryPoint: "other", Host: "shop.test", Path: "/cart", Method: "_OTHER", Requests: 1},
			{
				EntryPoint: "web", Host: `x\u202etset`, Path: `/\u001b[2J\xff` + strings.Repeat("é", 73) + "…",
				Method: "GET", Requests: 1,
			},
		}}
		got := counted(unmatched)
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(telemetry.UnmatchedRequest{}, "Last")); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

// TestAFloodOfPathsKeepsWhatIsFrequent proves that random paths fill no memory and hide no frequent request.
func TestAFloodOfPathsKeepsWhatIsFrequent(t *testing.T) {
	counting(t, func(t *testing.T, unmatched *telemetry.Unmatched) {
		for i := range 5_000 {
			unmatched.Finished(notFound("flood.test", fmt.Sprint("/", i)))
			if i%10 == 0 {
				unmatched.Finished(notFound("shop.test", "/cart"))
				counted(unmatched)
			}
		}
		counted(unmatched)
		for range 3_000 { // More at once than wait.
			unmatched.Finished(notFound("flood.test", "/at-once"))
		}
		got := counted(unmatched)
		if len(got.Requests) != 512 || got.Total != 8_500 || got.Dropped != 3_000-512 {
			t.Errorf("%d listed, %d in all, %d dropped", len(got.Requests), got.Total, got.Dropped)
		}
		for _, one := range got.Requests[:2] {
			if one.Path != "/cart" && one.Path != "/at-once" {
				t.Errorf("among the first is %+v", one)
			}
			if one.Path == "/cart" && (one.Requests-one.Overcount > 500 || one.Requests < 500) {
				t.Errorf("500 requests are counted as %d, at most %d too many", one.Requests, one.Overcount)
			}
		}
	})
}

func TestMatchedRequestsAllocateNothing(t *testing.T) {
	unmatched, record := telemetry.NewUnmatched(), &telemetry.Record{Status: 200, Host: "shop.test", Path: "/"}
	if allocations := testing.AllocsPerRun(100, func() { unmatched.Finished(record) }); allocations != 0 {
		t.Errorf("%v allocations", allocations)
	}
}

func BenchmarkUnmatched(b *testing.B) {
	for name, record := range map[string]*telemetry.Record{
		"matched": {Status: 200}, "unmatched": notFound("shop.test", "/cart"),
	} {
		b.Run(name, func(b *testing.B) {
			unmatched := telemetry.NewUnmatched()
			go unmatched.Run(b.Context())
			b.ReportAllocs()
			for b.Loop() {
				unmatched.Finished(record)
			}
		})
	}
}
