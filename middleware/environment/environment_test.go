package environment_test

import (
	"crypto/tls"
	"crypto/x509"
	"io/fs"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	selector "github.com/sluiceproxy/sluice/environment"
	"github.com/sluiceproxy/sluice/middleware/environment"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
	"github.com/sluiceproxy/sluice/telemetry"
)

// header is the one of the default options.
const header = "X-Virtual-Env"

// secret is a key for signed tags.
const secret = "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"

// build makes a middleware of the default options with a change.
func build(t testing.TB, change func(*dynamic.EnvironmentMiddleware)) *environment.Environment {
	t.Helper()
	var config dynamic.EnvironmentMiddleware
	config.SetDefaults()
	if change != nil {
		change(&config)
	}
	made, err := environment.New("env@file", config, environment.Options{ReadFile: func(path string) ([]byte, error) {
		if path != "/run/secrets/environments" {
			return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
		}
		return []byte(secret + "\n"), nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// trusting sets all sources, and trusts the given way.
func trusting(trust dynamic.EnvironmentTrust) func(*dynamic.EnvironmentMiddleware) {
	return func(config *dynamic.EnvironmentMiddleware) {
		config.Trust = &trust
		config.Sources = &dynamic.EnvironmentSources{
			Query: "env", Path: "/env/{tag}", Host: "{tag}--shop.Example.com", HostSplitter: "-", Cookie: "env",
		}
		config.Aliases = []string{"baggage", "X-Env"}
	}
}

func anyone() dynamic.EnvironmentTrust { return dynamic.EnvironmentTrust{Anyone: true} }

func nobody() dynamic.EnvironmentTrust { return dynamic.EnvironmentTrust{} }

func signedOnly() dynamic.EnvironmentTrust {
	return dynamic.EnvironmentTrust{Signed: &dynamic.EnvironmentSigning{Key: secret}}
}

func forbidding(change func(*dynamic.EnvironmentMiddleware)) func(*dynamic.EnvironmentMiddleware) {
	return func(config *dynamic.EnvironmentMiddleware) {
		change(config)
		config.Untrusted = dynamic.UntrustedForbid
	}
}

// sign returns a signed tag.
func sign(t testing.TB, content, name, tag string, expiry time.Time) string {
	t.Helper()
	key, err := selector.NewKey([]byte(content))
	if err != nil {
		t.Fatal(err)
	}
	value, err := key.Sign(name, tag, expiry)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// served is what the next handler gets, or the answer in its place.
type served struct {
	status int
	vary   string
	target string
	header http.Header
}

func serve(t testing.TB, step *environment.Environment, r *http.Request) served {
	t.Helper()
	w := new(middlewaretest.Writer)
	var got served
	step.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got.header, got.target = r.Header, r.RequestURI
		if r.URL.RequestURI() != r.RequestURI {
			t.Errorf("URL says %q, RequestURI %q", r.URL.RequestURI(), r.RequestURI)
		}
		w.WriteHeader(http.StatusOK)
	})).ServeHTTP(w, r)
	got.status, got.vary = w.Status, w.Header().Get("Vary")
	return got
}

func TestSources(t *testing.T) {
	t.Parallel()
	step := build(t, trusting(anyone()))
	for _, test := range []struct {
		name, line string
		headers    []string
		tag        string
		target     string
	}{
		{"nothing", "GET /a?b=c", nil, "", "/a?b=c"},
		{"header", "GET /a", []string{"X-Virtual-Env: dev.a"}, "dev.a", "/a"},
		{"header in another case", "GET /a", []string{"x-virtual-ENV: dev.a"}, "dev.a", "/a"},
		{"header that is no label", "GET /a", []string{"X-Virtual-Env: a b/c"}, "a b/c", "/a"},
		{"query", "GET /a?x=%2f&env=dev.a&y=+;", nil, "dev.a", "/a?x=%2f&y=+;"},
		{"query alone", "GET /a?env=dev", nil, "dev", "/a"},
		{"query, encoded", "GET /a?%65nv=d%65v", nil, "dev", "/a"},
		{"query twice", "GET /a?env=one&env=two&x", nil, "one", "/a?x"},
		{"query that is no label", "GET /a?env=a+b&x=1", nil, "", "/a?x=1"},
		{"query that is empty", "GET /a?env&x=1", nil, "", "/a?x=1"},
		{"query with a longer name", "GET /a?env2=dev&xenv=dev", nil, "", "/a?env2=dev&xenv=dev"},
		{"query with a signed tag, without a key", "GET /a?env=a~1~b", nil, "a~1~b", "/a"},
		{"path", "GET /env/dev.a/b/c?x=1", nil, "dev.a", "/b/c?x=1"},
		{"path alone", "GET /env/dev", nil, "dev", "/"},
		{"path with a slash", "GET /env/dev/", nil, "dev", "/"},
		{"path, encoded", "GET /env/d%65v/%41%2fb", nil, "dev", "/A%2Fb"},
		{"path that is no label", "GET /env/d%20v/b", nil, "", "/env/d%20v/b"},
		{"path with parameters", "GET /env/dev;x/b", nil, "", "/env/dev;x/b"},
		{"path without a tag", "GET /env/", nil, "", "/env/"},
		{"path without a segment", "GET /env", nil, "", "/env"},
		{"path with another prefix", "GET /environment/dev/b", nil, "", "/environment/dev/b"},
		{"path in another place", "GET /x/env/dev/b", nil, "", "/x/env/dev/b"},
		{"host", "GET /a", []string{"Host: Dev-A--shop.example.COM:8080"}, "dev.a", "/a"},
		{"host without a tag", "GET /a", []string{"Host: --shop.example.com"}, "", "/a"},
		{"host with two labels", "GET /a", []string{"Host: x.dev--shop.example.com"}, "", "/a"},
		{"host of another domain", "GET /a", []string{"Host: dev--shop.example.com.evil.test"}, "", "/a"},
		{"cookie", "GET /a", []string{"Cookie: a=b; env=dev; c=d"}, "dev", "/a"},
		{"cookie in quotes", "GET /a", []string{`Cookie: env="dev"`}, "dev", "/a"},
		{"cookie twice", "GET /a", []string{"Cookie: env=one; env=two"}, "one", "/a"},
		{"cookie that is no label", "GET /a", []string{"Cookie: env=-"}, "", "/a"},
		{"cookie of another name", "GET /a", []string{"Cookie: ENV=dev; xenv=dev"}, "", "/a"},
	} {
		got := serve(t, step, middlewaretest.Request(t, test.line, test.headers...))
		if got.status != http.StatusOK || got.header.Get(header) != test.tag || got.target != test.target {
			t.Errorf("%s: %+v, want tag %q, target %q", test.name, got, test.tag, test.target)
		}
		if want := map[bool]string{true: "*"}[test.tag != ""]; got.vary != want {
			t.Errorf("%s: Vary is %q, want %q", test.name, got.vary, want)
		}
		if strings.HasPrefix(test.name, "cookie") && got.header.Get("Cookie") == "" {
			t.Errorf("%s: a trusted client loses its cookies", test.name)
		}
		prefix := ""
		if strings.HasPrefix(test.line, "GET /env/d") && test.tag != "" {
			prefix = "/env/" + test.tag
		}
		if got.header.Get("X-Forwarded-Prefix") != prefix {
			t.Errorf("%s: X-Forwarded-Prefix is %q, want %q", test.name, got.header.Get("X-Forwarded-Prefix"), prefix)
		}
	}
}

// TestPrecedence removes one source after the other, in the order that is documented.
func TestPrecedence(t *testing.T) {
	t.Parallel()
	step := build(t, trusting(anyone()))
	for _, test := range []struct {
		line    string
		headers []string
		want    string
	}{
		{"GET /env/path/a?env=query", []string{
			"X-Virtual-Env: header", "Host: host--shop.example.com",
			"Cookie: env=cookie",
		}, "header"},
		{"GET /env/path/a?env=query", []string{"Host: host--shop.example.com", "Cookie: env=cookie"}, "query"},
		{"GET /env/path/a", []string{"Host: host--shop.example.com", "Cookie: env=cookie"}, "path"},
		{"GET /a", []string{"Host: host--shop.example.com", "Cookie: env=cookie"}, "host"},
		{"GET /a", []string{"Cookie: env=cookie"}, "cookie"},
		{"GET /a?env=-", []string{"X-Virtual-Env:", "Cookie: env=cookie"}, "cookie"},
	} {
		got := serve(t, step, middlewaretest.Request(t, test.line, test.headers...))
		if values := got.header.Values(header); !cmp.Equal(values, []string{test.want}) || got.target != "/a" {
			t.Errorf("%s %q: tag %q, target %q, want %q", test.line, test.headers, values, got.target, test.want)
		}
	}
}

func TestTrustedHeaderPassesUnchanged(t *testing.T) {
	t.Parallel()
	step := build(t, trusting(anyone()))
	r := middlewaretest.Request(t, "GET /?env=other", "X-Virtual-Env: dev, x", "X-Virtual-Env: two",
		"X_Virtual_Env: three", "Baggage: env=four", "Cookie: env=five")
	got := serve(t, step, r)
	want := http.Header{
		header: {"dev, x", "two"}, "Baggage": {"env=four"}, "Cookie": {"env=five"},
	}
	if diff := cmp.Diff(want, got.header); diff != "" {
		t.Errorf("the service gets (-want +got):\n%s", diff)
	}
	got = serve(t, step, middlewaretest.Request(t, "GET /", "X-Virtual-Env:"))
	if diff := cmp.Diff(http.Header{header: {""}}, got.header); diff != "" || got.vary != "" {
		t.Errorf("an empty header, Vary %q (-want +got):\n%s", got.vary, diff)
	}
}

func TestTrust(t *testing.T) {
	t.Parallel()
	verified := &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{{}}}}
	presented := &tls.ConnectionState{PeerCertificates: []*x509.Certificate{{}}}
	addresses := dynamic.EnvironmentTrust{SourceRange: []string{"192.0.2.0/24"}}
	others := dynamic.EnvironmentTrust{SourceRange: []string{"198.51.100.0/24"}}
	depth := others
	depth.IPStrategy = &dynamic.IPStrategy{Depth: 1}
	authenticated := dynamic.EnvironmentTrust{Authenticated: true}
	for _, test := range []struct {
		name   string
		trust  dynamic.EnvironmentTrust
		tls    *tls.ConnectionState
		record telemetry.Record
		want   bool
	}{
		{name: "nobody", trust: nobody()},
		{name: "anyone", trust: anyone(), want: true},
		{name: "listed address", trust: addresses, want: true},
		{name: "another address", trust: others},
		{name: "forwarded address", trust: depth, want: true},
		{name: "not authenticated", trust: authenticated, record: telemetry.Record{Username: "ann"}},
		{name: "authenticated", trust: authenticated, record: telemetry.Record{Authenticated: true}, want: true},
		{name: "authenticated, to no avail", trust: others, record: telemetry.Record{Authenticated: true}, tls: verified},
		{name: "certificate", trust: authenticated, tls: verified, want: true},
		{name: "certificate that is not verified", trust: authenticated, tls: presented},
		{name: "signed", trust: signedOnly()},
		{
			name: "either", trust: dynamic.EnvironmentTrust{SourceRange: others.SourceRange, Authenticated: true},
			record: telemetry.Record{Authenticated: true}, want: true,
		},
	} {
		r := middlewaretest.Request(t, "GET /", header+": dev", "X-Forwarded-For: 198.51.100.7")
		r.TLS = test.tls
		r = r.WithContext(telemetry.WithRecord(r.Context(), &test.record))
		got := serve(t, build(t, trusting(test.trust)), r)
		if chosen := got.header.Get(header) == "dev"; chosen != test.want || got.status != http.StatusOK {
			t.Errorf("%s: %+v", test.name, got)
		}
	}
	r := middlewaretest.Request(t, "GET /", header+": dev")
	r.RemoteAddr = "@"
	everywhere := dynamic.EnvironmentTrust{SourceRange: []string{"0.0.0.0/0", "::/0"}}
	if got := serve(t, build(t, trusting(everywhere)), r); got.header.Get(header) != "" {
		t.Errorf("a client of unknown address chooses: %+v", got)
	}
}

