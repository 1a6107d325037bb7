package jwt

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/sluiceproxy/sluice/dynamic"
)

// Every algorithm lets in with its key, and with no other.
func TestAlgorithms(t *testing.T) {
	ring := keys()
	all := map[jose.SignatureAlgorithm]any{
		jose.RS256: ring.rsa, jose.RS384: ring.rsa, jose.RS512: ring.rsa, jose.PS256: ring.rsa, jose.PS384: ring.rsa,
		jose.PS512: ring.rsa,
		jose.ES256: ring.p256, jose.ES384: ring.p384, jose.ES512: ring.p521, jose.EdDSA: ring.ed,
		jose.HS256: []byte(secret), jose.HS384: []byte(secret), jose.HS512: []byte(secret),
	}
	set := jwksOf(t, member(t, "r", ring.rsa), member(t, "e2", ring.p256), member(t, "e3", ring.p384),
		member(t, "e5", ring.p521), member(t, "d", ring.ed))
	public, private := build(t, dynamic.JWT{Jwks: set}), build(t, dynamic.JWT{SigningSecret: secret})
	for algorithm, key := range all {
		token := sign(t, algorithm, key, claimsWith(nil), nil)
		want := map[*JWT]bool{public: algorithm[0] != 'H', private: algorithm[0] == 'H'}
		for _, j := range []*JWT{public, private} {
			if _, got := serve(j, request(t, token)); (got != nil) != want[j] {
				t.Errorf("%s with public keys %v: passes %v", algorithm, j == public, got != nil)
			}
		}
		limited := dynamic.JWT{Jwks: set, Algorithms: []string{"ES256", "RS512"}}
		if algorithm[0] != 'H' {
			_, got := serve(build(t, limited), request(t, token))
			if want := slices.Contains(limited.Algorithms, string(algorithm)); (got != nil) != want {
				t.Errorf("%s, of %v: passes %v", algorithm, limited.Algorithms, got != nil)
			}
		}
	}
}

// attack is a token that must not let in, and why it does not.
type attack struct{ token, reason string }

// named signs with the key that is named r, unless the header says otherwise.
func named(t *testing.T, changes, header map[string]any) string {
	return sign(t, jose.RS256, keys().rsa, claimsWith(changes), withKid(header))
}

// formAttacks are no tokens, or tokens in another spelling.
func formAttacks(t *testing.T) map[string]attack {
	ring := keys()
	good := sign(t, jose.RS256, ring.rsa, claimsWith(nil), map[string]any{"kid": "r"})
	head, payload, signed := split(good)
	return map[string]attack{
		"empty":        {"", "the token is malformed"},
		"a word":       {"token", "the token is malformed"},
		"two parts":    {head + "." + payload, "the token is malformed"},
		"no signature": {head + "." + payload + ".", "the signature is wrong"},
		"four parts":   {good + ".a", "the token is malformed"},
		"encrypted":    {"a.b.c.d.e", "the token is encrypted, or no token"},
		"many dots":    {strings.Repeat(".", 8000), "the token is malformed"},
		"huge":         {good + strings.Repeat("A", maxToken), "the token is longer than 8192 bytes"},
		"JSON serialization": {
			`{"payload":"` + payload + `","protected":"` + head + `","signature":"` + signed + `"}`,
			"the token is malformed",
		},
		"padding":           {head + "." + payload + "." + signed + "==", "the token is malformed"},
		"line break":        {head + "." + payload + "." + signed[:10] + "\n" + signed[10:], "the token is malformed"},
		"space":             {head + "." + payload + " ." + signed, "the token is malformed"},
		"NUL":               {head + "." + payload + ".\x00" + signed, "the token is malformed"},
		"standard alphabet": {head + "." + payload + "." + "+/" + signed[2:], "the token is malformed"},
		"trailing bits":     {trailingBits(good), "the token is malformed"},
	}
}

