package metrics_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/telemetry/metrics"
)

func TestRatesAreThoseOfTheLastTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		all := metrics.New(metrics.Options{})
		count := func(times, status int, router, service string) {
			for range times {
				all.Entrypoint("web").Count(&metrics.Request{
					Method: "GET", Status: status, Router: all.Router(router, service), Service: all.Service(service),
				})
			}
		}
		count(50, 200, "busy@file", "shop@file") // Before the first reading.
		go all.Run(ctx)
		synctest.Wait()
		count(30, 200, "busy@file", "shop@file")
		count(10, 502, "busy@file", "cart@file")
		count(20, 404, "other@file", "shop@file")
		<-time.NewTimer(11 * time.Second).C
		want := map[string]metrics.TrafficRate{"busy@file": {Requests: 4, ServerErrors: 1}, "other@file": {Requests: 2}}
		if diff := cmp.Diff(want, all.Rates(metrics.TrafficRouters)); diff != "" {
			t.Errorf("routers (-want +got):\n%s", diff)
		}
		want = map[string]metrics.TrafficRate{"shop@file": {Requests: 5}, "cart@file": {Requests: 1, ServerErrors: 1}}
		if diff := cmp.Diff(want, all.Rates(metrics.TrafficServices)); diff != "" {
			t.Errorf("services (-want +got):\n%s", diff)
		}
		<-time.NewTimer(10 * time.Second).C
		if rates := all.Rates(metrics.TrafficRouters); len(rates) != 0 {
			t.Errorf("without requests: %v", rates)
		}
		if history := all.History(); len(history.EntryPoints) != 1 || history.EntryPoints[0].ClientErrors[0] != 10 {
			t.Errorf("history: %+v", history)
		}
		end()
		synctest.Wait()
	})
}
