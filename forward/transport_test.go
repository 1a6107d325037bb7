package forward_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forward"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/static"
)

// authority signs certificates for a test.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, IsCA: true,
		BasicConstraintsValid: true,
		NotBefore:             time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageCertSign,
	}
	a.key = newKey(t)
	der, err := x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.certificate, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// sign returns a certificate with its key in PEM: names are DNS names, IP addresses or URIs.
func (a *authority) sign(t *testing.T, names ...string) dynamic.Certificate {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, name := range names {
		if address := net.ParseIP(name); address != nil {
			template.IPAddresses = append(template.IPAddresses, address)
		} else if location, err := url.Parse(name); err == nil && location.Scheme != "" {
			template.URIs = append(template.URIs, location)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	key := newKey(t)
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return dynamic.Certificate{
		CertFile: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		KeyFile:  string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})),
	}
}

// secured starts a TLS server that answers with the protocol and TLS state of each connection.
func secured(t *testing.T, pair dynamic.Certificate, settings *tls.Config) dynamic.Server {
	t.Helper()
	certificate, err := tls.X509KeyPair([]byte(pair.CertFile), []byte(pair.KeyFile))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		client := ""
		if len(r.TLS.PeerCertificates) > 0 {
			client = fmt.Sprint(r.TLS.PeerCertificates[0].DNSNames)
		}
		_, _ = fmt.Fprintf(w, "%s sni=%s resumed=%t client=%s", r.Proto, r.TLS.ServerName, r.TLS.DidResume, client)
	}))
	server.Config.ErrorLog = silent()
	server.EnableHTTP2 = true
	server.TLS = settings
	server.TLS.Certificates = []tls.Certificate{certificate}
	server.StartTLS()
	t.Cleanup(server.Close)
	return dynamic.Server{URL: server.URL}
}

