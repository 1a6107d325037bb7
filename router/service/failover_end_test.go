package service_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluiceproxy/sluice/httpio/replay"
	"github.com/sluiceproxy/sluice/router/service"
	"github.com/sluiceproxy/sluice/telemetry"
)

// A response without an end does not delay that of the fallback.
func TestADiscardedAnswerIsNotWaitedForLong(t *testing.T) {
	for name, main := range map[string]http.HandlerFunc{
		"endless": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			for {
				if _, err := w.Write(make([]byte, 1000)); err != nil {
					panic(http.ErrAbortHandler)
				}
			}
		},
		"endless source": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = w.(io.ReaderFrom).ReadFrom(zeros{})
		},
		"silent": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := service.NewFailover(service.FailoverOptions{
				Main: handled(main), Fallback: echo("fallback"), Status: codes(t, "500"), Memory: replay.NewMemory(1 << 20),
			})
			start := time.Now()
			response, _ := ask(t, f)
			if response.StatusCode != http.StatusOK || response.Header.Get("X-Service") != "fallback" ||
				time.Since(start) > time.Second {
				t.Errorf("%s: %d %v after %s", name, response.StatusCode, response.Header, time.Since(start))
			}
		})
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func TestPanicsOfMainAreTheServersUnlessItsAnswerIsDiscarded(t *testing.T) {
	odd := errors.New("odd")
	for _, row := range []struct {
		status int
		cause  any
		passes bool
	}{
		{http.StatusBadGateway, http.ErrAbortHandler, false},
		{http.StatusBadGateway, odd, true},
		{http.StatusOK, http.ErrAbortHandler, true},
		{0, odd, true},
	} {
		f := service.NewFailover(service.FailoverOptions{
			Main: handled(func(w http.ResponseWriter, _ *http.Request) {
				if row.status != 0 {
					w.WriteHeader(row.status)
				}
				panic(row.cause)
			}),
			Fallback: echo("fallback"), Status: codes(t, "502"), Memory: replay.NewMemory(1 << 20),
		})
		got := func() (cause any) {
			defer func() { cause = recover() }()
			if response, _ := ask(t, f); response.Header.Get("X-Service") != "fallback" {
				t.Errorf("%+v: no response: %v", row, response.Header)
			}
			return nil
		}()
		if row.passes != (got != nil) || row.passes && got != row.cause {
			t.Errorf("%+v: panic %v", row, got)
		}
	}
}

// No second service gets the request of a client that has left.
func TestTheFallbackGetsNoRequestOfAClientThatHasLeft(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	record := &telemetry.Record{}
	f := service.NewFailover(service.FailoverOptions{
		Main: handled(func(w http.ResponseWriter, _ *http.Request) {
			leave()
			w.WriteHeader(http.StatusBadGateway)
		}),
		Fallback: handled(func(http.ResponseWriter, *http.Request) { t.Error("the fallback got the request") }),
		Status:   codes(t, "502"), Memory: replay.NewMemory(1 << 20),
	})
	f.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(telemetry.WithRecord(ctx, record), http.MethodGet,
		"/", http.NoBody))
	if record.Status != telemetry.StatusClientClosedRequest {
		t.Errorf("record %+v", record)
	}
}

func TestAnAnswerThatPassesStreams(t *testing.T) {
	step := make(chan struct{})
	f := service.NewFailover(service.FailoverOptions{
		Main: handled(func(w http.ResponseWriter, r *http.Request) {
			buffer := make([]byte, 4)
			for range 3 {
				n, _ := io.ReadFull(r.Body, buffer)
				_, _ = w.Write(buffer[:n])
				_ = http.NewResponseController(w).Flush()
				<-step
			}
		}),
		Fallback: echo("fallback"), Status: codes(t, "5xx"), MaxBody: -1, Memory: replay.NewMemory(1 << 20),
	})
	server := front(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex()
		f.ServeHTTP(w, r)
	}))
	conn, reader := dial(t, server)
	say(t, conn, "POST / HTTP/1.1\r\nHost: x.test\r\nContent-Length: 12\r\n\r\none.")
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	got := make([]byte, 4)
	for _, want := range []string{"one.", "two.", "six."} {
		if want != "one." {
			say(t, conn, want)
		}
		if _, err := io.ReadFull(response.Body, got); err != nil || string(got) != want {
			t.Fatalf("%q, %v; want %q", got, err, want)
		}
		step <- struct{}{}
	}
}

