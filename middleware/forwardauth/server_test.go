package forwardauth

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/authorize"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

// connections reports the states of a server's connections.
type connections struct {
	opened, closed chan net.Conn
}

// counted starts a server whose connections are reported.
func counted(t *testing.T, handler http.HandlerFunc) (*httptest.Server, connections) {
	t.Helper()
	c := connections{opened: make(chan net.Conn, 1000), closed: make(chan net.Conn, 1000)}
	server := httptest.NewUnstartedServer(handler)
	server.Config.ConnState = func(conn net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			c.opened <- conn
		case http.StateClosed:
			c.closed <- conn
		}
	}
	t.Cleanup(server.Close)
	return server, c
}

// TestConnectionsAreKept sends one authentication request after the other, with responses of every shape.
func TestConnectionsAreKept(t *testing.T) {
	server, seen := counted(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		switch r.Header.Get("X-Forwarded-Uri") {
		case "/empty":
		case "/body":
			_, _ = io.WriteString(w, strings.Repeat("x", 10000))
		case "/refused":
			http.Error(w, "no", http.StatusForbidden)
		}
	})
	server.Start()
	step := build(t, dynamic.ForwardAuth{Address: server.URL, ForwardBody: true, PreserveRequestMethod: true})
	for range 5 {
		for _, line := range []string{"GET /empty", "GET /body", "GET /refused", "HEAD /body", "OPTIONS /body"} {
			send(t, step, middlewaretest.Request(t, line), nil)
		}
		send(t, step, with(t, "abc", "POST /body"), nil)
	}
	if n := len(seen.opened); n != 1 {
		t.Errorf("%d connections for one authentication request after the other", n)
	}
	step.Close()
	<-seen.closed
}

// stalled is a client that does not read.
type stalled struct {
	*httptest.ResponseRecorder
	writes chan<- struct{}
	reads  <-chan struct{}
}

func (w stalled) Write(p []byte) (int, error) {
	w.writes <- struct{}{}
	<-w.reads
	return w.ResponseRecorder.Write(p)
}

// TestClientsThatDoNotReadHoldNoSlot has as many clients not read their refusals as requests may be in flight.
func TestClientsThatDoNotReadHoldNoSlot(t *testing.T) {
	server, _ := counted(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Forwarded-Uri") == "/refused" {
			http.Error(w, "no", http.StatusForbidden)
		}
	})
	server.Start()
	step := build(t, dynamic.ForwardAuth{Address: server.URL})
	var all sync.WaitGroup
	writes, reads := make(chan struct{}), make(chan struct{})
	for range authorize.MaxInFlight {
		all.Go(func() {
			step.Wrap(http.NotFoundHandler()).ServeHTTP(stalled{httptest.NewRecorder(), writes, reads},
				middlewaretest.Request(t, "GET /refused"))
		})
	}
	for range authorize.MaxInFlight {
		<-writes
	}
	passed := false
	send(t, step, middlewaretest.Request(t, "GET /"), http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		passed = true
	}))
	if !passed {
		t.Error("a request was not admitted while clients did not read their refusals")
	}
	close(reads)
	all.Wait()
}

// TestCloseLetsRequestsEnd closes a step while a request is in it.
func TestCloseLetsRequestsEnd(t *testing.T) {
	asked, answer := make(chan struct{}), make(chan struct{})
	server, seen := counted(t, func(http.ResponseWriter, *http.Request) {
		close(asked)
		<-answer
	})
	server.Start()
	step := build(t, dynamic.ForwardAuth{Address: server.URL})
	done := make(chan *outcome)
	go func() { done <- get(t, step) }()
	<-asked
	step.Close()
	close(answer)
	if o := <-done; o.service == nil {
		t.Errorf("answers %d: %s", o.Code, o.record.Reason)
	}
	<-seen.closed
}

