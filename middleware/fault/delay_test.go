package fault_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
	"github.com/sluiceproxy/sluice/telemetry"
)

// late is a definition that holds requests back for 2 s.
func late(maxActive int) dynamic.Fault {
	return dynamic.Fault{Delay: &dynamic.FaultDelay{Duration: 2e9, Percentage: 100}, MaxActive: maxActive}
}

func TestDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		step, start := build(t, late(0)), time.Now()
		if got := outcome(step.Wrap, middlewaretest.Request(t, "GET /")); got != "200" || time.Since(start) != 2*time.Second {
			t.Errorf("%s after %s", got, time.Since(start))
		}
		if counts := step.Counts(); counts["delayed"] != 1 || counts["passed_max_active"] != 0 {
			t.Errorf("counts %v", counts)
		}
	})
}

// TestDelayEndsWithTheRequest has clients leave, and a request whose time is over, within the delay.
func TestDelayEndsWithTheRequest(t *testing.T) {
	for reason, test := range map[string]struct {
		end    func(context.Context) (context.Context, context.CancelFunc)
		status int
	}{
		"middleware m@file: the client left before the end of the injected delay": {
			func(ctx context.Context) (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancel(ctx)
				time.AfterFunc(time.Second, cancel)
				return ctx, cancel
			}, telemetry.StatusClientClosedRequest,
		},
		"middleware m@file: the time for the request was over before the end of the injected delay": {
			func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeout(ctx, time.Second)
			}, http.StatusGatewayTimeout,
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			step, start, record := build(t, late(0)), time.Now(), new(telemetry.Record)
			ctx, cancel := test.end(telemetry.WithRecord(t.Context(), record))
			defer cancel()
			w := httptest.NewRecorder()
			step.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				t.Error("the service gets the request")
			})).ServeHTTP(w, middlewaretest.Request(t, "GET /").WithContext(ctx))
			if test.status == http.StatusGatewayTimeout {
				record.Status = w.Code
			}
			if record.Status != test.status || record.Reason != reason || time.Since(start) != time.Second {
				t.Errorf("status %d, reason %q, after %s", record.Status, record.Reason, time.Since(start))
			}
			if _, levels := step.Status(); levels["active"] != 0 {
				t.Errorf("afterwards it stands at %v", levels)
			}
		})
	}
}

// TestMaxActive has more requests than may be held back at a time, twice.
func TestMaxActive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		step := build(t, late(2))
		var served atomic.Int64
		handler := step.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served.Add(1) }))
		for round := range int64(2) {
			var group sync.WaitGroup
			for range 5 {
				r := middlewaretest.Request(t, "GET /")
				group.Go(func() { handler.ServeHTTP(new(middlewaretest.Writer), r) })
			}
			synctest.Wait()
			if _, levels := step.Status(); levels["active"] != 2 || served.Load() != 5*round+3 {
				t.Errorf("round %d: it stands at %v, %d are served", round, levels, served.Load())
			}
			group.Wait()
			if served.Load() != 5*(round+1) {
				t.Errorf("round %d: %d are served", round, served.Load())
			}
		}
		if counts := step.Counts(); counts["delayed"] != 4 || counts["passed_max_active"] != 6 {
			t.Errorf("counts %v", counts)
		}
	})
}