// TestOutsiders has clients that may not choose try all ways at once, and one by one.
func TestOutsiders(t *testing.T) {
	t.Parallel()
	ways := map[string][]string{
		"header": {header + ": dev"}, "header twice": {header + ":", header + ": dev"},
		"lower case": {"x-virtual-env: dev"}, "underscores": {"X_VIRTUAL_ENV: dev"}, "one underscore": {"x-virtual_env: dev"},
		"aliases":               {"Baggage: env=dev", "X-Env: dev"},
		"aliases with an alias": {"X_Env: dev", "BAGGAGE: a=b"},
		"cookie":                {"Cookie: env=dev"}, "cookies": {"Cookie: a=b; env=dev; c=d", "Cookie: env=other"},
		"host":               {"Host: dev--shop.example.com"},
		"header, in a list":  {header + ": dev,dev"},
		"header and signed?": {header + ": dev~9999999999~AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"},
	}
	for _, trust := range []dynamic.EnvironmentTrust{nobody(), signedOnly(), {SourceRange: []string{"10.0.0.0/8"}}} {
		step, strict := build(t, trusting(trust)), build(t, forbidding(trusting(trust)))
		for name, headers := range ways {
			got := serve(t, step, middlewaretest.Request(t, "GET /a", headers...))
			if got.status != http.StatusOK || left(got.header) != "" {
				t.Errorf("%s: the service gets %+v", name, got)
			}
			choice := !strings.Contains(name, "alias") && !strings.Contains(name, "underscore") && name != "header twice"
			want := map[bool]int{true: http.StatusForbidden, false: http.StatusOK}[choice]
			if got := serve(t, strict, middlewaretest.Request(t, "GET /a", headers...)); got.status != want ||
				(got.vary == "*") != choice || left(got.header) != "" {
				t.Errorf("%s is answered with %+v, want %d", name, got, want)
			}
		}
		for _, line := range []string{"GET /a?env=dev", "GET /env/dev/a", "GET /env/dev/a?env=dev"} {
			got := serve(t, step, middlewaretest.Request(t, line))
			if got.status != http.StatusOK || left(got.header) != "" || got.target != "/a" || got.vary != "*" {
				t.Errorf("%s: the service gets %+v", line, got)
			}
			if got := serve(t, strict, middlewaretest.Request(t, line)); got.status != http.StatusForbidden {
				t.Errorf("%s is answered with %+v", line, got)
			}
		}
	}
}

