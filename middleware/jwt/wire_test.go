package jwt

import (
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/oauth2-proxy/mockoidc"

	"github.com/sluiceproxy/sluice/dynamic"
)

// startTLS starts an OpenID provider with a certificate that one authority alone has signed, on a real socket.
func startTLS(t *testing.T) (provider *mockoidc.MockOIDC, client *http.Client, authority string) {
	t.Helper()
	certified := httptest.NewTLSServer(http.NotFoundHandler())
	certified.Close()
	served, err := mockoidc.NewServer(keys().rsa)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // It takes no time.
	if err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{Certificates: certified.TLS.Certificates, MinVersion: tls.VersionTLS12}
	if err := served.Start(tls.NewListener(listener, config), config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := served.Server.Close(); err != nil {
			t.Error(err)
		}
	})
	client = certified.Client()
	client.Transport.(*http.Transport).DisableKeepAlives = true
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return served, client, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certified.Certificate().Raw}))
}

// logIn goes the way of a user (OpenID Connect Core 1.0 section 3.1): a code, and for it a token.
func logIn(t *testing.T, provider *mockoidc.MockOIDC, client *http.Client) string {
	t.Helper()
	ask := func(r *http.Request) *http.Response {
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = answer.Body.Close() })
		return answer
	}
	query := url.Values{
		"client_id": {provider.ClientID}, "scope": {"openid email groups"}, "response_type": {"code"},
		"redirect_uri": {"https://app.example/back"}, "state": {"s"}, "nonce": {"n"},
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, provider.AuthorizationEndpoint()+"?"+query.Encode(),
		http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	back, err := ask(r).Location()
	if err != nil {
		t.Fatal(err)
	}
	form := url.Values{
		"client_id": {provider.ClientID}, "client_secret": {provider.ClientSecret}, "code": {back.Query().Get("code")},
		"grant_type": {"authorization_code"},
	}
	if r, err = http.NewRequestWithContext(t.Context(), http.MethodPost, provider.TokenEndpoint(),
		strings.NewReader(form.Encode())); err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	var tokens struct {
		ID string `json:"id_token"`
	}
	if err := json.NewDecoder(ask(r).Body).Decode(&tokens); err != nil || tokens.ID == "" {
		t.Fatalf("no token: %v", err)
	}
	return tokens.ID
}

// A user logs in at a provider over TLS and gets in with what it issued; a provider that another authority vouches
// for is not trusted.
func TestOpenIDProvider(t *testing.T) {
	provider, client, authority := startTLS(t)
	token := logIn(t, provider, client)
	config := dynamic.JWT{
		JwksURL: provider.JWKSEndpoint(), TLS: &dynamic.ClientTLS{CA: authority}, Issuers: []string{provider.Issuer()},
		Audiences: []string{provider.ClientID},
		Claims: []dynamic.JWTClaim{{Name: "groups", Values: []string{"design"}}, {
			Name:   "email_verified",
			Values: []string{"true"},
		}},
		ForwardHeaders: map[string]string{"X-Email": "email", "X-Groups": "groups"},
	}
	answer, got := serve(build(t, config), request(t, token))
	if got == nil {
		t.Fatalf("answers %d", answer.Code)
	}
	if email, groups := got.Header.Get("X-Email"), got.Header.Get("X-Groups"); email != "jane.doe@example.com" ||
		groups != "engineering,design" {
		t.Errorf("the service gets %q and %q", email, groups)
	}
	config.TLS = nil
	expect(t, build(t, config), token, http.StatusServiceUnavailable, noKeys)
	config.TLS = &dynamic.ClientTLS{InsecureSkipVerify: true}
	expect(t, build(t, config), token, passes, "")
}
