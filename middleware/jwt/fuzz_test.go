package jwt

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
)

// FuzzToken demands that nothing is accepted but what the secret signed, in its one spelling.
func FuzzToken(f *testing.F) {
	for _, payload := range []string{
		`{"exp":9999999999}`, `{"exp":9999999999,"sub":"ann","aud":["a"]}`, `{"exp":1}`,
		`[]`,
	} {
		for _, head := range []string{
			`{"alg":"HS256"}`, `{"alg":"HS256","typ":"JWT","kid":"a"}`, `{"alg":"none"}`,
			`{"alg":"HS256","crit":["b64"],"b64":false}`, `{"alg":"HS512","jwk":{"kty":"oct","k":""}}`,
		} {
			f.Add(signRaw(f, "HS256", []byte(secret), []byte(head), []byte(payload)))
		}
	}
	for _, seed := range []string{"", ".", "..", "....", "a.b.c", "e30.e30.", "e30.e30.\n"} {
		f.Add(seed)
	}
	j, err := New("fuzz@file", dynamic.JWT{
		SigningSecret: secret, Algorithms: []string{"HS256"},
		ForwardHeaders: map[string]string{"X-A": "a.b", "X-Sub": "sub"},
	}, Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		found, refused := j.judge(t.Context(), raw)
		if (refused == nil) != (found != nil) {
			t.Fatalf("%v, %v", found, refused)
		}
		if refused != nil {
			return
		}
		parts := strings.Split(raw, ".")
		want, err := signature("HS256", []byte(secret), parts[0]+"."+parts[1])
		if err != nil || len(parts) != 3 || parts[2] != encode(want) {
			t.Fatalf("%q gets in", raw)
		}
		for _, part := range parts {
			if binary, err := base64.RawURLEncoding.DecodeString(part); err != nil || encode(binary) != part {
				t.Fatalf("%q gets in, in another spelling", raw)
			}
		}
	})
}

// FuzzJWKS reads sets: whatever they hold, no key comes out that is symmetric, private, weak or without an algorithm.
func FuzzJWKS(f *testing.F) {
	ring := keys()
	f.Add([]byte(jwksOf(f, member(f, "r", ring.rsa, "use", "sig", "alg", "RS256"), member(f, "e", ring.p256, "key_ops",
		[]string{"verify"}), member(f, "d", ring.ed))))
	f.Add([]byte(jwksOf(f, member(f, "weak", ring.weakRSA), member(f, "p", ring.p521, "d", "AAAA"),
		map[string]any{"kty": "oct", "k": "AAAA"})))
	for _, seed := range []string{
		``, `{}`, `null`, `{"keys":[{}]}`, `{"keys":[{"kty":"RSA","n":"","e":""}]}`,
		`{"keys":[{"kty":"EC","crv":"P-256","x":"","y":""}]}`, `{"keys":[[[[]]]]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		keys, ignored, err := parseJWKS(text)
		if err != nil && len(keys)+len(ignored) > 0 || len(keys)+len(ignored) > maxKeys {
			t.Fatalf("%d keys, %d lines, %v", len(keys), len(ignored), err)
		}
		for _, key := range keys {
			switch k := key.material().(type) {
			case *rsa.PublicKey:
				if k.N.BitLen() < minRSA {
					t.Fatalf("%d bits", k.N.BitLen())
				}
			case *ecdsa.PublicKey, ed25519.PublicKey:
			default:
				t.Fatalf("a %T", k)
			}
			if len(key.algorithms) == 0 {
				t.Fatal("a key without an algorithm")
			}
			for _, algorithm := range key.algorithms {
				if algorithm[0] == 'H' {
					t.Fatalf("a public key for %s", algorithm)
				}
			}
		}
		if len(newKeySet(keys, asymmetric()).keys) != len(keys) {
			t.Fatal("a key that fits nothing")
		}
	})
}

// FuzzClaim looks up, compares and writes claims by any path: what reaches a header is one line without blanks at its
// ends.
func FuzzClaim(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"a":{"b":["c",1,true,null,{"d":"e"}]}}`, "a.b"},
		{`{"a.b":"x","a":{"c":1}}`, "a.b"},
		{`{"a":" x"}`, "a"},
		{`{"a":"x\u0085"}`, "a"},
		{`{"a":{"a":{"a":{"a.a":1}}}}`, "a.a.a.a.a.a.a.a"},
		{`{"":{"":""}}`, "."},
		{`{"a":[["b,c"]]}`, "a"},
		{`{"a":1e999}`, "a"},
	} {
		f.Add([]byte(seed[0]), seed[1])
	}
	f.Fuzz(func(t *testing.T, payload []byte, path string) {
		claims, refused := decode(payload)
		if refused != nil || len(payload) > maxToken || checkPath(path) != nil {
			return
		}
		claim, found := lookUp(claims, path)
		if !found && claim != nil {
			t.Fatalf("not found, and yet %v", claim)
		}
		if _, flat := claims[path]; flat && !found {
			t.Fatalf("%q is there, and not found", path)
		}
		if has("scope", claim, []string{"x"}) && !has("scope", claim, nil) {
			t.Fatal("it has a value, and is not there")
		}
		text, err := write(claim)
		if err == nil && (len(text) > maxValue || strings.ContainsAny(text, "\r\n\x00") || strings.TrimSpace(text) != text) {
			t.Fatalf("a header gets %q", text)
		}
	})
}