// left returns what of a header could still choose.
func left(h http.Header) string {
	for name, values := range h {
		switch text := strings.Join(values, ";"); strings.ReplaceAll(strings.ToLower(name), "_", "-") {
		case "x-virtual-env", "baggage", "x-env":
			return name + ": " + text
		case "cookie":
			if strings.Contains(text, "env=") {
				return name + ": " + text
			}
		}
	}
	return ""
}

func TestOtherCookiesStay(t *testing.T) {
	t.Parallel()
	step := build(t, trusting(nobody()))
	got := serve(t, step, middlewaretest.Request(t, "GET /", "Cookie: a=b; env=dev;  c=d", "Cookie: env=x", "Cookie: e=f"))
	if diff := cmp.Diff(http.Header{"Cookie": {"a=b;  c=d", "e=f"}}, got.header); diff != "" {
		t.Errorf("the service gets (-want +got):\n%s", diff)
	}
	got = serve(t, step, middlewaretest.Request(t, "GET /", "Cookie: env=x"))
	if diff := cmp.Diff(http.Header{}, got.header); diff != "" {
		t.Errorf("the service gets (-want +got):\n%s", diff)
	}
}

func TestSigned(t *testing.T) {
	t.Parallel()
	later := time.Now().Add(time.Hour)
	good := sign(t, secret, header, "dev.a", later)
	bad := map[string]string{
		"expired":      sign(t, secret, header, "dev.a", time.Now().Add(-time.Second)),
		"another key":  sign(t, secret+"k", header, "dev.a", later),
		"other header": sign(t, secret, "X-Env", "dev.a", later),
		"another tag":  "dev.b" + strings.TrimPrefix(good, "dev.a"),
		"truncated":    good[:len(good)-1],
		"doubled":      good + "~" + good,
	}
	places := func(value string) map[string]*http.Request {
		return map[string]*http.Request{
			"header": middlewaretest.Request(t, "GET /a", header+": "+value),
			"query":  middlewaretest.Request(t, "GET /a?env="+value),
			"cookie": middlewaretest.Request(t, "GET /a", "Cookie: env="+value),
		}
	}
	file := trusting(dynamic.EnvironmentTrust{Signed: &dynamic.EnvironmentSigning{KeyFile: "/run/secrets/environments"}})
	trusted := signedOnly()
	trusted.Anyone = true
	for _, change := range []func(*dynamic.EnvironmentMiddleware){trusting(signedOnly()), file, trusting(trusted)} {
		step, strict := build(t, change), build(t, forbidding(change))
		for place, r := range places(good) {
			got := serve(t, strict, r)
			if values := got.header.Values(header); !cmp.Equal(values, []string{"dev.a"}) || got.target != "/a" {
				t.Errorf("%s: a signed tag is passed on as %+v", place, got)
			}
		}
		for name, value := range bad {
			for place, r := range places(value) {
				if got := serve(t, step, r); got.status != http.StatusOK || got.header.Get(header) != "" {
					t.Errorf("%s in %s: the service gets %+v", name, place, got)
				}
			}
			for place, r := range places(value) {
				if got := serve(t, strict, r); got.status != http.StatusForbidden {
					t.Errorf("%s in %s is answered with %+v", name, place, got)
				}
			}
		}
	}
	// A place without a right to choose does not keep a later one from choosing.
	step := build(t, trusting(signedOnly()))
	got := serve(t, step, middlewaretest.Request(t, "GET /?env=dev", header+": dev", "X_Virtual_Env: dev",
		"Cookie: env="+good))
	if values := got.header.Values(header); !cmp.Equal(values, []string{"dev.a"}) || got.header["X_virtual_env"] != nil {
		t.Errorf("a signed cookie behind other choices is passed on as %+v", got)
	}
	// Nor has a client with a signed tag any other right.
	got = serve(t, step, middlewaretest.Request(t, "GET /", header+": "+good, header+": dev.b", "Baggage: env=dev.b",
		"Cookie: env=dev.b"))
	if diff := cmp.Diff(http.Header{header: {"dev.a"}}, got.header); diff != "" {
		t.Errorf("the service gets (-want +got):\n%s", diff)
	}
}

