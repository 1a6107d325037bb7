package admission

import (
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// addressed restricts access by client address: that of the connection, or one stated by a trusted proxy.
const addressed = `
http:
  routers:
    remote: {rule: "Host(@remote.test@)", service: one, middlewares: [remote]}
    told: {rule: "Host(@told.test@)", service: one, middlewares: [told]}
    old: {rule: "Host(@old.test@)", service: one, middlewares: [old]}
  middlewares:
    remote: {ipAllowList: {sourceRange: ["192.0.2.0/24", "2001:db8::/32"]}}
    told: {ipAllowList: {sourceRange: ["192.0.2.0/24", "2001:db8::/32"], ipStrategy: {depth: 1}, rejectStatusCode: 404}}
    old: {ipWhiteList: {sourceRange: ["192.0.2.0/24"]}}
  services: {one: {loadBalancer: {servers: [{url: "http://${ONE}"}]}}}
`

// TestAddresses sends requests with an address in a PROXY header or X-Forwarded-For, from trusted and untrusted peers.
func TestAddresses(t *testing.T) {
	t.Parallel()
	backend := harness.StartBackend(t, "one", nil)
	s := harness.Start(t, harness.Setup{
		Static: static, Dynamic: map[string]string{"all.yaml": backticks(addressed)},
		Vars: map[string]string{"ONE": backend.H1},
	})
	const inside, outside = "PROXY TCP4 192.0.2.7 127.0.0.1 1 2\r\n", "PROXY TCP4 198.51.100.7 127.0.0.1 1 2\r\n"
	for _, test := range []struct {
		entrypoint, proxy, host, fields string
		want                            int
	}{
		{"trusting", "", "remote", "", 403},
		{"trusting", inside, "remote", "", 200},
		{"trusting", inside, "old", "", 200},
		{"trusting", outside, "remote", "", 403},
		{"trusting", outside, "old", "", 403},
		{"trusting", outside, "remote", "X-Forwarded-For: 192.0.2.7\r\n", 403},
		{"trusting", "PROXY TCP6 2001:db8::7 ::1 1 2\r\n", "remote", "", 200},
		{"trusting", "PROXY TCP6 ::ffff:192.0.2.7 ::1 1 2\r\n", "remote", "", 200},
		{"trusting", "PROXY TCP6 2001:db9::7 ::1 1 2\r\n", "remote", "", 403},
		{"trusting", "", "told", "X-Forwarded-For: 192.0.2.7\r\n", 200},
		{"trusting", "", "told", "X-Forwarded-For: 2001:db8::7\r\n", 200},
		{"trusting", "", "told", "X-Forwarded-For: 192.0.2.7, 198.51.100.7\r\n", 404},
		{"trusting", "", "told", "", 404},
		{"trusting", outside, "told", "X-Forwarded-For: 192.0.2.7\r\n", 404},
		{"web", "", "remote", "X-Forwarded-For: 192.0.2.7\r\n", 403},
		{"web", "", "told", "X-Forwarded-For: 192.0.2.7\r\n", 404},
		{"web", "", "told", "X_Forwarded_For: 192.0.2.7\r\n", 404},
		{"web", "", "remote", "X-Real-Ip: 192.0.2.7\r\nForwarded: for=192.0.2.7\r\n", 403},
	} {
		before := backend.Seen()
		got, err := harness.Dial(t, s.Addr(test.entrypoint)).RoundTrip(test.proxy + "GET /x HTTP/1.1\r\nHost: " + test.host +
			".test\r\n" + test.fields + "\r\n")
		if err != nil || got.StatusCode != test.want || (backend.Seen() > before) != (test.want == 200) {
			t.Errorf("%+v: %v, %v", test, got.Response, err)
		}
	}
}
