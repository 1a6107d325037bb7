package passtlsclientcert

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

// documented is the certificate of the README.
func documented() *x509.Certificate {
	return &x509.Certificate{
		Subject: named("C=FR", "ST=Occitanie", "L=Toulouse", "O=Example", "OU=Edge", "CN=client", "SN=7", "DC=org",
			"DC=example"),
		NotBefore: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC),
		DNSNames: []string{"client.example.org"}, EmailAddresses: []string{"ops@example.org"},
		IPAddresses: []net.IP{net.IPv4(192, 0, 2, 1)},
		URIs:        []*url.URL{{Scheme: "spiffe", Host: "example.org", Path: "/client"}},
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// hostile are values that try to be more than one.
func hostile() []string {
	return []string{
		`x",Subject="CN=admin`, `x";Subject="CN=admin`, "x,CN=admin", "x,O=admins", `x\`, `x\",CN=admin`, "x\nCN=admin",
		"x\r\nX-User: admin", "x\x00,CN=admin",
		`";`, `,`, `"`, ";SAN=", `x\2CCN=admin`, "x\x7f", "x\t", "%2CCN%3Dadmin", "x%22%3B", "ä,ö", "\u2028",
		strings.Repeat(`",`, 100),
	}
}

// TestNoValueIsTwo puts hostile values everywhere, and reads the header as carelessly as a service may.
func TestNoValueIsTwo(t *testing.T) {
	by := authority(t)
	p := build(t, dynamic.PassTLSClientCert{PEM: true, Info: everything()})
	attempts := 0
	for _, value := range hostile() {
		template := &x509.Certificate{Subject: named(
			"DC="+value, "C="+value, "ST="+value, "L="+value, "O="+value, "OU="+value, "SN="+value, "CN="+value,
		)}
		if ascii(value) {
			template.DNSNames, template.EmailAddresses = []string{value}, []string{value}
		}
		certificate := by.issue(t, template)
		_, passed := pass(t, p, of(certificate, certificate))
		attempts++
		for name, values := range passed {
			if len(values) != 1 || strings.ContainsAny(values[0], "\r\n\x00 \";") || strings.Contains(values[0], ",") &&
				name != certHeader {
				t.Errorf("%q: %s is %q", value, name, values)
			}
		}
		info, err := url.QueryUnescape(passed.Get(infoHeader))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range info {
			if r < ' ' || r == 0x7f {
				t.Errorf("%q: %q has control characters", value, info)
			}
		}
		half := info[:len(info)/2]
		if half+","+half != info {
			t.Fatalf("%q: two equal certificates are %q", value, info)
		}
		want := []string{"DC", "C", "ST", "L", "O", "OU", "SN", "CN"}
		if got := careless(half, "Subject"); fmt.Sprint(labels(got)) != fmt.Sprint(want) {
			t.Errorf("%q: the subject is read as %q", value, got)
		} else {
			for _, item := range got {
				_, read, _ := strings.Cut(item, "=")
				if decoded := unescape(t, read); decoded != value {
					t.Errorf("%q is read as %q", value, decoded)
				}
			}
		}
		if got := careless(half, "SAN"); ascii(value) && len(got) != 2 {
			t.Errorf("%q: the alternative names are read as %q", value, got)
		}
	}
	if attempts < 20 {
		t.Errorf("%d attempts", attempts)
	}
}

func ascii(value string) bool {
	return !strings.ContainsFunc(value, func(r rune) bool { return r > 0x7f })
}

// careless reads a field of one certificate by cutting at every separator.
func careless(info, name string) (items []string) {
	for field := range strings.SplitSeq(info, ";") {
		if value, found := strings.CutPrefix(field, name+"="); found {
			items = append(items, strings.Split(strings.Trim(value, `"`), ",")...)
		}
	}
	return items
}

func labels(items []string) (names []string) {
	for _, item := range items {
		name, _, _ := strings.Cut(item, "=")
		names = append(names, name)
	}
	return names
}

// unescape undoes what RFC 4514 does.
func unescape(t testing.TB, value string) string {
	t.Helper()
	var b strings.Builder
	for i := 0; i < len(value); i++ {
		if value[i] != '\\' {
			_ = b.WriteByte(value[i])
			continue
		}
		var c byte
		if _, err := fmt.Sscanf(value[i+1:i+3], "%02X", &c); err != nil {
			t.Fatalf("%q: %v", value, err)
		}
		_ = b.WriteByte(c)
		i += 2
	}
	return b.String()
}

// FuzzInfo has any values, of which each must come out as it went in.
func FuzzInfo(f *testing.F) {
	for _, value := range hostile() {
		f.Add(value, "client", int64(42))
		f.Add("client", value, int64(-1))
	}
	p := build(f, dynamic.PassTLSClientCert{Info: &dynamic.ClientCertificateFields{
		Subject: &dynamic.ClientCertificateSubject{Organization: true, CommonName: true}, SerialNumber: true, SANs: true,
	}})
	f.Fuzz(func(t *testing.T, organization, name string, serial int64) {
		certificate := &x509.Certificate{
			Subject:      pkix.Name{Organization: []string{organization, organization}, CommonName: name},
			SerialNumber: big.NewInt(serial), DNSNames: []string{name},
		}
		status, passed := pass(t, p, of(certificate))
		if status != http.StatusOK {
			if len(organization)+len(name) < 64<<10/30 {
				t.Fatalf("status %d", status)
			}
			return
		}
		info, err := url.QueryUnescape(passed.Get(infoHeader))
		if err != nil || len(passed) != 1 {
			t.Fatalf("%v, %v", passed, err)
		}
		var want []string
		for _, value := range []string{"O=" + organization, "O=" + organization, "CN=" + name} {
			if _, given, _ := strings.Cut(value, "="); given != "" {
				want = append(want, value)
			}
		}
		var got []string
		for _, item := range careless(info, "Subject") {
			got = append(got, unescape(t, item))
		}
		if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Errorf("%q is read as %q, want %q", info, got, want)
		}
		if number := careless(info, "SerialNumber"); len(number) != 1 || number[0] != big.NewInt(serial).String() {
			t.Errorf("the serial number is read as %q", number)
		}
	})
}

