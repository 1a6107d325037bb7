package service_test

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestMirrorsCloseAtTheSameTime ends every Close when the requests in flight have ended.
func TestMirrorsCloseAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, carrier, _ := plain(t, echo("main"), http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			<-time.NewTimer(time.Second).C
		}))
		m.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody))
		start := time.Now()
		var closes sync.WaitGroup
		for range 3 {
			closes.Go(carrier.Close)
		}
		closes.Wait()
		if took := time.Since(start); took != time.Second {
			t.Errorf("closed after %v, want a second", took)
		}
	})
}