// keyAttacks are signed with keys that are not allowed.
func keyAttacks(t *testing.T) map[string]attack {
	ring := keys()
	good := sign(t, jose.RS256, ring.rsa, claimsWith(nil), map[string]any{"kid": "r"})
	head, payload, signed := split(good)
	binary, _ := base64.RawURLEncoding.DecodeString(signed)
	hs256 := func(secret string) string {
		return sign(t, jose.HS256, []byte(secret), claimsWith(nil), map[string]any{"kid": "r"})
	}
	return map[string]attack{
		"truncated signature": {head + "." + payload + "." + encode(binary[:255]), "the signature is wrong"},
		"longer signature":    {good + "AAAA", "the signature is wrong"},
		"other payload": {
			head + "." + encode([]byte(`{"sub":"root","exp":9999999999}`)) + "." + signed,
			"the signature is wrong",
		},
		"other header": {
			encode([]byte(`{"alg":"RS512","kid":"r"}`)) + "." + payload + "." + signed,
			"the signature is wrong",
		},
		"another's key": {
			sign(t, jose.RS256, ring.otherRSA, claimsWith(nil), map[string]any{"kid": "r"}),
			"the signature is wrong",
		},
		"another's key, no kid": {sign(t, jose.RS256, ring.otherRSA, claimsWith(nil), nil), "the signature is wrong"},
		"confusion: PEM":        {hs256(publicPEM(t, ring.rsa)), "the algorithm of the token is not taken"},
		"confusion: PEM, trimmed": {
			hs256(strings.TrimSpace(publicPEM(t, ring.rsa))),
			"the algorithm of the token is not taken",
		},
		"confusion: modulus": {hs256(string(ring.rsa.N.Bytes())), "the algorithm of the token is not taken"},
		"empty secret":       {hs256(""), "the algorithm of the token is not taken"},
		"RSA named, EC signed": {
			sign(t, jose.ES256, ring.p256, claimsWith(nil), map[string]any{"kid": "r"}),
			"the algorithm of the token fits no key",
		},
		"unknown kid":         {named(t, nil, map[string]any{"kid": "other"}), "unknown key"},
		"kid with a path":     {named(t, nil, map[string]any{"kid": "../../../../dev/null"}), "unknown key"},
		"kid with SQL":        {named(t, nil, map[string]any{"kid": "x' UNION SELECT 'key"}), "unknown key"},
		"kid with NUL":        {named(t, nil, map[string]any{"kid": "r\x00"}), "unknown key"},
		"kid in another case": {named(t, nil, map[string]any{"kid": "R"}), "unknown key"},
		"kid is a number":     {named(t, nil, map[string]any{"kid": 1}), "the token is malformed"},
		"kid is null": {
			signRaw(t, jose.RS256, ring.rsa, []byte(`{"alg":"RS256","kid":null}`), claimsText()),
			"the token is malformed",
		},
	}
}

// headAttacks have headers that want something else.
func headAttacks(t *testing.T) map[string]attack {
	ring := keys()
	return map[string]attack{
		"crit": {
			named(t, nil, map[string]any{"crit": []string{"exp"}, "exp": 1}),
			"the header of the token has crit, which is not understood",
		},
		"crit, b64": {
			named(t, nil, map[string]any{"crit": []string{"b64"}, "b64": true}),
			"the header of the token has crit, which is not understood",
		},
		"crit, empty": {
			named(t, nil, map[string]any{"crit": []string{}}),
			"the header of the token has crit, which is not understood",
		},
		"b64 alone": {
			named(t, nil, map[string]any{"b64": false}),
			"the header of the token has b64, which is not understood",
		},
		"compressed": {
			named(t, nil, map[string]any{"zip": "DEF"}),
			"the header of the token has zip, which is not understood",
		},
		"enc": {
			named(t, nil, map[string]any{"enc": "A256GCM"}),
			"the header of the token has enc, which is not understood",
		},
		"nested":             {named(t, nil, map[string]any{"cty": "JWT"}), "the token is nested"},
		"nested, media type": {named(t, nil, map[string]any{"cty": "application/jwt"}), "the token is nested"},
		"log-out token": {
			named(t, nil, map[string]any{"typ": "logout+jwt"}),
			"the header of the token says that it is something else (typ)",
		},
		"typ is a list": {named(t, nil, map[string]any{"typ": []string{"JWT"}}), "the token is malformed"},
		"duplicate in the header": {
			signRaw(t, jose.RS256, ring.rsa, []byte(`{"alg":"none","alg":"RS256"}`), claimsText()),
			"the token is malformed",
		},
		"header is a list": {
			signRaw(t, jose.RS256, ring.rsa, []byte(`["RS256"]`), claimsText()),
			"the token is malformed",
		},
		"header is null": {signRaw(t, jose.RS256, ring.rsa, []byte(`null`), claimsText()), "the token is malformed"},
		"header goes on": {
			signRaw(t, jose.RS256, ring.rsa, []byte(`{"alg":"RS256"}{}`), claimsText()),
			"the token is malformed",
		},
		"no alg": {
			signRaw(t, jose.RS256, ring.rsa, []byte(`{}`), claimsText()),
			"the algorithm of the token is not taken",
		},
		"alg in another case": {
			signRaw(t, jose.RS256, ring.rsa, []byte(`{"Alg":"RS256"}`), claimsText()),
			"the algorithm of the token is not taken",
		},
	}
}

