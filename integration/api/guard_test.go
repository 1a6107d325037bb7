package api

import (
	"crypto/hmac"
	"crypto/md5" //nolint:gosec // RFC 7616.
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// guarded is a Sluice whose entrypoints open and tls are on all interfaces.
const guarded = `
entryPoints:
  open: {address: "0.0.0.0:0"}
  tls: {address: ":0", http: {tls: {}}}
  fenced: {address: ":0", http: {middlewares: ["basic@file"]}}
  shut: {address: "127.0.0.1:0"}
  traefik: {address: "127.0.0.1:0"}
ping: {}
metrics: {prometheus: {manualRouting: true}}
api: {insecure: true, admin: true, requireAuth: ${REQUIRED}}
providers:
  file: {directory: "${DYNAMIC}"}
`

// guards has a middleware for each way to restrict access, and some that do not.
const guards = `
http:
  middlewares:
    basic: {basicAuth: {users: ["ann:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g="]}}
    digest: {digestAuth: {users: ["ann:traefik:` + digestOfAnn + `"]}}
    forward: {forwardAuth: {address: "http://${DECIDES}/"}}
    token: {jwt: {signingSecret: "` + signing + `"}}
    here: {ipAllowList: {sourceRange: ["127.0.0.1", "::1"]}}
    there: {ipAllowList: {sourceRange: ["192.0.2.0/24"]}}
    nested: {chain: {middlewares: [few, deeper]}}
    deeper: {chain: {middlewares: [basic]}}
    few: {rateLimit: {average: 1000, burst: 1000}}
    fields: {headers: {customResponseHeaders: {X-A: b}}}
    harmless: {chain: {middlewares: [few, fields]}}
    broken: {basicAuth: {usersFile: /nowhere/users}}
  services:
    mixed: {weighted: {services: [{name: api@internal}]}}
    fenced: {weighted: {services: [{name: api@internal}]}, middlewares: [basic]}
tls:
  certificates: [{certFile: "${CERT}", keyFile: "${KEY}"}]
  options:
    demands: {clientAuth: {caFiles: ["${CA}"], clientAuthType: RequireAndVerifyClientCert}}
    invites: {clientAuth: {caFiles: ["${CA}"], clientAuthType: VerifyClientCertIfGiven}}
`

const (
	signing = "the-secret-that-signs-the-tokens-of-operators"
	// digestOfAnn is the MD5 of ann:traefik:password.
	digestOfAnn = "4bd7ca9d1c370685d55395130e2f1d7e"
)

// way is a router to the API.
type way struct {
	// name is the router's, and its host is name.test.
	name string
	// middlewares, service and entryPoint are the router's; without a service it is api@internal, and open without an
	// entrypoint.
	middlewares, service, entryPoint, options string
	// stranger and friend are what is answered without and with credentials, under api.requireAuth. Where nothing is a
	// question of credentials both are the same. 0 means that there is no answer.
	stranger, friend int
	// login adds credentials to a request.
	login func(t *testing.T, client *harness.Client, request *http.Request)
	// warns is set if, without api.requireAuth, the router serves with a warning, closed if it serves in no case.
	warns, closed bool
}

func ways() []way {
	basic := func(_ *testing.T, _ *harness.Client, r *http.Request) { r.SetBasicAuth("ann", "password") }
	return []way{
		{name: "bare", stranger: 403, friend: 403, warns: true},
		{name: "bare-dashboard", service: "dashboard@internal", stranger: 403, friend: 403, warns: true},
		{name: "bare-weighted", service: "mixed", stranger: 403, friend: 403, warns: true},
		{name: "harmless", middlewares: "harmless", stranger: 403, friend: 403, warns: true},
		{name: "bare-tls", entryPoint: "tls", stranger: 403, friend: 403, warns: true},
		{name: "invited", entryPoint: "tls", options: "invites", stranger: 403, friend: 403, warns: true},
		{name: "demanded", entryPoint: "tls", options: "demands", stranger: 0, friend: 200},
		{name: "basic", middlewares: "basic", stranger: 401, friend: 200, login: basic},
		{
			name: "basic-dashboard", middlewares: "basic", service: "dashboard@internal", stranger: 401, friend: 200,
			login: basic,
		},
		{name: "nested", middlewares: "nested", stranger: 401, friend: 200, login: basic},
		{name: "fenced-service", service: "fenced", stranger: 401, friend: 200, login: basic},
		{name: "fenced-entrypoint", entryPoint: "fenced", stranger: 401, friend: 200, login: basic},
		{name: "digest", middlewares: "digest", stranger: 401, friend: 200, login: loginByDigest},
		{name: "forward", middlewares: "forward", stranger: 401, friend: 200, login: basic},
		{name: "token", middlewares: "token", stranger: 401, friend: 200, login: loginByToken},
		{name: "here", middlewares: "here", stranger: 200, friend: 200},
		{name: "there", middlewares: "there", stranger: 403, friend: 403},
		{name: "broken", middlewares: "broken", stranger: 503, friend: 503},
		{name: "missing", middlewares: "missing", stranger: 503, friend: 503},
		{name: "loopback", entryPoint: "shut", stranger: 200, friend: 200},
		{name: "bare-admin", service: "admin@internal", stranger: 403, friend: 403, closed: true},
		{
			name: "harmless-admin", service: "admin@internal", middlewares: "harmless", stranger: 403, friend: 403, closed: true,
		},
		{name: "basic-admin", service: "admin@internal", middlewares: "basic", stranger: 401, friend: 200, login: basic},
		{name: "loopback-admin", service: "admin@internal", entryPoint: "shut", stranger: 200, friend: 200},
		{name: "ping", service: "ping@internal", stranger: 200, friend: 200},
		{name: "metrics", service: "prometheus@internal", stranger: 200, friend: 200},
	}
}

func loginByToken(_ *testing.T, _ *harness.Client, r *http.Request) {
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode([]byte(`{"alg":"HS256"}`)) + "." + encode(fmt.Appendf(nil, `{"sub":"ann","exp":%d}`,
		time.Now().Add(time.Hour).Unix()))
	mac := hmac.New(sha256.New, []byte(signing))
	_, _ = mac.Write([]byte(signed))
	r.Header.Set("Authorization", "Bearer "+signed+"."+encode(mac.Sum(nil)))
}

func loginByDigest(t *testing.T, client *harness.Client, r *http.Request) {
	t.Helper()
	challenge := client.Send(r.Clone(t.Context())).Header.Get("WWW-Authenticate")
	value := func(name string) string {
		found := regexp.MustCompile(name + `="?([^",]*)`).FindStringSubmatch(challenge)
		if found == nil {
			t.Fatalf("the challenge has no %s: %s", name, challenge)
		}
		return found[1]
	}
	digest := func(texts ...string) string {
		return fmt.Sprintf("%x", md5.Sum([]byte(strings.Join(texts, ":")))) //nolint:gosec // RFC 7616.
	}
	uri, nonce := r.URL.RequestURI(), value("nonce")
	response := digest(digest("ann", "traefik", "password"), nonce, "00000001", "abc", "auth", digest(r.Method, uri))
	r.Header.Set("Authorization", fmt.Sprintf(
		`Digest username="ann", realm="traefik", nonce="%s", uri="%s", qop=auth, nc=00000001, cnonce="abc", `+
			`response="%s", opaque="%s", algorithm=MD5`,
		nonce, uri, response, value("opaque"),
	))
}

// written returns the ways as a user writes them down.
func written() string {
	var text strings.Builder
	text.WriteString("http:\n  routers:\n")
	for _, way := range ways() {
		_, _ = fmt.Fprintf(&text, "    %s: {rule: \"Host(`%s.test`)\", service: %q, entryPoints: [%s], middlewares: [%s]",
			way.name, way.name,
			or(way.service, "api@internal"), or(way.entryPoint, "open"), way.middlewares)
		if way.options != "" {
			text.WriteString(", tls: {options: " + way.options + "}")
		}
		text.WriteString("}\n")
	}
	return text.String()
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// port returns where an entrypoint is reached from here, on whatever it listens.
func port(s *harness.Sluice, entrypoint string) string {
	line := s.WaitLog("msg=listening", "entrypoint="+entrypoint)
	return "127.0.0.1:" + regexp.MustCompile(`:(\d+)"?(\s|$)`).FindStringSubmatch(line)[1]
}

// startGuarded starts a Sluice with the ways.
func startGuarded(t *testing.T, required string) (*harness.Sluice, harness.Issued) {
	t.Helper()
	decides := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password != "password" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	t.Cleanup(decides.Close)
	authority := harness.NewAuthority(t)
	issued := authority.Issue("demanded.test", "invited.test", "bare-tls.test")
	s := harness.Start(t, harness.Setup{
		Static: guarded, Dynamic: map[string]string{"guards.yaml": guards, "routers.yaml": written()},
		Vars: map[string]string{
			"REQUIRED": required, "DECIDES": decides.Listener.Addr().String(), "CA": authority.File, "CERT": issued.CertFile,
			"KEY": issued.KeyFile,
		},
	})
	return s, issued
}

// ask sends a request through a router, with or without credentials, and returns the status; 0 without a response.
func (w way) ask(t *testing.T, s *harness.Sluice, issued harness.Issued, friend bool) int {
	t.Helper()
	protocol, settings := harness.H1, (*tls.Config)(nil)
	if w.entryPoint == "tls" {
		protocol, settings = harness.H1TLS, &tls.Config{InsecureSkipVerify: true} //nolint:gosec // It is not the server that is tested here.
		if friend {
			settings.Certificates = []tls.Certificate{issued.Pair}
		}
	}
	client := harness.NewClient(t, protocol, port(s, or(w.entryPoint, "open")), w.name+".test", settings)
	path := "/api/rawdata"
	switch {
	case strings.HasPrefix(w.service, "dashboard"):
		path = "/dashboard/"
	case strings.HasPrefix(w.service, "admin"):
		path = "/api/admin/drains"
	}
	request := client.Request(http.MethodGet, path, nil)
	if friend && w.login != nil {
		w.login(t, client, request)
	}
	answer, err := client.Try(request)
	if err != nil {
		return 0
	}
	shows := strings.Contains(answer.Text, "bare@file") || strings.Contains(answer.Text, "<html")
	if wanted := answer.StatusCode == http.StatusOK && !slices.Contains([]string{
		"ping", "metrics", "basic-admin",
		"loopback-admin",
	}, w.name); shows != wanted {
		t.Errorf("status %d with the body %.200s", answer.StatusCode, answer.Text)
	}
	return answer.StatusCode
}

// TestAccess takes every way to the API, under api.requireAuth and without.
func TestAccess(t *testing.T) {
	t.Parallel()
	for _, required := range []string{"true", "false"} {
		t.Run(required, func(t *testing.T) {
			t.Parallel()
			s, issued := startGuarded(t, required)
			s.Until("the verdicts", func(r harness.Readiness) bool { return r.Quarantined >= 2 })
			client := management(t, s)
			if found, _ := list(t, client, "/api/verdicts?provider=internal"); len(found) > 0 {
				t.Errorf("api.insecure on loopback is said to be wrong: %q", found)
			}
			for _, way := range ways() {
				t.Run(way.name, func(t *testing.T) {
					stranger, friend := way.stranger, way.friend
					if required == "false" && way.warns {
						stranger, friend = http.StatusOK, http.StatusOK
					}
					if got := way.ask(t, s, issued, false); got != stranger {
						t.Errorf("a stranger is answered with %d, want %d", got, stranger)
					}
					if got := way.ask(t, s, issued, true); got != friend {
						t.Errorf("a friend is answered with %d, want %d", got, friend)
					}
					way.verdict(t, client.For(t), required == "true")
				})
			}
			if required == "false" {
				t.Run("administration", func(t *testing.T) { administer(t, s, client.For(t)) })
				t.Run("self-served", func(t *testing.T) { selfServed(t, s) })
			}
		})
	}
}

// verdict checks the verdict on the router.
func (w way) verdict(t *testing.T, client *harness.Client, required bool) {
	t.Helper()
	var found []string
	for _, finding := range decode[[]struct{ Name, Status, Reason string }](t,
		client.Get("/api/verdicts?kind=router&per_page=1000")) {
		if finding.Name == w.name+"@file" {
			found = append(found, finding.Status+" "+finding.Reason)
		}
	}
	switch {
	case w.stranger == http.StatusServiceUnavailable:
	case w.closed && (len(found) != 1 || !strings.HasPrefix(found[0], "quarantined admin@internal: nothing on its way")):
		t.Errorf("it is closed, and said of it: %q", found)
	case !w.warns && !w.closed && len(found) > 0:
		t.Errorf("it is said of it: %q", found)
	case w.warns && required && (len(found) != 1 || !strings.HasPrefix(found[0], "quarantined api.requireAuth")):
		t.Errorf("it is refused, and said of it: %q", found)
	case w.warns && !required && (len(found) != 1 || !strings.HasPrefix(found[0],
		"degraded entrypoint ")):
		t.Errorf("it is open, and said of it: %q", found)
	}
}

// TestInsecureOnAllInterfaces has api.insecure on an entrypoint that is not loopback.
func TestInsecureOnAllInterfaces(t *testing.T) {
	t.Parallel()
	for required, want := range map[string]int{"true": http.StatusForbidden, "false": http.StatusOK} {
		t.Run(required, func(t *testing.T) {
			t.Parallel()
			s := harness.Start(t, harness.Setup{
				Static:   strings.Replace(guarded, `traefik: {address: "127.0.0.1:0"}`, `traefik: {address: ":0"}`, 1),
				NotReady: true,
				Vars:     map[string]string{"REQUIRED": required},
			})
			address := port(s, "traefik")
			client := harness.NewClient(t, harness.H1, address, address, nil)
			until(t, "it is ready", func() bool { return client.Get("/ready").StatusCode == http.StatusOK })
			for _, path := range []string{"/api/rawdata", "/api/verdicts", "/dashboard/", "/"} {
				if got := client.Get(path); got.StatusCode != want && (required == "true" || path != "/" ||
					got.StatusCode != http.StatusFound) {
					t.Errorf("%s is answered with %d, want %d", path, got.StatusCode, want)
				}
			}
			word := map[string]string{"true": "quarantined", "false": "degraded"}[required]
			until(t, "the verdicts", func() bool {
				said := map[string]string{}
				for _, finding := range decode[harness.Readiness](t, client.Get("/ready")).Verdicts {
					said[finding.Name] = finding.Status
				}
				return said["api@internal"] == word && said["dashboard@internal"] == word && len(said) == 2
			})
		})
	}
}
