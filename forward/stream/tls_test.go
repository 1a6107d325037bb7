package stream_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	ptypes "github.com/traefik/paerser/types"

	"github.com/sluiceproxy/sluice/certificate/spiffe"
	"github.com/sluiceproxy/sluice/certificate/spiffe/spiffetest"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forward/stream"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

// secureEcho echoes over TLS, and begins with the server name that the client has sent and the identities of its
// certificate.
func secureEcho(t testing.TB, config *tls.Config) string {
	t.Helper()
	return listen(t, func(conn *net.TCPConn) {
		secure := tls.Server(conn, config)
		if secure.HandshakeContext(context.Background()) == nil {
			state := secure.ConnectionState()
			greeting := "[" + state.ServerName + "]"
			if len(state.PeerCertificates) > 0 {
				for _, id := range state.PeerCertificates[0].URIs {
					greeting += id.String()
				}
			}
			_, _ = io.WriteString(secure, greeting+"\n")
			_, _ = io.Copy(secure, secure)
			_ = secure.CloseWrite()
		}
		_ = conn.Close()
	})
}

// pemPair returns a certificate with its key, as options have it.
func pemPair(t testing.TB, certificate tls.Certificate) dynamic.Certificate {
	t.Helper()
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	text := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	return dynamic.Certificate{
		CertFile: text("CERTIFICATE", certificate.Certificate[0]), KeyFile: text("PRIVATE KEY", key),
	}
}

func secured(config *dynamic.TCPClientTLS) *dynamic.TCPServersTransport {
	transport := forEver()
	transport.TLS = config
	return transport
}

func TestTLS(t *testing.T) {
	own, other := spiffetest.NewAuthority(t, "own.test"), spiffetest.NewAuthority(t, "other.test")
	shop := own.Issue("/shop", time.Now().Add(time.Hour))
	plain := secureEcho(t, &tls.Config{Certificates: []tls.Certificate{shop.TLS}})
	mutual := secureEcho(t, &tls.Config{
		Certificates: []tls.Certificate{shop.TLS}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: own.Pool(),
		MaxVersion: tls.VersionTLS12, // With TLS 1.3 a client learns only later that it was refused.
	})
	roots := []string{own.PEM()}
	proxy := own.Issue("/proxy", time.Now().Add(time.Hour))
	for name, test := range map[string]struct {
		address      string
		config       *dynamic.TCPClientTLS
		greeting     string
		code, reason string
	}{
		"verified": {plain, &dynamic.TCPClientTLS{RootCAs: roots}, "[]", "", ""},
		"system's roots": {
			plain, nil, "", "endpoint_unreachable",
			"TLS handshake: tls: failed to verify certificate: x509: certificate signed by unknown authority",
		},
		"other roots": {
			plain, &dynamic.TCPClientTLS{RootCAs: []string{other.PEM()}}, "", "endpoint_unreachable",
			"x509: certificate signed by unknown authority",
		},
		"another name": {
			plain, &dynamic.TCPClientTLS{RootCAs: roots, ServerName: "db.test"}, "", "endpoint_unreachable",
			"wanted to match db.test",
		},
		"unverified": {plain, &dynamic.TCPClientTLS{InsecureSkipVerify: true, ServerName: "db.test"}, "[db.test]", "", ""},
		"client certificate": {
			mutual, &dynamic.TCPClientTLS{RootCAs: roots, Certificates: []dynamic.Certificate{pemPair(t, proxy.TLS)}},
			"[]spiffe://own.test/proxy", "", "",
		},
		"no client certificate": {
			mutual, &dynamic.TCPClientTLS{RootCAs: roots}, "", "endpoint_unreachable", "TLS handshake: remote error: tls:",
		},
		"peerCertURI": {
			plain, &dynamic.TCPClientTLS{RootCAs: roots, PeerCertURI: "spiffe://own.test/shop"}, "[]", "", "",
		},
		"another peerCertURI": {
			plain, &dynamic.TCPClientTLS{RootCAs: roots, PeerCertURI: "spiffe://own.test/cart"}, "", "endpoint_unreachable",
			"none of the names",
		},
		"peerCertSANs in place of the host": {
			plain, &dynamic.TCPClientTLS{
				RootCAs: roots, ServerName: "db.test", InsecureSkipVerify: true,
				PeerCertSANs: []dynamic.PeerCertSAN{{Type: "URI", Value: "spiffe://own.test/shop"}},
			}, "[db.test]", "", "",
		},
		"no TLS": {
			listen(t, func(conn *net.TCPConn) { _, _ = io.WriteString(conn, "-ERR unknown command\r\n") }),
			&dynamic.TCPClientTLS{RootCAs: roots}, "", "endpoint_unreachable",
			"TLS handshake: tls: first record does not look like a TLS handshake",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, setup{
				servers: []dynamic.TCPServer{{Address: test.address, TLS: true}}, transport: secured(test.config),
			})
			if test.code != "" {
				result := g.refused(t)
				if string(result.Code) != test.code || !strings.Contains(result.Reason, test.reason) {
					t.Errorf("%s: %s", result.Code, result.Reason)
				}
				return
			}
			client := g.dial(t)
			expect(t, client, test.greeting+"\n")
			exchange(t, client, "hello", "hello")
			_ = client.CloseWrite()
			if rest, err := io.ReadAll(client); err != nil || len(rest) > 0 {
				t.Errorf("read %q, %v", rest, err)
			}
			equal(t, "end", g.result(t).End, "client_eof")
		})
	}
}

