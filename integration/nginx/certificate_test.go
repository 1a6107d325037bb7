package nginx_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/integration/harness"
	"github.com/sluiceproxy/sluice/integration/nginx"
	"github.com/sluiceproxy/sluice/middleware"
)

// TestClientCertificates has nginx and the middleware judge the same certificates in each mode.
func TestClientCertificates(t *testing.T) {
	p := nginx.Start(t, nginx.Options{})
	authority, other := harness.NewAuthority(t), harness.NewAuthority(t)
	issued := authority.Issue("on.test", "optional.test", "optional_no_ca.test", "revoking.test")
	revoked := authority.Issue("revoked")
	lists := p.Socket("crl")
	list := pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: authority.Revoke(time.Now().Add(time.Hour), revoked)})
	if err := os.WriteFile(lists, list, 0o600); err != nil {
		t.Fatal(err)
	}
	var config strings.Builder
	for name, directives := range map[string]string{
		"on": "ssl_verify_client on;", "optional": "ssl_verify_client optional;",
		"optional_no_ca": "ssl_verify_client optional_no_ca;",
		"revoking":       "ssl_verify_client on; ssl_crl " + lists + "; error_page 495 496 = https://id.test/error;",
	} {
		_, _ = fmt.Fprintf(&config, `server {
  listen unix:%s ssl; server_name %s.test; ssl_certificate %s; ssl_certificate_key %s; ssl_client_certificate %s; %s
  add_header X-Verify $ssl_client_verify; add_header X-Subject $ssl_client_s_dn; add_header X-Issuer $ssl_client_i_dn;
  add_header X-Cert $ssl_client_escaped_cert;
  location / { if ($ssl_client_s_dn !~ "CN=(client|unknown|revoked|expired)|^$") { return 403; } return 200; }
}
`, p.Socket("tls"), name, issued.CertFile, issued.KeyFile, authority.File, directives)
	}
	if err := p.Reload(config.String()); err != nil {
		t.Fatal(err)
	}
	for name, certificate := range map[string]*harness.Issued{
		"none": nil, "client": new(authority.Issue("client")), "unknown": new(other.Issue("unknown")), "revoked": &revoked,
		"expired": new(authority.IssueUntil(time.Now().Add(-time.Minute), "expired")), "other": new(authority.Issue("other")),
	} {
		for _, mode := range []string{"on", "optional", "optional_no_ca", "revoking"} {
			want := judgedByNginx(t, p, authority, mode+".test", certificate)
			got := judged(t, authority, mode, lists, certificate)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, %s (-nginx +Sluice):\n%s", mode, name, diff)
			}
		}
	}
}

// judgement is the status, Location, and the headers with the result and the certificate where a request passes.
type judgement struct {
	Status                                     int
	Location, Verify, Subject, Issuer, Escaped string
}

func judgedByNginx(
	t *testing.T, p *nginx.Process, authority *harness.Authority, name string, certificate *harness.Issued,
) judgement {
	t.Helper()
	secured := &tls.Config{RootCAs: authority.Pool, ServerName: name, MinVersion: tls.VersionTLS12}
	if certificate != nil {
		// nginx names its authorities; the client presents its certificate nevertheless.
		secured.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return &certificate.Pair, nil
		}
	}
	conn, err := new(net.Dialer).DialContext(t.Context(), "unix", p.Socket("tls"))
	if err != nil {
		t.Fatal(err)
	}
	secure := tls.Client(conn, secured)
	defer func() { _ = secure.Close() }()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+name+"/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Write(secure); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(secure), r)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	h := response.Header
	if response.StatusCode != http.StatusOK {
		return judgement{Status: response.StatusCode, Location: h.Get("Location")}
	}
	return judgement{
		response.StatusCode, "", h.Get("X-Verify"), h.Get("X-Subject"), h.Get("X-Issuer"), h.Get("X-Cert"),
	}
}

// judged is what the middleware makes of a certificate.
func judged(t *testing.T, authority *harness.Authority, mode, lists string, certificate *harness.Issued) judgement {
	t.Helper()
	config := new(dynamic.ClientCertificate)
	config.SetDefaults()
	config.CAFiles, config.PassCertificate = []string{authority.File}, true
	config.MatchCN = "CN=(client|unknown|revoked|expired)|^$"
	if config.Mode = mode; mode == "revoking" {
		config.Mode, config.CRLFiles, config.ErrorPage = "on", []string{lists}, "https://id.test/error"
	}
	builder := middleware.NewBuilder(middleware.Options{})
	defer builder.Close()
	step, err := builder.Build("m@file", &dynamic.Middleware{ClientCertificate: config}, middleware.References{},
		&middleware.Reads{})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "https://a.test/", http.NoBody)
	r.TLS = &tls.ConnectionState{}
	if certificate != nil {
		leaf, err := x509.ParseCertificate(certificate.Pair.Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		r.TLS.PeerCertificates = []*x509.Certificate{leaf}
	}
	var got judgement
	w := httptest.NewRecorder()
	step.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		h := r.Header
		got.Verify, got.Subject = h.Get("Ssl-Client-Verify"), h.Get("Ssl-Client-Subject-Dn")
		got.Issuer, got.Escaped = h.Get("Ssl-Client-Issuer-Dn"), h.Get("Ssl-Client-Cert")
	})).ServeHTTP(w, r)
	got.Status, got.Location = w.Code, w.Header().Get("Location")
	return got
}