// TestTLSToEndpoints shows which endpoints are trusted; an empty want is a refusal.
func TestTLSToEndpoints(t *testing.T) {
	ours, theirs := newAuthority(t), newAuthority(t)
	root := []string{pemOf(ours.certificate)}
	for name, test := range map[string]struct {
		names     []string
		signer    *authority
		settings  *tls.Config
		transport dynamic.ServersTransport
		want      string
	}{
		"by address": {
			[]string{"127.0.0.1"},
			ours, nil,
			dynamic.ServersTransport{RootCAs: root},
			"HTTP/2.0 sni= resumed=false client=",
		},
		"without HTTP/2": {
			[]string{"127.0.0.1"},
			ours, nil,
			dynamic.ServersTransport{RootCAs: root, DisableHTTP2: true},
			"HTTP/1.1 sni= resumed=false client=",
		},
		"by server name": {[]string{"db.example"}, ours, nil, dynamic.ServersTransport{
			RootCAs:    root,
			ServerName: "db.example",
		}, "HTTP/2.0 sni=db.example resumed=false client="},
		"other name": {[]string{"db.example"}, ours, nil, dynamic.ServersTransport{
			RootCAs:    root,
			ServerName: "shop.example",
		}, ""},
		"other address":   {[]string{"192.0.2.1"}, ours, nil, dynamic.ServersTransport{RootCAs: root}, ""},
		"other authority": {[]string{"127.0.0.1"}, theirs, nil, dynamic.ServersTransport{RootCAs: root}, ""},
		"system's roots":  {[]string{"127.0.0.1"}, ours, nil, dynamic.ServersTransport{}, ""},
		"not verified": {
			[]string{"192.0.2.1"},
			theirs, nil,
			dynamic.ServersTransport{InsecureSkipVerify: true},
			"HTTP/2.0 sni= resumed=false client=",
		},
		"min version alone": {
			[]string{"127.0.0.1"},
			ours, &tls.Config{MaxVersion: tls.VersionTLS12},
			dynamic.ServersTransport{RootCAs: root, MinVersion: "VersionTLS13"},
			"",
		},
		"max version alone": {
			[]string{"127.0.0.1"},
			ours, &tls.Config{MinVersion: tls.VersionTLS13},
			dynamic.ServersTransport{RootCAs: root, MaxVersion: "VersionTLS12"},
			"",
		},
		"cipher suites": {
			[]string{"127.0.0.1"},
			ours, &tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{
				tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
				tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
			}},
			dynamic.ServersTransport{RootCAs: root, CipherSuites: []string{"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"}},
			"",
		},
		"SAN by URI": {[]string{"127.0.0.1", "spiffe://a/b"}, ours, nil, dynamic.ServersTransport{
			RootCAs:     root,
			PeerCertURI: "spiffe://a/b",
		}, "HTTP/2.0 sni= resumed=false client="},
		"SAN by other URI": {[]string{"127.0.0.1", "spiffe://a/b"}, ours, nil, dynamic.ServersTransport{
			RootCAs:     root,
			PeerCertURI: "spiffe://a/c",
		}, ""},
		"SAN by DNS name": {[]string{"127.0.0.1", "db.example"}, ours, nil, dynamic.ServersTransport{
			RootCAs:      root,
			PeerCertSANs: sans("URI", "x:y", "dnsname", "DB.example"),
		}, "HTTP/2.0 sni= resumed=false client="},
		"SAN by other name": {[]string{"127.0.0.1", "db.example"}, ours, nil, dynamic.ServersTransport{
			RootCAs:      root,
			PeerCertSANs: sans("DNSName", "shop.example"),
		}, ""},
		"SAN, other host": {[]string{"192.0.2.1", "db.example"}, ours, nil, dynamic.ServersTransport{
			RootCAs:      root,
			PeerCertSANs: sans("DNSName", "db.example"),
		}, ""},
		"SAN, no host": {[]string{"192.0.2.1", "db.example"}, ours, nil, dynamic.ServersTransport{
			RootCAs:            root,
			InsecureSkipVerify: true, PeerCertSANs: sans("DNSName", "db.example"),
		}, "HTTP/2.0 sni= resumed=false client="},
		"SAN, no host, other authority": {[]string{"192.0.2.1", "db.example"}, theirs, nil, dynamic.ServersTransport{
			RootCAs:            root,
			InsecureSkipVerify: true, PeerCertSANs: sans("DNSName", "db.example"),
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			settings := test.settings
			if settings == nil {
				settings = &tls.Config{}
			}
			server := secured(t, test.signer.sign(t, test.names...), settings)
			g := newProxy(t, setup{server: server, transport: &test.transport})
			response, body := g.get(t, "/")
			if test.want == "" {
				equal(t, "status", response.StatusCode, http.StatusBadGateway)
				equal(t, "body", body, "Bad Gateway")
				if reason := g.record(t).Reason; !strings.Contains(reason, "nothing sent") {
					t.Errorf("reason %q", reason)
				}
				return
			}
			equal(t, "body", body, test.want)
		})
	}
}

func sans(pairs ...string) []dynamic.PeerCertSAN {
	var all []dynamic.PeerCertSAN
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, dynamic.PeerCertSAN{Type: pairs[i], Value: pairs[i+1]})
	}
	return all
}

func TestHostOfTheURLIsVerified(t *testing.T) {
	signer := newAuthority(t)
	transport := &dynamic.ServersTransport{RootCAs: []string{pemOf(signer.certificate)}}
	server := secured(t, signer.sign(t, "db.example"), &tls.Config{})
	for host, want := range map[string]string{
		"db.example":       "HTTP/2.0 sni=db.example resumed=false client=",
		"db.example.:8443": "HTTP/2.0 sni=db.example resumed=false client=", "shop.example": "Bad Gateway",
	} {
		g := newProxy(t, setup{server: server, transport: transport})
		own, err := forward.NewTransport("test", transport, nil)
		if err != nil {
			t.Fatal(err)
		}
		g.registry.Configure(g.pool, loadbalancer.PoolSpec{Name: "svc@file", Dialer: own, Servers: []loadbalancer.ServerSpec{
			{Address: addressOf(t, server), Scheme: "https", Host: host, Weight: 1},
		}})
		_, body := g.get(t, "/")
		equal(t, host, body, want)
	}
}

