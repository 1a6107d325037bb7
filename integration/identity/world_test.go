package identity

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// secret signs tokens.
const secret = "a secret that is long enough for HS256"

const static = `
entryPoints:
  web: {address: "127.0.0.1:0"}
  websecure: {address: "127.0.0.1:0", http: {tls: {}}}
  trusting: {address: "127.0.0.1:0", forwardedHeaders: {trustedIPs: ["127.0.0.0/8"]}}
  keeping: {address: "127.0.0.1:0", forwardedHeaders: {connection: [${NAMES}]}}
  traefik: {address: "127.0.0.1:0"}
ping: {}
providers: {file: {directory: "${DYNAMIC}"}}
`

// middlewares are those that send services the client's identity, by the kinds of rows. A kind without one has none.
const middlewares = `
    basic: {basicAuth: {users: ["ann:{SHA}L55TUjtiq8FBorTWAZ0jy6g129A="], headerField: X-Forwarded-User,
      removeHeader: true}}
    digest: {digestAuth: {users: ["ann:traefik:394ae5fa7a61c063132a0018b9eb080e"], headerField: X-Digest-User}}
    forward:
      forwardAuth:
        address: "http://${AUTHORITY}/"
        authResponseHeaders: [X-Auth-User, X-Auth-Absent, X-Auth-Seen]
        authResponseHeadersRegex: "^X-Rx-"
        headerField: X-Auth-Login
    token: {jwt: {signingSecret: "` + secret + `", forwardHeaders: {X-Jwt-Sub: sub, X-Jwt-Absent: absent}}}
    certificate: {passTLSClientCert: {pem: true, info: {subject: {commonName: true}}}}
    stripped: {stripPrefix: {prefixes: [/api]}}
    replaced: {replacePath: {path: /new}}
    tenant: {headers: {customRequestHeaders: {X-Tenant: blue}}}
    nobody: {headers: {customRequestHeaders: {X-Admin: ""}}}
`

// world is a Sluice with clients, an endpoint, and an authorization server.
type world struct {
	sluice   *harness.Sluice
	settings *tls.Config // of a client with a certificate
	pem      string
	token    string

	mutex sync.Mutex
	// arrivals are received requests by the number of the attempt; late checks requests that arrive after the client was
	// refused because of an error behind the head.
	arrivals map[string][]arrival
	late     map[string]func(arrival) string
	stop     []func()
}

// arrival is a request that the endpoint got.
type arrival struct {
	head, trailer http.Header
	// asked are the headers received by the authorization server.
	asked http.Header
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{arrivals: map[string][]arrival{}, late: map[string]func(arrival) string{}}
	authority := harness.NewAuthority(t)
	front, client := authority.Issue("wildcard", "*.test"), authority.Issue("ann")
	w.settings = &tls.Config{RootCAs: authority.Pool, Certificates: []tls.Certificate{client.Pair}}
	w.pem = base64.StdEncoding.EncodeToString(client.Pair.Certificate[0])
	w.token = token()
	endpoint, asked := w.serve(t, w.arrive), w.serve(t, grant)
	w.sluice = harness.Start(t, harness.Setup{
		Static: static, Dynamic: map[string]string{"all.yaml": dynamic()},
		Vars: map[string]string{
			"ENDPOINT": endpoint, "AUTHORITY": asked, "CA": authority.File, "CERT": front.CertFile, "KEY": front.KeyFile,
			"NAMES": strings.Join(headers(), ", "),
		},
	})
	return w
}

// dynamic has two routers for each kind, one for each protocol of the endpoint.
func dynamic() string {
	var routers strings.Builder
	for _, kind := range kinds() {
		steps := ""
		if strings.Contains(middlewares, "\n    "+kind+":") {
			steps = ", middlewares: [" + kind + "]"
		}
		for _, upstream := range []string{"h1", "h2c"} {
			fmt.Fprintf(&routers, "    %s-%s: {rule: Host(`%s-%s.test`), service: %s%s}\n", kind, upstream, kind, upstream,
				upstream, steps)
		}
	}
	return "http:\n  routers:\n" + routers.String() + "  middlewares:" + middlewares + `  services:
    h1: {loadBalancer: {servers: [{url: "http://${ENDPOINT}"}]}}
    h2c: {loadBalancer: {servers: [{url: "h2c://${ENDPOINT}"}]}}
tls:
  certificates: [{certFile: "${CERT}", keyFile: "${KEY}"}]
  options: {default: {clientAuth: {caFiles: ["${CA}"], clientAuthType: VerifyClientCertIfGiven}}}
`
}

// serve starts a server of HTTP/1.1 and h2c, and returns its address.
func (w *world) serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(server.Close)
	w.stop = append(w.stop, server.Close)
	return server.Listener.Addr().String()
}

// arrive notes a request at the endpoint under the number of its attempt.
func (w *world) arrive(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	got := arrival{head: r.Header, trailer: r.Trailer}
	if text, err := base64.StdEncoding.DecodeString(r.Header.Get("X-Auth-Seen")); err == nil {
		_ = json.Unmarshal(text, &got.asked) // What is no JSON leaves nothing, which no row expects.
	}
	number := r.URL.Query().Get("attempt")
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.arrivals[number] = append(w.arrivals[number], got)
}

// take returns what has arrived of an attempt. What comes later is to be looked at in the end.
func (w *world) take(number string, late func(arrival) string) []arrival {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	defer delete(w.arrivals, number)
	w.late[number] = late
	return w.arrivals[number]
}

// end waits until nothing can arrive any more, and looks at what has arrived late.
func (w *world) end(t *testing.T) (passed int) {
	t.Helper()
	w.sluice.Stop()
	for _, stop := range w.stop {
		stop()
	}
	for number, arrivals := range w.arrivals {
		late := w.late[number]
		for _, got := range arrivals {
			if late == nil {
				passed++
				t.Errorf("a request that was not sent has arrived as %q: %+v", number, got)
			} else if diff := late(got); diff != "" {
				passed++
				t.Error(diff)
			}
		}
	}
	return passed
}

// grant is the authorization server. It admits all as ann, and returns the headers that it received.
func grant(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Let me in" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	text, err := json.Marshal(r.Header)
	if err != nil {
		panic(err)
	}
	h := w.Header()
	h.Set("X-Auth-User", "ann")
	h.Set("X-Auth-Login", "ann")
	h.Set("X-Rx-User", "ann")
	h.Set("X-Auth-Seen", base64.StdEncoding.EncodeToString(text))
}

// token returns one of ann (RFC 7519).
func token() string {
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + encode(fmt.Appendf(nil, `{"sub":"ann","exp":%d}`,
		time.Now().Add(time.Hour).Unix()))
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = mac.Write([]byte(signed))
	return signed + "." + encode(mac.Sum(nil))
}
