package router

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/immutable"
)

// getTLS sends a request to entrypoint websecure over a connection that was accepted for a server name.
func (b *bench) getTLS(serverName, target string) *httptest.ResponseRecorder {
	b.t.Helper()
	options, ok := b.target.TLS("websecure").SelectTLS(serverName)
	if !ok {
		b.t.Fatalf("no TLS options for server name %q", serverName)
	}
	request := httptest.NewRequestWithContext(b.t.Context(), http.MethodGet, target, http.NoBody)
	request.TLS = &tls.ConnectionState{ServerName: serverName}
	connection := &certificate.Connection{Fingerprint: options.Fingerprint, ServerName: serverName}
	recorder := httptest.NewRecorder()
	b.target.Handler("websecure").ServeHTTP(recorder, request.WithContext(certificate.WithConnection(request.Context(),
		connection)))
	return recorder
}

func (b *bench) secure(name, rule, service, options string) {
	declared := b.router(name, rule, service)
	declared.EntryPoints = []string{"websecure"}
	declared.TLS = &dynamic.RouterTLS{Options: options}
}

func TestTLSOptionsFollowTheRequest(t *testing.T) {
	b := newBench(t)
	b.config.TLS.Options = b.config.TLS.Options.With("modern@file", &dynamic.TLSOptions{MinVersion: "VersionTLS13"})
	b.secure("plain@file", "Host(`plain.test`)", "a@internal", "")
	b.secure("modern@file", "Host(`modern.test`)", "b@internal", "modern")
	b.secure("path@file", "PathPrefix(`/path`)", "a@internal", "")
	b.all()
	for _, test := range []struct {
		name, server, target string
		status               int
	}{
		{"options of the host", "modern.test", "https://modern.test/", http.StatusOK},
		{"default options", "plain.test", "https://plain.test/", http.StatusOK},
		{"no server name", "", "https://plain.test/", http.StatusOK},
		{"coalesced to stricter options", "plain.test", "https://modern.test/", http.StatusMisdirectedRequest},
		{"coalesced from stricter options", "modern.test", "https://plain.test/", http.StatusMisdirectedRequest},
		{"a rule without host takes the host's options", "modern.test", "https://modern.test/path", http.StatusOK},
		{"a rule without host, coalesced", "plain.test", "https://modern.test/path", http.StatusMisdirectedRequest},
	} {
		t.Run(test.name, func(t *testing.T) {
			recorder := b.getTLS(test.server, test.target)
			if recorder.Code != test.status {
				t.Errorf("SNI %q, %s: status %d, want %d", test.server, test.target, recorder.Code, test.status)
			}
			misdirected := test.status == http.StatusMisdirectedRequest
			if misdirected != (recorder.Header().Get("Connection") == "close") {
				t.Errorf("SNI %q, %s: Connection %q", test.server, test.target, recorder.Header().Get("Connection"))
			}
		})
	}
}

func TestConflictingTLSOptionsAreReportedAndRefused(t *testing.T) {
	b := newBench(t)
	b.config.TLS.Options = b.config.TLS.Options.With("modern@file", &dynamic.TLSOptions{MinVersion: "VersionTLS13"})
	b.secure("first@file", "Host(`x.test`) && PathPrefix(`/longer`)", "a@internal", "modern")
	b.secure("second@file", "Host(`x.test`)", "b@internal", "")
	b.config.HTTP.Routers.Get("second@file").TLS.CertResolver = "later"
	b.all()
	b.wantVerdict(ref(dynamic.KindRouter, "second@file"), dynamic.Degraded, "421")
	b.wantVerdict(ref(dynamic.KindRouter, "second@file"), dynamic.Degraded, `there is no certificate resolver "later"`)
	if recorder := b.getTLS("x.test", "https://x.test/longer"); recorder.Code != http.StatusOK {
		t.Errorf("the first router answers %d, want 200", recorder.Code)
	}
	if recorder := b.getTLS("x.test", "https://x.test/"); recorder.Code != http.StatusMisdirectedRequest {
		t.Errorf("the router with other options answers %d, want 421", recorder.Code)
	}
	if recorder := b.getTLS("other.test", "https://x.test/"); recorder.Code != http.StatusMisdirectedRequest {
		t.Errorf("over another host's connection, the router with other options answers %d, want 421", recorder.Code)
	}
}

