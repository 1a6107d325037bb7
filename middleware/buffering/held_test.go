package buffering_test

import (
	"bytes"
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/quic-go/quic-go/http3"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/http1/http1test"
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

// lastWriter is a response of which something is called after each Write.
type lastWriter struct {
	*httptest.ResponseRecorder

	written func()
}

// Write implements http.ResponseWriter.
func (w lastWriter) Write(p []byte) (int, error) {
	defer w.written()
	return w.ResponseRecorder.Write(p)
}

// TestHeldResponseIsAborted ends a request when the last byte of its response has been written: what is recorded as
// ended is aborted, whatever has been sent.
func TestHeldResponseIsAborted(t *testing.T) {
	step, registry := holding(t, dynamic.Buffering{})
	record := &telemetry.Record{}
	r := httptest.NewRequestWithContext(telemetry.WithRecord(t.Context(), record), http.MethodGet, "/", http.NoBody)
	w := lastWriter{httptest.NewRecorder(), func() { ends(t, registry, 1) }}
	var cause any
	func() {
		defer func() { cause = recover() }()
		step.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(make([]byte, 2*mib))
		})).ServeHTTP(w, r)
	}()
	if cause != http.ErrAbortHandler || record.Code != telemetry.CodeOverloaded { //nolint:errorlint // net/http compares it.
		t.Errorf("the code is %q, the panic %v", record.Code, cause)
	}
	ends(t, registry, 0)
}

// large is a response that no socket and no window takes whole, in bytes.
const large = 24 * mib

// TestHeldPhases ends requests in each phase, over real connections, each of which serves another request behind it
// with HTTP/2 and HTTP/3.
func TestHeldPhases(t *testing.T) {
	for _, test := range []struct {
		name   string
		config dynamic.Buffering
		// uploads says that the request has a body.
		uploads bool
		// path is what the endpoint does.
		path string
		want int
	}{
		{"receiving", dynamic.Buffering{}, true, "/never", http.StatusServiceUnavailable},
		{"serving", dynamic.Buffering{}, true, "/wait", http.StatusServiceUnavailable},
		{"serving with a response that passes", dynamic.Buffering{RequestOnly: true}, true, "/wait", http.StatusServiceUnavailable},
		{"sending", dynamic.Buffering{}, false, "/large", http.StatusOK},
		{"sending a response that passes", dynamic.Buffering{RequestOnly: true}, true, "/large", http.StatusOK},
	} {
		for _, protocol := range []string{"h1", "h2c", "h3"} {
			t.Run(test.name+" "+protocol, func(t *testing.T) {
				t.Parallel()
				step, registry := holding(t, test.config)
				serving := make(chan struct{}, 1)
				g := rig.New(t, rig.Setup{
					Wrap: step.Wrap, Upstream: "h1", HTTP3: protocol == "h3", Endpoint: phaseEndpoint(t, serving),
				})
				var body io.Reader
				var rest io.Closer = http.NoBody
				if test.uploads {
					body, rest = upload(test.name == "receiving")
				}
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					if test.want == http.StatusOK {
						return
					}
					if test.name != "receiving" {
						http1test.Receive(t, serving, "the request at the endpoint")
					}
					http1test.Eventually(t, "a request is ended", func() bool {
						requests, _ := registry.EndLargest()
						return requests == 1
					})
				}()
				client := clientOf(t, g, protocol)
				response, err := client.Do(g.Request(http.MethodPost, test.path, body))
				<-ended
				_ = rest.Close()
				if err != nil {
					t.Fatal(err)
				}
				if test.want == http.StatusOK { // Its head has come.
					ends(t, registry, 1)
				}
				n, err := io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
				after := response.Header.Get("Retry-After")
				if aborted := err != nil && n < large; response.StatusCode != test.want ||
					aborted != (test.want == http.StatusOK) || (after == "2") == aborted {
					t.Errorf("status %d, Retry-After %q, %d bytes, %v", response.StatusCode, after, n, err)
				}
				if record := g.Record(); record.Code != telemetry.CodeOverloaded || record.Status != test.want {
					t.Errorf("the record has the status %d and the code %q: %s", record.Status, record.Code, record.Reason)
				}
				ends(t, registry, 0)
				if response, err = client.Do(g.Request(http.MethodGet, "/", nil)); err != nil {
					t.Fatal(err)
				}
				if _ = response.Body.Close(); response.StatusCode != http.StatusOK {
					t.Errorf("the next request is answered %d", response.StatusCode)
				}
			})
		}
	}
}

// clientOf returns a client that speaks a protocol: h1, h2c or h3.
func clientOf(t *testing.T, g *rig.Rig, protocol string) *http.Client {
	t.Helper()
	if protocol != "h3" {
		return g.Client(protocol)
	}
	//nolint:gosec // The certificate is generated.
	transport := &http3.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	t.Cleanup(func() { _ = transport.Close() })
	return &http.Client{Transport: transport}
}

// phaseEndpoint waits, answers much, or little, as the path says. It signals requests that it waits for.
func phaseEndpoint(t *testing.T, serving chan<- struct{}) http.HandlerFunc {
	t.Helper()
	return func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/never":
			t.Error("the endpoint was called")
		case "/wait":
			_, _ = io.Copy(io.Discard, r.Body) // Otherwise the server does not notice the end of the connection.
			serving <- struct{}{}
			<-r.Context().Done()
		case "/large":
			for range large / mib {
				if _, err := w.Write(make([]byte, mib)); err != nil {
					return
				}
			}
		}
	}
}

// upload returns a body of 2 MiB, which ends when rest is closed, or at once.
func upload(pauses bool) (body io.Reader, rest io.Closer) {
	begin := bytes.NewReader(make([]byte, 2*mib))
	if !pauses {
		return begin, http.NoBody
	}
	reader, writer := io.Pipe()
	return io.MultiReader(begin, reader), writer
}
