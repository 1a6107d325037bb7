package headers

import (
	"crypto/tls"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

var update = flag.Bool("update", false, "write the golden files")

// reference is the behaviour in the reference documentation of Traefik v3, one request for each option.
var reference = []struct {
	config  string // JSON
	request []string
	tls     bool
}{
	{config: `{"customRequestHeaders":{"X-Script-Name":"test","X-Custom-Request-Header":""}}`, request: []string{
		"GET /",
		"X-Custom-Request-Header: a", "X-Script-Name: b",
	}},
	{config: `{"customResponseHeaders":{"X-Custom-Response-Header":"value","X-Powered-By":""}}`},

	{config: crossOrigin, request: preflight("https://foo.bar.org")},
	{config: crossOrigin, request: preflight("https://evil.org")},
	{config: crossOrigin, request: []string{"GET /", "Origin: https://foo.bar.org"}},
	{config: crossOrigin, request: []string{"GET /", "Origin: https://evil.org"}},
	{config: crossOrigin, request: []string{"GET /"}},
	{config: crossOrigin, request: []string{"OPTIONS /", "Origin: https://foo.bar.org"}},
	{config: `{"accessControlAllowOriginList":["*"]}`, request: preflight("https://foo.bar.org")},
	{config: `{"accessControlAllowOriginList":["*"]}`, request: []string{"GET /", "Origin: https://foo.bar.org"}},
	{config: `{"accessControlAllowOriginList":["*"]}`, request: []string{"GET /", "Origin: null"}},
	{config: `{"accessControlAllowOriginList":["null"]}`, request: []string{"GET /", "Origin: null"}},
	{config: wildcards, request: preflight("https://foo.bar.org")},
	{config: wildcards, request: []string{"GET /", "Origin: https://foo.bar.org"}},
	{config: wildcards, request: []string{"GET /", "Origin: null"}},
	{config: `{"accessControlAllowCredentials":true}`, request: []string{"GET /", "Origin: https://foo.bar.org"}},
	{config: `{"accessControlAllowOriginListRegex":["^https?://([a-z]+)\\.bar\\.org$"]}`, request: []string{
		"GET /",
		"Origin: https://foo.bar.org",
	}},
	{config: `{"accessControlAllowOriginListRegex":["https://foo\\.bar\\.org"]}`, request: []string{
		"GET /",
		"Origin: https://foo.bar.org.evil.org",
	}},
	{config: `{"accessControlExposeHeaders":["X-A","X-B"]}`, request: []string{"GET /"}},
	{config: `{"accessControlExposeHeaders":["X-A","X-B"]}`, request: preflight("https://foo.bar.org")},
	{config: `{"accessControlMaxAge":100}`, request: preflight("https://foo.bar.org")},
	{config: `{"addVaryHeader":true}`},

	{config: `{"allowedHosts":["foo.bar.org"]}`, request: []string{"GET /", "Host: foo.bar.org"}},
	{config: `{"allowedHosts":["foo.bar.org"]}`, request: []string{"GET /", "Host: evil.org"}},
	{config: `{"allowedHosts":["foo.bar.org"],"isDevelopment":true}`, request: []string{"GET /", "Host: evil.org"}},
	{config: `{"allowedHosts":["foo.bar.org"],"hostsProxyHeaders":["X-Forwarded-Host"]}`, request: []string{
		"GET /",
		"Host: inner", "X-Forwarded-Host: foo.bar.org",
	}},
	{config: `{"allowedHosts":["foo.bar.org"],"hostsProxyHeaders":["X-Forwarded-Host"]}`, request: []string{
		"GET /",
		"Host: foo.bar.org", "X-Forwarded-Host: evil.org",
	}},

	{config: `{"stsSeconds":31536000}`},
	{config: `{"stsSeconds":31536000}`, tls: true},
	{config: `{"stsSeconds":31536000,"stsIncludeSubdomains":true}`, tls: true},
	{config: `{"stsSeconds":31536000,"stsIncludeSubdomains":true,"stsPreload":true}`, tls: true},
	{config: `{"stsSeconds":31536000,"stsPreload":true}`, tls: true},
	{config: `{"stsSeconds":31536000,"forceSTSHeader":true}`},
	{config: `{"stsSeconds":31536000,"forceSTSHeader":true,"isDevelopment":true}`, tls: true},
	{config: `{"stsSeconds":31536000,"sslProxyHeaders":{"X-Forwarded-Proto":"https"}}`, request: []string{
		"GET /",
		"X-Forwarded-Proto: https",
	}},
	{config: `{"stsSeconds":31536000,"sslProxyHeaders":{"X-Forwarded-Proto":"https"}}`, request: []string{
		"GET /",
		"X-Forwarded-Proto: http",
	}},
	{config: `{"forceSTSHeader":true}`, tls: true},

	{config: `{"frameDeny":true}`},
	{config: `{"frameDeny":true,"customFrameOptionsValue":"SAMEORIGIN"}`},
	{config: `{"contentTypeNosniff":true}`},
	{config: `{"browserXssFilter":true}`},
	{config: `{"browserXssFilter":true,"customBrowserXSSValue":"0"}`},
	{config: `{"contentSecurityPolicy":"default-src 'self'"}`},
	{config: `{"contentSecurityPolicyReportOnly":"default-src 'self'"}`},
	{config: `{"publicKey":"pin-sha256=\"a\"; max-age=1"}`},
	{config: `{"publicKey":"pin-sha256=\"a\"; max-age=1"}`, tls: true},
	{config: `{"publicKey":"pin-sha256=\"a\"; max-age=1","isDevelopment":true}`, tls: true},
	{config: `{"referrerPolicy":"same-origin"}`},
	{config: `{"permissionsPolicy":"camera=()"}`},

	{config: `{"featurePolicy":"camera 'none'"}`},
	{config: `{"sslRedirect":true,"sslTemporaryRedirect":true,"sslHost":"foo.bar.org","sslForceHost":true}`},

	{config: `{"frameDeny":true,"customResponseHeaders":{"X-Frame-Options":"SAMEORIGIN"}}`},
	{config: `{"frameDeny":true,"customResponseHeaders":{"X-Frame-Options":""}}`},
	{config: `{"accessControlAllowOriginList":["https://foo.bar.org"],"customResponseHeaders":{"Access-Control-Allow-Origin":"*"}}`, request: []string{"GET /", "Origin: https://foo.bar.org"}},
	{config: `{"accessControlAllowOriginList":["https://foo.bar.org"],"customResponseHeaders":{"Access-Control-Allow-Origin":"*"}}`, request: []string{"GET /", "Origin: https://evil.org"}},
	{config: `{"accessControlAllowOriginList":["https://foo.bar.org"],"frameDeny":true,"customResponseHeaders":{"X-A":"1"}}`, request: preflight("https://foo.bar.org")},
}

const (
	crossOrigin = `{"accessControlAllowMethods":["GET","OPTIONS","PUT"],"accessControlAllowHeaders":["*"],` +
		`"accessControlAllowOriginList":["https://foo.bar.org","https://example.org"],"accessControlMaxAge":100,"addVaryHeader":true}`
	wildcards = `{"accessControlAllowCredentials":true,"accessControlAllowOriginList":["*"],"accessControlAllowMethods":["*"],` +
		`"accessControlAllowHeaders":["*"],"accessControlExposeHeaders":["*"]}`
)

func preflight(origin string) []string {
	return []string{
		"OPTIONS /", "Origin: " + origin, "Access-Control-Request-Method: PUT",
		"Access-Control-Request-Headers: x-a, x-b",
	}
}

// answered writes one request and what comes of it.
func answered(t *testing.T, config string, lines []string, encrypted bool) string {
	var definition dynamic.Headers
	if err := json.Unmarshal([]byte(config), &definition); err != nil {
		t.Fatal(err)
	}
	step := build(t, definition)
	if len(lines) == 0 {
		lines = []string{"GET /"}
	}
	r := middlewaretest.Request(t, lines[0], lines[1:]...)
	if encrypted {
		r.TLS = new(tls.ConnectionState)
	}
	var out strings.Builder
	fmt.Fprintf(&out, "headers %s\n", config)
	for _, warning := range step.Warnings() {
		fmt.Fprintf(&out, "! %s\n", warning)
	}
	fmt.Fprintf(&out, "> %s tls=%v\n", strings.Join(lines, " | "), encrypted)
	w := httptest.NewRecorder()
	step.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(&out, "service sees %s", r.Host)
		writeHeader(&out, " ", r.Header)
		out.WriteByte('\n')
		maps.Copy(w.Header(), http.Header{
			"Vary": {"Accept"}, "X-Powered-By": {"it"}, "X-Frame-Options": {"ALLOWALL"},
			"Access-Control-Expose-Headers": {"X-Own"}, "Content-Type": {"text/plain"},
		})
		_, _ = io.WriteString(w, "ok")
	})).ServeHTTP(w, r)
	answer := w.Result()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&out, "< %d %q", answer.StatusCode, body)
	writeHeader(&out, "\n< ", answer.Header)
	return out.String() + "\n"
}