// claimAttacks are well signed, and say what does not let in.
func claimAttacks(t *testing.T) map[string]attack {
	ring := keys()
	good := sign(t, jose.RS256, ring.rsa, claimsWith(nil), map[string]any{"kid": "r"})
	now := time.Now().Unix()
	return map[string]attack{
		"duplicate claim": {signRaw(t, jose.RS256, ring.rsa, []byte(`{"alg":"RS256"}`),
			[]byte(`{"exp":9999999999,"sub":"a","sub":"b"}`)), "the claims of the token are malformed"},
		"duplicate, nested": {signRaw(t, jose.RS256, ring.rsa, []byte(`{"alg":"RS256"}`),
			[]byte(`{"exp":9999999999,"a":[{"b":1,"b":2}]}`)), "the claims of the token are malformed"},
		"claims go on": {signRaw(t, jose.RS256, ring.rsa, []byte(`{"alg":"RS256"}`),
			[]byte(`{"exp":9999999999} {}`)), "the claims of the token are malformed"},
		"claims are null": {
			signRaw(t, jose.RS256, ring.rsa, []byte(`{"alg":"RS256"}`), []byte(`null`)),
			"the claims of the token are malformed",
		},
		"claims are a token": {
			signRaw(t, jose.RS256, ring.rsa, []byte(`{"alg":"RS256"}`), []byte(good)),
			"the claims of the token are malformed",
		},
		"claims not in UTF-8": {signRaw(t, jose.RS256, ring.rsa, []byte(`{"alg":"RS256"}`),
			[]byte("{\"exp\":9999999999,\"a\":\"\xff\"}")), "the claims of the token are malformed"},
		"expired":       {named(t, map[string]any{"exp": now - 31}, nil), "expired"},
		"never expires": {named(t, map[string]any{"exp": nil}, nil), "the token never expires (exp)"},
		"exp is a text": {
			named(t, map[string]any{"exp": fmt.Sprint(now + 60)}, nil),
			"a time in the token is malformed",
		},
		"exp is too big": {
			signRaw(t, jose.RS256, ring.rsa, []byte(`{"alg":"RS256"}`), []byte(`{"exp":1e400}`)),
			"a time in the token is malformed",
		},
		"exp is null": {
			signRaw(t, jose.RS256, ring.rsa, []byte(`{"alg":"RS256"}`), []byte(`{"exp":null}`)),
			"a time in the token is malformed",
		},
		"exp in another case": {
			named(t, map[string]any{"exp": nil, "Exp": now + 60}, nil),
			"the token never expires (exp)",
		},
		"not valid yet":        {named(t, map[string]any{"nbf": now + 40}, nil), "not valid yet (nbf)"},
		"nbf is a list":        {named(t, map[string]any{"nbf": []int64{now}}, nil), "a time in the token is malformed"},
		"issued in the future": {named(t, map[string]any{"iat": now + 40}, nil), "issued in the future (iat)"},
		"iat is true":          {named(t, map[string]any{"iat": true}, nil), "a time in the token is malformed"},
		"another issuer":       {named(t, map[string]any{"iss": "https://issuer.example/"}, nil), "another issuer (iss)"},
		"no issuer":            {named(t, map[string]any{"iss": nil}, nil), "another issuer (iss)"},
		"a list of issuers": {
			named(t, map[string]any{"iss": []string{"https://issuer.example"}}, nil),
			"another issuer (iss)",
		},
		"another audience":      {named(t, map[string]any{"aud": "api2"}, nil), "another audience (aud)"},
		"other audiences":       {named(t, map[string]any{"aud": []string{"a", "b"}}, nil), "another audience (aud)"},
		"no audience":           {named(t, map[string]any{"aud": nil}, nil), "another audience (aud)"},
		"audience and a number": {named(t, map[string]any{"aud": []any{"api", 1}}, nil), "another audience (aud)"},
		"audiences in words":    {named(t, map[string]any{"aud": "api other"}, nil), "another audience (aud)"},
	}
}

