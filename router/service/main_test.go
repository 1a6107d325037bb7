package service_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/router/service"
	"github.com/sluiceproxy/sluice/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// named answers with its name and counts its requests.
type named struct {
	name  string
	count atomic.Int64
	down  atomic.Bool
}

func (n *named) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	n.count.Add(1)
	w.Header().Set("X-Service", n.name)
}

// Up reports whether the service has not been taken down.
func (n *named) Up() bool { return !n.down.Load() }

func (n *named) child(weight int) service.Child {
	return service.Child{Name: n.name, Handler: n, Weight: weight, Up: n.Up}
}

// ask serves one request and returns the answer with its record.
func ask(t testing.TB, handler http.Handler, fields ...string) (*http.Response, *telemetry.Record) {
	t.Helper()
	record := &telemetry.Record{}
	r := httptest.NewRequestWithContext(telemetry.WithRecord(t.Context(), record), http.MethodGet, "http://x.test/",
		http.NoBody)
	for i := 0; i+1 < len(fields); i += 2 {
		r.Header.Add(fields[i], fields[i+1])
	}
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, r)
	response := recorder.Result()
	_, _ = io.Copy(io.Discard, response.Body)
	return response, record
}
