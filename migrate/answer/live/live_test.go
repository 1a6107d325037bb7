package live_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/migrate/answer/live"
	"github.com/sluiceproxy/sluice/migrate/probe"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server answers each connection with a text, and keeps what it has received.
func server(t *testing.T, text string) (address string, received func() []string) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var all []string
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer func() { _ = conn.Close() }()
				var head strings.Builder
				in := bufio.NewReader(conn)
				for {
					line, err := in.ReadString('\n')
					_, _ = head.WriteString(line)
					if err != nil || line == "\r\n" {
						break
					}
				}
				mu.Lock()
				all = append(all, head.String())
				mu.Unlock()
				_, _ = io.WriteString(conn, text)
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		running.Wait()
	})
	return listener.Addr().String(), func() []string {
		mu.Lock()
		defer mu.Unlock()
		return all
	}
}

func TestRequestsAreSentAsTheyAre(t *testing.T) {
	address, received := server(t, "HTTP/1.1 308 Permanent Redirect\r\nLocation: https://a.example/\r\n"+
		"Set-Cookie: a=1\r\nContent-Length: 0\r\n\r\n")
	client := &live.Client{HTTP: address, Rate: live.MaxRate}
	got, err := client.Answer(t.Context(), probe.Probe{
		Method: "GET", Scheme: "http", Host: "A.example:8080", Target: "//a/%2e%2E/b?c=//",
		Header: http.Header{"Origin": {"https://b.example"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got.Status != http.StatusPermanentRedirect || got.Header.Get("Location") != "https://a.example/" || !got.Blind {
		t.Errorf("answer %+v", got)
	}
	want := "GET //a/%2e%2E/b?c=// HTTP/1.1\r\nHost: A.example:8080\r\nOrigin: https://b.example\r\n" +
		"User-Agent: sluice-migrate\r\nConnection: close\r\n\r\n"
	if all := received(); len(all) != 1 || all[0] != want {
		t.Errorf("received %q", all)
	}
}

func TestOverTLS(t *testing.T) {
	name := make(chan string, 1)
	backend := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name <- r.TLS.ServerName
		w.WriteHeader(http.StatusTeapot)
	}))
	defer backend.Close()
	client := &live.Client{HTTPS: backend.Listener.Addr().String()}
	got, err := client.Answer(t.Context(), probe.Probe{
		Method: "HEAD", Scheme: "https", Host: "a.example:443", Target: "/",
	})
	if err != nil || got.Status != http.StatusTeapot {
		t.Fatalf("answer %+v, %v", got, err)
	}
	if sent := <-name; sent != "a.example" {
		t.Errorf("the name of the handshake is %q", sent)
	}
}

func TestHarmfulProbesAreNotSent(t *testing.T) {
	address, received := server(t, "HTTP/1.1 200 OK\r\n\r\n")
	client := &live.Client{HTTP: address}
	for _, one := range []probe.Probe{
		{Method: "POST", Scheme: "http", Host: "a", Target: "/"},
		{Method: "DELETE", Scheme: "http", Host: "a", Target: "/"},
		{Method: "GET", Scheme: "http", Host: "a", Target: "/", Length: 1},
		{Method: "GET", Scheme: "http", Host: "a", Target: "/", Client: "192.0.2.7"},
	} {
		if _, err := client.Answer(t.Context(), one); !errors.Is(err, live.ErrHarmful) {
			t.Errorf("%s: %v", one, err)
		}
	}
	for _, one := range []probe.Probe{
		{Method: "GET", Scheme: "http", Host: "a", Target: "/ HTTP/1.1"},
		{Method: "GET", Scheme: "http", Host: "a\r\nb: c", Target: "/"},
		{Method: "GET", Scheme: "http", Host: "a", Target: "/", Header: http.Header{"A": {"b\nc: d"}}},
		{Method: "GET", Scheme: "https", Host: "a", Target: "/"},
	} {
		if _, err := client.Answer(t.Context(), one); err == nil {
			t.Errorf("%q is sent", one.String())
		}
	}
	if all := received(); len(all) > 0 {
		t.Errorf("received %q", all)
	}
}

func TestResponsesAreBounded(t *testing.T) {
	address, _ := server(t, "HTTP/1.1 200 OK\r\nA: "+strings.Repeat("a", 2*live.MaxResponse)+"\r\n\r\n")
	client := &live.Client{HTTP: address}
	_, err := client.Answer(t.Context(), probe.Probe{Method: "GET", Scheme: "http", Host: "a", Target: "/"})
	if err == nil {
		t.Error("a response without end is read")
	}
}

func TestSilentServers(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	client := &live.Client{HTTP: listener.Addr().String(), Timeout: 50 * time.Millisecond}
	_, err = client.Answer(t.Context(), probe.Probe{Method: "GET", Scheme: "http", Host: "a", Target: "/"})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a silent server: %v", err)
	}
}

func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &live.Client{Rate: 10}
		begin := time.Now()
		for range 21 { // Without an address, nothing is sent.
			_, _ = client.Answer(t.Context(), probe.Probe{Method: "GET", Scheme: "http", Host: "a", Target: "/"})
		}
		if took := time.Since(begin); took != 2*time.Second {
			t.Errorf("21 requests at 10 a second take %v, want 2s", took)
		}
	})
}
