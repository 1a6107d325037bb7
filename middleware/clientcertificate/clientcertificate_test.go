package clientcertificate_test

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/clientcertificate"
	"github.com/sluiceproxy/sluice/middleware/guard"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
	"github.com/sluiceproxy/sluice/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func build(t testing.TB, config dynamic.ClientCertificate) *clientcertificate.ClientCertificate {
	t.Helper()
	step, err := clientcertificate.New("m@file", config, clientcertificate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return step
}

// ask describes what becomes of a request with certificates: the status and the headers at the service, or Location.
func ask(t testing.TB, step *clientcertificate.ClientCertificate, presented ...*x509.Certificate) string {
	t.Helper()
	at := ""
	w := httptest.NewRecorder()
	r := middlewaretest.Request(t, "GET /x", "Ssl-Client-Verify: SUCCESS", "ssl-client-cert: forged",
		"ssl_client_subject_dn: CN=root", "SSL-CLIENT-ISSUER-DN: CN=root")
	r.TLS = &tls.ConnectionState{PeerCertificates: presented}
	step.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		for _, name := range []string{"Verify", "Subject-Dn", "Issuer-Dn", "Cert"} {
			if values := r.Header["Ssl-Client-"+name]; len(values) > 0 {
				at += " " + name + "=" + strings.Join(values, "|")
			}
		}
		for name := range r.Header {
			if strings.Contains(name, "_") {
				t.Errorf("the service gets %s", name)
			}
		}
	})).ServeHTTP(w, r.WithContext(telemetry.WithRecord(r.Context(), &telemetry.Record{})))
	if location := w.Header().Get("Location"); location != "" {
		at = " " + location
	}
	return fmt.Sprint(w.Code, at)
}

// TestModes has each kind of certificate in each mode.
func TestModes(t *testing.T) {
	ca := newAuthority(t, nil, "CA")
	middle := newAuthority(t, ca, "Middle")
	low := newAuthority(t, middle, "Low")
	other := newAuthority(t, nil, "Other")
	none := []*x509.Certificate(nil)
	client, expired, server := ca.issue("client", nil), ca.issue("expired", func(c *x509.Certificate) {
		c.NotAfter = time.Now().Add(-time.Hour)
	}), ca.issue("server", func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} })
	success := func(name, issuer string) string {
		return "200 Verify=SUCCESS Subject-Dn=CN=" + name + ",O=Shop Issuer-Dn=CN=" + issuer
	}
	stranger := other.issue("stranger", nil)
	failed := func(reason string) string {
		return "200 Verify=FAILED:" + reason + " Subject-Dn=CN=stranger,O=Shop Issuer-Dn=CN=Other"
	}
	for name, test := range map[string]struct {
		presented []*x509.Certificate
		// want is for on, optional, optional_no_ca and off.
		want [4]string
	}{
		"none": {none, [4]string{"400", "200 Verify=NONE", "200 Verify=NONE", "200 Verify=NONE"}},
		"valid": {
			list(client),
			[4]string{success("client", "CA"), success("client", "CA"), success("client", "CA"), "200 Verify=NONE"},
		},
		"expired": {list(expired), [4]string{"400", "400", "400", "200 Verify=NONE"}},
		"not for clients": {
			list(server), [4]string{"400", "400", "400", "200 Verify=NONE"},
		},
		"unknown authority": {
			list(stranger), [4]string{"400", "400", failed("unable to verify the first certificate"), "200 Verify=NONE"},
		},
		"unknown authority, presented": {
			list(stranger, other.certificate),
			[4]string{"400", "400", failed("self-signed certificate in certificate chain"), "200 Verify=NONE"},
		},
		"one intermediate": {
			list(middle.issue("deep", nil), middle.certificate),
			[4]string{success("deep", "Middle"), success("deep", "Middle"), success("deep", "Middle"), "200 Verify=NONE"},
		},
		"two intermediates": {
			list(low.issue("deeper", nil), low.certificate, middle.certificate),
			[4]string{"400", "400", "400", "200 Verify=NONE"},
		},
		"without its intermediate": {
			list(middle.issue("deep", nil)),
			[4]string{
				"400", "400",
				"200 Verify=FAILED:unable to verify the first certificate Subject-Dn=CN=deep,O=Shop Issuer-Dn=CN=Middle",
				"200 Verify=NONE",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for i, mode := range []string{"on", "optional", "optional_no_ca", "off"} {
				step := build(t, dynamic.ClientCertificate{Mode: mode, CAFiles: []string{ca.pem()}, Depth: 1})
				for range 2 { // The second time it is kept.
					if got := ask(t, step, test.presented...); got != test.want[i] {
						t.Errorf("%s: %s, want %s", mode, got, test.want[i])
					}
				}
			}
		})
	}
}

