package entrypoint_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/entrypoint"
	"github.com/sluiceproxy/sluice/telemetry"
)

// late is what a handler leaves behind.
type late struct {
	w      http.ResponseWriter
	r      *http.Request
	header http.Header
}

// TestLateCalls lets goroutines of a handler go on after it has returned, while other requests use the same connection.
func TestLateCalls(t *testing.T) {
	for _, protocol := range protocols() {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			left := make(chan late, 1)
			s := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/leave" {
					w.Header().Set("Mine", "1")
					left <- late{w: w, r: r, header: w.Header()}
					return
				}
				body, _ := io.ReadAll(r.Body)
				_, _ = w.Write(body)
			}), nil)
			client, url := s.client(protocol)
			do(t, client, http.MethodPost, url+"/leave", strings.NewReader(strings.Repeat("x", 1000)))
			leftover := receive(t, left, "the handler")
			record := s.record()

			for i := range 50 {
				var busy sync.WaitGroup
				for range 2 {
					busy.Go(func() { leftover.misuse(t) })
				}
				busy.Go(func() { leftover.header.Set("Mine", fmt.Sprint(i)) })
				want := fmt.Sprintf("body %d", i)
				response, body := do(t, client, http.MethodPost, url, strings.NewReader(want))
				if body != want || response.StatusCode != http.StatusOK || response.Header.Get("Late") != "" ||
					response.Header.Get("Mine") != "" {
					t.Fatalf("another response changed: %d %v %q", response.StatusCode, response.Header, body)
				}
				busy.Wait()
			}
			if record.Router != "" || record.Status != http.StatusOK {
				t.Errorf("the record changed: %+v", record)
			}
		})
	}
}

// misuse makes every call that a handler's goroutine can make too late.
func (l late) misuse(t *testing.T) {
	controller := http.NewResponseController(l.w)
	l.w.Header().Set("Late", "1")
	l.w.WriteHeader(http.StatusTeapot)
	if f, ok := l.w.(http.Flusher); ok {
		f.Flush()
	}
	telemetry.RecordFrom(l.r.Context()).Router = "late"
	_, wrote := l.w.Write([]byte("late"))
	_, wroteString := io.WriteString(l.w, "late")
	_, copied := io.Copy(l.w, strings.NewReader("late"))
	_, read := l.r.Body.Read(make([]byte, 10))
	hijacked := entrypoint.ErrFinished
	if _, able := l.w.(http.Hijacker); able {
		_, _, hijacked = controller.Hijack()
	}
	for call, err := range map[string]error{
		"Write": wrote, "WriteString": wroteString, "ReadFrom": copied, "Read": read, "Hijack": hijacked,
		"Flush": controller.Flush(), "SetReadDeadline": controller.SetReadDeadline(time.Now()),
		"SetWriteDeadline": controller.SetWriteDeadline(time.Now()), "EnableFullDuplex": controller.EnableFullDuplex(),
	} {
		if !errors.Is(err, entrypoint.ErrFinished) {
			t.Errorf("%s: %v", call, err)
		}
	}
	if err := l.r.Body.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if l.r.Context().Err() == nil {
		t.Error("the context is alive")
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
				writing := make(chan struct{})
				go func() {
					chunk := make([]byte, 1<<20)
					for i := 0; ; i++ {
						if _, err := w.Write(chunk); err != nil {
							failed <- err
							return
						}
						if i == 0 {
							close(writing)
						}
					}
				}()
				select {
				case <-writing:
				case <-r.Context().Done():
				}
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
			release, released := make(chan struct{}), make(chan struct{})
			slow := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				<-release
				_, _ = io.ReadAll(r.Body)
				w.Header().Set("Late", "1")
				_, _ = io.WriteString(w, "late")
				close(released)
			})
			timeout := http.TimeoutHandler(slow, 20*time.Millisecond, "too slow")
			s := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/slow" {
					timeout.ServeHTTP(w, r)
					return
				}
				hello(w, r)
			}), nil)
			client, url := s.client(protocol)
			response, body := do(t, client, http.MethodPost, url+"/slow", strings.NewReader("x"))
			if response.StatusCode != http.StatusServiceUnavailable || body != "too slow" {
				t.Errorf("got %d %q", response.StatusCode, body)
			}
			close(release)
			if response, body := do(t, client, http.MethodGet, url, nil); body != "hello" || response.Header.Get("Late") != "" {
				t.Errorf("the next answer is %v %q", response.Header, body)
			}
			receive(t, released, "the slow handler")
		})
	}
}

// TestKeptStrings has handlers keep strings, headers and clones of requests, and looks at them after many other
// requests.
func TestKeptStrings(t *testing.T) {
	for _, protocol := range protocols() {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			type kept struct {
				path, value, host string
				header            http.Header
				clone             *http.Request
			}
			all := make(chan kept, 100)
			s := start(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				all <- kept{r.URL.Path, r.Header.Get("Number"), r.Host, r.Header, r.Clone(r.Context())}
			}), nil)
			client, url := s.client(protocol)
			for i := range 100 {
				do(t, client, http.MethodGet, fmt.Sprintf("%s/path/%d", url, i), nil, "Number", fmt.Sprint(i))
			}
			for i := range 100 {
				k, number := <-all, fmt.Sprint(i)
				if k.path != "/path/"+number || k.value != number || k.host != s.address ||
					k.header.Get("Number") != number || k.clone.Header.Get("Number") != number || k.clone.URL.Path != k.path {
					t.Fatalf("request %d became %+v", i, k)
				}
			}
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

// TestCallsAfterHijack uses the writer when the connection is somebody else's.
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

// TestUnreadBodies sends a body that the handler does not read, and looks at what becomes of the connection.
func TestUnreadBodies(t *testing.T) {
	for _, test := range []struct {
		name, request string
		flush         bool
		// answers is how many responses come; the last request is always GET /after.
		answers int
		// closes says that the response tells that it is the last one; the connection may end without it.
		closes bool
	}{
		{"read in passing", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody", false, 2, false},
		{"read in passing after a flush", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody", true, 2, false},
		{"chunks", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n", false, 2, false},
		{"bad chunks", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", false, 1, false},
		{
			"bad chunks after a flush", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", true, 1,
			false,
		},
		{"incomplete", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nbody", false, 1, false},
		{"incomplete after a flush", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nbody", true, 1, false},
		{
			"too long", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 400000\r\n\r\n" + strings.Repeat("x", 399_000), false, 1,
			true,
		},
		{
			"100-continue not asked for", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n",
			false, 1, true,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			seen := make(chan string, 10)
			s := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				seen <- r.URL.Path
				_, _ = io.WriteString(w, "answer")
				if test.flush {
					_ = http.NewResponseController(w).Flush()
				}
			}), nil)
			conn := s.dial()
			say(t, conn, test.request)
			reader := bufio.NewReader(conn)
			response, _ := answer(t, reader)
			if response.Close != test.closes {
				t.Errorf("Connection: close is %v", response.Close)
			}
			_, _ = io.WriteString(conn, "GET /after HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
			rest, _ := io.ReadAll(reader)
			if got := 1 + strings.Count(string(rest), "HTTP/1.1"); got != test.answers {
				t.Errorf("%d answers, want %d: %q", got, test.answers, rest)
			}
			s.stop()
			s.wait()
			if got := len(seen); got != test.answers {
				t.Errorf("the handler saw %d requests, want %d", got, test.answers)
			}
		})
	}
}
