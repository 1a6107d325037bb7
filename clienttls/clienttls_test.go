package clienttls

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
)

// pair is a certificate and its key as PEM.
type pair struct{ cert, key string }

func issue(t testing.TB) pair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "peer"}, DNSNames: []string{"peer"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pair{
		cert: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		key:  string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})),
	}
}

func write(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// handshake returns the number of certificates that a server gets from a client with this configuration, and the
// handshake error.
func handshake(t *testing.T, client *tls.Config, server pair) (int, error) {
	t.Helper()
	own, err := tls.X509KeyPair([]byte(server.cert), []byte(server.key))
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // It takes no time.
	if err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{
		Certificates: []tls.Certificate{own}, ClientAuth: tls.RequestClientCert,
		MinVersion: tls.VersionTLS12,
	}
	seen := make(chan int, 1)
	go func() {
		accepted, err := tls.NewListener(listener, config).Accept()
		if err != nil {
			seen <- -1
			return
		}
		defer accepted.Close() //nolint:errcheck // Nothing is lost.
		_ = accepted.(*tls.Conn).HandshakeContext(context.Background())
		seen <- len(accepted.(*tls.Conn).ConnectionState().PeerCertificates)
	}()
	asked := client.Clone()
	asked.ServerName = "peer"
	dialed, err := (&tls.Dialer{Config: asked}).DialContext(t.Context(), "tcp", listener.Addr().String())
	shown := <-seen
	if err == nil {
		_ = dialed.Close()
	}
	_ = listener.Close()
	return shown, err
}

func TestConnections(t *testing.T) {
	server, client, other := issue(t), issue(t), issue(t)
	for name, test := range map[string]struct {
		config   Options
		accepted bool
		shown    int
	}{
		"system":                 {Options{}, false, 0},
		"authority as text":      {Options{CA: server.cert}, true, 0},
		"authority in a file":    {Options{CA: write(t, "ca.pem", server.cert)}, true, 0},
		"one of two authorities": {Options{CA: other.cert + server.cert}, true, 0},
		"another authority":      {Options{CA: other.cert}, false, 0},
		"unverified":             {Options{InsecureSkipVerify: true}, true, 0},
		"unverified, with a CA":  {Options{InsecureSkipVerify: true, CA: other.cert}, true, 0},
		"certificate as text":    {Options{CA: server.cert, Cert: client.cert, Key: client.key}, true, 1},
		"certificate in files": {Options{
			CA: server.cert, Cert: write(t, "c", client.cert),
			Key: write(t, "k", client.key),
		}, true, 1},
		"certificate in file and text": {
			Options{CA: server.cert, Cert: write(t, "c", client.cert), Key: client.key},
			true,
			1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			config, err := New("x.tls", &test.config, nil)
			if err != nil {
				t.Fatal(err)
			}
			shown, err := handshake(t, config, server)
			if (err == nil) != test.accepted || shown != test.shown {
				t.Errorf("the handshake ends with %v, and the server sees %d certificates", err, shown)
			}
			if config.MinVersion != tls.VersionTLS12 {
				t.Errorf("the oldest version is %x", config.MinVersion)
			}
		})
	}
}

func TestNone(t *testing.T) {
	config, fingerprint, err := Load("x.tls", nil, nil)
	if config != nil || err != nil || fingerprint != (Fingerprint{}) {
		t.Errorf("%v, %v, %v", config, fingerprint, err)
	}
}

