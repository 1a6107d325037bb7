package middleware_test

import (
	"crypto/hmac"
	"crypto/md5" //nolint:gosec // RFC 7616.
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
	"github.com/sluiceproxy/sluice/telemetry"
)

// signing is the secret of tokens.
const signing = "0123456789abcdef0123456789abcdef"

// admission is a middleware that authenticates.
type admission struct {
	step dynamic.Middleware
	// good and bad are values of Authorization, by the challenge that a request without one got.
	good, bad func(challenge string) string
}

func admissions(authServer string) map[string]admission {
	fixed := func(text string) func(string) string { return func(string) string { return text } }
	return map[string]admission{
		"basicAuth": {
			step: dynamic.Middleware{BasicAuth: &dynamic.BasicAuth{Users: []string{"ann:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ="}}},
			good: fixed("Basic " + base64.StdEncoding.EncodeToString([]byte("ann:secret"))),
			bad:  fixed("Basic " + base64.StdEncoding.EncodeToString([]byte("ann:guess"))),
		},
		"digestAuth": {
			step: dynamic.Middleware{DigestAuth: &dynamic.DigestAuth{
				Users: []string{"ann:traefik:" + md5Of("ann:traefik:secret")},
			}},
			good: func(challenge string) string { return digest(challenge, "secret") },
			bad:  func(challenge string) string { return digest(challenge, "guess") },
		},
		"jwt": {
			step: dynamic.Middleware{JWT: &dynamic.JWT{SigningSecret: signing, Realm: "sluice"}},
			good: fixed(bearer(signing)),
			bad:  fixed(bearer(signing + "x")),
		},
		"externalAuth": {
			step: dynamic.Middleware{ExternalAuth: &dynamic.ExternalAuth{Service: "authorization@file"}},
			good: fixed("Let me in"),
			bad:  fixed("Let me in, please"),
		},
		"authRequest": {
			step: dynamic.Middleware{AuthRequest: &dynamic.AuthRequest{URL: authServer}},
			good: fixed("Let me in"),
			bad:  fixed("Let me in, please"),
		},
		"forwardAuth": {
			step: dynamic.Middleware{ForwardAuth: &dynamic.ForwardAuth{Address: authServer}},
			good: fixed("Let me in"),
			bad:  fixed("Let me in, please"),
		},
	}
}

func md5Of(text string) string {
	sum := md5.Sum([]byte(text)) //nolint:gosec // RFC 7616.
	return hex.EncodeToString(sum[:])
}

// digest answers a challenge for GET /.
func digest(challenge, password string) string {
	found := regexp.MustCompile(`nonce="([^"]*)".*opaque="([^"]*)"`).FindStringSubmatch(challenge)
	if found == nil {
		return "Digest"
	}
	response := md5Of(md5Of("ann:traefik:"+password) + ":" + found[1] + ":00000001:c:auth:" + md5Of("GET:/"))
	return fmt.Sprintf(`Digest username="ann", realm="traefik", nonce=%q, uri="/", algorithm=MD5, qop=auth, nc=00000001, `+
		`cnonce="c", response=%q, opaque=%q`, found[1], response, found[2])
}

// bearer returns a token of ann by HS256 (RFC 7519).
func bearer(secret string) string {
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode([]byte(`{"alg":"HS256"}`)) + "." + encode(fmt.Appendf(nil, `{"sub":"ann","exp":%d}`,
		time.Now().Add(time.Hour).Unix()))
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = mac.Write([]byte(signed))
	return "Bearer " + signed + "." + encode(mac.Sum(nil))
}

// TestEnvironmentOfAuthenticatedRequests puts each middleware that authenticates before one of the kind environment
// that trusts it, behind it, and away. Only credentials that were verified before choose.
func TestEnvironmentOfAuthenticatedRequests(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Www-Authenticate", "Custom")
		status := http.StatusOK
		if r.Header.Get("Authorization") != "Let me in" {
			status = http.StatusUnauthorized
		}
		w.WriteHeader(status)
	}))
	defer server.Close()
	builder := middleware.NewBuilder(middleware.Options{})
	defer builder.Close()
	options := new(dynamic.EnvironmentMiddleware)
	options.SetDefaults()
	options.Trust = &dynamic.EnvironmentTrust{Authenticated: true}
	named := middleware.References{
		Service: func(string) (http.Handler, error) { return server.Config.Handler, nil },
	}
	build := func(definition dynamic.Middleware) middleware.Middleware {
		step, err := builder.Build("m@file", &definition, named, &middleware.Reads{})
		if err != nil {
			t.Fatal(err)
		}
		if closer, ok := step.(middleware.Closer); ok {
			t.Cleanup(closer.Close)
		}
		return step
	}
	choose := build(dynamic.Middleware{Environment: options})
	for kind, admission := range admissions(server.URL) {
		authenticate := build(admission.step)
		ask := func(authorization string, steps ...middleware.Middleware) (record telemetry.Record, tag, challenge string) {
			handler := http.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				tag = r.Header.Get("X-Virtual-Env")
			}))
			for i := len(steps) - 1; i >= 0; i-- {
				handler = steps[i].Wrap(handler)
			}
			headers := []string{
				"X-Virtual-Env: dev", "X-Forwarded-User: ann", "Authenticated: true", "X-Authenticated: true", "Remote-User: ann",
			}
			if authorization != "" {
				headers = append(headers, "Authorization: "+authorization)
			}
			r := middlewaretest.Request(t, "GET /", headers...)
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r.WithContext(telemetry.WithRecord(r.Context(), &record)))
			return record, tag, strings.Join(w.Header()["Www-Authenticate"], " ")
		}
		challenged, tag, challenge := ask("", authenticate, choose)
		if tag != "" || challenged.Authenticated {
			t.Errorf("%s: without credentials: tag %q, record %+v", kind, tag, challenged)
		}
		if record, tag, _ := ask(admission.bad(challenge), authenticate, choose); tag != "" || record.Authenticated {
			t.Errorf("%s: wrong credentials: tag %q, record %+v", kind, tag, record)
		}
		_, _, challenge = ask("", authenticate, choose)
		if record, tag, _ := ask(admission.good(challenge), authenticate, choose); tag != "dev" || !record.Authenticated {
			t.Errorf("%s: correct credentials: tag %q, record %+v", kind, tag, record)
		}
		_, _, challenge = ask("", authenticate, choose)
		if record, tag, _ := ask(admission.good(challenge), choose, authenticate); tag != "" || !record.Authenticated {
			t.Errorf("%s: behind the choice: tag %q, record %+v", kind, tag, record)
		}
		if record, tag, _ := ask(admission.good(challenge), choose); tag != "" || record.Authenticated {
			t.Errorf("%s: credentials that nothing verifies: tag %q, record %+v", kind, tag, record)
		}
	}
}
