package admission

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// filed has one middleware for each option that names a file.
const filed = `
http:
  routers:
    basic: {rule: "Host(@basic.test@)", service: one, middlewares: [basic]}
    digest: {rule: "Host(@digest.test@)", service: one, middlewares: [digest]}
    signed: {rule: "Host(@signed.test@)", service: one, middlewares: [signed]}
    public: {rule: "Host(@public.test@)", service: one, middlewares: [public]}
    set: {rule: "Host(@set.test@)", service: one, middlewares: [set]}
    forward: {rule: "Host(@forward.test@)", service: one, middlewares: [forward]}
    below: {rule: "PathPrefix(@/@)", priority: 1, service: below}
  middlewares:
    basic: {basicAuth: {usersFile: "${FILES}/basic/users"}}
    digest: {digestAuth: {usersFile: "${FILES}/digest"}}
    signed: {jwt: {signingSecretFile: "${FILES}/signed"}}
    public: {jwt: {publicKeyFile: "${FILES}/public"}}
    set: {jwt: {jwksFile: "${FILES}/set"}}
    forward: {forwardAuth: {address: "https://${AUTH}/", tls: {ca: "${FILES}/authority"}}}
  services:
    one: {loadBalancer: {servers: [{url: "http://${ONE}"}]}}
    below: {loadBalancer: {servers: [{url: "http://${BELOW}"}]}}
`

// signer is a key of ES256.
type signer struct{ key *ecdsa.PrivateKey }

func newSigner(t *testing.T) signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	return signer{key}
}

func (s signer) token(t *testing.T) string {
	t.Helper()
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode([]byte(`{"alg":"ES256"}`)) + "." + encode(fmt.Appendf(nil, `{"sub":"ann","exp":%d}`,
		time.Now().Add(time.Hour).Unix()))
	sum := sha256.Sum256([]byte(signed))
	r, v, err := ecdsa.Sign(rand.Reader, s.key, sum[:])
	must(t, err)
	return "Bearer " + signed + "." + encode(append(r.FillBytes(make([]byte, 32)), v.FillBytes(make([]byte, 32))...))
}

func (s signer) pem(t *testing.T) string {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(s.key.Public())
	must(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}

func (s signer) set(t *testing.T) string {
	t.Helper()
	point, err := s.key.PublicKey.Bytes()
	must(t, err)
	encode := base64.RawURLEncoding.EncodeToString
	return fmt.Sprintf(`{"keys": [{"kty": "EC", "crv": "P-256", "x": %q, "y": %q}]}`, encode(point[1:33]),
		encode(point[33:]))
}

// filing is one option that names a file.
type filing struct {
	// name is that of the middleware, and file what the verdict must hold.
	name, file string
	// first, second and broken are contents; hidden is in the broken one and in no output.
	first, second, broken string
	// one and two send what the first and the second content accept.
	one, two func(t *testing.T, client *harness.Client) int
	publish  func(t *testing.T, text string)
}

const hidden = "h1ddenContent"

// TestFilesAreReadAgain replaces each file: the new content is used and the old one is not, an invalid one is reported
// while the last valid one stays in use, no other router takes the requests, and a repaired one is used again.
func TestFilesAreReadAgain(t *testing.T) {
	t.Parallel()
	files := t.TempDir()
	one, below := harness.StartBackend(t, "one", nil), harness.StartBackend(t, "below", nil)
	first, second := harness.NewAuthority(t), harness.NewAuthority(t)
	auth := newRenewed(t)
	filings := newFilings(t, files, first, second)
	pairs := []tls.Certificate{first.Issue("127.0.0.1").Pair, second.Issue("127.0.0.1").Pair}
	last := &filings[len(filings)-1]
	last.one, last.two = auth.ask(pairs[0]), auth.ask(pairs[1])
	for _, f := range filings {
		f.publish(t, f.first)
	}
	s := harness.Start(t, harness.Setup{
		Static: static, Dynamic: map[string]string{"all.yaml": backticks(filed)},
		Vars: map[string]string{
			"FILES": files, "ONE": one.H1, "BELOW": below.H1,
			"AUTH": auth.server.Listener.Addr().String(),
		},
		Args: []string{"--log.level=DEBUG"},
	})
	client := harness.NewClient(t, harness.H1, s.Addr("web"), "any.test", nil)
	prove(t, s, client, filings)
	if seen := below.Seen(); seen != 0 {
		t.Errorf("the router below took %d requests", seen)
	}
	s.Stop()
	if strings.Contains(s.Log.String(), hidden) {
		t.Errorf("the log holds what is in a file:\n%s", s.Log)
	}
}

// renewed is an authentication server whose certificate can be replaced.
type renewed struct {
	server *httptest.Server
	pair   atomic.Pointer[tls.Certificate]
}

func newRenewed(t *testing.T) *renewed {
	t.Helper()
	a := &renewed{server: httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))}
	a.server.Config.ErrorLog = log.New(io.Discard, "", 0) // That it is not trusted is part of the test.
	a.server.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		return &tls.Config{Certificates: []tls.Certificate{*a.pair.Load()}}, nil
	}}
	a.pair.Store(&tls.Certificate{})
	a.server.StartTLS()
	t.Cleanup(a.server.Close)
	return a
}

// ask sends a request while the server presents a certificate.
func (a *renewed) ask(pair tls.Certificate) func(*testing.T, *harness.Client) int {
	return func(t *testing.T, client *harness.Client) int {
		t.Helper()
		a.pair.Store(&pair)
		a.server.CloseClientConnections()
		return get(t, client, "forward.test", "")
	}
}

