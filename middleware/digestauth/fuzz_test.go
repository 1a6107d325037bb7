package digestauth

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

// FuzzParse reads headers of anything. What it takes is complete, and the same again when it is written down plainly.
func FuzzParse(f *testing.F) {
	c := &client{user: `a\"n`, realm: "traefik", nonce: "n", uri: "/", qop: "auth", nc: 1, opaque: "o"}
	for _, seed := range []string{
		"", "Digest", "Digest ", c.repeat()[len("Authorization: "):], `digest ,, username = "a\"b" ,x=y,`,
		`Digest username="`, `Digest username="\`,
		`Digest username=a, realm=b, nonce=c, uri="/", response=00000000000000000000000000000000, cnonce=d, nc=00000001, ` +
			`qop=auth`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		sent, ok := parse([]string{line})
		if !ok {
			return
		}
		if sent.username == "" || sent.realm == "" || sent.nonce == "" || sent.uri == "" || sent.cnonce == "" ||
			sent.count == 0 ||
			len(sent.response) != sent.algorithm.length() || sent.qop != "auth" {
			t.Fatalf("%q is %+v", line, sent)
		}
		quote := func(text string) string {
			return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
		}
		plain := "Digest username=" + quote(sent.username) + ",realm=" + quote(sent.realm) + ",nonce=" + quote(sent.nonce) +
			",uri=" + quote(sent.uri) +
			",response=" + sent.response + ",cnonce=" + quote(sent.cnonce) + ",opaque=" + quote(sent.opaque) + ",algorithm=" +
			sent.algorithm.String() +
			",nc=" + sent.nc + ",qop=auth"
		if len(plain) > maxCredentials {
			return
		}
		again, ok := parse([]string{plain})
		if diff := cmp.Diff(sent, again, cmp.AllowUnexported(credentials{})); !ok || diff != "" {
			t.Fatalf("%q and %q differ: %v %s", line, plain, ok, diff)
		}
	})
}

// FuzzUser reads lines of anything.
func FuzzUser(f *testing.F) {
	for _, seed := range []string{
		ann(), "a:b:c", "", "::", "ann:traefik:" + sha256Of("x"),
		"a:b:" + strings.ToUpper(md5Of("x")),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		key, read, err := parseUser(line)
		if err == nil && (len(read.hash) != read.algorithm.length() || read.hash != strings.ToLower(read.hash) ||
			!strings.HasPrefix(key, read.name+":"+read.realm+":")) {
			t.Fatalf("%q is %+v", line, read)
		}
	})
}

// BenchmarkDigestAuth measures existing and unknown users, whose refusal must take the same time.
func BenchmarkDigestAuth(b *testing.B) {
	next := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	for name, change := range map[string]func(c *client){
		"right password":             func(*client) {},
		"known user, wrong password": func(c *client) { c.password = "wrong" },
		"unknown user":               func(c *client) { c.user = "bob" },
	} {
		b.Run(name, func(b *testing.B) {
			step := build(b, dynamic.DigestAuth{})
			c := challenged(b, step)
			change(c)
			r := middlewaretest.Request(b, "GET /", c.authorization())
			handler := step.Wrap(next)
			w := new(middlewaretest.Writer)
			b.ReportAllocs()
			for b.Loop() {
				for i := range step.seen.shards {
					clear(step.seen.shards[i].used)
				}
				handler.ServeHTTP(w, r)
			}
		})
	}
	b.Run("no credentials", func(b *testing.B) {
		handler := build(b, dynamic.DigestAuth{}).Wrap(next)
		r := middlewaretest.Request(b, "GET /")
		b.ReportAllocs()
		for b.Loop() {
			handler.ServeHTTP(new(middlewaretest.Writer), r)
		}
	})
}
