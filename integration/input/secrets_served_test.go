package input

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/integration/harness"
)

// talkative is a Sluice with all output enabled and with secrets of its own.
const talkative = `
entryPoints:
  web: {address: "127.0.0.1:0"}
  traefik: {address: "127.0.0.1:0"}
ping: {}
api: {insecure: true, debug: true}
log: {level: DEBUG, otlp: {http: ${COLLECTOR}}}
accessLog:
  format: json
  filePath: "${DIR}/access.log"
  addInternals: true
  dualOutput: true
  otlp: {http: ${COLLECTOR}}
  fields:
    headers: {defaultMode: keep, names: {X-Forwarded-Tls-Client-Cert: redact, Location: redact}}
    queryParameters: {defaultMode: redact}
tracing: {addInternals: true, capturedRequestHeaders: [User-Agent], otlp: {http: ${COLLECTOR}}}
metrics:
  addInternals: true
  prometheus: {addRoutersLabels: true}
  otlp: {pushInterval: 200ms, addRoutersLabels: true, http: ${COLLECTOR}}
providers:
  providersThrottleDuration: 50ms
  file: {directory: "${DYNAMIC}", watch: true}
`

// collector keeps what telemetry sends: the bodies, not the headers, which have the key that they are to have.
type collector struct {
	mutex  sync.Mutex
	bodies map[string][]byte
	keys   map[string]bool
}

// ServeHTTP keeps a body.
func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	plain := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		var err error
		if plain, err = gzip.NewReader(r.Body); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
	}
	body, err := io.ReadAll(plain)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.bodies[r.URL.Path] = append(c.bodies[r.URL.Path], body...)
	c.keys[r.Header.Get("X-Api-Key")] = true
}

// others is a vault whose secrets differ from those of another one, and the text of the sound configuration with them.
func others(t *testing.T, authority *harness.Authority, answering, dead string) (*vault, string) {
	t.Helper()
	v := &vault{issued: authority.Issue("secured.test"), dir: t.TempDir()}
	text := marshal(t, v.sound(t, answering, dead))
	pairs := []string{}
	const linesOfTheKey = 2
	for i, secret := range v.secrets[linesOfTheKey:] {
		v.secrets[linesOfTheKey+i] = swapped(secret)
		pairs = append(pairs, secret, swapped(secret))
	}
	replacer := strings.NewReplacer(pairs...)
	files, err := filepath.Glob(v.dir + "/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		held, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		write(t, file, replacer.Replace(string(held)))
	}
	return v, replacer.Replace(text)
}

// swapped turns lower case into upper case and the other way round, which keeps the form of every secret. The last
// character before the padding of base64 stays: some of its bits must be zero.
func swapped(text string) string {
	kept := ""
	if body := strings.TrimRight(text, "="); body != text {
		text, kept = text[:len(body)-1], text[len(body)-1:]
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsUpper(r) {
			return unicode.ToLower(r)
		}
		return unicode.ToUpper(r)
	}, text) + kept
}

