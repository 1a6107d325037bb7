package certificate_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/dynamic"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// issued is a certificate made for a test.
type issued struct {
	cert, key []byte
	leaf      *x509.Certificate
	signer    crypto.Signer
}

func (i issued) inline() dynamic.Certificate {
	return dynamic.Certificate{CertFile: string(i.cert), KeyFile: string(i.key)}
}

func (i issued) pair(t *testing.T) tls.Certificate {
	t.Helper()
	pair, err := tls.X509KeyPair(i.cert, i.key)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// write stores certificate and key as files.
func (i issued) write(t *testing.T) dynamic.Certificate {
	t.Helper()
	dir := t.TempDir()
	c := dynamic.Certificate{CertFile: filepath.Join(dir, "tls.crt"), KeyFile: filepath.Join(dir, "tls.key")}
	for name, text := range map[string][]byte{c.CertFile: i.cert, c.KeyFile: i.key} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func issue(t *testing.T, template x509.Certificate, signer crypto.Signer, parent *issued) issued {
	t.Helper()
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber = serial
	if template.NotBefore.IsZero() {
		template.NotBefore = time.Now().Add(-time.Hour)
	}
	if template.NotAfter.IsZero() {
		template.NotAfter = time.Now().Add(24 * time.Hour)
	}
	issuer, issuerKey := &template, signer
	if parent != nil {
		issuer, issuerKey = parent.leaf, parent.signer
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, issuer, signer.Public(), issuerKey)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(signer)
	if err != nil {
		t.Fatal(err)
	}
	return issued{
		cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		key:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}),
		leaf: leaf, signer: signer,
	}
}

func newECDSA(t *testing.T) crypto.Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func newRSA(t *testing.T) crypto.Signer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// issueFor makes an ECDSA certificate for names.
func issueFor(t *testing.T, names ...string) issued {
	t.Helper()
	return issue(t, x509.Certificate{DNSNames: names}, newECDSA(t), nil)
}

// newAuthority makes a certificate authority for clients.
func newAuthority(t *testing.T, name string) issued {
	t.Helper()
	return issue(t, x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, newECDSA(t), nil)
}

// issueClient makes a client certificate.
func (i issued) issueClient(t *testing.T) issued {
	t.Helper()
	return issue(t, x509.Certificate{
		Subject: pkix.Name{CommonName: "client"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, newECDSA(t), &i)
}

// shake makes a handshake over the loopback interface, in which the server sends one byte, and returns the client's
// state.
func shake(t *testing.T, server, client *tls.Config) (tls.ConnectionState, error) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		secure := tls.Server(conn, server)
		if secure.HandshakeContext(t.Context()) == nil {
			_, _ = secure.Write([]byte{1})
			_ = secure.CloseWrite()
			_, _ = secure.Read(make([]byte, 1))
		}
	}()
	defer func() { <-done }()
	raw, err := new(net.Dialer).DialContext(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = raw.Close() }()
	conn := tls.Client(raw, client)
	if err := conn.HandshakeContext(t.Context()); err != nil {
		return tls.ConnectionState{}, err
	}
	// The byte comes after the session ticket and after the server has checked the client's certificate (TLS 1.3).
	if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
		return tls.ConnectionState{}, err
	}
	return conn.ConnectionState(), nil
}

// blind returns a client that does not verify certificates.
func blind(serverName string) *tls.Config {
	return &tls.Config{ServerName: serverName, InsecureSkipVerify: true, MinVersion: tls.VersionTLS10} //nolint:gosec // The tests look at the certificate themselves.
}

// pass lets time go by in a bubble of testing/synctest.
func pass(d time.Duration) { <-time.NewTimer(d).C }