// curveAttacks are signatures that careless arithmetic takes.
func curveAttacks(t *testing.T) map[string]attack {
	ring := keys()
	head, payload, signed := split(sign(t, jose.ES256, ring.p256, claimsWith(nil), map[string]any{"kid": "e"}))
	genuine, _ := base64.RawURLEncoding.DecodeString(signed)
	ec := func(signature []byte) string { return head + "." + payload + "." + encode(signature) }
	return map[string]attack{
		"psychic signature": {ec(make([]byte, 64)), "the signature is wrong"},
		"r is 0":            {ec(append(make([]byte, 32), genuine[32:]...)), "the signature is wrong"},
		"s is 0":            {ec(append(genuine[:32:32], make([]byte, 32)...)), "the signature is wrong"},
		"r and s are the order": {
			ec(append(ring.p256.Params().N.Bytes(), ring.p256.Params().N.Bytes()...)),
			"the signature is wrong",
		},
		"s goes once around":      {ec(slices.Repeat([]byte{0xff}, 64)), "the signature is wrong"},
		"half of an EC signature": {ec(genuine[:32]), "the signature is wrong"},
		"EC signature in DER":     {ec(append([]byte{0x30, 0x44, 2, 32}, genuine...)), "the signature is wrong"},
	}
}

// noneAttacks are not signed, and say so.
func noneAttacks(t *testing.T) map[string]attack {
	_, payload, signed := split(named(t, nil, nil))
	table := map[string]attack{}
	for _, none := range []string{"none", "None", "NONE", "nOnE", "none ", "", "null"} {
		head := encode([]byte(`{"alg":"` + none + `","kid":"r"}`))
		table["alg "+none] = attack{head + "." + payload + ".", "the algorithm of the token is not taken"}
		table["alg "+none+", signed"] = attack{head + "." + payload + "." + signed, "the algorithm of the token is not taken"}
	}
	return table
}

func attacks(t *testing.T) map[string]attack {
	all := map[string]attack{}
	for _, table := range []func(*testing.T) map[string]attack{
		formAttacks, keyAttacks, headAttacks, claimAttacks,
		curveAttacks, noneAttacks,
	} {
		maps.Copy(all, table(t))
	}
	return all
}

func split(token string) (head, payload, signature string) {
	parts := strings.Split(token, ".")
	return parts[0], parts[1], parts[2]
}

func withKid(header map[string]any) map[string]any {
	if header["kid"] == nil {
		if header == nil {
			header = map[string]any{}
		}
		header["kid"] = "r"
	}
	return header
}

func claimsText() []byte {
	return []byte(`{"exp":9999999999,"iss":"https://issuer.example","aud":"api"}`)
}

// trailingBits returns the same signature in another spelling: 256 bytes in base64 leave four bits that a careless
// reader drops.
func trailingBits(token string) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := strings.IndexByte(alphabet, token[len(token)-1])
	return token[:len(token)-1] + string(alphabet[last|1])
}

func guarded(t *testing.T) dynamic.JWT {
	ring := keys()
	return dynamic.JWT{
		Jwks:    jwksOf(t, member(t, "r", ring.rsa), member(t, "e", ring.p256)),
		Issuers: []string{"https://issuer.example"}, Audiences: []string{"api", "web"}, Leeway: 30e9,
	}
}

func TestAttacks(t *testing.T) {
	j := build(t, guarded(t))
	for name, test := range attacks(t) {
		t.Run(name, func(t *testing.T) {
			for range 2 { // The second time as well.
				r := request(t, "x")
				r.Header.Set("Authorization", "Bearer "+test.token)
				answer, got := serve(j, r)
				if got != nil || answer.Code != http.StatusUnauthorized || reason(r) != test.reason {
					t.Errorf("passes %v, answers %d, because %q, and %q is wanted", got != nil, answer.Code, reason(r), test.reason)
				}
				if said := answer.Header().Get("Www-Authenticate"); said != `Bearer realm="sluice", error="invalid_token"` {
					t.Errorf("WWW-Authenticate: %s", said)
				}
			}
		})
	}
	if j.cache.size() != 0 {
		t.Error("something is cached of them")
	}
}

