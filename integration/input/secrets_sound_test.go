package input

import (
	"crypto/hmac"
	"crypto/md5" //nolint:gosec // RFC 7616.
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/immutable"
	"github.com/sluiceproxy/sluice/integration/harness"
)

// vault collects every secret of a valid configuration and of its requests.
type vault struct {
	secrets []string
	issued  harness.Issued
	dir     string
}

// keep adds a secret.
func (v *vault) keep(text string) string {
	v.secrets = append(v.secrets, text)
	return text
}

// file writes a secret into a file, and returns its path.
func (v *vault) file(t *testing.T, name, text string) string {
	t.Helper()
	path := v.dir + "/" + name
	write(t, path, text)
	return path
}

// key returns the private key of the certificate as PEM. Its lines are secrets.
func (v *vault) key(t *testing.T) (certificate, key string) {
	t.Helper()
	texts := [2]string{}
	for i, path := range []string{v.issued.CertFile, v.issued.KeyFile} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(text)
	}
	for _, line := range strings.Split(texts[1], "\n")[1:3] {
		v.keep(line)
	}
	return texts[0], texts[1]
}

const (
	password = "passw0rdOfAnn"
	signing  = "s1gningSecretOfTheOperatorWhichIsLong"
	// environments is the key of signed tags.
	environments = "s1gningKeyOfTheEnvironmentsWhichIsLong"
)

// users returns ann with the hash of her password, as htpasswd and htdigest write her.
func (v *vault) users() (basic, digest string) {
	sum, first := sha1.Sum([]byte(v.keep(password))), md5.Sum([]byte("ann:traefik:"+password)) //nolint:gosec // What the files hold.
	return "ann:{SHA}" + v.keep(base64.StdEncoding.EncodeToString(sum[:])), "ann:traefik:" +
		v.keep(hex.EncodeToString(first[:]))
}

