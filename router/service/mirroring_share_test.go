package service_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/sluiceproxy/sluice/httpio/replay"
	"github.com/sluiceproxy/sluice/router/service"
)

func TestMirrorsGetTheirSharesEvenly(t *testing.T) {
	percents := []int{0, 1, 7, 33, 50, 99, 100}
	var turns [][]int
	var to []service.Mirror
	var turn atomic.Int64
	done := make(chan struct{}, 1000)
	for i, percent := range percents {
		turns = append(turns, nil)
		record := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			turns[i] = append(turns[i], int(turn.Load()))
			done <- struct{}{}
		})
		to = append(to, service.Mirror{Handler: record, Numerator: percent, Denominator: 100})
	}
	carrier := service.NewMirrors()
	defer carrier.Close()
	state := service.NewState()
	for n := range 400 {
		turn.Store(int64(n))
		// A handler that is built anew goes on counting.
		m := service.NewMirroring(service.MirroringOptions{
			Main: echo("main"), To: to, State: state, Carrier: carrier,
			Memory: replay.NewMemory(0),
		})
		before := carrier.Counts().Sent
		ask(t, m)
		for range carrier.Counts().Sent - before {
			<-done
		}
	}
	for i, percent := range percents {
		if len(turns[i]) != 4*percent {
			t.Errorf("%d %%: %d of 400 requests", percent, len(turns[i]))
		}
		for k := 1; k < len(turns[i]); k++ {
			if gap := turns[i][k] - turns[i][k-1]; gap < 100/percent || gap > 100/percent+1 {
				t.Errorf("%d %%: %d requests from one to the next", percent, gap)
				break
			}
		}
	}
}

// TestMirrorsGetTheirFractions is exact whatever the denominators are.
func TestMirrorsGetTheirFractions(t *testing.T) {
	var counts [3]atomic.Int64
	counted := func(i int) http.Handler {
		return http.HandlerFunc(func(http.ResponseWriter, *http.Request) { counts[i].Add(1) })
	}
	synctest.Test(t, func(t *testing.T) {
		carrier := service.NewMirrors()
		defer carrier.Close()
		m := service.NewMirroring(service.MirroringOptions{
			Main: echo("main"), State: service.NewState(), Carrier: carrier, Memory: replay.NewMemory(0),
			To: []service.Mirror{{counted(0), 3, 7}, {counted(1), 1, 1000}, {counted(2), 2147483647, 2147483647}},
		})
		for range 7000 {
			ask(t, m)
			synctest.Wait()
		}
	})
	for i, want := range []int64{3000, 7, 7000} {
		if got := counts[i].Load(); got != want {
			t.Errorf("mirror %d got %d of 7000 requests, want %d", i, got, want)
		}
	}
}