// FuzzPlaces takes tokens out of requests: nothing that any reader would find stays, and all else does.
func FuzzPlaces(f *testing.F) {
	for _, seed := range [][3]string{
		{"a=1; token=x; b=2", "a=1&t=x&b", "Bearer x"},
		{`token="x";token`, "t&t=&%74=1", "bearer"},
		{";;token=;", "&&t=x&", "Basic x"},
		{"token", "t=%zz&a;t=1", ""},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	p := tokenExtractors{header: authorization, cookie: "token", query: "t", remove: true}
	f.Fuzz(func(t *testing.T, cookie, query, line string) {
		r := &http.Request{
			Method: http.MethodGet, URL: &url.URL{Path: "/p", RawQuery: query}, RequestURI: "/p?" + query,
			Header: http.Header{
				"Cookie": {cookie}, "Authorization": {line}, "X-Other": {"kept"},
			},
		}
		before, beforeError := url.ParseQuery(query)
		cookies := (&http.Request{Header: http.Header{"Cookie": {cookie}}}).Cookies()
		p.clean(r, "x")
		if _, refused := p.find(r); refused == nil || refused.kind != absent {
			t.Fatalf("there is still a token in %q %q", r.URL.RawQuery, r.Header)
		}
		if len(r.CookiesNamed("token")) > 0 || r.Header.Get("X-Other") != "kept" {
			t.Fatalf("%q", r.Header)
		}
		kept := 0
		for _, one := range cookies {
			if one.Name != "token" {
				kept++
			}
		}
		if left := len(r.Cookies()); left != kept {
			t.Fatalf("%d cookies of %d are left of %q", left, kept, cookie)
		}
		after, err := url.ParseQuery(r.URL.RawQuery)
		if delete(before, "t"); beforeError == nil && (err != nil || before.Encode() != after.Encode()) {
			t.Fatalf("%q becomes %q", query, r.URL.RawQuery)
		}
		if r.URL.RawQuery != query && r.RequestURI != r.URL.RequestURI() {
			t.Fatalf("%q and %q", r.RequestURI, r.URL.RequestURI())
		}
	})
}

// FuzzPEM reads keys, of which there is at least one or an error.
func FuzzPEM(f *testing.F) {
	f.Add([]byte(publicPEM(f, keys().rsa)))
	f.Add([]byte(publicPEM(f, keys().ed) + publicPEM(f, keys().p384)))
	f.Add(bytes.Repeat([]byte("-----BEGIN PUBLIC KEY-----\n"), 3))
	f.Fuzz(func(t *testing.T, text []byte) {
		keys, err := parsePEM(text)
		if (err == nil) != (len(keys) > 0) || err == nil && len(newKeySet(keys, asymmetric()).keys) != len(keys) {
			t.Fatalf("%d keys, %v", len(keys), err)
		}
	})
}