// sound returns a configuration that is right, with a secret in every field that may hold one.
func (v *vault) sound(t *testing.T, answering, dead string) *dynamic.Configuration {
	t.Helper()
	certificate, key := v.key(t)
	basic, digest := v.users()
	both := dynamic.Certificate{CertFile: certificate, KeyFile: key}
	clients := harness.NewAuthority(t)
	revoked := v.file(t, "clients.crl", string(clients.Revoke(time.Now().Add(100*time.Hour))))
	secured := &dynamic.ClientTLS{CA: certificate, Cert: certificate, Key: key}
	sets := `{"keys": [{"kty": "oct", "k": "` + v.keep("a2V5T2ZUaGVPcGVyYXRvcg") +
		`"}, {"kty": "EC", "crv": "P-256", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "y": ` +
		`"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]}`
	public := "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE" + "\n-----END PUBLIC KEY-----\n" +
		certificate
	value := v.keep("v4lueOfTheOperator")
	address := "http://user:" + v.keep("addr3ssOfTheOperator") + "@" + answering + "/auth?token=" +
		v.keep("qu3ryOfTheOperator")
	middlewares := map[string]*dynamic.Middleware{
		"basic":       {BasicAuth: &dynamic.BasicAuth{Users: []string{basic}}},
		"basic-file":  {BasicAuth: &dynamic.BasicAuth{UsersFile: v.file(t, "users", basic)}},
		"digest":      {DigestAuth: &dynamic.DigestAuth{Users: []string{digest}}},
		"digest-file": {DigestAuth: &dynamic.DigestAuth{UsersFile: v.file(t, "digests", digest)}},
		"forward":     {ForwardAuth: &dynamic.ForwardAuth{Address: address, AuthSigninURL: "https://sign.test/?" + value}},
		"forward-tls": {ForwardAuth: &dynamic.ForwardAuth{
			Address: "https://user:" + value + "@" + dead + "/?" + value,
			TLS:     secured,
		}},
		"ask":      {ExternalAuth: &dynamic.ExternalAuth{Service: "alive", MaxBodySize: 100}},
		"ask-call": {ExternalAuth: &dynamic.ExternalAuth{Service: "alive", Protocol: "grpc", MaxBodySize: 100}},
		"ask-down": {ExternalAuth: &dynamic.ExternalAuth{Service: "dead", AllowedHeaders: []string{"Cookie"}}},
		"token": {JWT: &dynamic.JWT{
			SigningSecret: v.keep(signing), TokenQueryKey: "token", TokenCookie: "session",
			TokenHeader: "Authorization",
		}},
		"token-file": {JWT: &dynamic.JWT{SigningSecretFile: v.file(t, "signing", signing), Algorithms: []string{"HS256"}}},
		"token-jwks": {JWT: &dynamic.JWT{
			Jwks: sets, Issuers: []string{value}, Audiences: []string{value},
			Claims: []dynamic.JWTClaim{{Name: "role", Values: []string{value}}},
		}},
		"token-set":     {JWT: &dynamic.JWT{JwksFile: v.file(t, "jwks", sets)}},
		"token-public":  {JWT: &dynamic.JWT{PublicKey: certificate}},
		"token-wrong":   {JWT: &dynamic.JWT{PublicKey: public + key}},
		"token-keyfile": {JWT: &dynamic.JWT{PublicKeyFile: v.issued.CertFile}},
		"token-url":     {JWT: &dynamic.JWT{JwksURL: "https://" + dead + "/jwks?token=" + value, TLS: secured}},
		"limit": {RateLimit: &dynamic.RateLimit{Average: 1, Redis: &dynamic.Redis{
			Endpoints: []string{dead}, Username: v.keep("us3rOfRedis"), Password: v.keep("p4ssOfRedis"), TLS: secured,
		}}},
		"fields": {Headers: &dynamic.Headers{
			CustomRequestHeaders:  map[string]string{"Authorization": "Bearer " + value},
			CustomResponseHeaders: map[string]string{"X-Empty": ""},
			SSLProxyHeaders:       map[string]string{"X-From-Proxy": value},
		}},
		"faults": {Fault: &dynamic.Fault{
			Headers: map[string]string{"X-Test-Fault": value}, Abort: &dynamic.FaultAbort{Status: 503, Percentage: 100},
		}},
		"modify-request": {RequestHeaderModifier: &dynamic.RequestHeaderModifier{
			Set: []dynamic.HeaderValue{{Name: "Authorization", Value: value}},
			Add: []dynamic.HeaderValue{{Name: "X-Token", Value: value}},
		}},
		"modify-response": {ResponseHeaderModifier: &dynamic.ResponseHeaderModifier{
			Set: []dynamic.HeaderValue{{Name: "Set-Cookie", Value: "operator=" + value}},
		}},
		"modify-response-more": {ResponseHeaderModifier: &dynamic.ResponseHeaderModifier{
			Add: []dynamic.HeaderValue{{Name: "Set-Cookie", Value: "operator=" + value}},
		}},
		"pages": {Errors: &dynamic.ErrorPage{
			Status: []string{"502"}, Service: "dead", Query: "/{status}.html?token=" + value,
		}},
		"environment": {Environment: &dynamic.EnvironmentMiddleware{Trust: &dynamic.EnvironmentTrust{
			Signed: &dynamic.EnvironmentSigning{Key: v.keep(environments)},
		}}},
		"environment-file": {Environment: &dynamic.EnvironmentMiddleware{Trust: &dynamic.EnvironmentTrust{
			Signed: &dynamic.EnvironmentSigning{KeyFile: v.file(t, "environments", environments)},
		}}},
		"plugin": {Plugin: map[string]map[string]any{"demo": {"token": value}}},
	}
	maps.Copy(middlewares,
		nginxMiddlewares(answering, dead, value, certificate, revoked, []string{clients.File}, secured))
	server := func(address string) *dynamic.ServersLoadBalancer {
		return &dynamic.ServersLoadBalancer{Servers: []dynamic.Server{{URL: "http://" + address + "/?token=" + value}}}
	}
	alive, broken, failing := server(answering), server(dead), server(dead)
	failing.ServersTransport = "secured"
	failing.Servers[0].URL = "https://" + dead
	failing.HealthCheck = &dynamic.ServerHealthCheck{
		Path:    "/?token=" + value,
		Headers: map[string]string{"Authorization": value},
	}
	out := &dynamic.Configuration{
		HTTP: &dynamic.HTTPConfiguration{
			Middlewares: immutable.Of(middlewares), Routers: immutable.Of(map[string]*dynamic.Router{}),
			Services: immutable.Of(map[string]*dynamic.Service{
				"alive": {LoadBalancer: alive}, "dead": {LoadBalancer: broken},
				"failing": {LoadBalancer: failing},
				"direct": {DirectResponse: &dynamic.DirectResponse{
					Status: 200, Headers: []dynamic.HeaderValue{{Name: "Set-Cookie", Value: "operator=" + value}},
				}},
			}),
			ServersTransports: immutable.Of(map[string]*dynamic.ServersTransport{"secured": {
				RootCAs:      []string{certificate},
				Certificates: []dynamic.Certificate{both},
			}}),
		},
		TCP: checkedOverTCP(value, answering, dead, both),
		TLS: &dynamic.TLSConfiguration{
			Certificates: []*dynamic.CertificateEntry{{Certificate: both}},
			Stores:       immutable.Of(map[string]*dynamic.TLSStore{"default": {DefaultCertificate: &both}}),
			Options: immutable.Of(map[string]*dynamic.TLSOptions{"known": {ClientAuth: dynamic.ClientAuth{
				CAFiles:        []string{certificate, clients.File},
				CRLFiles:       []string{revoked},
				ClientAuthType: "VerifyClientCertIfGiven",
			}}}),
		},
	}
	for name := range middlewares {
		for service := range out.HTTP.Services.Keys() {
			out.HTTP.Routers = out.HTTP.Routers.With(name+"-"+service, &dynamic.Router{
				Rule:        "Host(`" + name + "-" + service + ".test`)",
				Middlewares: []string{name}, Service: service,
			})
		}
	}
	return out
}

