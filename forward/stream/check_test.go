package stream_test

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/pires/go-proxyproto"
	ptypes "github.com/traefik/paerser/types"

	"github.com/sluiceproxy/sluice/certificate/spiffe/spiffetest"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forward/stream"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/loadbalancer/health"
)

// checked returns policies with a check of PING and PONG.
func checked(t *testing.T) loadbalancer.Policies {
	t.Helper()
	config := &dynamic.TCPServerHealthCheck{}
	config.SetDefaults()
	config.Interval, config.Send, config.Expect = ptypes.Duration(5*time.Millisecond), "PING\r\n", "+PONG\r\n"
	check, err := health.NewTCPCheck(config)
	if err != nil {
		t.Fatal(err)
	}
	return loadbalancer.Policies{Checked: true, Check: check}
}

// pong answers PING once the header has come, over TLS if the configuration is not nil.
func pong(config *tls.Config, headers chan<- *proxyproto.Header) func(conn *net.TCPConn) {
	return func(conn *net.TCPConn) {
		defer conn.Close() //nolint:errcheck // a test's
		reader := bufio.NewReader(conn)
		header, err := proxyproto.Read(reader)
		if err != nil {
			return
		}
		select {
		case headers <- header:
		default:
		}
		var inner net.Conn = &buffered{conn, reader}
		if config != nil {
			inner = tls.Server(inner, config)
		}
		for _, piece := range []string{"+PO", "NG\r\n"} {
			if piece == "+PO" {
				if _, err := io.ReadFull(inner, make([]byte, len("PING\r\n"))); err != nil {
					return
				}
			}
			_, _ = io.WriteString(inner, piece)
		}
		_, _ = io.Copy(io.Discard, inner)
	}
}

// buffered is a connection of which a part has been read.
type buffered struct {
	net.Conn
	reader io.Reader
}

// Read reads through the buffer.
func (b *buffered) Read(p []byte) (int, error) { return b.reader.Read(p) }

// TestCheck takes a server out and brings it back, by checks over the transport's way.
func TestCheck(t *testing.T) {
	own := spiffetest.NewAuthority(t, "own.test")
	secure := &tls.Config{Certificates: []tls.Certificate{own.Ordinary().TLS}}
	headers := make(chan *proxyproto.Header, 1)
	plain := listen(t, func(conn *net.TCPConn) { _, _ = io.WriteString(conn, "+PONG\r\n") })
	for name, test := range map[string]struct {
		server dynamic.TCPServer
		up     bool
		reason string
	}{
		"answers":          {dynamic.TCPServer{Address: listen(t, pong(nil, headers))}, true, ""},
		"answers over TLS": {dynamic.TCPServer{Address: listen(t, pong(secure, headers)), TLS: true}, true, ""},
		"closes": {
			dynamic.TCPServer{Address: listen(t, func(conn *net.TCPConn) { _ = conn.CloseWrite() })},
			false,
			`not the expected answer: got "" and the end of the connection`,
		},
		"refuses": {dynamic.TCPServer{Address: refusing(t)}, false, "connect: connection refused"},
		"has no TLS": {
			dynamic.TCPServer{Address: plain, TLS: true},
			false, "TLS handshake: tls: first record does not look like a TLS handshake",
		},
	} {
		t.Run(name, func(t *testing.T) {
			prober := health.NewProber(2)
			defer prober.Close()
			events := make(chan loadbalancer.Event, 10)
			transport := stream.DefaultTransport(nil)
			transport.TLS = &dynamic.TCPClientTLS{RootCAs: []string{own.PEM()}}
			transport.ProxyProtocol = &dynamic.ProxyProtocol{Version: 2}
			g := newRig(t, setup{
				transport: transport,
				registry:  loadbalancer.Options{Prober: prober, Report: func(event loadbalancer.Event) { events <- event }},
				servers:   []dynamic.TCPServer{test.server}, policies: checked(t),
			})
			if test.up {
				equal(t, "command", receive(t, headers).Command, proxyproto.LOCAL)
				g.registry.Flush(time.Now())
				equal(t, "up", g.service.Up(), true)
				return
			}
			receive(t, g.registry.Changed())
			g.registry.Flush(time.Now())
			event := receive(t, events)
			equal(t, "state", event.State, loadbalancer.Unhealthy)
			if !strings.Contains(event.Reason, test.reason) {
				t.Errorf("reason %q, want %q", event.Reason, test.reason)
			}
			equal(t, "up", g.service.Up(), false)
		})
	}
}