// TestPlain has a request without TLS, about whose certificate no header says anything.
func TestPlain(t *testing.T) {
	ca := newAuthority(t, nil, "CA")
	for config, want := range map[*dynamic.ClientCertificate]int{
		{Mode: "off"}:      http.StatusOK,
		{Mode: "optional"}: http.StatusOK,
		{Mode: "on"}:       http.StatusBadRequest,
		{Mode: "off", MatchCN: "CN=shop", PassCertificate: true}: http.StatusForbidden,
	} {
		config.CAFiles = []string{ca.pem()}
		w := httptest.NewRecorder()
		r := middlewaretest.Request(t, "GET /x", "Ssl-Client-Verify: SUCCESS", "ssl_client_cert: forged")
		build(t, *config).Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			for name := range r.Header {
				if strings.HasPrefix(strings.ToLower(name), "ssl") {
					t.Errorf("the service gets %s", name)
				}
			}
		})).ServeHTTP(w, r.WithContext(telemetry.WithRecord(r.Context(), &telemetry.Record{})))
		if w.Code != want {
			t.Errorf("%s: %d, want %d", config.Mode, w.Code, want)
		}
	}
}

// TestAuthorities trusts no chain that ends with an intermediate certificate, as OpenSSL.
func TestAuthorities(t *testing.T) {
	ca := newAuthority(t, nil, "CA")
	middle := newAuthority(t, ca, "Middle")
	client := middle.issue("client", nil)
	alone := build(t, dynamic.ClientCertificate{CAFiles: []string{middle.pem()}, Depth: 1})
	if got := ask(t, alone, client); got != "400" {
		t.Error(got)
	}
	both := build(t, dynamic.ClientCertificate{CAFiles: []string{middle.pem() + ca.pem()}, Depth: 1})
	if got := ask(t, both, client); !strings.HasPrefix(got, "200 Verify=SUCCESS") {
		t.Error(got)
	}
}

