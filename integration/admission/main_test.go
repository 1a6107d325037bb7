package admission

import (
	"crypto/hmac"
	"crypto/md5" //nolint:gosec // RFC 7616.
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// static is a Sluice with and without TLS, and one entrypoint behind a proxy that it trusts.
const static = `
entryPoints:
  web: {address: "127.0.0.1:0"}
  websecure: {address: "127.0.0.1:0", http: {tls: {}}}
  trusting: {address: "127.0.0.1:0", forwardedHeaders: {trustedIPs: ["127.0.0.0/8"]},
    proxyProtocol: {trustedIPs: ["127.0.0.0/8"]}}
  traefik: {address: "127.0.0.1:0"}
ping: {}
api: {insecure: true}
providers:
  providersThrottleDuration: 50ms
  file: {directory: "${DYNAMIC}", watch: true}
`

// signing signs tokens, and password is ann's.
const (
	signing  = "a secret that is long enough for HS256"
	password = "secret"
)

func basicLine(password string) string {
	sum := sha1.Sum([]byte(password)) //nolint:gosec // What htpasswd -s writes.
	return "ann:{SHA}" + base64.StdEncoding.EncodeToString(sum[:])
}

func digestLine(password string) string { return "ann:traefik:" + hash("ann:traefik:"+password) }

func hash(text string) string {
	sum := md5.Sum([]byte(text)) //nolint:gosec // RFC 7616.
	return hex.EncodeToString(sum[:])
}

// bearer returns a token of ann by HS256 (RFC 7519).
func bearer(secret string) string {
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode([]byte(`{"alg":"HS256"}`)) + "." + encode(fmt.Appendf(nil, `{"sub":"ann","exp":%d}`,
		time.Now().Add(time.Hour).Unix()))
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = mac.Write([]byte(signed))
	return "Bearer " + signed + "." + encode(mac.Sum(nil))
}

// basic returns ann's credentials.
func basic(password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte("ann:"+password))
}

var nonces = regexp.MustCompile(`nonce="([^"]*)".*opaque="([^"]*)"`)

// digest answers a challenge for one request.
func digest(challenge, method, uri, password string) string {
	found := nonces.FindStringSubmatch(challenge)
	if found == nil {
		return "Digest"
	}
	response := hash(hash("ann:traefik:"+password) + ":" + found[1] + ":00000001:c:auth:" + hash(method+":"+uri))
	return fmt.Sprintf(`Digest username="ann", realm="traefik", nonce=%q, uri=%q, algorithm=MD5, qop=auth, `+
		`nc=00000001, cnonce="c", response=%q, opaque=%q`,
		found[1], uri, response, found[2])
}

// get requests a path of a host with a value of Authorization, and returns the status.
func get(t *testing.T, client *harness.Client, host, authorization string) int {
	t.Helper()
	request := client.Request(http.MethodGet, "/x", nil)
	request.Host = host
	if authorization != "" {
		request.Header.Set("Authorization", authorization)
	}
	return client.Send(request).StatusCode
}

// getDigest is get for digestAuth, with a request for a challenge first.
func getDigest(t *testing.T, client *harness.Client, host, password string) int {
	t.Helper()
	request := client.Request(http.MethodGet, "/x", nil)
	request.Host = host
	challenged := client.Send(request)
	if challenged.StatusCode != http.StatusUnauthorized {
		return challenged.StatusCode
	}
	return get(t, client, host, digest(challenged.Header.Get("Www-Authenticate"), http.MethodGet, "/x", password))
}

// bounded is within what a change of a file must count.
const bounded = 10 * time.Second

// until polls a condition until it is true, within a time.
func until(t *testing.T, within time.Duration, what string, yes func() bool) {
	t.Helper()
	deadline := time.Now().Add(within)
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for !yes() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not so within %v", what, within)
		}
		<-ticker.C
	}
}

// replace puts a file into place by a rename.
func replace(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.WriteFile(path+".draft", []byte(text), 0o600))
	must(t, os.Rename(path+".draft", path))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// backticks writes @ for `, which Go's raw strings can't hold.
func backticks(text string) string { return strings.ReplaceAll(text, "@", "`") }
