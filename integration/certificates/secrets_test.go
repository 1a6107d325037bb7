package certificates_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// planted is in every option of resolvers and session tickets that may hold a secret.
const planted = "s3cr3tOfTheOperator"

// withoutStorage are resolvers and session tickets whose storages cannot be used.
const withoutStorage = `
  redis: {acme: {email: a@example.com, storage: "redis://user:` + planted + `@127.0.0.1:1/0", tlsChallenge: {}}}
  etcd: {acme: {email: a@example.com, storage: "etcd://user:` + planted + `@127.0.0.1:1/edge", tlsChallenge: {}}}
  scheme: {acme: {email: a@example.com, storage: "sql://user:` + planted + `@127.0.0.1/x", tlsChallenge: {}}}
sessionTickets: {storage: "redis://:` + planted + `@127.0.0.1:1/1"}
`

// withoutOrders are resolvers whose orders fail.
var withoutOrders = `
  bound:
    acme:
      email: a@example.com
      storage: "${DIR}/bound.json"
      keyType: EC256
      caServer: ${CA}/dir
      caCertificates: ["${DIR}/ca.pem"]
      eab: {kid: one, hmacEncoded: ` + base64.RawURLEncoding.EncodeToString([]byte(planted)) + `}
      tlsChallenge: {}
  dns:
    acme:
      email: a@example.com
      storage: "${DIR}/dns.json"
      keyType: EC256
      caServer: ${CA}/dir
      caCertificates: ["${DIR}/ca.pem"]
      dnsChallenge: {provider: httpreq, resolvers: ["127.0.0.1:1"]}
  asked:
    acme:
      email: a@example.com
      storage: "${DIR}/asked.json"
      keyType: EC256
      caServer: ${CA}/dir
      caCertificates: ["${DIR}/ca.pem"]
      onDemand: {ask: "http://user:` + planted + `@127.0.0.1:1/?token=` + planted + `"}
      tlsChallenge: {}
`

// Passwords, keys and tokens of resolvers are in no log line, API response, support dump, metric or output of a
// command, whether the resolver works or fails.
func TestSecretsOfResolversAreNeverPrinted(t *testing.T) {
	t.Run("storage", func(t *testing.T) {
		f := newFixture(t, "", byHTTP)
		s := f.startWith(withoutStorage, "redis", "etcd", "scheme")
		for _, store := range []string{"redis://127.0.0.1:1/0", "redis://127.0.0.1:1/1", "etcd://127.0.0.1:1/edge"} {
			s.WaitLog("certificates are not watched", store)
		}
		f.silent(s, planted)
	})
	t.Run("orders", func(t *testing.T) {
		f := newFixture(t, "", byHTTP)
		s := f.startWith(withoutOrders, "bound", "dns", "asked")
		f.await(s, "shop.example.com")
		s.WaitLog("the certificate authority fails", "[bound.example.com]")
		s.WaitLog("no certificate was issued", "[dns.example.com]")
		leafAt(t, f.tls, "any.asked.example.com")
		f.silent(s, append(storedKeys(t, f.setup.Vars["STORAGE"]), planted,
			base64.RawURLEncoding.EncodeToString([]byte(planted)))...)
	})
}

// startWith starts Sluice with further static configuration, and a router for each of some resolvers.
func (f *fixture) startWith(text string, resolvers ...string) *harness.Sluice {
	f.t.Helper()
	f.setup.Static = strings.ReplaceAll(f.setup.Static+text, "${DIR}/ca.pem", f.root) + "metrics: {prometheus: {}}\n"
	f.setup.Dynamic["more.yaml"] = more(resolvers...)
	f.setup.Env = []string{
		"HTTPREQ_ENDPOINT=http://127.0.0.1:1/?token=" + planted, "HTTPREQ_USERNAME=user", "HTTPREQ_PASSWORD=" + planted,
	}
	f.setup.NotReady = true
	return harness.Start(f.t, f.setup)
}

// silent demands that Sluice and its commands print no secret.
func (f *fixture) silent(s *harness.Sluice, secrets ...string) {
	f.t.Helper()
	management := s.Management()
	said := map[string]string{"log": s.Log.String()}
	for _, path := range []string{
		"/api/resolvers", "/api/certificates", "/api/rawdata", "/api/overview", "/api/verdicts", "/api/http/routers",
		"/api/entrypoints", "/metrics", "/api/explain?url=https://dns.example.com/",
	} {
		said[path] = management.Get(path).Text
	}
	said["support dump"] = unpacked(f.t, management.Get("/api/support-dump").Text)
	config := "--configFile=" + s.Dir + "/sluice.yaml"
	for _, args := range []string{"check", "check --json", "certificates list", "certificates renew redis.example.com"} {
		result := harness.Run(f.t, s.Dir, f.setup.Env, append(strings.Fields(args), config)...)
		said[args] = result.Stdout + result.Stderr
	}
	for name, text := range said {
		if text == "" {
			f.t.Errorf("%s says nothing", name)
		}
		for _, secret := range secrets {
			if strings.Contains(text, secret) {
				f.t.Errorf("%s has the secret %.20q...:\n%s", name, secret, text)
			}
		}
	}
}

// more returns a router for each of some resolvers.
func more(resolvers ...string) string {
	var text strings.Builder
	text.WriteString("http:\n  services: {more: {loadBalancer: {servers: [{url: \"${BACKEND}\"}]}}}\n  routers:\n")
	for _, name := range resolvers {
		fmt.Fprintf(&text, "    %s: {rule: \"Host(`%s.example.com`)\", entryPoints: [secure], service: more, tls: "+
			"{certResolver: %s}}\n", name, name, name)
	}
	return text.String()
}

// storedKeys returns a part of each private key of an acme.json.
func storedKeys(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var stored map[string]struct {
		Account      struct{ PrivateKey string }
		Certificates []struct{ Key string }
	}
	if err := json.Unmarshal(text, &stored); err != nil {
		t.Fatal(err)
	}
	const part = 40
	account := stored["le"].Account.PrivateKey
	keys := []string{account[len(account)-2*part : len(account)-part]}
	for _, one := range stored["le"].Certificates {
		pem, err := base64.StdEncoding.DecodeString(one.Key)
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, one.Key[part:2*part], strings.Split(string(pem), "\n")[1][:part])
	}
	return keys
}

// unpacked returns the texts of the files of a tar.gz archive.
func unpacked(t *testing.T, archive string) string {
	t.Helper()
	plain, err := gzip.NewReader(strings.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	for files := tar.NewReader(plain); ; {
		_, err := files.Next()
		if err == io.EOF { //nolint:errorlint // The reader returns it as it is.
			return text.String()
		}
		if err == nil {
			_, err = io.Copy(&text, files)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
