package entrypoint_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/entrypoint"
	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/telemetry"
)

// sender returns what sends requests of one protocol to a handler. The server goes into s.
func sender(t *testing.T, protocol string, s **served) func(http.Handler) http1test.Send {
	return func(handler http.Handler) http1test.Send {
		*s = start(t, handler, nil)
		client, base := (*s).client(protocol)
		return func(t *testing.T, r *http.Request) (*http.Response, string) {
			t.Helper()
			r.URL.Scheme, r.URL.Host, _ = strings.Cut(base, "://")
			response, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = response.Body.Close() }()
			body, err := io.ReadAll(response.Body)
			if err != nil {
				t.Fatal(err)
			}
			return response, string(body)
		}
	}
}

func TestLateCalls(t *testing.T) {
	for _, protocol := range protocols() {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			var s *served
			expect := func() {
				t.Helper()
				if record := s.record(); record.Router != "" || record.Status != http.StatusOK {
					t.Errorf("the record changed: %+v", record)
				}
			}
			// Each response is over for the server, too, before the next step: a datagram orders nothing in the memory of
			// the process, and a late call may change the header map.
			begin := func(handler http.Handler) http1test.Send {
				send := sender(t, protocol, &s)(handler)
				return func(t *testing.T, r *http.Request) (*http.Response, string) {
					t.Helper()
					response, body := send(t, r)
					expect()
					return response, body
				}
			}
			http1test.LateCalls(t, entrypoint.ErrFinished, begin, func(r *http.Request) {
				telemetry.RecordFrom(r.Context()).Router = "late"
			})
		})
	}
}

// TestBlockedCalls lets a handler return while a goroutine of it is blocked in a call.
func TestBlockedCalls(t *testing.T) {
	for _, protocol := range protocols() {
		t.Run("Read "+protocol, func(t *testing.T) {
			t.Parallel()
			failed := make(chan error, 1)
			s := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					hello(w, r)
					return
				}
				first := make([]byte, 1)
				if _, err := io.ReadFull(r.Body, first); err != nil {
					t.Error(err)
				}
				reading := make(chan struct{})
				go func() {
					close(reading)
					_, err := io.Copy(io.Discard, r.Body)
					failed <- err
				}()
				<-reading
				_, _ = io.WriteString(w, "enough")
			}), nil)
			client, url := s.client(protocol)
			reader, writer := io.Pipe()
			defer func() { _ = writer.Close() }()
			go func() { _, _ = writer.Write([]byte("12")) }()
			if _, body := do(t, client, http.MethodPost, url, reader); body != "enough" {
				t.Errorf("the answer is %q", body)
			}
			if err := receive(t, failed, "the blocked Read"); err == nil {
				t.Error("the blocked Read ended well")
			}
			if _, body := do(t, client, http.MethodGet, url, nil); body != "hello" {
				t.Errorf("the next answer is %q", body)
			}
		})
		t.Run("Write "+protocol, func(t *testing.T) {
			t.Parallel()
			failed := make(chan error, 1)
			s := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/" {
					hello(w, r)
					return
				}
				http1test.LeaveWriting(w, r, failed)
			}), nil)
			client, url := s.client(protocol)
			// The client reads nothing of the body, so that Write blocks sooner or later.
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/much", nil)
			if err != nil {
				t.Fatal(err)
			}
			response, err := client.Do(request)
			if err == nil {
				defer func() { _ = response.Body.Close() }()
				go func() { _, _ = io.CopyN(io.Discard, response.Body, 1<<20) }()
			}
			if err := receive(t, failed, "the blocked Write"); err == nil {
				t.Error("the blocked Write ended well")
			}
			if _, body := do(t, client, http.MethodGet, url, nil); body != "hello" {
				t.Errorf("the next answer is %q", body)
			}
		})
	}
}

func TestTimeoutHandler(t *testing.T) {
	for _, protocol := range protocols() {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			http1test.TimeoutHandler(t, sender(t, protocol, new(*served)))
		})
	}
}

func TestKeptStrings(t *testing.T) {
	for _, protocol := range protocols() {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			http1test.KeptStrings(t, sender(t, protocol, new(*served)))
		})
	}
}

func TestPanics(t *testing.T) {
	for _, protocol := range protocols() {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			s := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Secret", "1")
				switch r.URL.Path {
				case "/early":
					panic("boom")
				case "/late":
					_, _ = io.WriteString(w, "part")
					_ = http.NewResponseController(w).Flush()
					panic("boom")
				case "/abort":
					panic(http.ErrAbortHandler)
				}
			}), nil)
			client, url := s.client(protocol)
			response, body, err := try(t, client, http.MethodGet, url+"/early", nil)
			if err != nil || response.StatusCode != http.StatusInternalServerError || response.Header.Get("Secret") != "" ||
				strings.Contains(body, "boom") {
				t.Errorf("early: %+v %q %v", response, body, err)
			}
			if line := s.logged("handler panicked"); !strings.HasPrefix(line, "error") ||
				!strings.Contains(line, "GET "+s.address+"/early") ||
				!strings.Contains(line, "late_test.go") {
				t.Errorf("logged %q", line)
			}
			if record := s.record(); record.Status != http.StatusInternalServerError || record.Reason != "handler panicked" {
				t.Errorf("record %+v", record)
			}
			if _, body, err := try(t, client, http.MethodGet, url+"/late", nil); err == nil {
				t.Errorf("late: a part passes for the whole: %q", body)
			}
			if record := s.record(); record.Status != http.StatusOK || record.Reason != "handler panicked" {
				t.Errorf("record %+v", record)
			}
			if _, _, err := try(t, client, http.MethodPost, url+"/abort", nil); err == nil {
				t.Error("abort: no error")
			}
		})
	}
}

// TestCallsAfterHijack uses the writer when the connection is hijacked.
func TestCallsAfterHijack(t *testing.T) {
	t.Parallel()
	s := start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		controller := http.NewResponseController(w)
		conn, _, err := controller.Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close() //nolint:errcheck // a test's
		w.WriteHeader(http.StatusOK)
		_, wrote := io.WriteString(w, "x")
		for name, err := range map[string]error{"Write": wrote, "Flush": controller.Flush()} {
			if !errors.Is(err, http.ErrHijacked) {
				t.Errorf("%s: %v", name, err)
			}
		}
		_, _ = io.WriteString(conn, "raw")
	}), nil)
	if got := s.raw("GET / HTTP/1.1\r\nHost: a\r\n\r\n"); got != "raw" {
		t.Errorf("the client got %q", got)
	}
}

func TestClientThatLeft(t *testing.T) {
	for _, protocol := range protocols() {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			ctx, leave := context.WithCancel(t.Context())
			s := start(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				leave()
				<-r.Context().Done()
			}), nil)
			client, url := s.client(protocol)
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
			if err != nil {
				t.Fatal(err)
			}
			if response, err := client.Do(request); err == nil {
				_ = response.Body.Close()
				t.Fatal("no error")
			}
			if record := s.record(); record.Status != 499 {
				t.Errorf("record %+v", record)
			}
		})
	}
}

func TestUnreadBodies(t *testing.T) {
	http1test.UnreadBodies(t, func(t *testing.T, handler http.Handler) net.Conn {
		return start(t, handler, nil).dial()
	})
}
