package server_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/http1/server"
)

// TestServerEmptyLineIsIdle sends the stray line that some clients send behind a body, and looks at how long the
// connection lives.
func TestServerEmptyLineIsIdle(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, stray string
		first       bool
		idle        time.Duration
	}{
		{"an empty line", "\r\n", false, 3 * time.Minute},
		{"two empty lines", "\r\n\r\n", false, 3 * time.Minute},
		{"an empty line before the first request", "\r\n", true, time.Minute},
		{"a part of an empty line", "\r", false, 5 * time.Second},
		{"a part of a request", "G", false, 5 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				client, over := pipe(&server.Server{
					ReadTimeout: time.Minute, IdleTimeout: 3 * time.Minute, MinRate: 240,
					Handler: http.HandlerFunc(hello),
				})
				start := time.Now()
				if !test.first {
					say(t, client, get)
					answer(t, bufio.NewReader(client))
				}
				say(t, client, test.stray)
				if took := (<-over).Sub(start).Round(time.Second); took != test.idle {
					t.Errorf("the connection ended after %v, not %v", took, test.idle)
				}
				http1test.Discard(client)
			})
		})
	}
}

// TestServerEmptyLineThenRequest lets time pass between both.
func TestServerEmptyLineThenRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client, _ := pipe(&server.Server{
			ReadTimeout: time.Minute, IdleTimeout: 3 * time.Minute, MinRate: 240,
			Handler: http.HandlerFunc(hello),
		})
		reader := bufio.NewReader(client)
		for range 3 {
			for _, stray := range []string{"\r", "\n\r\n"} {
				say(t, client, stray)
				pause := time.NewTimer(4 * time.Second)
				<-pause.C
			}
			pause := time.NewTimer(time.Minute / 2)
			<-pause.C
			say(t, client, get)
			if _, body := answer(t, reader); body != "hello" {
				t.Errorf("got %q", body)
			}
		}
		http1test.Discard(client)
		synctest.Wait()
	})
}

// TestServerEmptyLinesHaveABound sends one line at a time, so that each is read alone.
func TestServerEmptyLinesHaveABound(t *testing.T) {
	t.Parallel()
	client, over := pipe(&server.Server{Handler: http.HandlerFunc(hello)})
	_ = client.SetDeadline(time.Now().Add(http1test.Timeout))
	defer http1test.Discard(client)
	sent := make(chan int, 1)
	go func() {
		n := 0
		for ; n < 100; n++ {
			if _, err := io.WriteString(client, "\r\n"); err != nil {
				break
			}
		}
		sent <- n
	}()
	got, err := io.ReadAll(client)
	if err != nil && !errors.Is(err, io.ErrClosedPipe) || !strings.HasPrefix(string(got), "HTTP/1.1 400 ") {
		t.Errorf("got %q, %v", got, err)
	}
	if n := http1test.Receive(t, sent, "the end of the lines"); n != 3 {
		t.Errorf("%d lines were read", n)
	}
	http1test.Receive(t, over, "the end")
}

// TestServerShutdownWithEmptyLine ends a server whose clients have sent an empty line, which is no request to wait for.
func TestServerShutdownWithEmptyLine(t *testing.T) {
	t.Parallel()
	for name, sent := range map[string]string{"first": "\r\n", "behind a request": get + "\r\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := &server.Server{ReadTimeout: time.Minute, IdleTimeout: 3 * time.Minute, Handler: http.HandlerFunc(hello)}
				client, _ := pipe(server)
				go func() { _, _ = io.Copy(io.Discard, client) }()
				say(t, client, sent)
				synctest.Wait()
				start := time.Now()
				if err := server.Shutdown(context.Background()); err != nil || time.Since(start) > 0 {
					t.Errorf("Shutdown took %v: %v", time.Since(start), err)
				}
			})
		})
	}
}

// TestServerShutdownWithinEmptyLine begins to end the server between the two bytes of an empty line.
func TestServerShutdownWithinEmptyLine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := &server.Server{ReadTimeout: time.Minute, Handler: http.HandlerFunc(hello)}
		client, _ := pipe(server)
		say(t, client, "\r")
		synctest.Wait()
		over := make(chan time.Time, 1)
		start := time.Now()
		go func() {
			if err := server.Shutdown(context.Background()); err != nil {
				t.Error(err)
			}
			over <- time.Now()
		}()
		synctest.Wait()
		say(t, client, "\n")
		if took := (<-over).Sub(start); took > 0 {
			t.Errorf("Shutdown took %v", took)
		}
		http1test.Discard(client)
	})
}

// TestServerDrainingServesFirstRequest ends keep-alive while a new client has sent no more than an empty line.
func TestServerDrainingServesFirstRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := &server.Server{ReadTimeout: time.Minute, Handler: http.HandlerFunc(hello)}
		server.EndKeepAlives()
		client, _ := pipe(server)
		say(t, client, "\r\n")
		synctest.Wait()
		say(t, client, get)
		if response, body := answer(t, bufio.NewReader(client)); body != "hello" || !response.Close {
			t.Errorf("got %+v, %q", response, body)
		}
		http1test.Discard(client)
		synctest.Wait()
	})
}

// TestServerDrainingServesIdle ends keep-alive while a response is sent whose head promised the client that the
// connection stays: it does, until the next response has ended it.
func TestServerDrainingServesIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		server := &server.Server{ReadTimeout: time.Minute, Handler: http.HandlerFunc(
			func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Length", "5")
				_ = http.NewResponseController(w).Flush()
				<-release
				hello(w, r)
			})}
		client, _ := pipe(server)
		say(t, client, get)
		synctest.Wait()
		server.EndKeepAlives()
		close(release)
		reader := bufio.NewReader(client)
		if response, _ := answer(t, reader); response.Close {
			t.Error("the first response ends the connection")
		}
		synctest.Wait()
		say(t, client, get)
		if response, body := answer(t, reader); body != "hello" || !response.Close {
			t.Errorf("the second response is %+v, %q", response, body)
		}
		http1test.Discard(client)
		synctest.Wait()
	})
}
