package buffering_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/httpio/held"
	"github.com/sluiceproxy/sluice/middleware/buffering"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest/rig"
	"github.com/sluiceproxy/sluice/telemetry"
)

const mib = 1 << 20

// holding returns a middleware whose requests the registry ends. It holds up to 8 MiB of each body in memory.
func holding(t *testing.T, config dynamic.Buffering) (*buffering.Buffering, *held.Registry) {
	t.Helper()
	registry := held.New(1500 * time.Millisecond)
	config.MemRequestBodyBytes = 8 * mib
	if !config.RequestOnly {
		config.MemResponseBodyBytes = 8 * mib
	}
	step, err := buffering.New("whole@file", config, buffering.Options{Held: registry})
	if err != nil {
		t.Fatal(err)
	}
	return step, registry
}

// ends has the registry end its requests, and checks their number.
func ends(t *testing.T, registry *held.Registry, want int) {
	t.Helper()
	if requests, _ := registry.EndLargest(); requests != want {
		t.Errorf("%d requests were ended, want %d", requests, want)
	}
}

// TestHeldRequests registers those that hold 1 MiB or more until they end, whatever the way out.
func TestHeldRequests(t *testing.T) {
	big := func() io.Reader { return bytes.NewReader(make([]byte, 2*mib)) }
	for _, test := range []struct {
		name     string
		config   dynamic.Buffering
		body     io.Reader
		critical bool
		// during is how many requests the handler can end after its response, whose body has response bytes.
		during, response int
		panics           bool
		want             int
	}{
		{name: "small", body: bytes.NewReader(make([]byte, mib/4)), response: mib / 4, want: http.StatusOK},
		{name: "no body", want: http.StatusOK},
		{name: "request", body: big(), during: 1, want: http.StatusServiceUnavailable},
		{name: "response", response: 2 * mib, during: 1, want: http.StatusServiceUnavailable},
		{
			name: "both small", body: bytes.NewReader(make([]byte, mib*3/4)), response: mib * 3 / 4, during: 1,
			want: http.StatusServiceUnavailable,
		},
		{name: "critical", body: big(), response: 2 * mib, critical: true, want: http.StatusOK},
		{
			name: "response not begun", body: big(), config: dynamic.Buffering{RequestOnly: true}, during: 1,
			want: http.StatusServiceUnavailable,
		},
		{
			name: "response begun", body: big(), config: dynamic.Buffering{RequestOnly: true}, response: 1, during: 1,
			panics: true, want: http.StatusOK,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			step, registry := holding(t, test.config)
			record := &telemetry.Record{Critical: test.critical}
			r := httptest.NewRequestWithContext(telemetry.WithRecord(t.Context(), record), http.MethodPost, "/", test.body)
			w := httptest.NewRecorder()
			panicked := false
			func() {
				defer func() { panicked = recover() != nil }()
				step.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if test.response > 0 {
						_, _ = w.Write(make([]byte, test.response))
					}
					ends(t, registry, test.during)
					if test.during > 0 && test.body != nil && test.response < mib/2 && r.Context().Err() == nil {
						t.Error("the context goes on")
					}
				})).ServeHTTP(w, r)
			}()
			if panicked != test.panics || w.Code != test.want {
				t.Errorf("status %d, panicked %t", w.Code, panicked)
			}
			after := w.Header().Get("Retry-After")
			if w.Code == http.StatusServiceUnavailable && (after != "2" || record.Code != telemetry.CodeOverloaded) {
				t.Errorf("Retry-After %q, code %q", after, record.Code)
			}
			ends(t, registry, 0)
		})
	}
}

// TestHeldRequestsAreReleased has requests end in all other ways.
func TestHeldRequestsAreReleased(t *testing.T) {
	broken := func() io.Reader {
		return io.MultiReader(bytes.NewReader(make([]byte, 2*mib)), onlyReader{http.NoBody}, errorReader{})
	}
	for _, test := range []struct {
		name   string
		config dynamic.Buffering
		body   io.Reader
		answer http.HandlerFunc
		want   int
	}{
		{name: "answered", answer: func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(make([]byte, 2*mib))
		}, want: http.StatusOK},
		{
			name: "too large", config: dynamic.Buffering{MaxRequestBodyBytes: mib * 3 / 2}, answer: http.NotFound,
			body: onlyReader{bytes.NewReader(make([]byte, 2*mib))}, want: http.StatusRequestEntityTooLarge,
		},
		{name: "unreadable", body: broken(), answer: http.NotFound, want: http.StatusBadRequest},
		{
			name: "panic", answer: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			want: http.StatusOK,
		},
		{
			name: "repeated", config: dynamic.Buffering{RetryExpression: "Attempts() < 3"}, answer: http.NotFound,
			want: http.StatusNotFound,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			step, registry := holding(t, test.config)
			body := test.body
			if body == nil {
				body = bytes.NewReader(make([]byte, 2*mib))
			}
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", body)
			w := httptest.NewRecorder()
			func() {
				defer func() { _ = recover() }()
				step.Wrap(test.answer).ServeHTTP(w, r)
			}()
			if w.Code != test.want {
				t.Errorf("status %d", w.Code)
			}
			ends(t, registry, 0)
		})
	}
}

// errorReader fails.
type errorReader struct{}

// Read implements io.Reader.
func (errorReader) Read([]byte) (int, error) { return 0, http.ErrBodyNotAllowed }

// TestHeldUpload ends an upload whose client pauses, over real connections.
func TestHeldUpload(t *testing.T) {
	rig.Matrix(t, func(t *testing.T, client, upstream string) {
		step, registry := holding(t, dynamic.Buffering{})
		g := rig.New(t, rig.Setup{Wrap: step.Wrap, Upstream: upstream, Endpoint: func(http.ResponseWriter, *http.Request) {
			t.Error("the endpoint was called")
		}})
		reader, writer := io.Pipe()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = writer.Write(make([]byte, 2*mib))
			ticker := time.NewTicker(time.Millisecond)
			defer ticker.Stop()
			for range ticker.C {
				if requests, _ := registry.EndLargest(); requests > 0 || t.Context().Err() != nil {
					return
				}
			}
		}()
		response, _, err := g.Do(client, g.Request(http.MethodPost, "/", reader))
		<-ended
		_ = writer.Close()
		if err != nil {
			t.Fatal(err)
		}
		if response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") != "2" {
			t.Errorf("status %d, %v", response.StatusCode, response.Header)
		}
		ends(t, registry, 0)
	})
}
