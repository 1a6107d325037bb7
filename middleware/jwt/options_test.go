package jwt

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io/fs"
	"math/big"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
)

func block(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

func certificate(t testing.TB, key *ecdsa.PrivateKey) string {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "issuer"},
		NotAfter: time.Unix(1, 0),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return block("CERTIFICATE", der)
}

// readMap reads from a map, as a file system does.
func readMap(files map[string]string) func(string) ([]byte, error) {
	return func(path string) ([]byte, error) {
		text, has := files[path]
		if !has {
			return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
		}
		return []byte(text), nil
	}
}

// Keys from wherever they may be declared let in what they signed.
func TestSources(t *testing.T) {
	ring := keys()
	set := jwksOf(t, member(t, "r", ring.rsa))
	read := readMap(map[string]string{
		"/k/set": set, "/k/pem": publicPEM(t, ring.rsa), "/k/secret": secret,
		"/k/line": secret + "\n", "/k/dos": secret + "\r\n",
	})
	rs256 := sign(t, jose.RS256, ring.rsa, claimsWith(nil), map[string]any{"kid": "r"})
	es256, hs256 := sign(t, jose.ES256, ring.p256, claimsWith(nil), map[string]any{"kid": "any"}),
		sign(t, jose.HS256, []byte(secret), claimsWith(nil), nil)
	issued, _ := pem.Decode([]byte(certificate(t, ring.p256)))
	pkcs1 := block("RSA PUBLIC KEY", x509.MarshalPKCS1PublicKey(&ring.rsa.PublicKey))
	for name, test := range map[string]struct {
		config dynamic.JWT
		token  string
	}{
		"jwks":                {dynamic.JWT{Jwks: set}, rs256},
		"jwksFile":            {dynamic.JWT{JwksFile: "/k/set"}, rs256},
		"publicKey":           {dynamic.JWT{PublicKey: publicPEM(t, ring.rsa)}, rs256},
		"publicKey, PKCS1":    {dynamic.JWT{PublicKey: pkcs1}, rs256},
		"certificate":         {dynamic.JWT{PublicKey: certificate(t, ring.p256)}, es256},
		"two keys":            {dynamic.JWT{PublicKey: "old key:\n" + pkcs1 + "new key:\n" + publicPEM(t, ring.p256)}, es256},
		"publicKeyFile":       {dynamic.JWT{PublicKeyFile: "/k/pem"}, rs256},
		"signingSecret":       {dynamic.JWT{SigningSecret: secret}, hs256},
		"signingSecretFile":   {dynamic.JWT{SigningSecretFile: "/k/secret"}, hs256},
		"file with a line":    {dynamic.JWT{SigningSecretFile: "/k/line"}, hs256},
		"file with a DOS one": {dynamic.JWT{SigningSecretFile: "/k/dos"}, hs256},
		"key without kid":     {dynamic.JWT{Jwks: jwksOf(t, member(t, "", ring.rsa))}, rs256},
		"among keys of no use": {
			dynamic.JWT{Jwks: jwksOf(t, map[string]any{"kty": "new"}, member(t, "e", ring.rsa, "use", "enc"),
				member(t, "r", ring.rsa, "key_ops", []string{"verify"}, "x", nil))}, rs256,
		},
		"x5c beside the key": {dynamic.JWT{Jwks: jwksOf(t, member(t, "any", ring.p256, "x5c",
			[]string{base64.StdEncoding.EncodeToString(issued.Bytes)}))}, es256},
	} {
		t.Run(name, func(t *testing.T) {
			j, err := New("guard@file", test.config, Options{ReadFile: read})
			if err != nil {
				t.Fatal(err)
			}
			defer j.Close()
			if answer, got := serve(j, request(t, test.token)); got == nil {
				t.Errorf("answers %d", answer.Code)
			}
			if _, got := serve(j, request(t, test.token[:len(test.token)-5]+"AAAAA")); got != nil {
				t.Error("another signature passes")
			}
		})
	}
}

// badOption is a definition that can't work, and how its error begins.
type badOption struct {
	config dynamic.JWT
	want   string
}

