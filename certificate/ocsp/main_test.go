package ocsp_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	wire "golang.org/x/crypto/ocsp"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/certificate/ocsp"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// mustStaple is the TLS feature extension with status_request (RFC 7633).
var mustStaple = pkix.Extension{
	Id: []int{1, 3, 6, 1, 5, 5, 7, 1, 24}, Value: []byte{0x30, 3, 2, 1, 5},
}

const url = "http://ocsp.test/"

// authority issues certificates and OCSP responses.
type authority struct {
	t    *testing.T
	key  crypto.Signer
	cert *x509.Certificate
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func parse(t *testing.T, der []byte, err error) *x509.Certificate {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "issuer"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(365 * 24 * time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return &authority{t: t, key: key, cert: parse(t, der, err)}
}

// entry issues a certificate for shop.test with the serial number serial, as an entry of a set.
func (a *authority) entry(serial int64, extensions []pkix.Extension, urls ...string) certificate.Entry {
	a.t.Helper()
	key := newKey(a.t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), DNSNames: []string{"shop.test"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(90 * 24 * time.Hour), OCSPServer: urls, ExtraExtensions: extensions,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	chain := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return certificate.Entry{Name: "shop@file", Certificate: dynamic.Certificate{
		CertFile: string(append(chain, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})...)),
		KeyFile:  string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})),
	}}
}

// delegate issues the certificate of a responder.
func (a *authority) delegate(key crypto.Signer, end time.Time, uses ...x509.ExtKeyUsage) *x509.Certificate {
	a.t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(99), Subject: pkix.Name{CommonName: "responder"}, NotBefore: end.Add(-48 * time.Hour),
		NotAfter: end, ExtKeyUsage: uses,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	return parse(a.t, der, err)
}

// response makes a response that is good from an hour ago for three hours, unless the template has other values.
func (a *authority) response(request *wire.Request, template wire.Response) []byte {
	if template.SerialNumber == nil {
		template.SerialNumber = request.SerialNumber
	}
	if template.ThisUpdate.IsZero() {
		template.ThisUpdate = time.Now().Add(-time.Hour)
	}
	if template.NextUpdate.IsZero() {
		template.NextUpdate = template.ThisUpdate.Add(4 * time.Hour)
	}
	der, err := wire.CreateResponse(a.cert, a.cert, template, a.key)
	if err != nil {
		a.t.Error(err)
	}
	return der
}

// answers is a responder: it returns the body of a response, or nil for none.
type answers func(request *wire.Request) []byte

func (f answers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := http.MaxBytesReader(w, r.Body, 4096)
	text := make([]byte, 4096)
	n := 0
	for {
		more, err := body.Read(text[n:])
		if n += more; err != nil {
			break
		}
	}
	request, err := wire.ParseRequest(text[:n])
	if err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/ocsp-request" {
		http.Error(w, "no OCSP request", http.StatusBadRequest)
		return
	}
	response := f(request)
	if response == nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write(response)
}

// network sends requests to handlers by host, within a bubble of testing/synctest.
type network map[string]http.Handler

var errUnreachable = errors.New("connection refused")

func (n network) RoundTrip(r *http.Request) (*http.Response, error) {
	handler := n[r.URL.Host]
	if handler == nil {
		return nil, errUnreachable
	}
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, r)
	return recorder.Result(), nil
}

// fixture is a Stapler that runs with a set.
type fixture struct {
	*ocsp.Stapler
	t    *testing.T
	set  *certificate.Set
	stop func()
}

// begin runs a Stapler with entries until its stop.
func begin(t *testing.T, options ocsp.Options, entries ...certificate.Entry) *fixture {
	t.Helper()
	if options.Logger == nil {
		options.Logger = telemetry.Discard{}
	}
	f := &fixture{t: t, Stapler: ocsp.New(options)}
	f.use(entries...)
	done := make(chan struct{})
	ctx, cancel := contextOf(t)
	go func() {
		defer close(done)
		f.Run(ctx)
	}()
	f.stop = func() {
		cancel()
		<-done
	}
	return f
}

// use serves other entries.
func (f *fixture) use(entries ...certificate.Entry) {
	f.t.Helper()
	set, problems := certificate.NewSet(entries, f.set)
	for _, problem := range problems {
		f.t.Error(problem.Name, problem.Err)
	}
	f.set = set
	var served []certificate.Served
	for i, entry := range entries {
		served = append(served, certificate.Served{
			Pair: set.Pair(i), Objects: []dynamic.Ref{{Kind: dynamic.KindCertificate, Name: entry.Name}},
		})
	}
	f.Serve(served)
}

// status returns the state of the first entry.
func (f *fixture) status() ocsp.Status {
	status, _ := f.Status(f.set.Pair(0).Fingerprint)
	return status
}

// staple returns what a client gets in a handshake over a pipe.
func (f *fixture) staple() []byte {
	f.t.Helper()
	here, there := net.Pipe()
	options, err := certificate.NewOptions("default", nil, func() *certificate.Set { return f.set }, nil, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		server := tls.Server(there, options.Config())
		_ = server.HandshakeContext(f.t.Context())
		_ = there.Close()
	}()
	settings := &tls.Config{ServerName: "shop.test", InsecureSkipVerify: true} //nolint:gosec // The staple is tested.
	client := tls.Client(here, settings)
	if err := client.HandshakeContext(f.t.Context()); err != nil {
		f.t.Error(err)
	}
	_ = here.Close()
	<-done
	return client.OCSPResponse()
}

// pass lets time go by in a bubble, and all goroutines come to rest.
func pass(d time.Duration) {
	<-time.NewTimer(d).C
	synctest.Wait()
}