// checkedOverTCP returns TCP services whose health checks send a secret, to a server that answers something else and to
// one that is down.
func checkedOverTCP(secret, answering, dead string, both dynamic.Certificate) *dynamic.TCPConfiguration {
	out := &dynamic.TCPConfiguration{
		ServersTransports: immutable.Of(map[string]*dynamic.TCPServersTransport{"secured": {TLS: &dynamic.TCPClientTLS{
			RootCAs: []string{both.CertFile}, Certificates: []dynamic.Certificate{both},
		}}}),
	}
	for name, address := range map[string]string{"answering": answering, "down": dead} {
		balancer := &dynamic.TCPServersLoadBalancer{}
		balancer.SetDefaults()
		balancer.Servers, balancer.ServersTransport = []dynamic.TCPServer{{Address: address}}, "secured"
		balancer.HealthCheck = &dynamic.TCPServerHealthCheck{}
		balancer.HealthCheck.SetDefaults()
		balancer.HealthCheck.Send, balancer.HealthCheck.Expect = "AUTH "+secret+"\r\n", "+OK "+secret
		out.Services = out.Services.With(name, &dynamic.TCPService{LoadBalancer: balancer})
		out.Routers = out.Routers.With(name, &dynamic.TCPRouter{
			Rule: "HostSNI(`" + name + ".test`)", Service: name, TLS: &dynamic.TCPRouterTLS{},
		})
	}
	return out
}

// token returns one that the signing secret has signed.
func (v *vault) token() string {
	encode := base64.RawURLEncoding.EncodeToString
	payload := v.keep(encode(fmt.Appendf(nil, `{"sub":"ann","exp":%d}`, time.Now().Add(time.Hour).Unix())))
	signed := encode([]byte(`{"alg":"HS256"}`)) + "." + payload
	mac := hmac.New(sha256.New, []byte(signing))
	_, _ = mac.Write([]byte(signed))
	return signed + "." + v.keep(encode(mac.Sum(nil)))
}

// credentials returns values of Authorization, right ones and wrong ones.
func (v *vault) credentials() []string {
	right, token := v.keep(base64.StdEncoding.EncodeToString([]byte("ann:"+password))), v.token()
	wrong := v.keep(base64.StdEncoding.EncodeToString([]byte("ann:" + v.keep("wr0ngPassword"))))
	digest := `Digest username="ann", realm="traefik", nonce="` + v.keep("n0nceOfTheClient") +
		`", uri="/", qop=auth, nc=00000001, cnonce="` +
		v.keep("cn0nceOfTheClient") + `", response="` + v.keep("0123456789abcdef0123456789abcdef") + `", opaque="x"`
	return []string{
		"Basic " + right, "Basic " + wrong, "Basic " + wrong + "=", digest, "Bearer " + token,
		"Bearer " + token + "x", "Bearer " + v.keep("t0kenOfTheClient"), "",
	}
}