func writeHeader(out *strings.Builder, separator string, header http.Header) {
	for _, name := range slices.Sorted(maps.Keys(header)) {
		fmt.Fprintf(out, "%s%s: %s", separator, name, strings.Join(header[name], " | "))
	}
}

func TestReference(t *testing.T) {
	var out strings.Builder
	for _, test := range reference {
		out.WriteString(answered(t, test.config, test.request, test.tls) + "\n")
	}
	path := filepath.Join("testdata", "reference.golden")
	if *update {
		if err := os.WriteFile(path, []byte(out.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), out.String()); diff != "" {
		t.Error(diff)
	}
}

// TestReferenceHasEveryOption goes through the model's fields, so that one that is added there can't be missing here.
func TestReferenceHasEveryOption(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	kind := reflect.TypeFor[dynamic.Headers]()
	for i := range kind.NumField() {
		option, _, _ := strings.Cut(kind.Field(i).Tag.Get("json"), ",")
		tested := false
		for _, test := range reference {
			tested = tested || strings.Contains(test.config, `"`+option+`":`)
		}
		if !tested {
			t.Errorf("%s is not in the reference", option)
		}
		if !strings.Contains(string(readme), "\n| `"+option+"` |") {
			t.Errorf("%s is not in the README", option)
		}
	}
}
