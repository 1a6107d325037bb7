package digestauth

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
	"github.com/sluiceproxy/sluice/telemetry"
)

// TestResponseOfTheRFC proves the example of RFC 7616 section 3.9.1.
func TestResponseOfTheRFC(t *testing.T) {
	const realm = "http-auth@example.org"
	for name, hash := range map[string]func(string) string{
		"8ca523f5e9506fed4657c9700eebdbec":                                 md5Of,
		"753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1": sha256Of,
	} {
		step := build(t, dynamic.DigestAuth{Realm: realm, Users: []string{"Mufasa:" + realm + ":" +
			hash("Mufasa:"+realm+":Circle of Life")}})
		sent, ok := parse([]string{`Digest username="Mufasa", realm="http-auth@example.org", uri="/dir/index.html", ` +
			`algorithm=` +
			step.users.offered[0].String() + `, nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", nc=00000001, ` +
			`cnonce="f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ", qop=auth, response="` + name +
			`", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"`})
		if !ok {
			t.Fatal("is not understood")
		}
		if user := step.users.find(&sent, http.MethodGet); user == nil || user.name != "Mufasa" {
			t.Errorf("%s is not right", name)
		}
		if step.users.find(&sent, http.MethodPost) != nil {
			t.Errorf("%s is right for another method", name)
		}
	}
}

// TestConversation goes through everything that a client with the right password meets.
func TestConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		step := build(t, dynamic.DigestAuth{})
		c := challenged(t, step)
		expect := func(what, header string, status int, stale bool) answered {
			t.Helper()
			got := serve(t, step, middlewaretest.Request(t, "GET /", header))
			if got.status != status || strings.HasSuffix(strings.Join(got.challenges, ""), ", stale=true") != stale {
				t.Errorf("%s: %d %q, want %d, stale %v", what, got.status, got.challenges, status, stale)
			}
			return got
		}
		expect("first", c.authorization(), 200, false)
		expect("second", c.authorization(), 200, false)
		expect("replayed", c.repeat(), 401, true)
		c.nc = 99
		expect("skipping some", c.authorization(), 200, false)
		c.nc = 49
		expect("out of order", c.authorization(), 200, false)
		expect("out of order, replayed", c.repeat(), 401, true)
		c.nc = 499
		expect("skipping many", c.authorization(), 200, false)
		c.nc = 199
		expect("too far behind", c.authorization(), 401, true)
		<-time.NewTimer(lifetime).C
		c.nc = 600
		expect("at the end of its life", c.authorization(), 200, false)
		<-time.NewTimer(time.Nanosecond).C
		got := expect("behind it", c.authorization(), 401, true)
		c.listen(got.challenges[0])
		expect("with the next challenge", c.authorization(), 200, false)
		want := map[string]uint64{"challenged": 1, "refused": 0, "verified": 7, "stale": 1, "replayed": 3}
		if diff := cmp.Diff(want, step.Counts()); diff != "" {
			t.Error(diff)
		}
	})
}

// TestChallengeOfAnotherObject checks that a client keeps its password over a change of the users.
func TestChallengeOfAnotherObject(t *testing.T) {
	c := challenged(t, build(t, dynamic.DigestAuth{}))
	step := build(t, dynamic.DigestAuth{})
	got := serve(t, step, middlewaretest.Request(t, "GET /", c.authorization()))
	if got.status != 401 || !strings.HasSuffix(got.challenges[0], ", stale=true") {
		t.Fatalf("answers %d %q", got.status, got.challenges)
	}
	c.listen(got.challenges[0])
	if got := serve(t, step, middlewaretest.Request(t, "GET /", c.authorization())); got.status != 200 {
		t.Errorf("answers %d", got.status)
	}
	c.opaque = "other"
	if got := serve(t, step, middlewaretest.Request(t, "GET /", c.authorization())); got.status != 401 ||
		!strings.HasSuffix(got.challenges[0], ", stale=true") {
		t.Errorf("answers another opaque with %d %q", got.status, got.challenges)
	}
}