// TestStaleConnections has a server that ends a connection behind each answer without saying so.
func TestStaleConnections(t *testing.T) {
	address := scripted(t, says("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
	step := build(t, dynamic.ForwardAuth{Address: address, ForwardBody: true})
	for i := range 100 {
		if o := send(t, step, with(t, "abc", "POST /"), nil); o.service == nil || o.body != "abc" {
			t.Fatalf("request %d: answers %d: %s", i, o.Code, o.record.Reason)
		}
	}
}

// TestConnectionsAreBounded has more requests at a time than connections may be.
func TestConnectionsAreBounded(t *testing.T) {
	asked, answer := make(chan struct{}, authorize.MaxInFlight+10), make(chan struct{})
	step := build(t, dynamic.ForwardAuth{Address: serve(t, func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-answer
	})})
	var all sync.WaitGroup
	for range authorize.MaxInFlight {
		all.Go(func() { get(t, step) })
	}
	for range authorize.MaxInFlight {
		<-asked
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	o := send(t, step, middlewaretest.Request(t, "GET /").WithContext(ctx), nil)
	if o.Code != http.StatusGatewayTimeout || len(asked) > 0 {
		t.Errorf("answers %d, and the server got %d further requests", o.Code, len(asked))
	}
	close(answer)
	all.Wait()
	if counts := step.Counts(); counts["passed"] != authorize.MaxInFlight {
		t.Errorf("counts %v", counts)
	}
}

// TestHostsOfAnyLanguage has an address whose host is sent in its ASCII form.
func TestHostsOfAnyLanguage(t *testing.T) {
	asked, dialed := make(chan string, 1), make(chan string, 1)
	where := serve(t, func(_ http.ResponseWriter, r *http.Request) { asked <- r.Host })
	step := dialing(t, dynamic.ForwardAuth{Address: "http://bücher.example:8080/check"},
		func(ctx context.Context, network, address string) (net.Conn, error) {
			dialed <- address
			return leadsTo(where)(ctx, network, address)
		})
	if o := get(t, step); o.service == nil {
		t.Errorf("answers %d: %s", o.Code, o.record.Reason)
	}
	const want = "xn--bcher-kva.example:8080"
	if host, address := <-asked, <-dialed; host != want || address != want {
		t.Errorf("dials %s, and requests %s", address, host)
	}
}

// TestManyAtOnce sends many requests at a time, each of which must get its own response.
func TestManyAtOnce(t *testing.T) {
	for _, h2 := range []bool{false, true} {
		server, seen := counted(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if r.ProtoMajor != 1 {
				t.Errorf("speaks %s", r.Proto)
			}
			w.Header().Set("X-User", r.Header.Get("X-Number")+string(body))
			if strings.HasSuffix(r.Header.Get("X-Number"), "3") {
				http.Error(w, "no", http.StatusForbidden)
			}
		})
		server.EnableHTTP2 = h2
		server.StartTLS()
		authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
		step := build(t, dynamic.ForwardAuth{
			Address: server.URL, TLS: &dynamic.ClientTLS{CA: authority}, ForwardBody: true,
			AuthResponseHeaders: []string{"X-User"},
		})
		var all sync.WaitGroup
		for worker := range 20 {
			all.Go(func() {
				for i := range 20 {
					number := fmt.Sprint(worker*100 + i)
					o := send(t, step, with(t, "b"+number, "POST /", "X-Number: "+number), nil)
					if passes := !strings.HasSuffix(number, "3"); (o.service != nil) != passes || passes &&
						o.service.Header.Get("X-User") != number+"b"+number {
						t.Errorf("%s: answers %d: %s", number, o.Code, o.record.Reason)
					}
				}
			})
		}
		all.Wait()
		if n := len(seen.opened); n > 200 { // Of 400 questions.
			t.Errorf("%d connections, HTTP/2: %v", n, h2)
		}
		step.Close()
	}
}

// TestTLS goes through the options of tls, with a server that demands a certificate.
func TestTLS(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-User", fmt.Sprint(len(r.TLS.PeerCertificates)))
	}))
	server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	defer server.Close()
	own := server.TLS.Certificates[0]
	key, err := pkcs8(own)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	ca, cert := filepath.Join(folder, "ca.pem"),
		string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: own.Certificate[0]}))
	if err := os.WriteFile(ca, []byte(cert), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		config dynamic.ClientTLS
		shown  string
	}{
		"a file":         {dynamic.ClientTLS{CA: ca}, "0"},
		"text":           {dynamic.ClientTLS{CA: cert}, "0"},
		"unverified":     {dynamic.ClientTLS{InsecureSkipVerify: true}, "0"},
		"a certificate":  {dynamic.ClientTLS{CA: ca, Cert: cert, Key: key}, "1"},
		"with no effect": {dynamic.ClientTLS{CA: ca, CAOptional: pointer(true)}, "0"},
	} {
		step := build(t, dynamic.ForwardAuth{Address: server.URL, TLS: &test.config, AuthResponseHeaders: []string{"X-User"}})
		if o := get(t, step); o.service == nil || o.service.Header.Get("X-User") != test.shown {
			t.Errorf("%s: answers %d: %s", name, o.Code, o.record.Reason)
		}
	}
}
