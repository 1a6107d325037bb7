package jwt

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/telemetry"
)

// mark is in every secret, and must not be in any output.
const mark = "MARKEDMARKEDMARKEDMARKEDMARKEDMARKED"

// Whatever stands in a field that may hold a secret, also by mistake, no error has it.
func TestSecretsAreNotInErrors(t *testing.T) {
	private := "-----BEGIN PRIVATE KEY-----\n" + mark + "\n-----END PRIVATE KEY-----\n"
	missing := func(path string) ([]byte, error) {
		return nil, &os.PathError{Op: "open", Path: path, Err: os.ErrNotExist}
	}
	odd := func(path string) ([]byte, error) { return nil, fmt.Errorf("reading %s: %w", path, errors.New(path)) }
	holding := func(text string) func(string) ([]byte, error) {
		return func(string) ([]byte, error) { return []byte(text), nil }
	}
	configs := map[string]dynamic.JWT{}
	for i, text := range []string{
		mark, mark[:31], private, "{" + mark, `{"keys":"` + mark + `"}`, `{"keys":[{"kty":"` + mark + `","use":"sig"}]}`,
		`{"keys":[{"kty":"oct","k":"` + mark + `"}]}`,
		`{"keys":[{"kty":"EC","crv":"` + mark + `","use":"sig","x":"` + mark + `","y":""}]}`, `{"keys":[{"kty":"RSA","n":"` +
			mark + `","e":"AQAB","d":"` + mark + `"}]}`,
		`{"` + mark + `":1,"` + mark + `":2}`, `{"keys":[{"` + mark + `":1,"` + mark + `":2}]}`, "https://u:" + mark +
			"@issuer.example/k", "http://issuer.example/k?t=" + mark, "https://[" + mark, mark + "\x00://",
	} {
		for name, config := range map[string]dynamic.JWT{
			"jwksUrl": {JwksURL: text}, "jwksFile": {JwksFile: text}, "jwks": {Jwks: text}, "publicKey": {PublicKey: text},
			"publicKeyFile":     {PublicKeyFile: text},
			"signingSecret":     {SigningSecret: text, Algorithms: []string{"HS512"}},
			"signingSecretFile": {SigningSecretFile: text},
			"two":               {SigningSecret: text, PublicKey: text}, "algorithms": {
				SigningSecret: secret,
				Algorithms:    []string{text},
			},
			"tls": {JwksURL: "https://a.example/k", TLS: &dynamic.ClientTLS{Cert: private, Key: private}},
		} {
			configs[fmt.Sprint(name, i)] = config
		}
	}
	for name, config := range configs {
		for _, read := range []func(string) ([]byte, error){
			missing, odd, holding(mark[:31]), holding(private),
			holding(`{"keys":[{"kty":"oct","k":"` + mark + `"}]}`), nil,
		} {
			j, err := New("guard@file", config, Options{ReadFile: read})
			if err != nil && strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), "MARKED") {
				t.Errorf("%s: %v", name, err)
			}
			if j != nil {
				search(t, name, j)
				j.Close()
			}
		}
	}
}

// search prints an object in every way, and calls all of its methods.
func search(t *testing.T, name string, j *JWT) {
	t.Helper()
	state, levels := j.Status()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		for _, value := range []any{
			j, *j,
			[]*JWT{j},
			map[string]any{"a": j},
			struct{ J *JWT }{j},
			state, levels,
			j.Warnings(), j.Counts(),
		} {
			if text := fmt.Sprintf(verb, value); strings.Contains(text, "MARKED") || strings.Contains(strings.ToUpper(text),
				fmt.Sprintf("%X", "MARKED")) || strings.Contains(text, "[77 65 82 75") {
				t.Errorf("%s: %s of %T prints %s", name, verb, value, text)
			}
		}
	}
}

