package passtlsclientcert

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

const (
	completeSubject = `Subject="DC=org,DC=cheese,C=FR,C=US,ST=Cheese org state,ST=Cheese com ` +
		`state,L=TOULOUSE,L=LYON,O=Cheese,O=Cheese 2,OU=Section,OU=Section 2,SN=7,CN=*.example.com"`
	completeIssuer = `Issuer="DC=org,DC=cheese,C=FR,C=US,ST=Signing State,ST=Signing State ` +
		`2,L=TOULOUSE,L=LYON,O=Cheese,O=Cheese 2,SN=9,CN=Simple Signing CA 2"`
	completeSAN  = `SAN="*.example.org,*.example.net,test@example.org,test@example.net,10.0.1.0,2001:db8::1,spiffe://example.org/a%20b"`
	completeInfo = completeSubject + ";" + completeIssuer + `;SerialNumber="1";NB="1544094616";NA="1607166616";` +
		completeSAN
)

// subjectOf and issuerOf choose one attribute.
func subjectOf(s dynamic.ClientCertificateSubject) dynamic.ClientCertificateFields {
	return dynamic.ClientCertificateFields{Subject: &s}
}

func issuerOf(s dynamic.ClientCertificateIssuer) dynamic.ClientCertificateFields {
	return dynamic.ClientCertificateFields{Issuer: &s}
}

// TestFields has every option alone and all together.
func TestFields(t *testing.T) {
	by := authority(t)
	full := by.issue(t, complete())
	bare := by.issue(t, &x509.Certificate{SerialNumber: new(big.Int).Lsh(big.NewInt(1), 150)})
	tests := []struct {
		config dynamic.ClientCertificateFields
		full   string
		bare   string
	}{
		{*everything(), completeInfo, completeIssuer +
			`;SerialNumber="1427247692705959881058285969449495136382746624";NB="-62135596800";NA="-62135596800"`},
		{dynamic.ClientCertificateFields{NotAfter: true}, `NA="1607166616"`, `NA="-62135596800"`},
		{dynamic.ClientCertificateFields{NotBefore: true}, `NB="1544094616"`, `NB="-62135596800"`},
		{dynamic.ClientCertificateFields{SANs: true}, completeSAN, ""},
		{
			dynamic.ClientCertificateFields{SerialNumber: true},
			`SerialNumber="1"`,
			`SerialNumber="1427247692705959881058285969449495136382746624"`,
		},
		{subjectOf(dynamic.ClientCertificateSubject{Country: true}), `Subject="C=FR,C=US"`, ""},
		{
			subjectOf(dynamic.ClientCertificateSubject{Province: true}), `Subject="ST=Cheese org state,ST=Cheese com state"`,
			"",
		},
		{subjectOf(dynamic.ClientCertificateSubject{Locality: true}), `Subject="L=TOULOUSE,L=LYON"`, ""},
		{subjectOf(dynamic.ClientCertificateSubject{Organization: true}), `Subject="O=Cheese,O=Cheese 2"`, ""},
		{subjectOf(dynamic.ClientCertificateSubject{OrganizationalUnit: true}), `Subject="OU=Section,OU=Section 2"`, ""},
		{subjectOf(dynamic.ClientCertificateSubject{CommonName: true}), `Subject="CN=*.example.com"`, ""},
		{subjectOf(dynamic.ClientCertificateSubject{SerialNumber: true}), `Subject="SN=7"`, ""},
		{subjectOf(dynamic.ClientCertificateSubject{DomainComponent: true}), `Subject="DC=org,DC=cheese"`, ""},
		{issuerOf(dynamic.ClientCertificateIssuer{Country: true}), `Issuer="C=FR,C=US"`, `Issuer="C=FR,C=US"`},
		{
			issuerOf(dynamic.ClientCertificateIssuer{Province: true}), `Issuer="ST=Signing State,ST=Signing State 2"`,
			`Issuer="ST=Signing State,ST=Signing State 2"`,
		},
		{
			issuerOf(dynamic.ClientCertificateIssuer{Locality: true}), `Issuer="L=TOULOUSE,L=LYON"`,
			`Issuer="L=TOULOUSE,L=LYON"`,
		},
		{
			issuerOf(dynamic.ClientCertificateIssuer{Organization: true}), `Issuer="O=Cheese,O=Cheese 2"`,
			`Issuer="O=Cheese,O=Cheese 2"`,
		},
		{
			issuerOf(dynamic.ClientCertificateIssuer{CommonName: true}), `Issuer="CN=Simple Signing CA 2"`,
			`Issuer="CN=Simple Signing CA 2"`,
		},
		{issuerOf(dynamic.ClientCertificateIssuer{SerialNumber: true}), `Issuer="SN=9"`, `Issuer="SN=9"`},
		{
			issuerOf(dynamic.ClientCertificateIssuer{DomainComponent: true}), `Issuer="DC=org,DC=cheese"`,
			`Issuer="DC=org,DC=cheese"`,
		},
		{dynamic.ClientCertificateFields{}, "", ""},
		{subjectOf(dynamic.ClientCertificateSubject{}), "", ""},
	}
	for _, test := range tests {
		p := build(t, dynamic.PassTLSClientCert{Info: &test.config})
		for want, state := range map[string]*tls.ConnectionState{
			test.full: of(full), test.bare: of(bare), test.full + "," + test.bare: of(full, bare), test.bare + "," + test.full +
				"," + test.full: of(bare, full, full),
		} {
			status, passed := pass(t, p, state)
			if diff := cmp.Diff(http.Header{infoHeader: {url.QueryEscape(want)}}, passed); status != http.StatusOK ||
				diff != "" {
				t.Errorf("%+v: status %d: %s", test.config, status, diff)
			}
		}
	}
}