func badKeys(t *testing.T) map[string]badOption {
	ring := keys()
	p224, err := ecdsa.GenerateKey(elliptic.P224(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(ring.p256)
	if err != nil {
		t.Fatal(err)
	}
	even := rsa.PublicKey{N: ring.rsa.N, E: 65536}
	return map[string]badOption{
		"nothing": {
			dynamic.JWT{},
			"jwt has no keys: one of jwksUrl, jwksFile, jwks, publicKey, publicKeyFile, signingSecret and signingSecretFile " +
				"is wanted",
		},
		"two": {
			dynamic.JWT{Jwks: "x", SigningSecret: secret},
			"one option with keys is wanted, but jwt.jwks, jwt.signingSecret are set",
		},
		"short secret": {
			dynamic.JWT{SigningSecret: secret[:31]},
			"jwt.signingSecret is too short: it has less than 32 bytes",
		},
		"short after all": {
			dynamic.JWT{SigningSecretFile: "/short"},
			"jwt.signingSecretFile is too short: it has less than 32 bytes",
		},
		"no file": {
			dynamic.JWT{SigningSecretFile: "/nowhere"},
			"jwt.signingSecretFile can't be read: file does not exist",
		},
		"no set": {dynamic.JWT{JwksFile: "/nowhere"}, "jwt.jwksFile can't be read: file does not exist"},
		"no key": {
			dynamic.JWT{PublicKeyFile: "/nowhere"},
			"jwt.publicKeyFile can't be read: file does not exist",
		},
		"PEM as a path": {
			dynamic.JWT{PublicKeyFile: publicPEM(t, ring.rsa)},
			"jwt.publicKeyFile is not the path of a file",
		},
		"set as a path": {dynamic.JWT{JwksFile: `{"keys":[]}`}, "jwt.jwksFile is not the path of a file"},
		"huge file":     {dynamic.JWT{JwksFile: "/huge"}, "jwt.jwksFile is longer than 1048576 bytes"},
		"huge PEM": {
			dynamic.JWT{PublicKey: strings.Repeat("-", 1<<16+1)},
			"jwt.publicKey is longer than 65536 bytes",
		},
		"no JSON":    {dynamic.JWT{Jwks: "keys"}, "jwt.jwks is no JSON"},
		"no object":  {dynamic.JWT{Jwks: "[]"}, "jwt.jwks is no key set: an object is wanted, and no name twice"},
		"no list":    {dynamic.JWT{Jwks: `{"Keys":[]}`}, "jwt.jwks is no key set: it has no list of keys"},
		"null":       {dynamic.JWT{Jwks: `{"keys":null}`}, "jwt.jwks is no key set: it has no list of keys"},
		"empty list": {dynamic.JWT{Jwks: `{"keys":[]}`}, "jwt.jwks holds no key for signatures"},
		"for encryption": {
			dynamic.JWT{Jwks: jwksOf(t, member(t, "a", ring.rsa, "use", "enc"))},
			"jwt.jwks holds no key for signatures",
		},
		"weak": {
			dynamic.JWT{Jwks: jwksOf(t, member(t, "a", ring.weakRSA))},
			"jwt.jwks holds no key that can be used: key 0 is not used: it is RSA with 1024 bits, and 2048 to 8192 are taken",
		},
		"symmetric": {
			dynamic.JWT{Jwks: `{"keys":[{"kty":"oct","k":"` + encode([]byte(secret)) + `"}]}`},
			"jwt.jwks holds no key that can be used: key 0 is not used: it is symmetric",
		},
		"disguised": {
			dynamic.JWT{Jwks: jwksOf(t, member(t, "a", ring.rsa, "k", "AAAA"))},
			"jwt.jwks holds no key that can be used: key 0 is not used: it is symmetric",
		},
		"private": {
			dynamic.JWT{Jwks: jwksOf(t, member(t, "a", ring.rsa, "d", "AAAA"))},
			"jwt.jwks holds no key that can be used: key 0 is not used: it is private",
		},
		"even exponent": {
			dynamic.JWT{Jwks: jwksOf(t, member(t, "a", &even))},
			"jwt.jwks holds no key that can be used: key 0 is not used: it is no key of RSA",
		},
		"not on the curve": {
			dynamic.JWT{Jwks: jwksOf(t, member(t, "a", ring.p256, "x", encode(make([]byte, 32))))},
			"jwt.jwks holds no key that can be used: key 0 is not used: it is malformed",
		},
		"twice in a key": {
			dynamic.JWT{Jwks: `{"keys":[{"kty":"RSA","kty":"oct"}]}`},
			"jwt.jwks holds no key that can be used: key 0 is not used: it is malformed",
		},
		"key is null": {
			dynamic.JWT{Jwks: `{"keys":[null]}`},
			"jwt.jwks holds no key that can be used: key 0 is not used: it is malformed",
		},
		"no PEM": {dynamic.JWT{PublicKey: "MIIB"}, "jwt.publicKey holds no public key or certificate in PEM"},
		"private PEM": {
			dynamic.JWT{PublicKey: publicPEM(t, ring.rsa) + block("PRIVATE KEY", private)},
			"jwt.publicKey holds a private key, and a public one is wanted",
		},
		"weak PEM": {
			dynamic.JWT{PublicKey: publicPEM(t, ring.weakRSA)},
			"jwt.publicKey can't be used: block 0: it is RSA with 1024 bits, and 2048 to 8192 are taken",
		},
		"P-224": {
			dynamic.JWT{PublicKey: publicPEM(t, p224)},
			"jwt.publicKey can't be used: block 0: its curve is not taken",
		},
		"broken PEM": {
			dynamic.JWT{PublicKey: publicPEM(t, ring.rsa) + block("PUBLIC KEY", []byte("x"))},
			"jwt.publicKey can't be used: block 1: ",
		},
		"request": {
			dynamic.JWT{PublicKey: block("CERTIFICATE REQUEST", []byte("x"))},
			"jwt.publicKey can't be used: block 0: it is neither PUBLIC KEY nor RSA PUBLIC KEY nor CERTIFICATE",
		},
		"HS256, public key": {
			dynamic.JWT{PublicKey: publicPEM(t, ring.rsa), Algorithms: []string{"RS256", "HS256"}},
			"jwt.algorithms[1] HS256 needs jwt.signingSecret, but there are public keys",
		},
		"RS256, secret": {
			dynamic.JWT{SigningSecret: secret, Algorithms: []string{"RS256"}},
			"jwt.algorithms[0] RS256 needs a public key, but there is jwt.signingSecret",
		},
		"none": {
			dynamic.JWT{SigningSecret: secret, Algorithms: []string{"none"}},
			"jwt.algorithms[0] is none of RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA, HS256, " +
				"HS384 and HS512",
		},
		"rs256": {
			dynamic.JWT{PublicKey: publicPEM(t, ring.rsa), Algorithms: []string{"rs256"}},
			"jwt.algorithms[0] is none of RS256",
		},
		"no fitting one": {
			dynamic.JWT{PublicKey: publicPEM(t, ring.rsa), Algorithms: []string{"ES256"}},
			"jwt.algorithms has none that fits a key of jwt.publicKey",
		},
		"HS512, 32 bytes": {
			dynamic.JWT{SigningSecret: secret[:32], Algorithms: []string{"HS512"}},
			"jwt.algorithms has none that fits a key of jwt.signingSecret",
		},
		"too many PEM": {
			dynamic.JWT{PublicKey: strings.Repeat(publicPEM(t, ring.p256), 11)},
			"jwt.publicKey holds more than 10 keys",
		},
		"tls without a URL": {
			dynamic.JWT{SigningSecret: secret, TLS: new(dynamic.ClientTLS)},
			"jwt.tls is set without jwt.jwksUrl",
		},
		"tls, no TLS": {
			dynamic.JWT{JwksURL: "http://127.0.0.1/k", TLS: new(dynamic.ClientTLS)},
			"jwt.tls is set, and jwt.jwksUrl is not https",
		},
		"tls, bad ca": {
			dynamic.JWT{JwksURL: "https://a.example/k", TLS: &dynamic.ClientTLS{CA: "/nowhere"}},
			"jwt.tls.ca: ",
		},
		"http": {
			dynamic.JWT{JwksURL: "http://issuer.example/k"},
			"jwt.jwksUrl is not https; http is taken for a loopback address only",
		},
		"http, nearly local": {dynamic.JWT{JwksURL: "http://127.0.0.1.example/k"}, "jwt.jwksUrl is not https"},
		"file URL":           {dynamic.JWT{JwksURL: "file://host/etc/passwd"}, "jwt.jwksUrl is not https"},
		"relative":           {dynamic.JWT{JwksURL: "/k"}, "jwt.jwksUrl is no absolute URL"},
		"no host":            {dynamic.JWT{JwksURL: "https://:80/k"}, "jwt.jwksUrl is no absolute URL"},
		"no URL":             {dynamic.JWT{JwksURL: "https://[::1/k"}, "jwt.jwksUrl is no absolute URL"},
		"user": {
			dynamic.JWT{JwksURL: "https://u:p@issuer.example/k"},
			"jwt.jwksUrl has a user, which is not taken",
		},
		"often": {
			dynamic.JWT{JwksURL: "https://a.example/k", RefreshInterval: 9e9},
			"jwt.refreshInterval 9s is not between 10s and 24h0m0s",
		},
		"seldom": {
			dynamic.JWT{JwksURL: "https://a.example/k", RefreshInterval: 25 * 3600e9},
			"jwt.refreshInterval 25h0m0s is not between 10s and 24h0m0s",
		},
		"negative": {
			dynamic.JWT{JwksURL: "https://a.example/k", RefreshInterval: -1},
			"jwt.refreshInterval -1ns is not between 10s and 24h0m0s",
		},
	}
}

func badRules(*testing.T) map[string]badOption {
	made := func(config dynamic.JWT) dynamic.JWT {
		config.SigningSecret = secret
		return config
	}
	many := map[string]string{}
	for i := range 33 {
		many[fmt.Sprintf("X-%d", i)] = "sub"
	}
	forward := func(name, claim string) dynamic.JWT {
		return made(dynamic.JWT{ForwardHeaders: map[string]string{name: claim}})
	}
	table := map[string]badOption{
		"leeway":      {made(dynamic.JWT{Leeway: -1}), "jwt.leeway -1ns is not between 0s and 5m0s"},
		"long leeway": {made(dynamic.JWT{Leeway: 301e9}), "jwt.leeway 5m1s is not between 0s and 5m0s"},
		"issuer":      {made(dynamic.JWT{Issuers: []string{"a", ""}}), "jwt.issuers[1] is empty"},
		"audience":    {made(dynamic.JWT{Audiences: []string{""}}), "jwt.audiences[0] is empty"},
		"claim":       {made(dynamic.JWT{Claims: []dynamic.JWTClaim{{}}}), "jwt.claims[0].name is empty"},
		"claim, dots": {
			made(dynamic.JWT{Claims: []dynamic.JWTClaim{{Name: "a."}}}),
			"jwt.claims[0].name begins or ends with a dot",
		},
		"claim, deep": {
			made(dynamic.JWT{Claims: []dynamic.JWTClaim{{Name: "a.a.a.a.a.a.a.a.a.a"}}}),
			"jwt.claims[0].name has more than 8 dots",
		},
		"claim, long": {
			made(dynamic.JWT{Claims: []dynamic.JWTClaim{{Name: strings.Repeat("a", 257)}}}),
			"jwt.claims[0].name is longer than 256 bytes",
		},
		"claim, value": {
			made(dynamic.JWT{Claims: []dynamic.JWTClaim{{Name: "a", Values: []string{"", "b"}}}}),
			"jwt.claims[0].values[0] is empty",
		},
		"realm":          {made(dynamic.JWT{Realm: "a\r\nSet-Cookie: b"}), "jwt.realm has a control character"},
		"header":         {made(dynamic.JWT{TokenHeader: "X Token"}), "jwt.tokenHeader is not the name of a header"},
		"header, cookie": {made(dynamic.JWT{TokenHeader: "cookie"}), "jwt.tokenHeader Cookie has a meaning of its own"},
		"cookie":         {made(dynamic.JWT{TokenCookie: "a=b"}), "jwt.tokenCookie is not the name of a cookie"},
		"query":          {made(dynamic.JWT{TokenQueryKey: "a\n"}), "jwt.tokenQueryKey has a control character"},
		"forward many": {
			made(dynamic.JWT{ForwardHeaders: many}),
			"jwt.forwardHeaders has 33 headers, and more than 32 are not taken",
		},
		"forward twice": {
			made(dynamic.JWT{ForwardHeaders: map[string]string{"X-User": "sub", "x_user": "iss"}}),
			`jwt.forwardHeaders: "X-User" and "x_user" are one header`,
		},
		"forward no":    {forward("X User", "sub"), `jwt.forwardHeaders: "X User" is not the name of a header`},
		"forward nil":   {forward("", "sub"), `jwt.forwardHeaders: "" is not the name of a header`},
		"forward claim": {forward("X-User", ""), "jwt.forwardHeaders.X-User is empty"},
		"forward token": {
			made(dynamic.JWT{TokenHeader: "X-Token", ForwardHeaders: map[string]string{"x_token": "sub"}}),
			`jwt.forwardHeaders: "x_token" is jwt.tokenHeader`,
		},
	}
	for _, name := range []string{
		"Authorization", "connection", "Content-Length", "content_length", "Host",
		"Transfer-Encoding", "TE", "Trailer", "Upgrade", "Cookie",
	} {
		table["forward "+name] = badOption{
			forward(name, "sub"),
			fmt.Sprintf("jwt.forwardHeaders: %q %s has a meaning of its own", name, http.CanonicalHeaderKey(name)),
		}
	}
	for _, name := range []string{"X-Forwarded-For", "x_real_ip"} {
		table["forward "+name] = badOption{
			forward(name, "sub"),
			fmt.Sprintf("jwt.forwardHeaders: %q %s says where a request came from", name, http.CanonicalHeaderKey(name)),
		}
	}
	return table
}

func TestBadOptions(t *testing.T) {
	read := readMap(map[string]string{"/short": secret[:31] + "\n", "/huge": strings.Repeat(" ", maxJWKS+1)})
	for _, table := range []map[string]badOption{badKeys(t), badRules(t)} {
		for name, test := range table {
			t.Run(name, func(t *testing.T) {
				j, err := New("guard@file", test.config, Options{ReadFile: read})
				if j != nil || err == nil || !strings.HasPrefix(err.Error(), test.want) {
					t.Fatalf("the error is %v, and %q is wanted", err, test.want)
				}
				if strings.Contains(err.Error(), "guard") {
					t.Error("the error names the middleware")
				}
			})
		}
	}
	if _, err := New("guard@file", dynamic.JWT{JwksFile: "/set"}, Options{}); err == nil ||
		err.Error() != "jwt.jwksFile can't be read here" {
		t.Errorf("without a way to read files: %v", err)
	}
	if _, err := New("guard@file", dynamic.JWT{JwksFile: "/set"}, Options{ReadFile: func(string) ([]byte, error) {
		return nil, os.ErrDeadlineExceeded
	}}); err == nil {
		t.Error("a file that can't be read is taken")
	}
}

// Zero values are the defaults, and so is what SetDefaults sets.
func TestDefaults(t *testing.T) {
	config := dynamic.JWT{JwksURL: "https://issuer.example/k"}
	var set dynamic.JWT
	set.SetDefaults()
	set.JwksURL = config.JwksURL
	for name, config := range map[string]dynamic.JWT{"zero": config, "set": set} {
		j := build(t, config)
		got := []any{j.challenge, j.extractors.header, j.keys.(*remote).every}
		if diff := cmp.Diff([]any{`Bearer realm="sluice"`, "Authorization", time.Hour}, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if j := build(t, set); j.rules.leeway != 30*time.Second {
		t.Errorf("the leeway is %v", j.rules.leeway)
	}
	for _, host := range []string{"localhost", "LocalHost:8080", "127.0.0.1", "127.1.2.3:80", "[::1]:80"} {
		build(t, dynamic.JWT{JwksURL: "http://" + host + "/k"})
	}
}

// What a declared set holds in vain is said where the definition is.
func TestWarnings(t *testing.T) {
	ring := keys()
	j := build(t, dynamic.JWT{Jwks: jwksOf(t, member(t, "a", ring.weakRSA), member(t, "b", ring.rsa),
		member(t, "c", ring.rsa, "use", "enc"))})
	want := []string{"jwt.jwks: key 0 is not used: it is RSA with 1024 bits, and 2048 to 8192 are taken"}
	if diff := cmp.Diff(want, j.Warnings()); diff != "" {
		t.Error(diff)
	}
}

// A token without a name is tried with few keys.
func TestTries(t *testing.T) {
	ring := keys()
	var members []map[string]any
	for i := range maxTries {
		members = append(members, member(t, fmt.Sprint(i), ring.otherRSA))
	}
	token, named := sign(t, jose.RS256, ring.rsa, claimsWith(nil), nil), sign(t, jose.RS256, ring.rsa, claimsWith(nil),
		map[string]any{"kid": "mine"})
	mine := member(t, "mine", ring.rsa)
	j := build(t, dynamic.JWT{Jwks: jwksOf(t, append(members[1:len(members):len(members)], mine)...)})
	expect(t, j, token, passes, "")
	j = build(t, dynamic.JWT{Jwks: jwksOf(t, append(members, mine)...)})
	expect(t, j, token, http.StatusUnauthorized, "the token names no key, and there are too many to try")
	expect(t, j, named, passes, "")
}