// TestRefusals changes one thing of an answer that would be right.
func TestRefusals(t *testing.T) {
	step := build(t, dynamic.DigestAuth{})
	replace := func(old, new string) func(*client) string {
		return func(c *client) string {
			header := c.authorization()
			if !strings.Contains(header, old) {
				t.Fatalf("%q is not in %q", old, header)
			}
			return strings.Replace(header, old, new, 1)
		}
	}
	set := func(change func(c *client)) func(*client) string {
		return func(c *client) string {
			change(c)
			return c.authorization()
		}
	}
	for name, header := range map[string]func(*client) string{
		"password":                 set(func(c *client) { c.password = "other" }),
		"user":                     set(func(c *client) { c.user = "bob" }),
		"case of the user":         set(func(c *client) { c.user = "Ann" }),
		"realm":                    set(func(c *client) { c.realm = "other" }),
		"method":                   set(func(c *client) { c.method = "POST" }),
		"uri":                      set(func(c *client) { c.uri = "/other" }),
		"longer uri":               set(func(c *client) { c.uri = "/?a" }),
		"auth-int":                 set(func(c *client) { c.qop = "auth-int" }),
		"SHA-256 for MD5":          set(func(c *client) { c.sha256 = true }),
		"realm alone":              replace(`realm="traefik"`, `realm="other"`),
		"no user":                  replace(`username="ann", `, ""),
		"no realm":                 replace(`realm="traefik", `, ""),
		"no uri":                   replace(`uri="/", `, ""),
		"no cnonce":                replace(`cnonce="0a4f", `, ""),
		"no qop":                   replace(`qop=auth, `, ""),
		"no nc":                    replace(`, nc=00000001`, ""),
		"nc of seven digits":       replace(`nc=00000001`, "nc=0000001"),
		"nc of nine digits":        replace(`nc=00000001`, "nc=000000001"),
		"nc of 0":                  set(func(c *client) { c.nc = -1 }),
		"nc of no digits":          replace(`nc=00000001`, "nc=0000000g"),
		"another nc":               replace(`nc=00000001`, "nc=00000002"),
		"another cnonce":           replace(`cnonce="0a4f"`, `cnonce="0a4e"`),
		"another nonce":            replace(`nonce="`, `nonce="a`),
		"unknown algorithm":        replace(`algorithm=MD5`, "algorithm=SHA-512"),
		"algorithm with a session": replace(`algorithm=MD5`, "algorithm=MD5-sess"),
		"empty response":           func(c *client) string { return replace(c.preview(), "")(c) },
		"short response":           func(c *client) string { return replace(c.preview(), c.preview()[:30])(c) },
		"twice the user":           replace(`username="ann"`, `username="ann", username="ann"`),
		"twice in another case":    replace(`username="ann"`, `username="ann", USERNAME="bob"`),
		"hashed user":              replace(`username="ann"`, `username="ann", userhash=true`),
		"encoded user":             replace(`username="ann"`, `username="ann", username*=UTF-8''ann`),
		"no comma":                 replace(`username="ann", `, `username="ann" `),
		"quotation mark missing":   replace(`realm="traefik"`, `realm="traefik`),
		"control character":        replace(`username="ann"`, "username=\"ann\", x=\"\t\x01\""),
		"no value":                 replace(`username="ann"`, `username="ann", stray`),
		"scheme":                   replace("Digest ", "Basic "),
		"scheme alone":             func(*client) string { return "Authorization: Digest" },
		"huge":                     replace(`username="ann"`, `username="ann", x="`+strings.Repeat("x", maxCredentials)+`"`),
	} {
		t.Run(name, func(t *testing.T) {
			c := challenged(t, step)
			r := middlewaretest.Request(t, "GET /")
			r.Header.Set("Authorization", strings.TrimPrefix(header(c), "Authorization: "))
			got := serve(t, step, r)
			if got.status != 401 || got.passed != nil || len(got.challenges) != 1 || strings.Contains(got.challenges[0],
				"stale") {
				t.Errorf("answers %d %q", got.status, got.challenges)
			}
		})
	}
}

// preview returns the response of the next request.
func (c *client) preview() string {
	next := *c
	next.nc++
	return next.response()
}

// TestAccepted lists spellings that mean the same.
func TestAccepted(t *testing.T) {
	step := build(t, dynamic.DigestAuth{})
	for name, change := range map[string]func(header string) string{
		"as it is":            func(h string) string { return h },
		"lower-case scheme":   func(h string) string { return strings.Replace(h, "Digest", "digest", 1) },
		"names in upper case": func(h string) string { return strings.Replace(h, "username=", "USERNAME=", 1) },
		"response in upper case": func(h string) string {
			at := strings.Index(h, `response="`)
			end := at + strings.IndexByte(h[at:], ',')
			return h[:at] + strings.Replace(strings.ToUpper(h[at:end]), "RESPONSE", "response", 1) + h[end:]
		},
		"spaces": func(h string) string {
			return strings.ReplaceAll(strings.Replace(h, "nonce=", "nonce \t= ", 1), ", ", "  ,\t")
		},
		"empty elements":     func(h string) string { return strings.ReplaceAll(h, ", ", ",, ,") + "," },
		"quoted tokens":      func(h string) string { return strings.Replace(h, "qop=auth", `qop="auth"`, 1) },
		"no opaque":          func(h string) string { return strings.Replace(h, `opaque="`, `x="`, 1) },
		"no algorithm":       func(h string) string { return strings.Replace(h, "algorithm=MD5, ", "", 1) },
		"quoted algorithm":   func(h string) string { return strings.Replace(h, "algorithm=MD5", `algorithm="md5"`, 1) },
		"escaped characters": func(h string) string { return strings.Replace(h, `"ann"`, `"\a\nn"`, 1) },
		"unknown parameters": func(h string) string { return h + `, x=y, x="a, \"b", userhash=false` },
	} {
		c := challenged(t, step)
		got := serve(t, step, middlewaretest.Request(t, "GET /", change(c.authorization())))
		if got.status != 200 || got.record.Username != "ann" {
			t.Errorf("%s: answers %d, user %q", name, got.status, got.record.Username)
		}
	}
}

