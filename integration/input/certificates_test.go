package input

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// storing has two resolvers with a storage each; CA is the directory of their authority.
const storing = `
entryPoints:
  web: {address: "127.0.0.1:0"}
  websecure: {address: "127.0.0.1:0", asDefault: false, http: {tls: {}}}
  traefik: {address: "127.0.0.1:0"}
ping: {}
api: {insecure: true, dashboard: false}
providers:
  file: {directory: "${DYNAMIC}"}
certificatesResolvers:
  le: {acme: {email: a@example.com, storage: "${STORAGE}", caServer: "${CA}", httpChallenge: {entryPoint: web}}}
  spare: {acme: {email: a@example.com, storage: "${STORAGE}.spare", caServer: "${CA}", tlsChallenge: {}}}
`

// stored returns a folder with a configuration whose storage has the certificates of issued.
func stored(t *testing.T, issued ...harness.Issued) (dir, storage string) {
	t.Helper()
	dir = t.TempDir()
	storage = filepath.Join(dir, "acme.json")
	if len(issued) > 0 {
		storage = harness.StoreIssued(t, "le", issued...)
	}
	text := strings.NewReplacer("${STORAGE}", storage, "${DYNAMIC}", dir, "${CA}",
		"http://127.0.0.1:1/").Replace(storing)
	if err := os.WriteFile(filepath.Join(dir, "sluice.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, storage
}

// fixture copies the acme.json of Traefik into a folder.
func fixture(t *testing.T, dir string) {
	t.Helper()
	text, err := os.ReadFile("testdata/acme.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "traefik.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// call runs a command and wants its exit code, and texts in its output.
func call(t *testing.T, dir, command string, code int, stdout, stderr string) harness.Result {
	t.Helper()
	result := harness.Run(t, dir, []string{"XDG_CONFIG_HOME=" + dir}, strings.Fields(command)...)
	if result.Code != code || !regexp.MustCompile(`(?s)^`+stdout+`$`).MatchString(result.Stdout) ||
		!strings.Contains(result.Stderr, stderr) {
		t.Errorf("%s: exit code %d, stdout %q, stderr %q", command, result.Code, result.Stdout, result.Stderr)
	}
	return result
}

// TestMovingCertificates imports a file of Traefik, and exports it again.
func TestMovingCertificates(t *testing.T) {
	t.Parallel()
	dir, storage := stored(t)
	fixture(t, dir)
	call(t, dir, "certificates import traefik.json --dry-run --resolver other=spare", 0,
		"le: 2 certificates and 1 account to be imported into .*spare: 1 certificate and 1 account .*", "")
	if _, err := os.Stat(storage); err == nil {
		t.Error("a dry run has written")
	}
	call(t, dir, "certificates import traefik.json", 1, "le: 2 certificates and 1 account imported into .*/acme.json\n",
		`there is no resolver "other" that uses ACME: name one with --resolver other=RESOLVER; one of le, spare`)
	call(t, dir, "certificates import traefik.json --resolver other=spare", 0,
		"le: 0 certificates and 0 accounts imported .*; 3 already there\n"+
			"spare: 1 certificate and 1 account imported into .*\n", "configuration: ")
	call(t, dir, "certificates import traefik.json --resolver other=le", 0,
		".*le: 1 certificate and 0 accounts .*; the account left out, since the storage has a registered one\n", "")
	for given, says := range map[string]string{
		"--resolver other":        "--resolver other is not of the form NAME=RESOLVER",
		"--resolver nothing=le":   `traefik.json has nothing of a resolver "nothing"; it has le, other`,
		"--resolver other=absent": `there is no resolver "absent" that uses ACME; one of le, spare`,
	} {
		call(t, dir, "certificates import traefik.json "+given, 2, "", says)
	}
	call(t, dir, "certificates import absent.json", 2, "", "absent.json: no such file or directory")
	call(t, dir, "certificates import sluice.yaml", 2, "", "sluice.yaml is damaged: it is not JSON")

	call(t, dir, "certificates export out.json", 0, "4 certificates and 2 accounts exported into out.json, .*", "")
	if info, err := os.Stat(filepath.Join(dir, "out.json")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	call(t, dir, "certificates export out.json", 2, "", "out.json exists; replace it with --force")
	call(t, dir, "certificates export out.json --force", 0, "4 certificates .*", "")
	call(t, dir, "certificates export --force "+storage, 2, "", "acme.json is the storage itself")
	call(t, dir, "certificates import out.json", 0, "le: 0 certificates and 0 accounts .*; 4 already there\n"+
		"spare: .*; 2 already there\n", "")
}

// TestNewerCertificatesStay imports over a certificate for the same names.
func TestNewerCertificatesStay(t *testing.T) {
	t.Parallel()
	authority := harness.NewAuthority(t)
	earlier := harness.StoreIssued(t, "le", authority.IssueUntil(time.Now().Add(time.Hour), "shop.example.com"))
	dir, storage := stored(t, authority.Issue("shop.example.com"))
	before, err := os.ReadFile(storage)
	if err != nil {
		t.Fatal(err)
	}
	call(t, dir, "certificates import "+earlier, 0, "le: 0 certificates and 0 accounts .*; 1 certificate left out, "+
		"since the storage has one that does not end earlier\n", "")
	if after, _ := os.ReadFile(storage); string(after) != string(before) {
		t.Error("the storage has changed")
	}
	other, _ := stored(t)
	for _, path := range []string{earlier, storage} { // The second one is newer.
		call(t, other, "certificates import "+path, 0, "le: 1 certificate and 0 accounts imported .*", "")
	}
}

// TestStoredCertificates lists and renews what a storage has while no Sluice runs.
func TestStoredCertificates(t *testing.T) {
	t.Parallel()
	authority := harness.NewAuthority(t)
	dir, storage := stored(t, authority.Issue("shop.example.com", "www.example.com"), authority.Issue("a.example.com"))
	list := func(state string) {
		t.Helper()
		call(t, dir, "certificates", 0, "NAMES +RESOLVER +STATE +EXPIRES +RENEWS\n.*shop.example.com, www.example.com  le "+
			" +"+state+" +in 23 h .*", "sluice.yaml, and the storage, since no Sluice that runs was found")
	}
	list("valid")
	call(t, dir, "certificates renew WWW.example.com", 0, "WWW.example.com: the certificate for shop.example.com, "+
		"www.example.com of resolver le, which ends on .*, is due now\n.*sluice certificates list\n", "")
	list("due")
	if text, err := os.ReadFile(storage + ".state"); err != nil || !strings.Contains(string(text), `"schedule:le:`) {
		t.Errorf("%v: %s", err, text)
	}
	call(t, dir, "certificates renew none.example.com", 1, "",
		"none.example.com: there is neither a certificate nor a failed order for it, of the resolvers le, spare")
	call(t, dir, "certificates renew a.example.com --resolver spare", 1, "", "of resolver spare")
	call(t, dir, "certificates renew a.example.com --resolver none", 2, "", `there is no resolver "none"`)
	if err := os.WriteFile(storage, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	for command, code := range map[string]int{
		"certificates list": 2, "certificates renew a.example.com": 1, "certificates export out.json": 1,
	} {
		call(t, dir, command, code, "", storage)
	}
}

// TestCertificatesOfARunningSluice lists what a process cannot obtain, by its API and by its configuration, and has it
// try again.
func TestCertificatesOfARunningSluice(t *testing.T) {
	t.Parallel()
	storage := harness.StoreIssued(t, "le", harness.NewAuthority(t).Issue("shop.example.com"))
	s := harness.Start(t, harness.Setup{
		Static: storing, Dynamic: map[string]string{"shop.yaml": `http:
  routers:
    shop: {rule: "Host(` + "`shop.example.com`" + `)", service: one, entryPoints: [websecure], tls: {certResolver: le}}
    bad: {rule: "Host(` + "`bad.example.com`" + `)", service: one, entryPoints: [websecure], tls: {certResolver: le}}
  services: {one: {loadBalancer: {servers: [{url: "http://127.0.0.1:1"}]}}}
`},
		Vars: map[string]string{"STORAGE": storage, "CA": harness.StartRefusingACME(t, "not this name")},
	})
	list := func() (result harness.Result, failures int) {
		result = harness.Run(t, t.TempDir(), nil, "certificates", "list", "--json", "--api", s.Addr("traefik"))
		var list struct {
			Certificates []struct {
				Names    []string
				State    string
				Failures int
				Last     *struct{ Type, Detail string }
			}
		}
		if json.Unmarshal([]byte(result.Stdout), &list) == nil && len(list.Certificates) == 2 &&
			list.Certificates[0].State == "failing" && list.Certificates[0].Last.Type == "rejectedIdentifier" {
			failures = list.Certificates[0].Failures
		}
		return result, failures
	}
	harness.Eventually(t, time.Minute, func() bool { _, failures := list(); return failures > 0 }, func() string {
		result, _ := list()
		return result.Stdout + result.Stderr + s.Log.String()
	})
	call(t, t.TempDir(), "certificates --api "+s.Addr("traefik"), 1,
		"NAMES +RESOLVER +STATE +EXPIRES +RENEWS +ATTEMPTS +NEXT ATTEMPT +PROBLEM\n"+
			"bad.example.com +le +failing +- +- +1 +20.* rejectedIdentifier: not this name\n"+
			"shop.example.com +le +valid +in 23 h +.*", "configuration: the running Sluice at http://")
	config := "--configFile=" + filepath.Join(s.Dir, "sluice.yaml")
	asked := strings.Count(s.Log.String(), "no certificate was issued")
	call(t, t.TempDir(), "certificates renew bad.example.com "+config, 0, "bad.example.com: the next attempt to obtain a "+
		"certificate for bad.example.com by resolver le is due now\n.*", "")
	harness.Eventually(t, time.Minute, func() bool {
		return strings.Count(s.Log.String(), "no certificate was issued") > asked
	}, s.Log.String)
}