func TestOptionsWithoutPostQuantumKeyExchangeAreDegraded(t *testing.T) {
	b := newBench(t)
	b.config.TLS.Options = b.config.TLS.Options.With("old@file", &dynamic.TLSOptions{
		CurvePreferences: []string{"X25519"},
	})
	b.secure("old@file", "Host(`old.test`)", "a@internal", "old")
	b.all()
	b.wantVerdict(dynamic.Ref{Kind: dynamic.KindTLSOptions, Name: "old@file"}, dynamic.Degraded, "post-quantum")
	if recorder := b.getTLS("old.test", "https://old.test/"); recorder.Code != http.StatusOK {
		t.Errorf("status %d", recorder.Code)
	}
}

// TestRouterWithoutAHostBehindBrokenDefaultOptions serves hosts with options of their own, as its verdict says.
func TestRouterWithoutAHostBehindBrokenDefaultOptions(t *testing.T) {
	b := newBench(t)
	b.config.TLS.Options = b.config.TLS.Options.With("broken@file", &dynamic.TLSOptions{
		MinVersion: "VersionTLS31", EntryPoints: []string{"websecure"},
	}).With("modern@file", &dynamic.TLSOptions{MinVersion: "VersionTLS13"})
	b.secure("own@file", "Host(`own.test`)", "a@internal", "modern")
	b.secure("anywhere@file", "PathPrefix(`/anywhere/at/all`)", "b@internal", "")
	b.secure("named@file", "Host(`named.test`)", "b@internal", "")
	b.apply(true, ref(dynamic.KindTLSOptions, "broken@file"), ref(dynamic.KindTLSOptions, "modern@file"),
		ref(dynamic.KindRouter, "own@file"), ref(dynamic.KindRouter, "anywhere@file"), ref(dynamic.KindRouter, "named@file"))
	b.wantVerdict(ref(dynamic.KindRouter, "anywhere@file"), dynamic.Degraded,
		`served on entrypoint "websecure" only for hosts with TLS options of their own: tlsOptions "broken@file"`)
	b.wantVerdict(ref(dynamic.KindRouter, "named@file"), dynamic.Degraded, `not served on entrypoint "websecure"`)
	if recorder := b.getTLS("own.test", "https://own.test/anywhere/at/all"); recorder.Code != http.StatusOK {
		t.Errorf("status %d, want 200", recorder.Code)
	}
	if recorder := b.getTLS("own.test", "https://named.test/"); recorder.Code != http.StatusMisdirectedRequest {
		t.Errorf("over the connection of a host with options of its own: status %d, want 421", recorder.Code)
	}
	if _, ok := b.target.TLS("websecure").SelectTLS("else.test"); ok {
		t.Error("a handshake for a host without options of its own succeeds")
	}
}

// TestTLSOptionsOfTheHostBindEveryRouter reaches a host with stricter options through a router that names another
// one.
func TestTLSOptionsOfTheHostBindEveryRouter(t *testing.T) {
	b := newBench(t)
	b.config.TLS.Options = b.config.TLS.Options.With("modern@file", &dynamic.TLSOptions{MinVersion: "VersionTLS13"})
	b.secure("guarded@file", "Host(`guarded.test`)", "a@internal", "modern")
	b.secure("open@file", "Host(`open.test`) || PathPrefix(`/path`)", "b@internal", "")
	b.all()
	for target, status := range map[string]int{
		"https://open.test/path": http.StatusOK, "https://else.test/path": http.StatusOK,
		"https://guarded.test/path": http.StatusMisdirectedRequest,
	} {
		if recorder := b.getTLS("open.test", target); recorder.Code != status {
			t.Errorf("%s: status %d, want %d", target, recorder.Code, status)
		}
	}
}