// FuzzCertificate has whatever the standard library takes for a certificate.
func FuzzCertificate(f *testing.F) {
	by := authority(f)
	f.Add(by.certificate.Raw)
	f.Add(by.issue(f, documented()).Raw)
	p := build(f, dynamic.PassTLSClientCert{PEM: true, Info: everything()})
	f.Fuzz(func(t *testing.T, raw []byte) {
		certificate, err := x509.ParseCertificate(raw)
		if err != nil {
			return
		}
		_, passed := pass(t, p, of(certificate))
		info, err := url.QueryUnescape(passed.Get(infoHeader))
		if err != nil || strings.Count(info, `Subject="`) > 1 || strings.ContainsAny(info, "\r\n\x00") {
			t.Errorf("the header says %q, error %v", info, err)
		}
	})
}

func TestNothingToDoDoesNotAllocate(t *testing.T) {
	handler := build(t, dynamic.PassTLSClientCert{PEM: true}).Wrap(http.HandlerFunc(func(http.ResponseWriter,
		*http.Request) {
	}))
	r := middlewaretest.Request(t, "GET /", "Accept: */*")
	if allocations := testing.AllocsPerRun(100, func() { handler.ServeHTTP(nil, r) }); allocations != 0 {
		t.Errorf("%v allocations", allocations)
	}
}

func BenchmarkPass(b *testing.B) {
	certificate := authority(b).issue(b, documented())
	for name, config := range map[string]dynamic.PassTLSClientCert{
		"pem": {PEM: true}, "info": {Info: everything()},
		"name":    {Info: &dynamic.ClientCertificateFields{Subject: &dynamic.ClientCertificateSubject{CommonName: true}}},
		"nothing": {PEM: true},
	} {
		b.Run(name, func(b *testing.B) {
			handler := build(b, config).Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			r := middlewaretest.Request(b, "GET /", "Accept: */*", "User-Agent: x", "Cookie: a=b")
			if name != "nothing" {
				r.TLS = of(certificate)
			}
			w := new(middlewaretest.Writer)
			b.ReportAllocs()
			for b.Loop() {
				handler.ServeHTTP(w, r)
			}
		})
	}
}