func TestClientCertificateAndFiles(t *testing.T) {
	signer := newAuthority(t)
	clients := x509.NewCertPool()
	clients.AddCert(signer.certificate)
	server := secured(t, signer.sign(t, "127.0.0.1"), &tls.Config{
		ClientAuth: tls.RequireAndVerifyClientCert,
		ClientCAs:  clients,
	})
	pair, folder := signer.sign(t, "proxy.example"), t.TempDir()
	files := dynamic.Certificate{CertFile: filepath.Join(folder, "cert.pem"), KeyFile: filepath.Join(folder, "key.pem")}
	root := filepath.Join(folder, "root.pem")
	for path, text := range map[string]string{
		files.CertFile: pair.CertFile, files.KeyFile: pair.KeyFile,
		root: pemOf(signer.certificate),
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, certificate := range []dynamic.Certificate{pair, files} {
		g := newProxy(t, setup{server: server, transport: &dynamic.ServersTransport{
			RootCAs:      []string{root},
			Certificates: []dynamic.Certificate{certificate},
		}})
		_, body := g.get(t, "/")
		equal(t, "body", body, "HTTP/2.0 sni= resumed=false client=[proxy.example]")
	}
	g := newProxy(t, setup{server: server, transport: &dynamic.ServersTransport{RootCAs: []string{root}}})
	response, _ := g.get(t, "/")
	equal(t, "status without a certificate", response.StatusCode, http.StatusBadGateway)
}

func TestSessionsAreResumed(t *testing.T) {
	signer := newAuthority(t)
	server := secured(t, signer.sign(t, "127.0.0.1"), &tls.Config{})
	g := newProxy(t,
		setup{server: server, transport: &dynamic.ServersTransport{
			RootCAs:             []string{pemOf(signer.certificate)},
			MaxIdleConnsPerHost: -1, DisableHTTP2: true,
		}})
	g.get(t, "/")
	_, body := g.get(t, "/")
	equal(t, "second connection", body, "HTTP/1.1 sni= resumed=true client=")
}

func TestTransportsThatFail(t *testing.T) {
	signer := newAuthority(t)
	pair, other := signer.sign(t, "a.example"), signer.sign(t, "b.example")
	missing := filepath.Join(t.TempDir(), "missing.pem")
	for _, test := range []struct {
		config dynamic.ServersTransport
		want   string
	}{
		{dynamic.ServersTransport{RootCAs: []string{missing}}, missing},
		{dynamic.ServersTransport{RootCAs: []string{pemOf(signer.certificate), ""}}, "rootCAs[1] is empty"},
		{
			dynamic.ServersTransport{RootCAs: []string{"-----BEGIN CERTIFICATE-----\nrubbish"}},
			"rootCAs[0]: inline PEM holds no certificate",
		},
		{
			dynamic.ServersTransport{Certificates: []dynamic.Certificate{{CertFile: missing, KeyFile: pair.KeyFile}}},
			"certificates[0].certFile",
		},
		{
			dynamic.ServersTransport{Certificates: []dynamic.Certificate{pair, {CertFile: pair.CertFile}}},
			"certificates[1].keyFile is empty",
		},
		{
			dynamic.ServersTransport{Certificates: []dynamic.Certificate{{CertFile: pair.CertFile, KeyFile: other.KeyFile}}},
			"certificates[0]: inline PEM",
		},
		{dynamic.ServersTransport{MinVersion: "TLS12"}, `minVersion: unknown value "TLS12"`},
		{dynamic.ServersTransport{MaxVersion: "VersionTLS14"}, `maxVersion: unknown value "VersionTLS14"`},
		{dynamic.ServersTransport{MinVersion: "VersionTLS13", MaxVersion: "VersionTLS12"}, "below"},
		{
			dynamic.ServersTransport{CipherSuites: []string{"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA348"}},
			`did you mean "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"?`,
		},
		{dynamic.ServersTransport{CipherSuites: []string{"none"}}, `cipherSuites[0]: unknown value "none"`},
		{dynamic.ServersTransport{PeerCertSANs: sans("IP", "192.0.2.1")}, `peerCertSANs[0].type: unknown value "IP"`},
		{dynamic.ServersTransport{PeerCertSANs: sans("URI", "")}, "peerCertSANs[0].value is empty"},
		{dynamic.ServersTransport{Spiffe: &dynamic.Spiffe{}}, "spiffe needs the static option spiffe.workloadAPIAddr"},
	} {
		_, err := forward.NewTransport("internal@file", &test.config, nil)
		switch {
		case err == nil:
			t.Errorf("%+v: no error, want %q", test.config, test.want)
		case !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), `"internal@file"`):
			t.Errorf("got %q, want the name and %q", err, test.want)
		case strings.Contains(err.Error(), "PRIVATE"):
			t.Errorf("the error holds a key: %v", err)
		}
	}
}