func marshal(t *testing.T, config *dynamic.Configuration) string {
	t.Helper()
	text, err := json.MarshalIndent(config, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestServedSecretsAreNeverShown plants a secret in every field that may hold one, sends requests with credentials,
// changes every secret, and searches all output.
func TestServedSecretsAreNeverShown(t *testing.T) {
	t.Parallel()
	authority := harness.NewAuthority(t)
	answering, dead := cookies(t), harness.RefusedAddress(t)
	v := &vault{issued: authority.Issue("secured.test"), dir: t.TempDir()}
	config := v.sound(t, answering, dead)
	expectPlanted(t, config, v)
	changed, changedText := others(t, authority, answering, dead)
	told := &collector{bodies: map[string][]byte{}, keys: map[string]bool{}}
	server := httptest.NewServer(told)
	t.Cleanup(server.Close)
	key, session := v.keep("k3yOfTheCollector"), v.keep("s3ssionOfTheClient")
	address := strings.Replace(server.URL, "//", "//operator:"+v.keep("p4ssOfTheCollector")+"@", 1)
	s := harness.Start(t, harness.Setup{
		Static: talkative, Dynamic: map[string]string{"sound.yaml": marshal(t, config)},
		Vars: map[string]string{"COLLECTOR": `{endpoint: "` + address + `", headers: {X-Api-Key: ` + key + `}}`},
	})
	said := map[string]string{}
	credentials := v.credentials()
	v.visit(t, s, config, credentials, session, said)
	before := len(generations(t, s))
	s.Apply(func() { s.Write("sound.yaml", changedText) })
	v.visit(t, s, config, credentials[:1], session, said)
	if after := len(generations(t, s)); after <= before {
		t.Errorf("the change of every secret is no generation: %d and %d", before, after)
	}
	question := url.Values{
		"url": {"http://basic-dead.test/?session=" + session}, "header": {
			"Authorization: " + credentials[0],
			"Cookie: session=" + session,
		},
	}
	maps.Copy(said, everything(t, s, question.Encode(), true))
	expectDifferences(t, said)
	for _, path := range []string{
		"/api/rawdata", "/api/http/middlewares/basic@file",
		"/api/support-dump static-config.json", "/api/support-dump dynamic-config.json",
	} {
		if !strings.Contains(said[path], "xxxx") {
			t.Errorf("%s hides nothing, so that it proves nothing: %.300s", path, said[path])
		}
	}
	said["bundle"] = bundled(t, s)
	s.Stop()
	said["log"] = s.Log.String()
	access, err := os.ReadFile(filepath.Join(s.Dir, "access.log"))
	if err != nil {
		t.Fatal(err)
	}
	said["access log"] = string(access)
	told.mutex.Lock()
	defer told.mutex.Unlock()
	for _, signal := range []string{"/v1/traces", "/v1/metrics", "/v1/logs"} {
		if len(told.bodies[signal]) == 0 {
			t.Errorf("the collector has got nothing that can be read at %s", signal)
		}
	}
	for path, body := range told.bodies {
		said["collector "+path] = string(body)
	}
	if len(told.keys) != 1 || !told.keys[key] {
		t.Errorf("the collector was sent the keys %v", told.keys)
	}
	for _, word := range []string{"request_Authorization", "REDACTED", "origin_Set-Cookie", "request_User-Agent"} {
		if !strings.Contains(said["access log"], word) {
			t.Errorf("the access log has no %s, so that it proves nothing", word)
		}
	}
	search(t, said, append(append(v.secrets, changed.secrets...), "b0dyOfTheClient", "c00kieOfTheEndpoint")...)
}

// cookies starts an endpoint that answers with credentials, also as authorization server.
func cookies(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/auth" {
			if r.Header.Get("X-Forwarded-Method") == http.MethodPost {
				w.WriteHeader(http.StatusUnauthorized)
			}
			return
		}
		w.Header().Add("Set-Cookie", "session=c00kieOfTheEndpoint")
	}))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// generations returns the API's list of generations.
func generations(t *testing.T, s *harness.Sluice) []any {
	t.Helper()
	var list []any
	answer := harness.NewClient(t, harness.H1, s.Addr("traefik"), "localhost", nil).Get("/api/generations")
	if err := json.Unmarshal([]byte(answer.Text), &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// expectDifferences checks that the change of the secrets is shown, by xxxx on both sides.
func expectDifferences(t *testing.T, said map[string]string) {
	t.Helper()
	hidden := map[string]bool{}
	for path, text := range said {
		if !strings.HasPrefix(path, "/api/generations/") {
			continue
		}
		var shown struct {
			Changes []struct {
				Change string
				Diff   []struct {
					Path          string
					Before, After any
				}
			}
		}
		_, body, _ := strings.Cut(text, "\n")
		if err := json.Unmarshal([]byte(body), &shown); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		for _, change := range shown.Changes {
			for _, difference := range change.Diff {
				if change.Change == "changed" && difference.Before == difference.After {
					hidden[difference.Path] = true
				}
			}
		}
	}
	for _, path := range []string{
		"basicAuth.users[0]", "digestAuth.users[0]", "jwt.signingSecret", "jwt.jwks", "environment.trust.signed.key",
		"rateLimit.redis.password", "rateLimit.redis.username",
		"headers.customRequestHeaders.Authorization", "plugin.demo.token", "loadBalancer.healthCheck.headers.Authorization",
	} {
		if !hidden[path] {
			t.Errorf("that %s has changed is not reported: %v", path, hidden)
		}
	}
}

// bundled returns the archive that the command fetches, and what it prints.
func bundled(t *testing.T, s *harness.Sluice) string {
	t.Helper()
	result := harness.Run(t, s.Dir, nil, "bundle", "--api=http://"+s.Addr("traefik"), "--out=bundle.tar.gz")
	if result.Code != 0 {
		t.Errorf("bundle: exit code %d: %s", result.Code, result.Stderr)
	}
	archive, err := os.ReadFile(filepath.Join(s.Dir, "bundle.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	return result.Stdout + result.Stderr + inflate(t, string(archive))
}