// TestSoundDefinitionsAndRequestsKeepTheirSecrets sends requests through every middleware with right and wrong
// credentials, to endpoints that answer and that are down, and searches all output.
func TestSoundDefinitionsAndRequestsKeepTheirSecrets(t *testing.T) {
	t.Parallel()
	authority := harness.NewAuthority(t)
	v := &vault{issued: authority.Issue("secured.test"), dir: t.TempDir()}
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/auth" && r.Header.Get("X-Forwarded-Method") == http.MethodPost {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	t.Cleanup(backend.Close)
	config := v.sound(t, backend.Listener.Addr().String(), harness.RefusedAddress(t))
	expectPlanted(t, config, v)
	text, err := json.MarshalIndent(config, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	credentials := v.credentials()
	session := v.keep("s3ssionOfTheClient")
	for _, format := range []string{"common", "json"} {
		s := harness.Start(t, harness.Setup{
			Static:  strings.Replace(asking, "api:", "metrics: {prometheus: {}}\napi:", 1),
			Dynamic: map[string]string{"sound.yaml": string(text)},
			Args:    []string{"--log.level=DEBUG", "--log.format=" + format},
		})
		said := map[string]string{}
		statuses := v.visit(t, s, config, credentials, session, said)
		for _, status := range []int{200, 302, 401, 500, 502, 503} {
			if statuses[status] == 0 {
				t.Errorf("no request was answered with %d: %v", status, statuses)
			}
		}
		for name, text := range commands(t, s, "GET", "http://basic-dead.test/?session="+session, "-H", "Authorization: "+
			credentials[0]) {
			said[name] = text
		}
		maps.Copy(said, everything(t, s, "url=http://basic-dead.test/", false))
		s.Stop()
		said["log"] = s.Log.String()
		search(t, said, append(v.secrets, "b0dyOfTheClient")...)
	}
}

// visit sends requests with each of the credentials by every router, and keeps the answers. It counts them by their
// status.
func (v *vault) visit(t *testing.T, s *harness.Sluice, config *dynamic.Configuration, credentials []string,
	session string, said map[string]string,
) map[int]int {
	t.Helper()
	statuses := map[int]int{}
	client := harness.NewClient(t, harness.H1, s.Addr("web"), "any.test", nil)
	for name := range config.HTTP.Routers.Keys() {
		for i, authorization := range credentials {
			request := client.Request(http.MethodPost, "/?session="+session, strings.NewReader("b0dyOfTheClient"))
			if i%2 == 0 {
				request = client.Request(http.MethodGet, "/?token="+strings.TrimPrefix(authorization, "Bearer "), nil)
			}
			request.Host = name + ".test"
			request.Header.Set("Cookie", "session="+session)
			request.Header.Set("X-Forwarded-Tls-Client-Cert", session)
			if authorization != "" {
				request.Header.Set("Authorization", authorization)
			}
			answer := client.Send(request)
			statuses[answer.StatusCode]++
			answer.Header.Del("Location")   // The URL of the sign-in page is public.
			answer.Header.Del("Set-Cookie") // Those of the endpoint and of modify-response, for the client.
			said["answer of "+name] += fmt.Sprintln(answer.Header, answer.Text)
		}
	}
	return statuses
}

// expectPlanted demands a secret in every field that may hold one.
func expectPlanted(t *testing.T, config *dynamic.Configuration, v *vault) {
	t.Helper()
	files := []string{v.dir, v.issued.CertFile, "-----BEGIN CERTIFICATE-----", "HS256"}
	planted := map[string]bool{}
	leaves(reflect.TypeFor[dynamic.Configuration](), reflect.ValueOf(config), "", func(path string, value reflect.Value) {
		if !value.IsValid() || !value.CanInterface() {
			return
		}
		text := fmt.Sprint(value.Interface())
		planted[path] = planted[path] || slices.ContainsFunc(slices.Concat(v.secrets, files), func(s string) bool {
			return strings.Contains(text, s)
		})
	})
	for path, holds := range fields() {
		// What is wrong as soon as there is a secret in it is planted in broken definitions only.
		if mayHold(holds) && holds != located && !planted[path] &&
			path != "http.middlewares{}.headers.customResponseHeaders{}" {
			t.Errorf("%s is not planted", path)
		}
	}
}