func TestDefaultTransport(t *testing.T) {
	config := static.ServersTransport{
		RootCAs: []string{"a.pem"}, InsecureSkipVerify: true,
		Spiffe: &static.SpiffeClient{IDs: []string{"a"}},
	}
	config.SetDefaults()
	config.ForwardingTimeouts.DialTimeout = static.Duration(time.Second)
	want := &dynamic.ServersTransport{
		RootCAs: []string{"a.pem"}, InsecureSkipVerify: true, MaxIdleConnsPerHost: 200,
		Spiffe: &dynamic.Spiffe{IDs: []string{"a"}},
	}
	want.SetDefaults()
	want.ForwardingTimeouts.DialTimeout = static.Duration(time.Second)
	if diff := cmp.Diff(want, forward.DefaultTransport(&config)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWireSettings(t *testing.T) {
	config := &dynamic.ServersTransport{}
	config.SetDefaults()
	config.ForwardingTimeouts.ReadIdleTimeout = static.Duration(5 * time.Second)
	key := loadbalancer.UpstreamKey{
		Scheme:   "https",
		Endpoint: loadbalancer.EndpointKey{Address: netip.MustParseAddrPort("[2001:db8::1]:443")},
	}
	transport, err := forward.NewTransport("test", config, nil)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "dial timeout", transport.DialTimeout(), 30*time.Second)
	equal(t, "name", forward.ServerName(transport.Connect(key).(loadbalancer.RoundTripper)), "2001:db8::1")
	if transport, err = forward.NewTransport("test", &dynamic.ServersTransport{}, nil); err != nil {
		t.Fatal(err)
	}
	equal(t, "dial timeout by default", transport.DialTimeout(), 30*time.Second)
}

// TestEndpointThatSpokeHTTP2 has been replaced by one that doesn't, which costs no request.
func TestEndpointThatSpokeHTTP2(t *testing.T) {
	signer := newAuthority(t)
	server := secured(t, signer.sign(t, "127.0.0.1"), &tls.Config{NextProtos: []string{"http/1.1"}})
	g := newProxy(t,
		setup{server: server, transport: &dynamic.ServersTransport{RootCAs: []string{pemOf(signer.certificate)}}})
	upstream := memberOf(g.pool).Upstream().RoundTripper()
	for range 2 {
		forward.AgreeHTTP2(upstream)
		_, body := g.do(t, request(t, http.MethodPost, g.url, strings.NewReader("body")))
		equal(t, "answer", strings.Fields(body)[0], "HTTP/1.1")
		equal(t, "still agreed", forward.AgreedHTTP2(upstream), false)
	}
}

// TestManyFirstRequests all find out at a time that an endpoint speaks HTTP/2.
func TestManyFirstRequests(t *testing.T) {
	signer := newAuthority(t)
	server := secured(t, signer.sign(t, "127.0.0.1"), &tls.Config{})
	g := newProxy(t,
		setup{server: server, transport: &dynamic.ServersTransport{RootCAs: []string{pemOf(signer.certificate)}}})
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			response, err := g.client.Do(request(t, http.MethodGet, g.url, nil))
			if err != nil {
				t.Error(err)
				return
			}
			body, err := io.ReadAll(response.Body)
			_ = response.Body.Close()
			if err != nil || !strings.HasPrefix(string(body), "HTTP/2.0 ") {
				t.Errorf("%d, %q, %v", response.StatusCode, body, err)
			}
		})
	}
	all.Wait()
}

// TestConnectionsAreKept sends requests one after another over one connection, and side by side over several.
func TestConnectionsAreKept(t *testing.T) {
	for _, upstream := range []string{"h1", "h2", "h2c"} {
		var mutex sync.Mutex
		var peers []string
		g := newRig(t, setup{upstream: upstream}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mutex.Lock()
			defer mutex.Unlock()
			if !slices.Contains(peers, r.RemoteAddr) {
				peers = append(peers, r.RemoteAddr)
			}
			_, _ = io.WriteString(w, "body")
		}))
		for range 20 {
			g.get(t, "/")
		}
		equal(t, upstream+": connections", len(peers), 1)
	}
}
