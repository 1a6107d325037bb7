package router

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/sluiceproxy/sluice/telemetry"
)

// discovering is a source of further hosts.
type discovering struct {
	mu     sync.Mutex
	calls  []string
	answer func(host string, port uint16) (bool, error)
}

func (d *discovering) Discover(_ context.Context, host string, port uint16) (bool, error) {
	d.mu.Lock()
	d.calls = append(d.calls, fmt.Sprintf("%s:%d", host, port))
	d.mu.Unlock()
	return d.answer(host, port)
}

// request sends a request through a table, and returns the response with the code of the record.
func request(b *bench, target string) (*httptest.ResponseRecorder, telemetry.Code) {
	return requestOn(b, "web", target)
}

// requestOn sends it to an entrypoint.
func requestOn(b *bench, entrypoint, target string) (*httptest.ResponseRecorder, telemetry.Code) {
	record := &telemetry.Record{}
	r := httptest.NewRequestWithContext(telemetry.WithRecord(b.t.Context(), record), http.MethodGet, target, http.NoBody)
	response := httptest.NewRecorder()
	b.target.Handler(entrypoint).ServeHTTP(response, r)
	return response, record.Code
}

// TestUnknownHostsAreDiscovered waits for the router of a host, and answers for hosts that do not exist or are not
// known in time.
func TestUnknownHostsAreDiscovered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.router("known@file", "Host(`known.test`)", "a@internal")
		b.all()
		source := &discovering{answer: func(host string, _ uint16) (bool, error) {
			switch host {
			case "later.test":
				go func() { // The table comes after the configuration has been sent.
					b.router("later@file", "Host(`later.test`) && Port(`8080`)", "b@internal")
					b.all()
				}()
				return true, nil
			case "never.test":
				return true, nil
			case "away.test":
				return false, errors.New("the source is away")
			}
			return false, nil
		}}
		b.target.Discover(source, []string{"web"})
		for _, test := range []struct {
			target string
			status int
			code   telemetry.Code
		}{
			{"http://known.test/", http.StatusOK, ""},
			{"http://other.test/", http.StatusNotFound, telemetry.CodeNoRouter},
			{"http://away.test/", http.StatusServiceUnavailable, telemetry.CodeDiscovery},
			{"http://never.test/", http.StatusServiceUnavailable, telemetry.CodeDiscovery},
			{"http://later.test:8080/", http.StatusOK, ""},
			{"http://later.test:8080/again", http.StatusOK, ""},
		} {
			response, code := request(b, test.target)
			if response.Code != test.status || code != test.code {
				t.Errorf("%s: %d %s, want %d %s", test.target, response.Code, code, test.status, test.code)
			}
		}
		if answer, code := requestOn(b, "websecure", "http://elsewhere.test/"); code != telemetry.CodeNoRouter {
			t.Errorf("on an entrypoint without discovered routers: %d %s", answer.Code, code)
		}
		want := "[other.test:80 away.test:80 never.test:80 later.test:8080]"
		if got := fmt.Sprint(source.calls); got != want {
			t.Errorf("%s was requested, want %s", got, want)
		}
	})
}
