package balance

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// valueOf is the value of the cookie that names a server or a child service, as Traefik computes it.
func valueOf(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])[:16]
}

// browser is a client that keeps the cookies it gets.
type browser struct {
	*harness.Client

	t       *testing.T
	cookies map[string]string
}

func (p *proxy) browser(service string) *browser {
	return &browser{p.client(service), p.t, map[string]string{}}
}

// visit sends a request, and returns the endpoint and the cookies that it sets.
func (b *browser) visit() (string, []*http.Cookie) {
	b.t.Helper()
	request := b.Request(http.MethodGet, "/", nil)
	for name, value := range b.cookies {
		request.AddCookie(&http.Cookie{Name: name, Value: value}) //nolint:gosec // It is sent, not set.
	}
	answer := b.Send(request)
	for _, cookie := range answer.Cookies() {
		b.cookies[cookie.Name] = cookie.Value
	}
	return answeredBy(b.t, answer), answer.Cookies()
}

// expect visits several times: the endpoint answers each time, and no cookie is set.
func (b *browser) expect(when, endpoint string) {
	b.t.Helper()
	for range 6 {
		if got, cookies := b.visit(); got != endpoint || len(cookies) > 0 {
			b.t.Errorf("%s: %s answers and sets %v, want %s and no cookie", when, got, cookies, endpoint)
		}
	}
}

// TestStickyCookie reads the cookie that a client gets: its name, its value and its attributes are those of Traefik.
func TestStickyCookie(t *testing.T) {
	t.Parallel()
	fleet := startFleet(t, 2)
	p := startProxy(t, site{
		"plain": pool("sticky: {cookie: {}}", servers(fleet...)...),
		"full": pool("sticky: {cookie: {name: lb, secure: true, httpOnly: true, sameSite: strict, maxAge: 60, path: "+
			"/app, domain: site.test}}",
			servers(fleet...)...),
	})
	sum := sha1.Sum([]byte("_TRAEFIK_BACKEND_plain@file"))
	for service, want := range map[string]http.Cookie{
		"plain": {Name: "_" + hex.EncodeToString(sum[:])[:5], Path: "/"},
		"full": {
			Name: "lb", Path: "/app", Domain: "site.test", MaxAge: 60, Secure: true, HttpOnly: true,
			SameSite: http.SameSiteStrictMode,
		},
	} {
		answer := p.client(service).Get("/")
		name := answeredBy(t, answer)
		for _, e := range fleet {
			if e.name == name {
				want.Value = valueOf("http://" + e.address)
			}
		}
		fields := answer.Header.Values("Set-Cookie")
		if len(fields) != 1 {
			t.Fatalf("%s: cookies %q, want one", service, fields)
		}
		got, err := http.ParseSetCookie(fields[0])
		if err != nil {
			t.Fatal(err)
		}
		got.Raw = ""
		if diff := cmp.Diff(&want, got); diff != "" {
			t.Errorf("%s: %q (-want +got):\n%s", service, fields[0], diff)
		}
	}
}

// TestStickyDrain takes an endpoint away in two steps. With weight 0 it keeps the clients that it has and gets no
// other; removed, it leaves them to others, to which they move once.
func TestStickyDrain(t *testing.T) {
	t.Parallel()
	fleet := startFleet(t, 3)
	const options = "sticky: {cookie: {name: lb}}"
	p := startProxy(t, site{"pool": pool(options, servers(fleet...)...)})
	clients := map[string]*browser{}
	for range 30 {
		b := p.browser("pool")
		name, cookies := b.visit()
		if len(cookies) != 1 {
			t.Fatalf("a first visit sets %v, want one cookie", cookies)
		}
		clients[name] = b
	}
	for _, name := range names(fleet) {
		clients[name].expect("with all endpoints", name)
	}

	p.change(site{"pool": pool(options, fleet[0].weighing(0), fleet[1].server(), fleet[2].server())})
	for _, name := range names(fleet) {
		clients[name].expect("with weight 0", name)
	}
	for range 20 {
		if name, _ := p.browser("pool").visit(); name == "a" {
			t.Error("an endpoint of weight 0 gets a new client")
		}
	}

	p.change(site{"pool": pool(options, servers(fleet[1:]...)...)})
	moved, cookies := clients["a"].visit()
	if moved == "a" || len(cookies) != 1 {
		t.Errorf("after the removal: %s answers and sets %v, want another and one cookie", moved, cookies)
	}
	clients["a"].expect("after the move", moved)
	for _, name := range names(fleet[1:]) {
		clients[name].expect("after the removal of another", name)
	}
	if moved := p.counts("pool")["moved"]; moved != 1 {
		t.Errorf("%d clients moved, want 1", moved)
	}
}

// TestStickyRetry kills the endpoint of a client: the client gets an answer from another, with one cookie, and stays
// there.
func TestStickyRetry(t *testing.T) {
	t.Parallel()
	fleet := startFleet(t, 3)
	p := startProxy(t, site{"pool": pool("sticky: {cookie: {name: lb}}", servers(fleet...)...)})
	b := p.browser("pool")
	first, _ := b.visit()
	for _, e := range fleet {
		if e.name == first {
			e.kill()
		}
	}
	second, cookies := b.visit()
	if second == first || len(cookies) != 1 {
		t.Errorf("%s answers and sets %v, want another than %s and one cookie", second, cookies, first)
	}
	b.expect("after the death of "+first, second)
}