// prove goes through all of it with all files at a time, since each change takes a while to be seen.
func prove(t *testing.T, s *harness.Sluice, client *harness.Client, filings []filing) {
	t.Helper()
	for _, f := range filings {
		if got := [2]int{f.one(t, client), f.two(t, client)}; got[0] != http.StatusOK || got[1] == http.StatusOK {
			t.Errorf("%s at first: %d", f.name, got)
		}
		f.publish(t, f.second)
	}
	for _, f := range filings {
		until(t, bounded, f.name+": the second content counts", func() bool { return f.two(t, client) == http.StatusOK })
		if got := f.one(t, client); got == http.StatusOK {
			t.Errorf("%s: what the first content let in gets in still", f.name)
		}
		f.publish(t, f.broken)
	}
	for _, f := range filings {
		f.expectVerdict(t, s)
	}
	for _, f := range filings {
		if got := [2]int{f.one(t, client), f.two(t, client)}; got[0] == http.StatusOK || got[1] != http.StatusOK {
			t.Errorf("%s: with broken content the last valid one does not count: %d", f.name, got)
		}
		f.publish(t, f.first)
	}
	for _, f := range filings {
		until(t, bounded, f.name+": the mended content counts", func() bool { return f.one(t, client) == http.StatusOK })
		if got := f.two(t, client); got == http.StatusOK {
			t.Errorf("%s: what the second content let in gets in again", f.name)
		}
	}
}

// expectVerdict expects a verdict that names the file, and nothing of what is in it.
func (f filing) expectVerdict(t *testing.T, s *harness.Sluice) {
	t.Helper()
	var found harness.Finding
	ready := s.Until("the verdict about "+f.name, func(r harness.Readiness) bool {
		for _, verdict := range r.Verdicts {
			if verdict.Kind == "middleware" && verdict.Name == f.name+"@file" {
				found = verdict
			}
		}
		return found.Reason != ""
	})
	if !strings.Contains(found.Reason, f.file) {
		t.Errorf("the verdict does not name %s: %s", f.file, found.Reason)
	}
	if text := fmt.Sprint(ready.Verdicts); strings.Contains(text, hidden) {
		t.Errorf("a verdict holds what is in a file: %s", text)
	}
}

func newFilings(t *testing.T, files string, first, second *harness.Authority) []filing {
	t.Helper()
	read := func(path string) string {
		text, err := os.ReadFile(path)
		must(t, err)
		return string(text)
	}
	renamed := func(name string) func(*testing.T, string) {
		return func(t *testing.T, text string) { t.Helper(); replace(t, filepath.Join(files, name), text) }
	}
	asks := func(host, authorization string) func(*testing.T, *harness.Client) int {
		return func(t *testing.T, client *harness.Client) int { t.Helper(); return get(t, client, host, authorization) }
	}
	digests := func(password string) func(*testing.T, *harness.Client) int {
		return func(t *testing.T, client *harness.Client) int {
			t.Helper()
			return getDigest(t, client, "digest.test", password)
		}
	}
	old, young := newSigner(t), newSigner(t)
	return []filing{
		{
			name: "basic", file: "usersFile " + files + "/basic/users line 2", first: basicLine("one"), second: basicLine("two"),
			broken: basicLine("two") + "\nbob " + hidden, one: asks("basic.test", basic("one")),
			two: asks("basic.test", basic("two")), publish: mounted(files),
		},
		{
			name: "digest", file: "usersFile " + files + "/digest line 1", first: digestLine("one"), second: digestLine("two"),
			broken: "ann:traefik:" + hidden, one: digests("one"), two: digests("two"), publish: renamed("digest"),
		},
		{
			name: "signed", file: "jwt.signingSecretFile", first: signing + "1", second: signing + "2", broken: hidden,
			one: asks("signed.test", bearer(signing+"1")), two: asks("signed.test", bearer(signing+"2")),
			publish: renamed("signed"),
		},
		{
			name: "public", file: "jwt.publicKeyFile", first: old.pem(t), second: young.pem(t), broken: hidden,
			one: asks("public.test", old.token(t)), two: asks("public.test", young.token(t)), publish: renamed("public"),
		},
		{
			name: "set", file: "jwt.jwksFile", first: old.set(t), second: young.set(t), broken: `{"keys": "` + hidden,
			one: asks("set.test", old.token(t)), two: asks("set.test", young.token(t)), publish: renamed("set"),
		},
		{
			name: "forward", file: files + "/authority", first: read(first.File), second: read(second.File), broken: hidden,
			publish: renamed("authority"),
		},
	}
}

// mounted publishes a file as the kubelet does with a Secret: in a new directory, behind a symlink that is swapped.
func mounted(files string) func(*testing.T, string) {
	n := 0
	return func(t *testing.T, text string) {
		t.Helper()
		n++
		root, version := filepath.Join(files, "basic"), fmt.Sprint("..", n)
		must(t, os.MkdirAll(filepath.Join(root, version), 0o755))
		must(t, os.WriteFile(filepath.Join(root, version, "users"), []byte(text), 0o600))
		must(t, os.Symlink(version, filepath.Join(root, "..tmp")))
		must(t, os.Rename(filepath.Join(root, "..tmp"), filepath.Join(root, "..data")))
		if n == 1 {
			must(t, os.Symlink(filepath.Join("..data", "users"), filepath.Join(root, "users")))
			return
		}
		must(t, os.RemoveAll(filepath.Join(root, fmt.Sprint("..", n-1))))
	}
}