func TestStamp(t *testing.T) {
	t.Parallel()
	for _, trust := range []dynamic.EnvironmentTrust{anyone(), nobody()} {
		step := build(t, func(config *dynamic.EnvironmentMiddleware) {
			trusting(trust)(config)
			config.Stamp, config.Default = dynamic.StampDefault, "dev"
		})
		for _, test := range []struct {
			headers           []string
			trusted, outsider string
		}{
			{nil, "dev", "dev"},
			{[]string{header + ": x"}, "x", "dev"},
			{[]string{header + ":"}, "dev", "dev"},
			{[]string{"X_Virtual_Env: x"}, "dev", "dev"},
			{[]string{"Cookie: env=x"}, "x", "dev"},
			{[]string{"Baggage: env=x"}, "", "dev"}, // The service reads it.
		} {
			got := serve(t, step, middlewaretest.Request(t, "GET /", test.headers...))
			want := map[bool]string{true: test.trusted, false: test.outsider}[trust.Anyone]
			if got.header.Get(header) != want || len(got.header[header]) > 1 {
				t.Errorf("%q: anyone %v: the tag is %q, want %q", test.headers, trust.Anyone, got.header[header], want)
			}
		}
	}
}

func TestInvalidRestOfPath(t *testing.T) {
	t.Parallel()
	r := middlewaretest.Request(t, "GET /")
	r.URL.Path, r.RequestURI = "/env/dev//x", "/env/dev//x" // An entrypoint that does not sanitize paths.
	if got := serve(t, build(t, trusting(anyone())), r); got.status != http.StatusBadRequest {
		t.Errorf("the answer is %+v", got)
	}
}

func TestVaryIsAdded(t *testing.T) {
	t.Parallel()
	w := new(middlewaretest.Writer)
	before := []string{"Origin"}
	w.Header()["Vary"] = before
	build(t, trusting(anyone())).Wrap(http.NotFoundHandler()).ServeHTTP(w, middlewaretest.Request(t, "GET /?env=dev"))
	if diff := cmp.Diff([]string{"Origin", "*"}, w.Header()["Vary"]); diff != "" || len(before) != 1 {
		t.Errorf("Vary (-want +got):\n%s", diff)
	}
}
