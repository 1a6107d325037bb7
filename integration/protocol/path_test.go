package protocol

import (
	"net/http"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// guarded has a router for /admin and one for the rest. Whatever reaches the endpoint as /admin must have been routed
// by the first.
const guarded = `
http:
  routers:
    admin: {rule: "Path(` + "`/admin`) || PathPrefix(`/admin/`" + `)", service: one, middlewares: [admin]}
    rest: {rule: "PathPrefix(` + "`/`" + `)", service: one, middlewares: [rest]}
  middlewares:
    admin: {headers: {customResponseHeaders: {X-Route: admin}}}
    rest: {headers: {customResponseHeaders: {X-Route: rest}}}
  services: {one: {loadBalancer: {servers: [{url: "${BACKEND}"}]}}}
`

// TestPaths sends request targets byte by byte. The endpoint gets what the route was chosen by.
func TestPaths(t *testing.T) {
	t.Parallel()
	tests := []struct {
		target, forwarded, route string // not forwarded: 400
	}{
		{"/a/b", "/a/b", "rest"},
		{"/a%20b?x=%2f", "/a%20b?x=%2f", "rest"},
		{"/%61dmin", "/admin", "admin"},
		{"/a%2fb", "/a%2Fb", "rest"},
		{"/admin%2Fx", "/admin%2Fx", "rest"},
		{"/x%2f..%2fadmin", "/x%2F..%2Fadmin", "rest"},
		{"/x/../admin", "/admin", "admin"},
		{"/x/%2e%2E/admin", "/admin", "admin"},
		{"/./admin/", "/admin/", "admin"},
		{"//admin", "/admin", "admin"},
		{"/x//..///admin//y", "/admin/y", "admin"},
		{"/../../admin", "/admin", "admin"},
		{"/a/b/..", "/a", "rest"},
		{"/admin/..", "/", "rest"},
		{`/a\..\admin`, "/a%5C..%5Cadmin", "rest"},
		{"/a%5c..%5cadmin", "/a%5C..%5Cadmin", "rest"},
		{"/admin;x=1", "/admin;x=1", "rest"},
		{"/admin%3bx", "/admin%3Bx", "rest"},
		{"/a%00b", "/a%00b", "rest"},
		{"/a%25%32e", "/a%252e", "rest"},
		{"/%c3%a9", "/%C3%A9", "rest"},
		{"/é", "/%C3%A9", "rest"},
		{"http://any.test/x/../admin?q", "/admin?q", "admin"},
		{"http://any.test", "/", "rest"},
		{"/a?x=1#y", "", ""},
		{"/a#b", "", ""},
		{"/a/..;x/admin", "", ""},
		{"/a/.;/admin", "", ""},
		{"/;/admin", "", ""},
		{"/;x/admin", "", ""},
		{"/;x=y/admin", "", ""},
		{"//;/admin", "", ""},
		{"/;//admin", "", ""},
		{"/n/;/admin", "", ""},
		{"/n/../;/admin", "", ""},
		{"/admin/;x", "", ""},
		{"/a%zz", "", ""},
		{"/a%4", "", ""},
		{"admin", "", ""},
		{"*", "", ""},
		{"http://user@any.test/admin", "", ""},
		{"ftp://any.test/admin", "", ""},
		{"/a\tb", "", ""},
		{"/a\x7fb", "", ""},
		{"/a\x00b", "", ""},
	}
	authority := harness.NewAuthority(t)
	backend := harness.StartBackend(t, "one", authority)
	for scheme, address := range map[string]string{"http": backend.H1, "h2c": backend.H2C} {
		s := harness.Start(t, harness.Setup{
			Static: edge, Dynamic: map[string]string{"all.yaml": guarded},
			Vars: map[string]string{"BACKEND": scheme + "://" + address},
		})
		for _, test := range tests {
			got, err := harness.Dial(t, s.Addr("wary")).RoundTrip("GET " + test.target + " HTTP/1.1\r\nHost: any.test\r\n\r\n")
			if err != nil {
				t.Errorf("%q: %v", test.target, err)
				continue
			}
			if test.forwarded == "" {
				if got.StatusCode != http.StatusBadRequest {
					t.Errorf("%q: status %d, want 400", test.target, got.StatusCode)
				}
				continue
			}
			if got.StatusCode != http.StatusOK {
				t.Errorf("%q: status %d", test.target, got.StatusCode)
				continue
			}
			if seen := got.Echo(t).RequestURI; seen != test.forwarded || got.Header.Get("X-Route") != test.route {
				t.Errorf("%q to %s: forwarded as %q by %s, want %q by %s", test.target, scheme, seen, got.Header.Get("X-Route"),
					test.forwarded, test.route)
			}
		}
	}
}