// No token, claim, cookie or query gets into a record, an answer, a log line or a printed object, whether the token
// is taken or not.
func TestTokensAreNotSeen(t *testing.T) {
	config := dynamic.JWT{
		SigningSecret: mark, TokenHeader: "Authorization", TokenCookie: "token", TokenQueryKey: "t", RemoveToken: true,
		ForwardHeaders: map[string]string{"X-Claim": "secret"},
		Claims:         []dynamic.JWTClaim{{Name: "role", Values: []string{"admin"}}},
	}
	j := build(t, config)
	marked := map[string]any{"secret": "MARKED", "sub": "ann", "role": "admin"}
	header := map[string]any{"kid": "MARKED", "jku": "https://MARKED/"}
	var tokens []string
	for _, changes := range []map[string]any{
		{},
		{"exp": 1},
		{"exp": "MARKED"},
		{"exp": nil},
		{"nbf": 9999999998},
		{"role": "MARKED"},
		{"role": nil},
		{"secret": "MARKED\n"},
		{"secret": []string{"MARKED,"}},
	} {
		claims := maps.Clone(marked)
		maps.Copy(claims, changes)
		tokens = append(tokens, sign(t, "HS256", []byte(mark), claimsWith(claims), header), sign(t, "HS256", []byte(secret),
			claimsWith(claims), header))
	}
	for _, header := range []map[string]any{
		{"alg": "MARKED"},
		{"typ": "MARKED"},
		{"cty": "MARKED"},
		{"crit": []string{"MARKED"}},
		{"MARKED": 1},
	} {
		tokens = append(tokens, sign(t, "HS256", []byte(mark), claimsWith(marked), header))
	}
	tokens = append(tokens, "MARKED", "MARKED.MARKED.MARKED", strings.Repeat("MARKED", 2000),
		signRaw(t, "HS256", []byte(mark), []byte(`{"alg":"HS256"}`), []byte(`{"MARKED":1,"MARKED":2}`)))
	for i, token := range tokens {
		for name, place := range map[string]func(r *http.Request){
			"header": func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) },
			"cookie": func(r *http.Request) { r.Header.Set("Cookie", "token="+token) },
			"query":  func(r *http.Request) { r.URL.RawQuery = "t=" + token },
			"twice":  func(r *http.Request) { r.Header["Authorization"] = []string{"Bearer " + token, token} },
		} {
			r := request(t, "")
			place(r)
			answer, _ := serve(j, r)
			parts := append(strings.Split(token, "."), "MARKED")
			seen := fmt.Sprintf("%+v %v %s", *telemetry.RecordFrom(r.Context()), answer.Header(), answer.Body)
			for _, part := range parts {
				if len(part) > 5 && strings.Contains(seen, part) {
					t.Errorf("%d in the %s: %s", i, name, seen)
				}
			}
		}
	}
	search(t, "used", j)
}

// What a provider says gets into a log line shortened, and the query of its URL not at all.
func TestProvidersAreNotQuoted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logger := new(lines)
		j, err := New("guard@file", dynamic.JWT{JwksURL: "https://issuer.example/k?token=" + mark}, Options{Logger: logger})
		if err != nil {
			t.Fatal(err)
		}
		defer j.Close()
		search(t, "fetched", j)
		answers := []string{
			mark, `{"` + mark + `":1,"` + mark + `":2}`, `{"keys":[{"kty":"` + mark + `","use":"sig"},{"kty":"EC","crv":"` +
				mark + `"},{"kty":"oct","k":"` + mark + `","kid":"` + mark + `"}]}`,
		}
		j.keys.(*remote).get = func(context.Context) ([]byte, error) {
			text := answers[0]
			answers = append(answers[1:], text)
			return []byte(text), nil
		}
		for range 6 {
			serve(j, request(t, "a.b.c"))
			pass(minInterval)
		}
		got := logger.take()
		if len(got) == 0 || strings.Contains(strings.Join(got, " "), "MARKED") {
			t.Errorf("logs %q", got)
		}
	})
	location := &url.URL{Scheme: "https", Host: "issuer.example", Path: "/k", RawQuery: "token=" + mark}
	refusing := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("refused")
	}}
	if _, err := fetchFrom(location, refusing)(t.Context()); err == nil || err.Error() != "refused" {
		t.Errorf("fetching fails with %v", err)
	}
	failed := plain(fmt.Errorf("malformed response %s", strings.Repeat("x", 1000)))
	if len(failed.Error()) > maxError {
		t.Errorf("an error has %d bytes", len(failed.Error()))
	}
}
