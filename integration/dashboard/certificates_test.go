package dashboard

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// resolving has a resolver whose authority refuses names, and one whose storage is damaged.
const resolving = static + `
certificatesResolvers:
  le: {acme: {email: a@example.com, storage: "${STORAGE}", caServer: "${CA}", httpChallenge: {entryPoint: web}}}
  broken: {acme: {email: a@example.com, storage: "${DAMAGED}", caServer: "${CA}", tlsChallenge: {}}}
`

const needing = "http:\n" +
	"  routers:\n" +
	"    shop: {rule: 'Host(`shop.example.com`)', service: one, entryPoints: [websecure], tls: {certResolver: le}}\n" +
	"    bad: {rule: 'Host(`bad.example.com`)', service: one, entryPoints: [websecure], tls: {certResolver: le}}\n" +
	"  services: {one: {loadBalancer: {servers: [{url: 'http://127.0.0.1:1'}]}}}\n"

// TestResolvers shows a certificate that a resolver has, one that it fails to obtain, one that no router needs, and a
// resolver that cannot be used.
func TestResolvers(t *testing.T) {
	chromium := newBrowser(t)
	authority := harness.NewAuthority(t)
	damaged := filepath.Join(t.TempDir(), "acme.json")
	if err := os.WriteFile(damaged, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	sluice := harness.Start(t, harness.Setup{
		Static: resolving, Dynamic: map[string]string{"certificates.yaml": needing}, NotReady: true,
		Vars: map[string]string{
			"STORAGE": harness.StoreIssued(t, "le", authority.Issue("shop.example.com", "www.shop.example.com"),
				authority.Issue("unused.example.com")),
			"DAMAGED": damaged, "CA": harness.StartRefusingACME(t, "<b>bad.example.com</b> is on a list"),
		},
	})
	chromium.run(t, sluice, "/dashboard/", "obtains")
}