// Tokens at the edge of what is taken.
func TestTaken(t *testing.T) {
	ring, now := keys(), time.Now().Unix()
	j := build(t, guarded(t))
	for name, token := range map[string]string{
		"plain":             sign(t, jose.RS256, ring.rsa, claimsWith(nil), map[string]any{"kid": "r"}),
		"no kid":            sign(t, jose.RS256, ring.rsa, claimsWith(nil), nil),
		"typ JWT":           sign(t, jose.RS256, ring.rsa, claimsWith(nil), map[string]any{"typ": "JWT"}),
		"typ at+jwt":        sign(t, jose.RS256, ring.rsa, claimsWith(nil), map[string]any{"typ": "at+jwt"}),
		"typ as media type": sign(t, jose.RS256, ring.rsa, claimsWith(nil), map[string]any{"typ": "application/at+JWT"}),
		"cty json":          sign(t, jose.RS256, ring.rsa, claimsWith(nil), map[string]any{"cty": "json"}),
		"PSS":               sign(t, jose.PS512, ring.rsa, claimsWith(nil), map[string]any{"kid": "r"}),
		"just expired": sign(t, jose.ES256, ring.p256, claimsWith(map[string]any{"exp": now - 25}),
			map[string]any{"kid": "e"}),
		"nearly valid": sign(t, jose.ES256, ring.p256, claimsWith(map[string]any{"nbf": now + 25, "iat": now + 25}),
			map[string]any{"kid": "e"}),
		"parts of a second": sign(t, jose.ES256, ring.p256, claimsWith(map[string]any{"exp": float64(now) + 60.5}), nil),
		"centuries":         sign(t, jose.ES256, ring.p256, claimsWith(map[string]any{"exp": 1e15}), nil),
		"several audiences": sign(t, jose.ES256, ring.p256, claimsWith(map[string]any{"aud": []string{"x", "web"}}), nil),
		"jwk of another": sign(t, jose.RS256, ring.rsa, claimsWith(nil),
			map[string]any{"jwk": member(t, "r", ring.otherRSA)}),
		"jku and x5u": sign(t, jose.RS256, ring.rsa, claimsWith(nil),
			map[string]any{"jku": "https://evil.example/jwks", "x5u": "https://evil.example/x"}),
		"unknown in header": sign(t, jose.RS256, ring.rsa, claimsWith(nil), map[string]any{
			"nonce": "abc",
			"x":     map[string]any{"y": 1},
		}),
		"sub is a number": sign(t, jose.RS256, ring.rsa, claimsWith(map[string]any{"sub": 5}), nil),
		"claims with spaces": signRaw(t, jose.RS256, ring.rsa, []byte(" {\"alg\" : \"RS256\"}\n"),
			append([]byte(" \n"), claimsText()...)),
	} {
		t.Run(name, func(t *testing.T) {
			r := request(t, token)
			if answer, got := serve(j, r); got == nil {
				t.Errorf("answers %d, because %q", answer.Code, reason(r))
			}
		})
	}
}

// A key that a token brings along is never taken, and what it points to never fetched.
func TestInjectedKeys(t *testing.T) {
	ring := keys()
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		_, _ = w.Write([]byte(jwksOf(t, member(t, "r", ring.otherRSA), member(t, "evil", ring.otherRSA))))
	}))
	defer server.Close()
	j := build(t, guarded(t))
	for _, kid := range []string{"r", "evil"} {
		for name, header := range map[string]map[string]any{
			"jwk": {"jwk": member(t, kid, ring.otherRSA)},
			"jku": {"jku": server.URL},
			"x5u": {"x5u": server.URL},
			"x5c": {"x5c": []string{"MIIB"}},
		} {
			header["kid"] = kid
			if _, got := serve(j, request(t, sign(t, jose.RS256, ring.otherRSA, claimsWith(nil), header))); got != nil {
				t.Errorf("%s with kid %s passes", name, kid)
			}
		}
	}
	if asked != 0 {
		t.Errorf("the server of the attacker got %d requests", asked)
	}
}
