package client_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/http1/client"
	"github.com/sluiceproxy/sluice/http1/http1test"
)

// secureEndpoint is an endpoint of net/http with TLS.
func secureEndpoint(t testing.TB, http2 bool, handler http.Handler) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = http2
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

// secured puts the server's end of TLS on a connection of an endpoint.
func secured(conn net.Conn, config *tls.Config) *http1test.Conn {
	return http1test.NewConn(tls.Server(conn, config))
}

func trusting(server *httptest.Server) func(*client.Config) {
	return func(config *client.Config) {
		roots := x509.NewCertPool()
		roots.AddCert(server.Certificate())
		config.TLS = &tls.Config{
			RootCAs: roots, ServerName: "example.com",
			ClientSessionCache: tls.NewLRUClientSessionCache(4),
		}
		config.HandshakeTimeout = http1test.Timeout
	}
}

// TestTLS reuses connections, and sessions for new ones.
func TestTLS(t *testing.T) {
	server := secureEndpoint(t, true, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, r.Proto+" "+string(body))
	}))
	upstream := testUpstream(t, server.Listener.Addr().String(), trusting(server))
	for i, resumed := range []bool{false, false, true} {
		if i == 2 {
			upstream.CloseIdleConnections()
		}
		r := testRequest(t, "POST", "example.com", strings.NewReader("hello"))
		if i == 1 {
			r.Body, r.GetBody = streamed(r.Body), nil
		}
		response, err := upstream.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if err != nil || string(body) != "HTTP/1.1 hello" {
			t.Errorf("%q, %v", body, err)
		}
		if response.TLS == nil || response.TLS.DidResume != resumed || response.TLS.NegotiatedProtocol == "h2" {
			t.Errorf("request %d: %+v", i, response.TLS)
		}
		// Where the write of a body that is sent beside takes long to return, the connection is not kept.
		for n := 0; i == 1 && upstream.Idle() != 1 && n < 5; n++ {
			r := testRequest(t, "POST", "example.com", streamed(io.NopCloser(strings.NewReader("hello"))))
			r.GetBody = nil
			if response, err := upstream.RoundTrip(r); err == nil {
				_, _ = io.Copy(io.Discard, response.Body)
			}
		}
		if upstream.Idle() != 1 {
			t.Errorf("%d connections are kept", upstream.Idle())
		}
	}
}

func TestUntrustedCertificate(t *testing.T) {
	server := secureEndpoint(t, false, http.NotFoundHandler())
	upstream := testUpstream(t, server.Listener.Addr().String(), func(config *client.Config) {
		config.TLS = &tls.Config{RootCAs: x509.NewCertPool(), ServerName: "example.com"}
	})
	var call client.RoundTrip
	_, err := upstream.Do(&call, testRequest(t, "GET", "example.com", nil))
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); !ok || call.Sent() {
		t.Errorf("the error is %v, sent: %v", err, call.Sent())
	}
}

// TestHTTP2IsHandedOver passes the connection to the function that speaks HTTP/2.
func TestHTTP2IsHandedOver(t *testing.T) {
	server := secureEndpoint(t, true, http.NotFoundHandler())
	var taken *tls.Conn
	upstream := testUpstream(t, server.Listener.Addr().String(), func(config *client.Config) {
		trusting(server)(config)
		config.HTTP2 = func(conn *tls.Conn) { taken = conn }
	})
	var call client.RoundTrip
	body := &closeCounter{Reader: strings.NewReader("x")}
	_, err := upstream.Do(&call, testRequest(t, "POST", "example.com", body))
	if !errors.Is(err, client.ErrHTTP2) || call.Sent() || taken == nil {
		t.Fatalf("the error is %v, sent: %v, taken: %v", err, call.Sent(), taken != nil)
	}
	defer http1test.Discard(taken)
	if body.closed.Load() != 0 {
		t.Error("the body was closed, which HTTP/2 has to send")
	}
	if _, err := io.WriteString(taken,
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"); err != nil {
		t.Fatal(err)
	}
	var frame [9]byte
	if _, err := io.ReadFull(taken, frame[:]); err != nil || frame[3] != 4 {
		t.Errorf("no SETTINGS but %v, %v", frame, err)
	}
}

// TestHandshakesEnd with their time and with the context.
func TestHandshakesEnd(t *testing.T) {
	endpoint := http1test.NewEndpoint(t, func(conn *http1test.Conn, _ int) { _, _ = io.Copy(io.Discard, conn.R) })
	for name, wait := range map[string]time.Duration{"time": 10 * time.Millisecond, "context": time.Hour} {
		ctx, cancel := context.WithCancel(t.Context())
		upstream := testUpstream(t, endpoint.Address(), func(config *client.Config) {
			config.TLS = &tls.Config{ServerName: "example.com"}
			config.HandshakeTimeout = wait
			if name == "context" {
				dialled(func(net.Conn) error { go cancel(); return nil })(config)
			}
		})
		_, err := upstream.RoundTrip(testRequest(t, "GET", "example.com", nil).WithContext(ctx))
		cancel()
		if timeout, ok := errors.AsType[net.Error](err); name == "time" && (!ok || !timeout.Timeout()) {
			t.Errorf("%s: the error is %v", name, err)
		}
		if name == "context" && !errors.Is(err, context.Canceled) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}

// TestSurplusWithinTLS may be kept back by TLS itself, where no system call finds it.
func TestSurplusWithinTLS(t *testing.T) {
	size := 8192
	good := "HTTP/1.1 200 OK\r\nContent-Length: 8192\r\n\r\n" + strings.Repeat("x", size)
	const evil = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
	certificate := secureEndpoint(t, false, http.NotFoundHandler())
	for name, play := range map[string]func(conn *http1test.Conn, next chan struct{}){
		"in the record of the response": func(conn *http1test.Conn, _ chan struct{}) { conn.Say(good + evil) },
		"later": func(conn *http1test.Conn, next chan struct{}) {
			conn.Say(good)
			<-next
			conn.Say(evil)
		},
		"the end": func(conn *http1test.Conn, next chan struct{}) {
			conn.Say(good)
			<-next
			_ = conn.Conn.(*tls.Conn).CloseWrite()
		},
	} {
		t.Run(name, func(t *testing.T) {
			next, done := make(chan struct{}), make(chan struct{})
			endpoint := http1test.NewEndpoint(t, func(conn *http1test.Conn, number int) {
				conn = secured(conn.Conn, certificate.TLS)
				conn.Head()
				if number > 1 {
					conn.Say("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nmine")
					return
				}
				play(conn, next)
				<-done
			})
			defer close(done)
			upstream := testUpstream(t, endpoint.Address(), trusting(certificate))
			if got := take(upstream.RoundTrip(testRequest(t, "GET", "example.com", nil))); len(got.Body) != size {
				t.Fatalf("the first request got %d bytes", len(got.Body))
			}
			if upstream.Idle() != 1 {
				t.Fatal("there is no idle connection")
			}
			if name != "in the record of the response" && !client.Quiet(upstream) {
				t.Fatal("the idle connection is not quiet")
			}
			close(next)
			http1test.Eventually(t, "the surplus is seen", func() bool { return !client.Quiet(upstream) })
			if got := take(upstream.RoundTrip(testRequest(t, "GET", "example.com", nil))); got.Body != "mine" {
				t.Errorf("the next request got %+v", got)
			}
		})
	}
}
