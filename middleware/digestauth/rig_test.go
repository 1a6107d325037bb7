package digestauth

import (
	"crypto/md5" //nolint:gosec // As in the product.
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
	"github.com/sluiceproxy/sluice/telemetry"
)

func md5Of(text string) string {
	sum := md5.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}

func sha256Of(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// ann's password is "secret", in the default realm.
func ann() string { return "ann:traefik:" + md5Of("ann:traefik:secret") }

func build(t testing.TB, config dynamic.DigestAuth) *DigestAuth {
	t.Helper()
	if config.Users == nil && config.UsersFile == "" {
		config.Users = []string{ann()}
	}
	step, err := New("auth@file", config, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return step
}

// answer is what came of a request.
type answered struct {
	status     int
	challenges []string
	head       http.Header // of the answer
	body       string
	passed     http.Header // of the request that the service got, or nil
	record     telemetry.Record
}

// serve sends a request through the middleware.
func serve(t testing.TB, step *DigestAuth, r *http.Request) (got answered) {
	t.Helper()
	w := &recorder{}
	r = r.WithContext(telemetry.WithRecord(r.Context(), &got.record))
	step.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got.passed = r.Header })).ServeHTTP(w, r)
	got.status, got.head, got.body, got.challenges = w.Status, w.Header(), w.body.String(), w.Header()["Www-Authenticate"]
	if got.status == 0 {
		got.status = http.StatusOK
	}
	return got
}

type recorder struct {
	middlewaretest.Writer
	body strings.Builder
}

// Write keeps the body.
func (r *recorder) Write(body []byte) (int, error) {
	r.body.Write(body)
	return r.Writer.Write(body)
}

// client answers challenges as RFC 7616 section 3.4 has it.
type client struct {
	user, password, method, uri string
	nc                          int
	nonce, opaque, realm        string
	sha256                      bool
	qop                         string
}

// challenged returns a client that was challenged by the middleware.
func challenged(t testing.TB, step *DigestAuth) *client {
	t.Helper()
	c := &client{user: "ann", password: "secret", method: http.MethodGet, uri: "/", realm: "traefik", qop: "auth"}
	got := serve(t, step, middlewaretest.Request(t, "GET /"))
	if got.status != http.StatusUnauthorized || len(got.challenges) == 0 {
		t.Fatalf("answers %d %q", got.status, got.challenges)
	}
	c.listen(got.challenges[0])
	return c
}

// listen takes the nonce and opaque of a challenge.
func (c *client) listen(challenge string) {
	c.nonce, c.opaque, c.nc = parameter(challenge, "nonce"), parameter(challenge, "opaque"), 0
}

func parameter(challenge, name string) string {
	_, rest, _ := strings.Cut(challenge, name+`="`)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}

func (c *client) hash(text string) string {
	if c.sha256 {
		return sha256Of(text)
	}
	return md5Of(text)
}

// response returns the proof.
func (c *client) response() string {
	nc := fmt.Sprintf("%08x", c.nc)
	return c.hash(strings.Join([]string{
		c.hash(c.user + ":" + c.realm + ":" + c.password), c.nonce, nc, "0a4f", c.qop, c.hash(c.method + ":" + c.uri),
	}, ":"))
}

// authorization returns the header for the next request.
func (c *client) authorization() string {
	c.nc++
	return c.repeat()
}

// repeat returns it with the same count again.
func (c *client) repeat() string {
	algorithm := "MD5"
	if c.sha256 {
		algorithm = "SHA-256"
	}
	return fmt.Sprintf(`Authorization: Digest username="%s", realm="%s", nonce="%s", uri="%s", response="%s", `+
		`algorithm=%s, cnonce="0a4f", opaque="%s", qop=%s, nc=%08x`,
		c.user, c.realm, c.nonce, c.uri, c.response(), algorithm, c.opaque, c.qop, c.nc)
}