func TestBrokenTLSOptionsFailClosed(t *testing.T) {
	b := newBench(t)
	b.config.TLS.Options = b.config.TLS.Options.With("broken@file", &dynamic.TLSOptions{ClientAuth: dynamic.ClientAuth{
		CAFiles: []string{"/does/not/exist.pem"}, ClientAuthType: "RequireAndVerifyClientCert",
	}})
	b.secure("guarded@file", "Host(`x.test`)", "a@internal", "broken")
	b.secure("open@file", "PathPrefix(`/`)", "b@internal", "")
	b.config.HTTP.Routers.Get("open@file").Priority = 1
	b.all()
	b.wantVerdict(ref(dynamic.KindTLSOptions, "broken@file"), dynamic.Quarantined, "exist.pem")
	b.wantVerdict(ref(dynamic.KindRouter, "guarded@file"), dynamic.Quarantined, "broken@file")
	if recorder := b.getTLS("x.test", "https://x.test/"); recorder.Code != http.StatusServiceUnavailable {
		t.Errorf("a router whose client certificates cannot be verified answers %d, want 503", recorder.Code)
	}
	if recorder := b.getTLS("y.test", "https://y.test/"); recorder.Code != http.StatusOK {
		t.Errorf("another host answers %d, want 200", recorder.Code)
	}
	b.config.TLS.Options = b.config.TLS.Options.With("default", b.config.TLS.Options.Get("broken@file"))
	b.apply(true, ref(dynamic.KindTLSOptions, "default"))
	if _, ok := b.target.TLS("websecure").SelectTLS("y.test"); ok {
		t.Error("handshakes succeed although the default options cannot be loaded")
	}
}

func TestTLSOptionsWithoutAHostAreRefused(t *testing.T) {
	b := newBench(t)
	b.config.TLS.Options = b.config.TLS.Options.With("modern@file", &dynamic.TLSOptions{MinVersion: "VersionTLS13"})
	b.secure("r@file", "PathPrefix(`/`)", "a@internal", "modern")
	b.all()
	b.wantVerdict(ref(dynamic.KindRouter, "r@file"), dynamic.Quarantined, "needs a Host")
	if recorder := b.getTLS("x.test", "https://x.test/"); recorder.Code != http.StatusServiceUnavailable {
		t.Errorf("status %d, want 503", recorder.Code)
	}
}

func TestPlainAndTLSRoutersDoNotMix(t *testing.T) {
	b := newBench(t)
	b.router("plain@file", "Host(`x.test`)", "a@internal").EntryPoints = []string{"web", "websecure"}
	b.all()
	b.wantService("http://x.test/", "a")
	if recorder := b.getTLS("x.test", "https://x.test/"); recorder.Code != http.StatusNotFound {
		t.Errorf("a router without tls answers %d on a TLS connection, want 404", recorder.Code)
	}
}

func TestStoresOfOtherNamesAreReported(t *testing.T) {
	b := newBench(t)
	b.config.TLS.Stores = immutable.Of(map[string]*dynamic.TLSStore{"mine@file": {}})
	b.config.TLS.Certificates = []*dynamic.CertificateEntry{
		{Name: "one@file", Certificate: selfSigned(t, "x.test"), Stores: []string{"mine"}},
		{Name: "two@file", Certificate: selfSigned(t, "y.test"), Stores: []string{"default"}},
	}
	b.apply(true, ref(dynamic.KindTLSStore, "mine@file"), ref(dynamic.KindCertificate, "one@file"))
	b.wantVerdict(ref(dynamic.KindTLSStore, "mine@file"), dynamic.Degraded, "only the store named default is used")
	b.wantVerdict(ref(dynamic.KindCertificate, "one@file"), dynamic.Degraded, "only the store named default is used")
	if len(b.compiled.Verdicts) != 2 {
		t.Errorf("verdicts %v, want two", b.compiled.Verdicts)
	}
}

// selfSigned returns a certificate for a host with its key, both inline.
func selfSigned(t testing.TB, host string) dynamic.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{host},
		NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
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
