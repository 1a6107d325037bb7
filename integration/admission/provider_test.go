package admission

import (
	"crypto/rand"
	"crypto/rsa"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/oauth2-proxy/mockoidc"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// provided takes the tokens of an OpenID provider.
const provided = `
http:
  routers: {one: {rule: "Host(@any.test@)", service: one, middlewares: [token]}}
  middlewares:
    token: {jwt: {jwksUrl: "${JWKS}", issuers: ["${ISSUER}"], audiences: ["${CLIENT}"],
      forwardHeaders: {X-Mail: email}}}
  services: {one: {loadBalancer: {servers: [{url: "http://${ONE}"}]}}}
`

// pair returns a new key of the provider.
func pair(t *testing.T) *mockoidc.Keypair {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	made, err := mockoidc.NewKeypair(key)
	must(t, err)
	_, err = made.KeyID()
	must(t, err)
	return made
}

// TestProviderChangesItsKey rotates the key of an OpenID provider: tokens of the new key are accepted, those of the old
// one and of unknown keys are not.
func TestProviderChangesItsKey(t *testing.T) {
	t.Parallel()
	first, second := pair(t), pair(t)
	p, err := mockoidc.NewServer(first.PrivateKey)
	must(t, err)
	p.Keypair = first
	var changing sync.RWMutex // The provider reads its key while it answers.
	must(t, p.AddMiddleware(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			changing.RLock()
			defer changing.RUnlock()
			next.ServeHTTP(w, r)
		})
	}))
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // It is closed with the provider.
	must(t, err)
	must(t, p.Start(listener, nil))
	t.Cleanup(func() { _ = p.Server.Close() })
	token := func(key *mockoidc.Keypair) string {
		t.Helper()
		session, err := p.SessionStore.NewSession("openid email", "n", mockoidc.DefaultUser(), "", "")
		must(t, err)
		signed, err := session.IDToken(p.Config(), key, p.Now())
		must(t, err)
		return "Bearer " + signed
	}
	backend := harness.StartBackend(t, "one", nil)
	s := harness.Start(t, harness.Setup{
		Static: static, Dynamic: map[string]string{"all.yaml": backticks(provided)},
		Vars: map[string]string{"JWKS": p.JWKSEndpoint(), "ISSUER": p.Issuer(), "CLIENT": p.ClientID, "ONE": backend.H1},
	})
	client := harness.NewClient(t, harness.H1, s.Addr("web"), "any.test", nil)
	request := client.Request(http.MethodGet, "/x", nil)
	request.Header.Set("Authorization", token(first))
	if got := client.Send(request).Echo(t).Header.Get("X-Mail"); got != mockoidc.DefaultUser().Email {
		t.Errorf("the claim arrives as %q", got)
	}
	old, young := token(first), token(second)
	if got := get(t, client, "any.test", young); got != http.StatusUnauthorized {
		t.Errorf("a token of a key that is not the provider's: status %d", got)
	}
	changing.Lock()
	p.Keypair = second
	changing.Unlock()
	until(t, time.Minute, "the new key counts", func() bool {
		return get(t, client, "any.test", young) == http.StatusOK
	})
	for name, value := range map[string]string{"of the old key": old, "of another key": token(pair(t)), "none": ""} {
		if got := get(t, client, "any.test", value); got != http.StatusUnauthorized {
			t.Errorf("a token %s: status %d", name, got)
		}
	}
}
