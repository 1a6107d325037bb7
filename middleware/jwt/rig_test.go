package jwt

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// secret is a signing secret for all three algorithms.
const secret = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// keyring are private keys, made once because that takes time.
type keyring struct {
	rsa, otherRSA, weakRSA *rsa.PrivateKey
	p256, p384, p521       *ecdsa.PrivateKey
	ed                     ed25519.PrivateKey
}

var keys = sync.OnceValue(func() keyring {
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	var ring keyring
	var err error
	ring.rsa, err = rsa.GenerateKey(rand.Reader, 2048)
	must(err)
	ring.otherRSA, err = rsa.GenerateKey(rand.Reader, 2048)
	must(err)
	ring.weakRSA, err = rsa.GenerateKey(rand.Reader, 1024)
	must(err)
	ring.p256, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	ring.p384, err = ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	must(err)
	ring.p521, err = ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	must(err)
	_, ring.ed, err = ed25519.GenerateKey(rand.Reader)
	must(err)
	return ring
})

// publicPEM returns the public half of a key as PEM text.
func publicPEM(t testing.TB, private crypto.Signer) string {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(private.Public())
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}

// member is a key of a set.
func member(t testing.TB, id string, key any, more ...any) map[string]any {
	t.Helper()
	if private, ok := key.(crypto.Signer); ok {
		key = private.Public()
	}
	text, err := jose.JSONWebKey{Key: key, KeyID: id}.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]any{}
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(more); i += 2 {
		fields[more[i].(string)] = more[i+1]
	}
	return fields
}

// jwksOf returns a key set.
func jwksOf(t testing.TB, members ...map[string]any) string {
	t.Helper()
	if members == nil {
		members = []map[string]any{}
	}
	text, err := json.Marshal(map[string]any{"keys": members})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// claimsWith returns claims that are valid for an hour, with changes; a nil one is taken away.
func claimsWith(changes map[string]any) map[string]any {
	now := time.Now().Unix()
	claims := map[string]any{"iss": "https://issuer.example", "sub": "ann", "aud": "api", "iat": now, "exp": now + 3600}
	maps.Copy(claims, changes)
	maps.DeleteFunc(claims, func(_ string, value any) bool { return value == nil })
	return claims
}

// sign returns a token, with more fields in its header.
func sign(t testing.TB, algorithm jose.SignatureAlgorithm, key any, claims any, header map[string]any) string {
	t.Helper()
	payload, isText := claims.([]byte)
	if !isText {
		var err error
		if payload, err = json.Marshal(claims); err != nil {
			t.Fatal(err)
		}
	}
	fields := map[string]any{"alg": algorithm}
	maps.Copy(fields, header)
	head, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return signRaw(t, algorithm, key, head, payload)
}

// signRaw signs any header and any payload.
func signRaw(t testing.TB, algorithm jose.SignatureAlgorithm, key any, head, payload []byte) string {
	t.Helper()
	input := encode(head) + "." + encode(payload)
	signed, err := signature(algorithm, key, input)
	if err != nil {
		t.Fatal(err)
	}
	return input + "." + encode(signed)
}

func encode(text []byte) string { return base64.RawURLEncoding.EncodeToString(text) }

// request returns a request with a token in Authorization.
func request(t testing.TB, token string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(telemetry.WithRecord(t.Context(), new(telemetry.Record)), http.MethodGet,
		"http://example.com/a?b=c", http.NoBody)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return r
}

// reached is what the service got.
type reached struct{ *http.Request }

// serve sends a request through.
func serve(j *JWT, r *http.Request) (answer *httptest.ResponseRecorder, got *reached) {
	answer = httptest.NewRecorder()
	j.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = &reached{r}
		w.WriteHeader(http.StatusNoContent)
	})).ServeHTTP(answer, r)
	return answer, got
}

// reason returns why a request was refused.
func reason(r *http.Request) string {
	_, why, _ := strings.Cut(telemetry.RecordFrom(r.Context()).Reason, ": ")
	return why
}

// build makes a jwt and closes it at the end.
func build(t testing.TB, config dynamic.JWT) *JWT {
	t.Helper()
	j, err := New("guard@file", config, Options{ReadFile: func(string) ([]byte, error) {
		return nil, errors.New("no files")
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(j.Close)
	return j
}

// lines is a logger that keeps what it gets.
type lines struct {
	mutex sync.Mutex
	text  []string
}

func (l *lines) add(level, message string, keysAndValues []any) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.text = append(l.text, level+" "+message+" "+fmt.Sprint(keysAndValues...))
}

func (l *lines) Debug(message string, keysAndValues ...any) { l.add("debug", message, keysAndValues) }

func (l *lines) Info(message string, keysAndValues ...any) { l.add("info", message, keysAndValues) }

func (l *lines) Warn(message string, keysAndValues ...any) { l.add("warn", message, keysAndValues) }

func (l *lines) Error(message string, keysAndValues ...any) { l.add("error", message, keysAndValues) }

// take returns the lines since the last call.
func (l *lines) take() []string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	taken := l.text
	l.text = nil
	return taken
}