// TestEscaped pins the bytes of the header.
func TestEscaped(t *testing.T) {
	certificate := authority(t).issue(t, &x509.Certificate{Subject: pkix.Name{
		Organization: []string{"Käse & Söhne"},
		CommonName:   "a+b/c@d=e",
	}})
	_, passed := pass(t, build(t, dynamic.PassTLSClientCert{Info: &dynamic.ClientCertificateFields{
		Subject: &dynamic.ClientCertificateSubject{Organization: true, CommonName: true},
		Issuer:  &dynamic.ClientCertificateIssuer{CommonName: true},
	}}), of(certificate))
	const want = "Subject%3D%22O%3DK%C3%A4se+%26+S%C3%B6hne%2CCN%3Da%2Bb%2Fc%40d%3De%22%3BIssuer%3D%22CN%3DSimple+Signing+CA+2%22"
	if diff := cmp.Diff(http.Header{infoHeader: {want}}, passed); diff != "" {
		t.Error(diff)
	}
}

func TestPEM(t *testing.T) {
	by := authority(t)
	certificate := by.issue(t, complete())
	text := func(certificate *x509.Certificate) string {
		lines := strings.Split(string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw})), "\n")
		return strings.Join(lines[1:len(lines)-2], "")
	}
	for want, state := range map[string]*tls.ConnectionState{
		text(certificate): of(certificate), text(certificate) + "," + text(by.certificate): of(certificate, by.certificate),
	} {
		if _, passed := pass(t, build(t, dynamic.PassTLSClientCert{PEM: true}),
			state); cmp.Diff(http.Header{certHeader: {want}}, passed) != "" {
			t.Errorf("the header is %v, want %s", passed, want)
		}
	}
	_, passed := pass(t, build(t, dynamic.PassTLSClientCert{PEM: true, Info: everything()}), of(certificate))
	if diff := cmp.Diff(http.Header{certHeader: {text(certificate)}, infoHeader: {url.QueryEscape(completeInfo)}},
		passed); diff != "" {
		t.Error(diff)
	}
}

