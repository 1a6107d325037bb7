package health

import (
	"context"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	ptypes "github.com/traefik/paerser/types"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/http1/http1test"
)

// tcpCheck returns a check with defaults.
func tcpCheck(t testing.TB, change func(*dynamic.TCPServerHealthCheck)) Check {
	t.Helper()
	config := &dynamic.TCPServerHealthCheck{}
	config.SetDefaults()
	if change != nil {
		change(config)
	}
	check, err := NewTCPCheck(config)
	if err != nil {
		t.Fatal(err)
	}
	return check
}

// serveTCP gives each connection to a function, which may return while the connection stays open.
func serveTCP(t *testing.T, serve func(net.Conn)) netip.AddrPort {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serve(conn)
			_, _ = io.Copy(io.Discard, conn) // until the check is over
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-done
	})
	return netip.MustParseAddrPort(listener.Addr().String())
}

// redis answers a line in pieces.
func redis(t *testing.T, pieces ...string) func(net.Conn) {
	return func(conn net.Conn) {
		line := make([]byte, len("PING\r\n"))
		if _, err := io.ReadFull(conn, line); err != nil || string(line) != "PING\r\n" {
			t.Errorf("the server got %q, %v", line, err)
		}
		for _, piece := range pieces {
			if _, err := io.WriteString(conn, piece); err != nil {
				t.Error(err)
			}
			pause() // so that the pieces don't arrive as one
		}
		if len(pieces) > 0 && pieces[len(pieces)-1] == "" {
			_ = conn.(*net.TCPConn).CloseWrite()
		}
	}
}

// pause is enough for a piece to be sent. A test that depends on it would only prove less.
func pause() { <-time.After(time.Millisecond) } //nolint:forbidigo // the pieces of a real connection

func TestTCPExchange(t *testing.T) {
	for name, test := range map[string]struct {
		pieces []string
		up     bool
		want   string
	}{
		"whole":     {[]string{"+PONG\r\n"}, true, "answered as expected"},
		"in pieces": {[]string{"+", "PO", "NG\r", "\n"}, true, "answered as expected"},
		"longer":    {[]string{"+PONG\r\n+OK\r\n"}, true, "answered as expected"},
		"another": {
			[]string{"-NOAUTH Authentication required.\r\n"},
			false,
			`not the expected answer: got "-NOAUTH Authentication required.\r\n"`,
		},
		"another in the middle": {[]string{"+PO", "ST"}, false, `not the expected answer: got "+POST"`},
		"binary":                {[]string{"\x00\xff\x1b[2J"}, false, `not the expected answer: got "\x00\xff\x1b[2J"`},
		"a part and the end":    {[]string{"+PO", ""}, false, `not the expected answer: got "+PO" and the end of the connection`},
		"nothing and the end":   {[]string{""}, false, `not the expected answer: got "" and the end of the connection`},
		"very long": {
			[]string{strings.Repeat("x", 1000)},
			false,
			`not the expected answer: got "` + strings.Repeat("x", maxShown) + `"`,
		},
		"a part":  {[]string{"+PO"}, false, `not the expected answer: got "+PO" and then no answer within 1s`},
		"nothing": {nil, false, "no answer within 1s"},
	} {
		exchange := func(t *testing.T, target Target, timeout time.Duration) {
			check := tcpCheck(t, func(c *dynamic.TCPServerHealthCheck) {
				c.Send, c.Expect, c.Timeout = "PING\r\n", "+PONG\r\n", ptypes.Duration(timeout)
			})
			ctx, cancel := context.WithTimeout(t.Context(), check.timeout)
			defer cancel()
			if got := check.run(ctx, &target); got.up != test.up || got.reason != test.want {
				t.Errorf("got %t, %s\nwant %t, %s", got.up, got.reason, test.up, test.want)
			}
		}
		t.Run(name, func(t *testing.T) {
			if strings.HasSuffix(test.want, "within 1s") {
				synctest.Test(t, func(t *testing.T) {
					exchange(t, Target{Scheme: "tcp", Connect: piped(redis(t, test.pieces...))}, time.Second)
				})
				return
			}
			address := serveTCP(t, redis(t, test.pieces...))
			exchange(t, Target{Scheme: "tcp", Address: address, Connect: &connector{}}, 30*time.Second)
		})
	}
}