// TestTLSOfANamedServer verifies the host of the address, whatever it resolves to.
func TestTLSOfANamedServer(t *testing.T) {
	own := spiffetest.NewAuthority(t, "own.test")
	address := netip.MustParseAddrPort(secureEcho(t, &tls.Config{
		Certificates: []tls.Certificate{own.Ordinary().TLS},
	}))
	g := newRig(t, setup{
		servers:   []dynamic.TCPServer{{Address: "Db.Test.:5432", TLS: true}},
		transport: secured(&dynamic.TCPClientTLS{RootCAs: []string{own.PEM()}}),
	})
	g.registry.Apply(dynamic.EndpointSet{Key: "dns/db.test.:5432", Endpoints: []dynamic.Endpoint{{Address: address}}})
	g.registry.Flush(time.Now())
	if result := g.refused(t); !strings.Contains(result.Reason, "wanted to match Db.Test") {
		t.Errorf("reason %q", result.Reason)
	}
}

// TestSPIFFE has no SVID first, for which the endpoint is not to blame, and then one.
func TestSPIFFE(t *testing.T) {
	own := spiffetest.NewAuthority(t, "own.test")
	api := spiffetest.NewAPI(t, filepath.Join(t.TempDir(), "api.sock"))
	source, err := spiffe.New(spiffe.Options{
		Address: api.Address(), Logger: telemetry.Discard{}, LongestPause: 20 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { source.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	address := secureEcho(t, &tls.Config{
		Certificates: []tls.Certificate{own.Issue("/shop", time.Now().Add(time.Hour)).TLS},
		ClientAuth:   tls.RequireAndVerifyClientCert, ClientCAs: own.Pool(),
	})
	accepting := func(id string) *rig {
		return newRig(t, setup{
			servers: []dynamic.TCPServer{{Address: address, TLS: true}}, identity: source,
			transport: secured(&dynamic.TCPClientTLS{Spiffe: &dynamic.Spiffe{IDs: []string{id}}}),
			options:   stream.Options{Attempts: 1},
		})
	}
	g := accepting("spiffe://own.test/shop")
	result := g.refused(t)
	equal(t, "attempts", result.Attempts, 1)
	if !strings.Contains(result.Reason, "has delivered no X.509-SVID yet") {
		t.Errorf("reason %q", result.Reason)
	}
	equal(t, "failed connects", g.member(t, address).Endpoint().ConnectFailures(), 0)

	api.Start()
	svid := own.Issue("/proxy", time.Now().Add(time.Hour))
	api.Deliver(spiffetest.Delivery(t, svid, []*spiffetest.Authority{own}))
	for id := ""; id != svid.ID; id, _ = source.SVID() {
		receive(t, source.Changed())
	}
	expect(t, g.dial(t), "[]spiffe://own.test/proxy\n")
	if result := accepting("spiffe://own.test/cart").refused(t); result.Code != telemetry.CodeUnreachable {
		t.Errorf("another identity: %+v", result)
	}
}

// TestHandshakeTimeout has a server accept the connection, and say nothing.
func TestHandshakeTimeout(t *testing.T) {
	silent, _ := accepted(t)
	transport := forEver()
	transport.DialTimeout = ptypes.Duration(50 * time.Millisecond)
	g := newRig(t, setup{servers: []dynamic.TCPServer{{Address: silent, TLS: true}}, transport: transport})
	result := g.refused(t)
	equal(t, "code", result.Code, telemetry.CodeTimeout)
	equal(t, "reason", result.Reason, "TLS handshake: not done within 50ms")
}

func TestErrorsOfTransports(t *testing.T) {
	none := &dynamic.TCPClientTLS{RootCAs: []string{"/does/not/exist.pem"}}
	for want, change := range map[string]func(*dynamic.TCPServersTransport){
		"dialTimeout -1ns is negative": func(c *dynamic.TCPServersTransport) { c.DialTimeout = -1 },
		"idleTimeout -1ns is negative": func(c *dynamic.TCPServersTransport) { c.IdleTimeout = -1 },
		"proxyProtocol.version 3 is neither 1 nor 2": func(c *dynamic.TCPServersTransport) {
			c.ProxyProtocol = &dynamic.ProxyProtocol{Version: 3}
		},
		"proxyProtocol.tlvs needs proxyProtocol.version 2": func(c *dynamic.TCPServersTransport) {
			c.ProxyProtocol = &dynamic.ProxyProtocol{Version: 1, TLVs: true}
		},
		"tls.rootCAs[0]: ": func(c *dynamic.TCPServersTransport) { c.TLS = none },
		"tls.spiffe needs the static option spiffe.workloadAPIAddr": func(c *dynamic.TCPServersTransport) {
			c.TLS = &dynamic.TCPClientTLS{Spiffe: &dynamic.Spiffe{}}
		},
		"tls.spiffe excludes serverName: ": func(c *dynamic.TCPServersTransport) {
			c.TLS = &dynamic.TCPClientTLS{Spiffe: &dynamic.Spiffe{}, ServerName: "a"}
		},
	} {
		config := stream.DefaultTransport(nil)
		change(config)
		transport, err := stream.NewTransport("db@file", config, nil)
		want = `serversTransport "db@file": ` + want
		if transport != nil || err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestDefaultTransport(t *testing.T) {
	var config static.TCPServersTransport
	config.SetDefaults()
	if got, want := *stream.DefaultTransport(&config), *stream.DefaultTransport(nil); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	config.DialTimeout, config.TerminationDelay, config.DialKeepAlive = 1, 2, 3
	config.TLS = &static.TCPClientTLS{
		InsecureSkipVerify: true, RootCAs: []string{"a"},
		Spiffe: &static.SpiffeClient{IDs: []string{"b"}, TrustDomain: "c"},
	}
	got := stream.DefaultTransport(&config)
	equal(t, "dialTimeout", got.DialTimeout, 1)
	equal(t, "terminationDelay", got.TerminationDelay, 2)
	equal(t, "dialKeepAlive", got.DialKeepAlive, 3)
	equal(t, "insecureSkipVerify", got.TLS.InsecureSkipVerify, true)
	equal(t, "rootCAs", strings.Join(got.TLS.RootCAs, ","), "a")
	equal(t, "spiffe", strings.Join(got.TLS.Spiffe.IDs, ",")+got.TLS.Spiffe.TrustDomain, "bc")
}

// TestUpstreamsShareNothing connects to one address in two ways.
func TestUpstreamsShareNothing(t *testing.T) {
	own := spiffetest.NewAuthority(t, "own.test")
	address := secureEcho(t, &tls.Config{Certificates: []tls.Certificate{own.Ordinary().TLS}})
	g := newRig(t, setup{
		servers:   []dynamic.TCPServer{{Address: address, TLS: true}, {Address: address}},
		transport: secured(&dynamic.TCPClientTLS{RootCAs: []string{own.PEM()}}),
	})
	urls := map[string]bool{}
	for member := range g.pool.Snapshot().Members() {
		urls[member.URL()] = true
		idle, shared := member.Upstream().Connections().IdleConnections()
		equal(t, "idle connections", idle+shared, 0)
		if _, ok := member.Upstream().Connections().(loadbalancer.StreamDialer); !ok {
			t.Error("the upstream can't be checked")
		}
	}
	equal(t, "upstreams", urls["tls://"+address] && urls["tcp://"+address], true)
}
