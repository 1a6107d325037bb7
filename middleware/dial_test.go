package middleware_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	ptypes "github.com/traefik/paerser/types"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

// TestDial has every connection to a server that a definition names made by Options.Dial, and none without it.
func TestDial(t *testing.T) {
	t.Parallel()
	var reached atomic.Bool
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ConnState = func(net.Conn, http.ConnState) { reached.Store(true) }
	server.Start()
	t.Cleanup(func() {
		server.Close()
		if reached.Load() {
			t.Error("a connection was made without Dial")
		}
	})
	address := server.Listener.Addr().String()
	for kind, test := range map[string]struct {
		definition dynamic.Middleware
		headers    []string
		status     int
	}{
		"authRequest": {
			definition: dynamic.Middleware{AuthRequest: &dynamic.AuthRequest{URL: server.URL}},
			status:     http.StatusInternalServerError,
		},
		"forwardAuth": {
			definition: dynamic.Middleware{ForwardAuth: &dynamic.ForwardAuth{Address: server.URL}},
			status:     http.StatusInternalServerError,
		},
		"jwt": {
			definition: dynamic.Middleware{JWT: &dynamic.JWT{JwksURL: server.URL, Issuers: []string{"https://id.test"}}},
			headers:    []string{"Authorization: Bearer a.b.c"},
			status:     http.StatusServiceUnavailable,
		},
		"rateLimit": {
			definition: dynamic.Middleware{RateLimit: &dynamic.RateLimit{
				Average: 1, Period: ptypes.Duration(time.Second), Burst: 1,
				Redis: &dynamic.Redis{Endpoints: []string{address}},
			}},
			status: http.StatusOK, // The limit is not shared then.
		},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			dialed := new(dialed)
			builder := middleware.NewBuilder(middleware.Options{Dial: dialed.dial})
			defer builder.Close()
			step, err := builder.Build("m@file", &test.definition, middleware.References{}, &middleware.Reads{})
			if err != nil {
				t.Fatal(err)
			}
			if closer, ok := step.(middleware.Closer); ok {
				defer closer.Close()
			}
			if starter, ok := step.(middleware.Starter); ok {
				starter.Start()
			}
			handler := step.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusOK)
			}))
			w := new(middlewaretest.Writer)
			handler.ServeHTTP(w, middlewaretest.Request(t, "GET /", test.headers...))
			if w.Status != test.status {
				t.Errorf("status %d, want %d", w.Status, test.status)
			}
			if !dialed.to(address) {
				t.Errorf("no connection to %s was made by Dial", address)
			}
		})
	}
}

// dialed makes no connection, and knows to where one was wanted.
type dialed struct {
	mutex     sync.Mutex
	addresses map[string]bool
}

func (d *dialed) dial(_ context.Context, _, address string) (net.Conn, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.addresses == nil {
		d.addresses = map[string]bool{}
	}
	d.addresses[address] = true
	return nil, errors.New("not permitted")
}

func (d *dialed) to(address string) bool {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return d.addresses[address]
}
