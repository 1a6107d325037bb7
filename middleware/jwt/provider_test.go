package jwt

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oauth2-proxy/mockoidc"

	"github.com/sluiceproxy/sluice/dynamic"
)

// provider is an OpenID provider on a network in memory, so that its clock and ours are that of the test.
type provider struct {
	*mockoidc.MockOIDC

	network *network
	asked   atomic.Int64
	mood    atomic.Pointer[func(w http.ResponseWriter, r *http.Request)] // How it misbehaves, if it does.
}

func startProvider(t testing.TB) *provider {
	t.Helper()
	served, err := mockoidc.NewServer(keys().rsa)
	if err != nil {
		t.Fatal(err)
	}
	p := &provider{MockOIDC: served, network: &network{queue: make(chan net.Conn), closed: make(chan struct{})}}
	if err := p.AddMiddleware(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			p.asked.Add(1)
			if misbehave := p.mood.Load(); misbehave != nil {
				(*misbehave)(w, r)
				return
			}
			next.ServeHTTP(w, r)
		})
	}); err != nil {
		t.Fatal(err)
	}
	p.rotate(t, keys().rsa)
	if err := p.Start(p.network, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Server.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// rotate has the provider sign with another key alone.
func (p *provider) rotate(t testing.TB, key *rsa.PrivateKey) {
	t.Helper()
	pair, err := mockoidc.NewKeypair(key)
	if err == nil {
		_, err = pair.KeyID()
	}
	if err != nil {
		t.Fatal(err)
	}
	p.Keypair = pair
}

// behave has the provider answer in another way; nil is its own.
func (p *provider) behave(how func(w http.ResponseWriter, r *http.Request)) {
	if how == nil {
		p.mood.Store(nil)
		return
	}
	p.mood.Store(&how)
}

// token returns an identity token for Jane.
func (p *provider) token(t testing.TB) string {
	t.Helper()
	session, err := p.SessionStore.NewSession("openid email groups", "n", mockoidc.DefaultUser(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	token, err := session.IDToken(p.Config(), p.Keypair, p.Now())
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// guard returns a jwt that takes the provider's tokens.
func (p *provider) guard(t testing.TB, logger *lines, change func(*dynamic.JWT)) *JWT {
	t.Helper()
	config := dynamic.JWT{JwksURL: p.JWKSEndpoint(), Issuers: []string{p.Issuer()}, Audiences: []string{p.ClientID}}
	if change != nil {
		change(&config)
	}
	j, err := New("guard@file", config, Options{Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	location, err := url.Parse(config.JwksURL)
	if err != nil {
		t.Fatal(err)
	}
	j.keys.(*remote).get = fetchFrom(location, newTransport(nil, p.network.dial))
	t.Cleanup(j.Close)
	return j
}

// network is a listener in memory.
type network struct {
	queue  chan net.Conn
	closed chan struct{}
	once   sync.Once
	dead   atomic.Bool
}

func (n *network) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	if n.dead.Load() {
		return nil, errors.New("connection refused")
	}
	ours, theirs := net.Pipe()
	select {
	case n.queue <- theirs:
		return ours, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept returns the next connection.
func (n *network) Accept() (net.Conn, error) {
	select {
	case connection := <-n.queue:
		return connection, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

// Close ends the listener.
func (n *network) Close() error {
	n.once.Do(func() { close(n.closed) })
	return nil
}

// Addr returns a loopback address.
func (*network) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8443} }

// pass lets the test's time go by.
func pass(duration time.Duration) { <-time.NewTimer(duration).C }

// expect sends a token, and demands a status: 204 is that of the service.
func expect(t testing.TB, j *JWT, token string, status int, why string) {
	t.Helper()
	r := request(t, token)
	if answer, _ := serve(j, r); answer.Code != status || reason(r) != why {
		t.Errorf("answers %d, because %q; %d is wanted, because %q", answer.Code, reason(r), status, why)
	}
}

// logged demands these lines, by how they begin.
func logged(t testing.TB, logger *lines, want ...string) {
	t.Helper()
	got := logger.take()
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("logs %q, and %q are wanted", got, want)
			return
		}
	}
}

func anotherKey(t testing.TB) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return key
}