// piped connects to a function in memory, for what depends on time.
type piped func(net.Conn)

// RoundTripper is for checks of HTTP.
func (piped) RoundTripper(string, netip.AddrPort, string) Client { return nil }

// Dial calls the function with the other end of a connection.
func (p piped) Dial(context.Context, string, netip.AddrPort, string) (net.Conn, error) {
	near, far := net.Pipe()
	go func() {
		p(far)
		_, _ = io.Copy(io.Discard, far) // until the check is over
		_ = far.Close()
	}()
	return near, nil
}

func TestTCPConnect(t *testing.T) {
	open := serveTCP(t, func(net.Conn) {})
	refusing := netip.MustParseAddrPort(http1test.Reserve(t))
	secure := httptest.NewUnstartedServer(nil)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	tls := netip.MustParseAddrPort(secure.Listener.Addr().String())

	for name, test := range map[string]struct {
		target Target
		change func(*dynamic.TCPServerHealthCheck)
		up     bool
		want   string
	}{
		"open":    {Target{Scheme: "tcp", Address: open}, nil, true, "connected"},
		"refused": {Target{Scheme: "tcp", Address: refusing}, nil, false, "connect: connection refused"},
		"TLS": {
			Target{Scheme: "tls", Address: tls, Host: "example.com:1", Connect: &connector{roots: roots}},
			nil, true,
			"connected",
		},
		"TLS with another name": {
			Target{Scheme: "tls", Address: tls, Host: "example.org:1", Connect: &connector{roots: roots}},
			nil, false,
			"tls: failed to verify certificate: x509: certificate is valid for example.com, *.example.com, not example.org",
		},
		"another port": {
			Target{Scheme: "tcp", Address: refusing},
			func(c *dynamic.TCPServerHealthCheck) { c.Port = int(open.Port()) }, true, "connected",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if test.target.Connect == nil {
				test.target.Connect = &connector{}
			}
			check := tcpCheck(t, test.change)
			if got := check.run(t.Context(), &test.target); got.up != test.up || got.reason != test.want {
				t.Errorf("got %t, %s\nwant %t, %s", got.up, got.reason, test.up, test.want)
			}
		})
	}
	if check := tcpCheck(t, nil); check.Relative() {
		t.Error("the check depends on a path")
	}
}

func TestTCPOptions(t *testing.T) {
	zero, hundred := 0, 101
	negative := ptypes.Duration(-1)
	for want, change := range map[string]func(*dynamic.TCPServerHealthCheck){
		"healthCheck.port: 65536 is not":               func(c *dynamic.TCPServerHealthCheck) { c.Port = 65536 },
		"healthCheck.interval: 0s is not above 0":      func(c *dynamic.TCPServerHealthCheck) { c.Interval = 0 },
		"healthCheck.timeout: 0s is not above 0":       func(c *dynamic.TCPServerHealthCheck) { c.Timeout = 0 },
		"healthCheck.unhealthyInterval: -1ns is not":   func(c *dynamic.TCPServerHealthCheck) { c.UnhealthyInterval = &negative },
		"healthCheck.rise: 0 is not 1 to":              func(c *dynamic.TCPServerHealthCheck) { c.Rise = &zero },
		"healthCheck.fall: 0 is not 1 to":              func(c *dynamic.TCPServerHealthCheck) { c.Fall = &zero },
		"healthCheck.jitter: 101 is not 0 to 100 perc": func(c *dynamic.TCPServerHealthCheck) { c.Jitter = &hundred },
	} {
		config := &dynamic.TCPServerHealthCheck{}
		config.SetDefaults()
		change(config)
		if check, err := NewTCPCheck(config); check != (Check{}) || err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
