package protocol

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// TestHTTP3TLS chooses certificates and options by SNI, answers 421 to requests for hosts with other options, and
// offers HTTP/3 for the hosts alone that a client can reach by it.
func TestHTTP3TLS(t *testing.T) {
	t.Parallel()
	f := startFortress(t)
	member, stranger := f.authority.Issue("member").Pair, harness.NewAuthority(t).Issue("stranger").Pair
	for host, name := range map[string]string{"a.test": "a.test", "b.test": "b.test", "x.wild.test": "wild"} {
		got := f.client(t, harness.H3, host, host).Get("/")
		if got.StatusCode != http.StatusOK || got.TLS.PeerCertificates[0].Subject.CommonName != name {
			t.Errorf("%s: status %d, certificate of %s", host, got.StatusCode, got.TLS.PeerCertificates[0].Subject)
		}
	}
	if got := f.client(t, harness.H3, "members.test", "members.test", member).Get("/"); got.StatusCode != http.StatusOK {
		t.Errorf("a member: status %d", got.StatusCode)
	}
	if got := f.client(t, harness.H3, "b.test", "x.wild.test").Get("/"); got.StatusCode != http.StatusOK {
		t.Errorf("another host with the same options: status %d", got.StatusCode)
	}
	seen := f.backend.Seen()
	for name, client := range map[string]*harness.Client{
		"no certificate": f.client(t, harness.H3, "members.test", "members.test"),
		"a stranger":     f.client(t, harness.H3, "members.test", "members.test", stranger),
		"TLS 1.2 alone":  f.client(t, harness.H3, "old.test", "old.test"),
	} {
		if got, err := client.Try(client.Request(http.MethodGet, "/", nil)); err == nil {
			t.Errorf("%s: status %d", name, got.StatusCode)
		}
	}
	for _, host := range []string{"members.test", "old.test"} {
		if got := f.client(t, harness.H3, "a.test", host).Get("/"); got.StatusCode != http.StatusMisdirectedRequest {
			t.Errorf("%s by the connection of a.test: status %d", host, got.StatusCode)
		}
	}
	if now := f.backend.Seen(); now != seen {
		t.Errorf("the backend got %d requests", now-seen)
	}
	_, port, _ := net.SplitHostPort(f.Addr("websecure"))
	for host, want := range map[string]string{"a.test": `h3=":` + port + `"; ma=86400`, "old.test": ""} {
		if got := f.client(t, harness.H2, host, host).Get("/").Header.Get("Alt-Svc"); got != want {
			t.Errorf("%s: Alt-Svc is %q, want %q", host, got, want)
		}
	}
}

// TestHTTP3OptionsChange changes the options of an open connection: its next request gets 421, and new connections use
// the new options.
func TestHTTP3OptionsChange(t *testing.T) {
	t.Parallel()
	f := startFortress(t)
	client := f.client(t, harness.H3, "a.test", "a.test")
	if got := client.Get("/"); got.StatusCode != http.StatusOK {
		t.Fatalf("status %d", got.StatusCode)
	}
	f.Apply(func() { f.Write("all.yaml", guardedTLS("members")) })
	if got := client.Get("/"); got.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("on the live connection: status %d", got.StatusCode)
	}
	if got, err := f.client(t, harness.H3, "a.test", "a.test").Try(client.Request(http.MethodGet, "/", nil)); err == nil {
		t.Errorf("a new connection without a certificate: status %d", got.StatusCode)
	}
	member := f.authority.Issue("member").Pair
	if got := f.client(t, harness.H3, "a.test", "a.test", member).Get("/"); got.StatusCode != http.StatusOK {
		t.Errorf("a new connection with a certificate: status %d", got.StatusCode)
	}
}

// TestHTTP3ForeignClients has clients of other implementations of QUIC download a body.
func TestHTTP3ForeignClients(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	address := w.sluice.Addr(entrypoint(harness.H3))
	host, port, _ := net.SplitHostPort(address)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	t.Run("ngtcp2", func(t *testing.T) {
		tool := foreign(t, "gtlsclient", "ngtcp2-client")
		dir := t.TempDir()
		// It changes its port and its keys while it waits for the second request.
		output, err := exec.CommandContext(ctx, tool, "--quiet", "--exit-on-all-streams-close", "--timeout=60s",
			"--handshake-timeout=60s", "--change-local-addr=100ms", "--key-update=50ms", "--delay-stream=300ms",
			"--download="+dir, "--sni=h1-bare.test", host, port,
			"https://h1-bare.test:"+port+"/bytes?size=3000000", "https://h1-bare.test:"+port+"/status?code=200",
		).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, output)
		}
		names, _ := filepath.Glob(filepath.Join(dir, "bytes*"))
		if len(names) != 1 {
			t.Fatalf("downloaded %v\n%s", names, output)
		}
		file, err := os.Open(names[0])
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = file.Close() }()
		if hash, n, err := harness.Hash(file); err != nil || n != 3000000 || hash != harness.PatternHash(n) {
			t.Errorf("%d bytes with the hash %s, error %v", n, hash, err)
		}
	})
	t.Run("Chromium", func(t *testing.T) {
		tool := foreign(t, "chromium", "chromium")
		output, err := exec.CommandContext(ctx, tool, "--headless", "--no-sandbox", "--disable-gpu",
			"--user-data-dir="+t.TempDir(), "--origin-to-force-quic-on=h1-bare.test:"+port,
			"--host-resolver-rules=MAP h1-bare.test "+host,
			"--ignore-certificate-errors-spki-list="+keyHash(t, w.sluice.Expand("${CERT}")),
			"--dump-dom", "https://h1-bare.test:"+port+"/echo").Output()
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(output), "X-Forwarded-Proto") {
			t.Errorf("got %s", output)
		}
	})
}

// foreign returns the path of a program, or skips the test.
func foreign(t *testing.T, tool, debian string) string {
	t.Helper()
	path, err := exec.LookPath(tool)
	if err != nil {
		t.Skipf("missing tool: %s (Debian's %s)", tool, debian)
	}
	return path
}

// keyHash returns the hash of a certificate's key in the form that Chromium takes.
func keyHash(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	hash := sha256.Sum256(certificate.RawSubjectPublicKeyInfo)
	return base64.StdEncoding.EncodeToString(hash[:])
}