// TestNoHashIsNoPassword checks that no password matches a user without a hash of the algorithm.
func TestNoHashIsNoPassword(t *testing.T) {
	long := "ann:traefik:" + sha256Of("ann:traefik:secret")
	for _, step := range []*DigestAuth{
		build(t, dynamic.DigestAuth{Users: []string{long}}),
		build(t, dynamic.DigestAuth{Users: []string{ann()}}),
	} {
		for _, user := range []string{"ann", "bob"} {
			c := challenged(t, step)
			c.user, c.sha256 = user, step.users.offered[0] == algorithmMD5
			header := c.authorization()
			forged := c.hash(strings.Join([]string{"", c.nonce, "00000001", "0a4f", c.qop, c.hash("GET:/")}, ":"))
			got := serve(t, step, middlewaretest.Request(t, "GET /", strings.Replace(header, c.response(), forged, 1)))
			if got.status != 401 || got.record.Reason != "middleware auth@file: the user or the password is wrong" {
				t.Errorf("%s, SHA-256 %v: %d, %q", user, c.sha256, got.status, got.record.Reason)
			}
		}
	}
}

// TestRecordsStaySmall has a client call itself something long.
func TestRecordsStaySmall(t *testing.T) {
	step := build(t, dynamic.DigestAuth{})
	c := challenged(t, step)
	c.user = strings.Repeat("x", 5000)
	if got := serve(t, step, middlewaretest.Request(t, "GET /", c.authorization())); got.status != 401 ||
		got.record.Username != c.user[:255] {
		t.Errorf("answers %d, and records %d bytes", got.status, len(got.record.Username))
	}
	c.user = "a\x80\tb"
	if got := serve(t, step, middlewaretest.Request(t, "GET /", c.authorization())); got.status != 401 ||
		got.record.Username != "" {
		t.Errorf("answers %d, and records %q", got.status, got.record.Username)
	}
}

func TestSeveralHeadersAreRefused(t *testing.T) {
	step := build(t, dynamic.DigestAuth{})
	c := challenged(t, step)
	header := c.authorization()
	if got := serve(t, step, middlewaretest.Request(t, "GET /", header, header)); got.status != 401 {
		t.Errorf("answers %d", got.status)
	}
}

// TestTargets has targets that client and entrypoint spell in different ways, and middlewares that change the path.
func TestTargets(t *testing.T) {
	step := build(t, dynamic.DigestAuth{})
	for _, test := range []struct {
		received, uri string
		edit          string // what a middleware made of the path
		ok            bool
	}{
		{"/a?b=c", "/a?b=c", "", true},
		{"/a?b=c", "/a", "", false},
		{"/a", "/a?b=c", "", false},
		{"/a?b=c", "/a?b=d", "", false},
		{"/a/b", "/a", "", false},
		{"/a", "/a/b", "", false},
		{"/%61", "/%61", "", true},
		{"/%61", "/a", "", true},
		{"/a/../b", "/a/../b", "", true},
		{"//a", "//a", "", true},
		{"/a%2fb", "/a%2Fb", "", true},
		{"/a%2fb", "/a/b", "", false},
		{"/é", "/é", "", true},
		{"/api/a?q", "/api/a?q", "/a", true},
		{"/api/a", "/a", "/a", false},
		{"/a", "http://example.com/a", "", true},
		{"/", "http://EXAMPLE.com", "", true},
		{"/a", "http://other.example/a", "", false},
		{"/a", "ftp://example.com/a", "", false},
		{"/a", "a", "", false},
		{"/a", "/a#b", "", false},
	} {
		c := challenged(t, step)
		c.uri = test.uri
		r := middlewaretest.Request(t, "GET "+test.received, c.authorization())
		record := &telemetry.Record{Path: r.URL.EscapedPath(), Host: r.Host}
		if test.edit != "" {
			r.URL.Path, r.URL.RawPath = test.edit, ""
		}
		if got := isTarget(test.uri, r, record); got != test.ok {
			t.Errorf("%s is the target of %s: %v", test.uri, test.received, got)
		}
		if test.edit == "" {
			if got := serve(t, step, r); (got.status == 200) != test.ok {
				t.Errorf("%s for %s: %d", test.uri, test.received, got.status)
			}
		}
	}
	r := middlewaretest.Request(t, "OPTIONS *")
	if !isTarget("*", r, &telemetry.Record{}) || isTarget("/", r, &telemetry.Record{}) {
		t.Error("* is not the target of OPTIONS *")
	}
	r = middlewaretest.Request(t, "GET /a?b;c")
	r.URL.RawQuery = "b%3Bc" // encodeQuerySemicolons
	if !isTarget("/a?b;c", r, &telemetry.Record{}) {
		t.Error("a semicolon that the entrypoint encoded makes another target")
	}
}