// TestOptions has the page for errors, the pattern and the certificate.
func TestOptions(t *testing.T) {
	ca := newAuthority(t, nil, "CA")
	client := ca.issue("client", nil)
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: client.Raw})
	escaped := strings.ReplaceAll(url.QueryEscape(string(text)), "+", "%20")
	served := "200 Verify=SUCCESS Subject-Dn=CN=client,O=Shop Issuer-Dn=CN=CA"
	config := func(change func(*dynamic.ClientCertificate)) dynamic.ClientCertificate {
		c := dynamic.ClientCertificate{CAFiles: []string{ca.pem()}, Depth: 1}
		change(&c)
		return c
	}
	for name, test := range map[string]struct {
		change    func(*dynamic.ClientCertificate)
		presented []*x509.Certificate
		want      string
	}{
		"a page": {
			func(c *dynamic.ClientCertificate) { c.ErrorPage = "https://$host/error?from=$escaped_request_uri" }, nil,
			"302 https://example.com/error?from=%2Fx",
		},
		"a path":         {func(c *dynamic.ClientCertificate) { c.ErrorPage = "/error" }, nil, "302 https://example.com/error"},
		"a page unused":  {func(c *dynamic.ClientCertificate) { c.ErrorPage = "/error" }, list(client), served},
		"matches":        {func(c *dynamic.ClientCertificate) { c.MatchCN = "CN=(x|client)" }, list(client), served},
		"does not match": {func(c *dynamic.ClientCertificate) { c.MatchCN = "CN=Client" }, list(client), "403"},
		"403 is no 400": {
			func(c *dynamic.ClientCertificate) { c.MatchCN, c.ErrorPage = "CN=x", "/error" }, list(client), "403",
		},
		"no subject": {
			func(c *dynamic.ClientCertificate) { c.MatchCN, c.Mode = "CN=", "optional" }, nil, "403",
		},
		"passed on":         {func(c *dynamic.ClientCertificate) { c.PassCertificate = true }, list(client), served + " Cert=" + escaped},
		"nothing passed on": {func(c *dynamic.ClientCertificate) { c.PassCertificate, c.Mode = true, "optional" }, nil, "200 Verify=NONE"},
		"too long": {
			func(c *dynamic.ClientCertificate) { c.PassCertificate = true },
			list(ca.issue("long", func(c *x509.Certificate) {
				for i := range 3000 {
					c.DNSNames = append(c.DNSNames, fmt.Sprintf("host-%d.example.test", i))
				}
			})), "431",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ask(t, build(t, config(test.change)), test.presented...); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

// TestRevocation refuses a certificate on the list, and those of authorities without one.
func TestRevocation(t *testing.T) {
	ca := newAuthority(t, nil, "CA")
	other := newAuthority(t, nil, "Other")
	kept, revoked := ca.issue("kept", nil), ca.issue("revoked", nil)
	step := build(t, dynamic.ClientCertificate{
		CAFiles: []string{ca.pem(), other.pem()}, CRLFiles: []string{ca.crl(time.Hour, revoked)}, Depth: 1,
	})
	for name, test := range map[string]struct {
		certificate *x509.Certificate
		want        string
	}{
		"kept":    {kept, "200 Verify=SUCCESS Subject-Dn=CN=kept,O=Shop Issuer-Dn=CN=CA"},
		"revoked": {revoked, "400"},
		"no list": {other.issue("other", nil), "400"},
	} {
		if got := ask(t, step, test.certificate); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
	late := build(t, dynamic.ClientCertificate{
		CAFiles: []string{ca.pem()}, CRLFiles: []string{ca.crl(-time.Minute)}, Depth: 1,
	})
	if got := ask(t, late, kept); got != "400" {
		t.Errorf("a list that has expired: %s", got)
	}
}

// TestNames are those of OpenSSL's RFC 2253 form.
func TestNames(t *testing.T) {
	ca := newAuthority(t, nil, "CA")
	step := build(t, dynamic.ClientCertificate{CAFiles: []string{ca.pem()}, Depth: 1})
	cn, ou := []int{2, 5, 4, 3}, []int{2, 5, 4, 11}
	type attribute = pkix.AttributeTypeAndValue
	for want, name := range map[string][]attribute{
		`CN=a,OU=two,OU=one,O=x,L=l,ST=s,C=FR`: {
			{Type: []int{2, 5, 4, 6}, Value: "FR"}, {Type: []int{2, 5, 4, 8}, Value: "s"}, {Type: []int{2, 5, 4, 7}, Value: "l"},
			{Type: []int{2, 5, 4, 10}, Value: "x"}, {Type: ou, Value: "one"}, {Type: ou, Value: "two"}, {Type: cn, Value: "a"},
		},
		`CN=\#a\, \"b\"\\\<c\>\;d\+`: {{Type: cn, Value: `#a, "b"\<c>;d+`}},
		`CN=\ a \ `:                  {{Type: cn, Value: " a  "}},
		`CN=J\C3\BCrgen`:             {{Type: cn, Value: "Jürgen"}},
		`CN=a\0D\0Ab`:                {{Type: cn, Value: "a\r\nb"}},
		`CN=CN=x`:                    {{Type: cn, Value: "CN=x"}},
		`1.2.3.4=#1303616263,emailAddress=a@b.test,serialNumber=7`: {
			{Type: []int{2, 5, 4, 5}, Value: "7"}, {Type: []int{1, 2, 840, 113549, 1, 9, 1}, Value: "a@b.test"},
			{Type: []int{1, 2, 3, 4}, Value: "abc"},
		},
	} {
		var sequence pkix.RDNSequence
		for _, one := range name {
			sequence = append(sequence, pkix.RelativeDistinguishedNameSET{one})
		}
		got := ask(t, step, ca.issueNamed(t, sequence))
		if got != "200 Verify=SUCCESS Subject-Dn="+want+" Issuer-Dn=CN=CA" {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestRefusesDefinitions(t *testing.T) {
	ca := newAuthority(t, nil, "CA")
	trusting := []string{ca.pem()}
	for want, config := range map[string]dynamic.ClientCertificate{
		"clientCertificate.caFiles is empty":                     {},
		`clientCertificate.mode "maybe" is none`:                 {Mode: "maybe"},
		"clientCertificate.depth -1 is negative":                 {Depth: -1},
		"clientCertificate.caFiles[0] can't be read here":        {CAFiles: []string{"/ca.pem"}},
		"clientCertificate.caFiles[0] is neither a path nor PEM": {CAFiles: []string{"secret\n"}},
		"clientCertificate.caFiles[1]: inline PEM: 0 of 0":       {CAFiles: []string{trusting[0], "-----BEGIN X-----"}},
		"clientCertificate.caFiles[0]: inline PEM: 0 of 1":       {CAFiles: []string{"-----BEGIN CERTIFICATE-----\nx"}},
		"clientCertificate.crlFiles[0]: no CRL":                  {CAFiles: trusting, CRLFiles: []string{trusting[0]}},
		"clientCertificate.matchCN: lookahead":                   {CAFiles: trusting, MatchCN: "CN=(?=x)"},
		"clientCertificate.errorPage is neither":                 {CAFiles: trusting, ErrorPage: "page"},
		"clientCertificate.errorPage: the variable $x":           {CAFiles: trusting, ErrorPage: "/$x"},
		"clientCertificate.crlFiles: the signature of the CRL of \"CN=CA": {
			CAFiles: trusting, CRLFiles: []string{newAuthority(t, nil, "CA").crl(time.Hour)},
		},
	} {
		step, err := clientcertificate.New("m@file", config, clientcertificate.Options{})
		if step != nil || err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestGuards(t *testing.T) {
	ca := newAuthority(t, nil, "CA")
	for mode, want := range map[string]guard.TrustLevels{
		"": guard.Always, "on": guard.Always, "optional": 0, "optional_no_ca": 0, "off": 0,
	} {
		if got := build(t, dynamic.ClientCertificate{Mode: mode, CAFiles: []string{ca.pem()}}).Guards(); got.Guards != want {
			t.Errorf("%s: %v", mode, got)
		}
	}
}

func TestReadme(t *testing.T) {
	ca := newAuthority(t, nil, "CA")
	for name, definition := range middlewaretest.Examples(t, "README.md") {
		step, err := clientcertificate.New(name, *definition.ClientCertificate, clientcertificate.Options{
			ReadFile: func(path string) ([]byte, error) {
				if strings.Contains(path, "crl") {
					return []byte(ca.crl(time.Hour)), nil
				}
				return []byte(ca.pem()), nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]uint64{"passed": 0, "refused": 0}, step.Counts()); diff != "" {
			t.Error(diff)
		}
	}
}

func list(certificates ...*x509.Certificate) []*x509.Certificate { return certificates }