// upgrading answers requests for another protocol with 101 and then says its name, others with 503.
func upgrading(name string, up bool) service.Child {
	return service.Child{Name: name, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !up || r.Header.Get("Upgrade") == "" {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		conn, buffers, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		defer func() { _ = conn.Close() }()
		_, _ = fmt.Fprintf(buffers, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: chat\r\n\r\n%s",
			name)
		_ = buffers.Flush()
	})}
}

func TestUpgradesPass(t *testing.T) {
	for _, main := range []bool{true, false} {
		f := service.NewFailover(service.FailoverOptions{
			Main: upgrading("main", main), Fallback: upgrading("fallback", true), Status: codes(t, "503"),
			Memory: replay.NewMemory(1 << 20),
		})
		conn, reader := dial(t, front(t, f))
		say(t, conn, "GET / HTTP/1.1\r\nHost: x.test\r\nConnection: Upgrade\r\nUpgrade: chat\r\n\r\n")
		all, _ := io.ReadAll(reader)
		want := map[bool]string{true: "\r\n\r\nmain", false: "\r\n\r\nfallback"}[main]
		if text := string(all); !strings.HasPrefix(text, "HTTP/1.1 101 ") || !strings.HasSuffix(text, want) {
			t.Errorf("main upgrades %v: %q", main, text)
		}
	}
}

func TestFailoversNest(t *testing.T) {
	memory := replay.NewMemory(1 << 20)
	inner := service.NewFailover(service.FailoverOptions{
		Main: reading(3), Fallback: reading(-1), Status: codes(t, "503"), MaxBody: -1, Memory: memory,
	})
	outer := service.NewFailover(service.FailoverOptions{
		Main: service.Child{Handler: inner, Up: inner.Up}, Fallback: echo("last"), Status: codes(t, "503"), MaxBody: -1,
		Memory: memory,
	})
	server := front(t, outer)
	response, err := server.Client().Post(server.URL, "text/plain", strings.NewReader("question")) //nolint:noctx // The server of the test.
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if body, _ := io.ReadAll(response.Body); string(body) != "question" || response.Header.Get("X-Service") != "last" {
		t.Errorf("%d %v %q", response.StatusCode, response.Header, body)
	}
	if memory.Left() != 1<<20 {
		t.Errorf("%d bytes are left of %d", memory.Left(), 1<<20)
	}
}

// HTTP/2 has other bodies and another writer.
func TestTheFallbackGetsTheWholeBodyOverHTTP2(t *testing.T) {
	memory := replay.NewMemory(1 << 20)
	for _, read := range []int64{0, 40 << 10, -1} {
		f := service.NewFailover(service.FailoverOptions{
			Main: reading(read), Fallback: echo("fallback"), Status: codes(t, "503"), MaxBody: 1 << 18, Memory: memory,
		})
		server := httptest.NewUnstartedServer(f)
		server.EnableHTTP2 = true
		server.StartTLS()
		for _, chunked := range []bool{false, true} {
			text := strings.Repeat("0123456789abcdef", 6<<10)
			var body io.Reader = strings.NewReader(text)
			if chunked {
				body = struct{ io.Reader }{body}
			}
			response, err := server.Client().Post(server.URL, "text/plain", body) //nolint:noctx // The server of the test.
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(response.Body)
			_ = response.Body.Close()
			if err != nil || response.ProtoMajor != 2 || response.StatusCode != http.StatusOK || string(got) != text {
				t.Errorf("main reads %d, chunked %v: %s %s with %d bytes, %v", read, chunked, response.Proto, response.Status,
					len(got), err)
			}
		}
		server.Close()
	}
	if left := memory.Left(); left != 1<<20 {
		t.Errorf("%d bytes of memory are left", left)
	}
}