// TestNoCertificate has connections without one, and definitions that pass none on.
func TestNoCertificate(t *testing.T) {
	certificate := authority(t).issue(t, complete())
	forged := []string{certHeader + ": forged", infoHeader + ": forged"}
	for _, config := range []dynamic.PassTLSClientCert{
		{},
		{PEM: true},
		{Info: everything()},
		{PEM: true, Info: everything()},
	} {
		for name, state := range map[string]*tls.ConnectionState{
			"no TLS": nil, "no certificate": {},
			"a certificate": of(certificate),
		} {
			if name == "a certificate" && (config.PEM || config.Info != nil) {
				continue
			}
			if status, passed := pass(t, build(t, config), state, forged...); status != http.StatusOK || len(passed) != 0 {
				t.Errorf("%s, %+v: status %d, %v is passed on", name, config, status, passed)
			}
		}
	}
}

// TestOnlyWhatWasVerified has a verified client send additional unverified certificates.
func TestOnlyWhatWasVerified(t *testing.T) {
	root := newIssuer(t, nil, pkix.Name{CommonName: "root"})
	middle := newIssuer(t, root, pkix.Name{CommonName: "middle"})
	client := middle.issue(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: "client"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	forged := newIssuer(t, nil, pkix.Name{CommonName: "admin"}).certificate
	roots, intermediates := x509.NewCertPool(), x509.NewCertPool()
	roots.AddCert(root.certificate)
	intermediates.AddCert(middle.certificate)
	chains, err := client.Verify(x509.VerifyOptions{
		Roots: roots, Intermediates: intermediates,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		t.Fatal(err)
	}
	p := build(t, dynamic.PassTLSClientCert{
		PEM:  true,
		Info: &dynamic.ClientCertificateFields{Subject: &dynamic.ClientCertificateSubject{CommonName: true}},
	})
	tests := map[string][]*x509.Certificate{
		`Subject="CN=client",Subject="CN=middle"`: {client, middle.certificate},
		`Subject="CN=client",Subject="CN=middle",Subject="CN=root"`: {
			client, forged, middle.certificate, root.certificate,
			forged,
		},
		`Subject="CN=client"`: {client},
	}
	for want, sent := range tests {
		_, passed := pass(t, p, &tls.ConnectionState{PeerCertificates: sent, VerifiedChains: chains})
		if got, err := url.QueryUnescape(passed.Get(infoHeader)); err != nil || got != want {
			t.Errorf("the header says %s, want %s, error %v", got, want, err)
		}
		if got, want := strings.Count(passed.Get(certHeader), ","), strings.Count(want, ","); got != want {
			t.Errorf("%d commas between the certificates, want %d", got, want)
		}
	}
	_, passed := pass(t, p, of(client, forged))
	if got, err := url.QueryUnescape(passed.Get(infoHeader)); err != nil ||
		got != `Subject="CN=client",Subject="CN=admin"` {
		t.Errorf("unverified, the header says %s, error %v", got, err)
	}
}

// TestTooLong has what fits barely and what does not.
func TestTooLong(t *testing.T) {
	const longest = 64 << 10
	fits := &x509.Certificate{Raw: bytes.Repeat([]byte{1}, longest/4*3)}
	name := func(n int) *x509.Certificate {
		return &x509.Certificate{Subject: pkix.Name{CommonName: strings.Repeat("x", n-len("Subject%3D%22CN%3D%22"))}}
	}
	byName := dynamic.PassTLSClientCert{Info: &dynamic.ClientCertificateFields{
		Subject: &dynamic.ClientCertificateSubject{CommonName: true},
	}}
	bySerial := dynamic.PassTLSClientCert{Info: &dynamic.ClientCertificateFields{SerialNumber: true}}
	tests := []struct {
		name   string
		config dynamic.PassTLSClientCert
		sent   []*x509.Certificate
		status int
	}{
		{"pem", dynamic.PassTLSClientCert{PEM: true}, []*x509.Certificate{fits}, http.StatusOK},
		{
			"pem, too long",
			dynamic.PassTLSClientCert{PEM: true},
			[]*x509.Certificate{{Raw: append(fits.Raw, 1)}},
			http.StatusRequestHeaderFieldsTooLarge,
		},
		{
			"pem, too many",
			dynamic.PassTLSClientCert{PEM: true},
			[]*x509.Certificate{fits, {}},
			http.StatusRequestHeaderFieldsTooLarge,
		},
		{"info", byName, []*x509.Certificate{name(longest)}, http.StatusOK},
		{"info, too long", byName, []*x509.Certificate{name(longest + 1)}, http.StatusRequestHeaderFieldsTooLarge},
		{"info, much too long", byName, []*x509.Certificate{name(2 * longest), {}}, http.StatusRequestHeaderFieldsTooLarge},
		{"info, too many", byName, []*x509.Certificate{name(longest), {}}, http.StatusRequestHeaderFieldsTooLarge},
		{
			"serial number", bySerial,
			[]*x509.Certificate{{SerialNumber: new(big.Int).Lsh(big.NewInt(1), 1023)}},
			http.StatusOK,
		},
		{
			"serial number, too long", bySerial,
			[]*x509.Certificate{{SerialNumber: new(big.Int).Lsh(big.NewInt(-1), 1024)}},
			http.StatusRequestHeaderFieldsTooLarge,
		},
		{
			"both, one too long",
			dynamic.PassTLSClientCert{PEM: true, Info: byName.Info},
			[]*x509.Certificate{name(longest + 1)},
			http.StatusRequestHeaderFieldsTooLarge,
		},
	}
	for _, test := range tests {
		p := build(t, test.config)
		status, passed := pass(t, p, of(test.sent...))
		if status != test.status || (passed != nil) != (status == http.StatusOK) {
			t.Errorf("%s: status %d, want %d", test.name, status, test.status)
		}
		if got := p.Counts()["refused"]; (got == 1) != (status != http.StatusOK) {
			t.Errorf("%s: %d are counted as refused", test.name, got)
		}
		for header, values := range passed {
			if len(values) != 1 || len(values[0]) > longest {
				t.Errorf("%s: %s has %d bytes", test.name, header, len(fmt.Sprint(values)))
			}
		}
	}
}

func TestWarnings(t *testing.T) {
	for want, configs := range map[string][]dynamic.PassTLSClientCert{
		"": {{PEM: true}, {Info: everything()}, {PEM: true, Info: &dynamic.ClientCertificateFields{SANs: true}}},
		"passTLSClientCert sets neither pem nor info: no certificate is passed on": {{}},
		"passTLSClientCert.info chooses no field: X-Forwarded-Tls-Client-Cert-Info says nothing": {
			{Info: &dynamic.ClientCertificateFields{}},
			{PEM: true, Info: &dynamic.ClientCertificateFields{Subject: &dynamic.ClientCertificateSubject{}}},
		},
	} {
		for _, config := range configs {
			if got := strings.Join(build(t, config).Warnings(), "\n"); got != want {
				t.Errorf("%+v: warning %q, want %q", config, got, want)
			}
		}
	}
}

// TestReadme loads the example, and produces the text that the page shows.
func TestReadme(t *testing.T) {
	examples := middlewaretest.Examples(t, "README.md")
	if diff := cmp.Diff(&dynamic.PassTLSClientCert{PEM: true}, examples["certificate"].PassTLSClientCert); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(&dynamic.PassTLSClientCert{Info: everything()},
		examples["who-it-is"].PassTLSClientCert); diff != "" {
		t.Error(diff)
	}
	by := newIssuer(t, nil, pkix.Name{Country: []string{"FR"}, Organization: []string{"Example"}, CommonName: "Authority"})
	template := documented()
	_, passed := pass(t, build(t, *examples["who-it-is"].PassTLSClientCert), of(by.issue(t, template)))
	shown, err := url.QueryUnescape(passed.Get(infoHeader))
	if err != nil {
		t.Fatal(err)
	}
	if page := read(t, "README.md"); !strings.Contains(page, "```text\n"+shown+"\n```") {
		t.Errorf("README.md does not show %s", shown)
	}
}