func TestErrors(t *testing.T) {
	one, other := issue(t), issue(t)
	body := strings.ReplaceAll(strings.Join(strings.Split(strings.TrimSpace(one.key), "\n")[1:4], ""), "\r", "")
	if _, err := base64.StdEncoding.DecodeString(body); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		config Options
		want   string
	}{
		"missing ca": {Options{CA: "/nowhere/ca.pem"}, "x.tls.ca: open /nowhere/ca.pem: no such file"},
		"ca and skip": {
			Options{CA: "/nowhere/ca.pem", InsecureSkipVerify: true},
			"x.tls.ca: open /nowhere/ca.pem: no such file",
		},
		"ca is a folder": {Options{CA: t.TempDir()}, "x.tls.ca: "},
		"ca is a key":    {Options{CA: one.key}, "x.tls.ca (inline PEM) holds no certificate"},
		"broken ca": {
			Options{CA: one.cert[:100] + "\n-----END CERTIFICATE-----\n"},
			"x.tls.ca (inline PEM) holds no certificate",
		},
		"cert alone":    {Options{Cert: one.cert}, "x.tls.cert and x.tls.key belong together"},
		"key alone":     {Options{Key: one.key}, "x.tls.cert and x.tls.key belong together"},
		"another's key": {Options{Cert: one.cert, Key: other.key}, "x.tls.cert and x.tls.key: "},
		"swapped":       {Options{Cert: one.key, Key: one.cert}, "x.tls.cert and x.tls.key: "},
		"missing key": {
			Options{Cert: one.cert, Key: "/nowhere/key.pem"},
			"x.tls.key: open /nowhere/key.pem: no such file",
		},
		"key without armour": {Options{Cert: one.cert, Key: body}, "x.tls.key is neither a path nor PEM text"},
		"key as a ca":        {Options{CA: body}, "x.tls.ca is neither a path nor PEM text"},
		"key with line break": {
			Options{Cert: one.cert, Key: body[:64] + "\n" + body[64:]},
			"x.tls.key is neither a path nor PEM text",
		},
		"short key":     {Options{Cert: one.cert, Key: "c2VjcmV0=="}, "x.tls.key is neither a path nor PEM text"},
		"half of a key": {Options{Cert: one.cert, Key: one.key[:80]}, "x.tls.cert and x.tls.key: "},
	} {
		t.Run(name, func(t *testing.T) {
			config, err := New("x.tls", &test.config, nil)
			if config != nil || err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Fatalf("%q is wanted, the error is %v", test.want, err)
			}
			for _, secret := range []string{body[:16], body[40:56], "-----BEGIN"} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("the error shows what it was given: %v", err)
				}
			}
		})
	}
}

// The fingerprint follows everything that was read, and nothing else.
func TestFingerprint(t *testing.T) {
	one, other := issue(t), issue(t)
	path := write(t, "ca.pem", one.cert)
	load := func(config Options) Fingerprint {
		t.Helper()
		_, fingerprint, err := Load("x.tls", &config, nil)
		if err != nil {
			t.Fatal(err)
		}
		return fingerprint
	}
	before := load(Options{CA: path})
	if load(Options{CA: path}) != before || load(Options{CA: one.cert}) != before {
		t.Error("the same content has two fingerprints")
	}
	seen := map[Fingerprint]string{{}: "no TLS", before: "ca"}
	for name, config := range map[string]Options{
		"empty":    {},
		"insecure": {CA: path, InsecureSkipVerify: true},
		"cert":     {CA: path, Cert: one.cert, Key: one.key},
		"other":    {CA: path, Cert: other.cert, Key: other.key},
	} {
		fingerprint := load(config)
		if same, ok := seen[fingerprint]; ok {
			t.Errorf("%s has the fingerprint of %s", name, same)
		}
		seen[fingerprint] = name
	}
	if err := os.WriteFile(path, []byte(other.cert), 0o600); err != nil {
		t.Fatal(err)
	}
	if load(Options{CA: path}) == before {
		t.Error("a file that changed is not reported")
	}
}

// The given function reads each file once; inline text is not read.
func TestReadFile(t *testing.T) {
	server, client := issue(t), issue(t)
	files := map[string]string{"ca": server.cert, "cert": client.cert, "key": client.key, "huge": strings.Repeat("#",
		maxFile+1)}
	var asked []string
	readFile := func(path string) ([]byte, error) {
		asked = append(asked, path)
		if text, ok := files[path]; ok {
			return []byte(text), nil
		}
		return nil, os.ErrPermission
	}
	config, err := New("x.tls", &Options{CA: "ca", Cert: "cert", Key: "key"}, readFile)
	if err != nil {
		t.Fatal(err)
	}
	if shown, err := handshake(t, config, server); err != nil || shown != 1 {
		t.Errorf("the handshake ends with %v, and the server sees %d certificates", err, shown)
	}
	if _, err := New("x.tls", &Options{CA: server.cert, Cert: client.cert, Key: client.key}, readFile); err != nil {
		t.Error(err)
	}
	if got := strings.Join(asked, " "); got != "ca cert key" {
		t.Errorf("read %q", got)
	}
	for path, want := range map[string]string{
		"other": "x.tls.ca: permission denied",
		"huge":  "x.tls.ca: huge is larger than 4194304 bytes",
	} {
		if config, err := New("x.tls", &Options{CA: path}, readFile); config != nil || err == nil || err.Error() != want {
			t.Errorf("%q is wanted, the error is %v", want, err)
		}
	}
}

func TestOptionsOf(t *testing.T) {
	optional := true
	config := &dynamic.ClientTLS{CA: "a", CAOptional: &optional, Cert: "c", Key: "k", InsecureSkipVerify: true}
	if got, want := *OptionsOf(config), (Options{CA: "a", Cert: "c", Key: "k", InsecureSkipVerify: true}); got != want {
		t.Errorf("options %+v, want %+v", got, want)
	}
	if OptionsOf(nil) != nil {
		t.Error("nil has options")
	}
}
