package admission

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// guards are the middlewares of the matrix. The address of every client is a loopback one.
const guards = `
    basic: {basicAuth: {users: ["BASIC"]}}
    digest: {digestAuth: {users: ["DIGEST"]}}
    forward: {forwardAuth: {address: "http://${AUTH}/"}}
    token: {jwt: {signingSecret: "SIGNING"}}
    address: {ipAllowList: {sourceRange: ["127.0.0.0/8"]}}
    elsewhere: {ipAllowList: {sourceRange: ["192.0.2.0/24", "2001:db8::/32"]}}
    certificate: {passTLSClientCert: {pem: true}}
    request: {authRequest: {url: "http://${AUTH}/"}}
    denied: {ipDenyList: {sourceRange: ["127.0.0.0/8"]}}
    either: {satisfyAny: {middlewares: [elsewhere, request]}}
    presented: {clientCertificate: {mode: optional, caFiles: ["${CA}"]}}
    known: {clientCertificate: {caFiles: ["${OTHER}"]}}
`

// guard is one of them, and how a request gets through.
type guard struct {
	name string
	// refused is the status without credentials; 0 for no restriction.
	refused int
	// credentials returns the value of Authorization for a request to the host of a client; nil where nothing helps.
	credentials func(t *testing.T, c *harness.Client, method, path string) string
}

func allGuards() []guard {
	always := func(text string) func(*testing.T, *harness.Client, string, string) string {
		return func(*testing.T, *harness.Client, string, string) string { return text }
	}
	return []guard{
		{"basic", http.StatusUnauthorized, always(basic(password))},
		{"digest", http.StatusUnauthorized, func(t *testing.T, c *harness.Client, method, path string) string {
			t.Helper()
			return digest(c.Get(path).Header.Get("Www-Authenticate"), method, path, password)
		}},
		{"forward", http.StatusUnauthorized, always("Let me in")},
		{"token", http.StatusUnauthorized, always(bearer(signing))},
		{"address", 0, always("")},
		{"elsewhere", http.StatusForbidden, nil},
		{"certificate", 0, always("")},
		{"request", http.StatusUnauthorized, always("Let me in")},
		{"denied", http.StatusForbidden, nil},
		{"either", http.StatusUnauthorized, always("Let me in")},
		{"presented", 0, always("")},
		{"known", http.StatusBadRequest, nil},
	}
}

// world is one Sluice with all guards before both kinds of upstream.
type world struct {
	sluice    *harness.Sluice
	backend   *harness.Backend
	authority *harness.Authority
	client    tls.Certificate
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{authority: harness.NewAuthority(t)}
	w.backend = harness.StartBackend(t, "one", nil)
	front := w.authority.Issue("wildcard", "*.test")
	w.client = w.authority.Issue("ann").Pair
	auth := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Let me in" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	t.Cleanup(auth.Close)
	var text strings.Builder
	text.WriteString("http:\n  routers:\n")
	for _, guard := range allGuards() {
		for _, upstream := range []string{"h1", "h2c"} {
			_, _ = fmt.Fprintf(&text, "    %s-%s: {rule: Host(`%s-%s.test`), service: %s, middlewares: [%s]}\n", guard.name,
				upstream, guard.name, upstream, upstream, guard.name)
		}
	}
	text.WriteString("  middlewares:" + strings.NewReplacer("BASIC", basicLine(password), "DIGEST", digestLine(password),
		"SIGNING", signing).Replace(guards) + `
  services:
    h1: {loadBalancer: {servers: [{url: "http://${H1}"}]}}
    h2c: {loadBalancer: {servers: [{url: "h2c://${H2C}"}]}}
tls:
  certificates: [{certFile: "${CERT}", keyFile: "${KEY}"}]
  options: {default: {clientAuth: {caFiles: ["${CA}"], clientAuthType: VerifyClientCertIfGiven}}}
`)
	w.sluice = harness.Start(t, harness.Setup{
		Static: static, Dynamic: map[string]string{"all.yaml": text.String()},
		Vars: map[string]string{
			"H1": w.backend.H1, "H2C": w.backend.H2C, "AUTH": auth.Listener.Addr().String(),
			"CA": w.authority.File, "OTHER": harness.NewAuthority(t).File, "CERT": front.CertFile, "KEY": front.KeyFile,
		},
	})
	return w
}

// cell is one guard, one protocol of the client and one of the upstream.
type cell struct {
	*harness.Client
	guard

	world          *world
	upstream, host string
}

// TestMatrix sends every kind of exchange through every guard, on every combination of protocols, with and without
// credentials.
func TestMatrix(t *testing.T) {
	w := newWorld(t)
	for _, guard := range allGuards() {
		for _, protocol := range harness.Protocols() {
			for _, upstream := range []string{"h1", "h2c"} {
				t.Run(fmt.Sprint(guard.name, " ", protocol, " to ", upstream), func(t *testing.T) {
					c := cell{guard: guard, world: w, upstream: upstream, host: guard.name + "-" + upstream + ".test"}
					address := w.sluice.Addr("web")
					if protocol.Secure() {
						address = w.sluice.Addr("websecure")
					}
					c.Client = harness.NewClient(t, protocol, address, c.host, c.settings())
					if guard.credentials != nil {
						c.passes(t)
					}
					if guard.refused != 0 {
						c.refuses(t)
					}
				})
			}
		}
	}
}

func (c cell) settings() *tls.Config {
	return &tls.Config{RootCAs: c.world.authority.Pool, Certificates: []tls.Certificate{c.world.client}}
}

// request returns a request with credentials.
func (c cell) request(t *testing.T, method, path string, body io.Reader) *http.Request {
	t.Helper()
	request := c.Request(method, path, body)
	if value := c.credentials(t, c.Client, method, path); value != "" {
		request.Header.Set("Authorization", value)
	}
	return request
}

// upload is more than any buffer on the way holds, in bytes.
const upload = 16 << 20

func (c cell) passes(t *testing.T) {
	t.Helper()
	echo := c.Send(c.request(t, http.MethodGet, "/get?a=b", nil)).Echo(t)
	known := len(echo.Header.Values("X-Forwarded-Tls-Client-Cert")) == 1
	if echo.Path != "/get" || known != (c.name == "certificate" && c.Protocol.Secure()) {
		t.Errorf("GET: %+v", echo)
	}
	echo = c.Send(c.request(t, http.MethodPost, "/post", harness.Pattern(1<<20))).Echo(t)
	if echo.BodyHash != harness.PatternHash(1<<20) {
		t.Errorf("POST: %d bytes arrived", echo.BodyLength)
	}
	c.streams(t)
	if !c.Protocol.HTTP2() {
		connection, err := c.dialWebSocket(t, c.credentials(t, c.Client, http.MethodGet, "/websocket"))
		if err != nil {
			t.Fatalf("WebSocket: %v", err)
		}
		must(t, connection.Write(t.Context(), websocket.MessageText, []byte("hello")))
		if _, text, err := connection.Read(t.Context()); err != nil || string(text) != "hello" {
			t.Errorf("WebSocket: %q, %v", text, err)
		}
		_ = connection.CloseNow()
	}
	if c.speaksGRPC() {
		if err := c.call(t, c.credentials(t, c.Client, http.MethodPost, unary)); err != nil {
			t.Errorf("gRPC: %v", err)
		}
	}
}

// streams expects an event before the response has ended.
func (c cell) streams(t *testing.T) {
	t.Helper()
	id := strings.ReplaceAll(t.Name(), "/", "-")
	id = strings.NewReplacer(" ", "-", "+", "-", "#", "-").Replace(id)
	request := c.request(t, http.MethodGet, "/events?id="+id, nil)
	stream := c.world.backend.Stream(id)
	response, err := c.Do(request)
	must(t, err)
	defer response.Body.Close() //nolint:errcheck // It is read to its end.
	if response.StatusCode != http.StatusOK {
		t.Fatalf("events: status %d", response.StatusCode)
	}
	harness.Send(t, stream.Events, "one", "an event")
	text := make([]byte, len("data: one\n\n"))
	if _, err := io.ReadFull(response.Body, text); err != nil || string(text) != "data: one\n\n" {
		t.Errorf("events: %q, %v", text, err)
	}
	close(stream.Events)
	_, _ = io.Copy(io.Discard, response.Body)
}

func (c cell) refuses(t *testing.T) {
	t.Helper()
	before := c.world.backend.Seen()
	if got := c.Get("/get"); got.StatusCode != c.refused || got.Header.Get("X-Backend") != "" {
		t.Errorf("GET: status %d, %v", got.StatusCode, got.Header)
	}
	for _, size := range []int64{10, upload} {
		got, err := c.Try(c.Request(http.MethodPost, "/post", harness.Pattern(size)))
		if err != nil || got.StatusCode != c.refused {
			t.Errorf("POST of %d bytes: %v, %v", size, got.Response, err)
		}
	}
	if !c.Protocol.HTTP2() {
		connection, err := c.dialWebSocket(t, "")
		if err == nil {
			_ = connection.CloseNow()
		}
		if err == nil || !strings.Contains(err.Error(), fmt.Sprint(c.refused)) {
			t.Errorf("WebSocket: %v", err)
		}
	}
	if c.speaksGRPC() {
		want := map[int]codes.Code{
			http.StatusUnauthorized: codes.Unauthenticated,
			http.StatusForbidden:    codes.PermissionDenied,
			http.StatusBadRequest:   codes.Internal,
		}[c.refused]
		if err := c.call(t, ""); status.Code(err) != want {
			t.Errorf("gRPC: %v, want %v", err, want)
		}
	}
	if after := c.world.backend.Seen(); after != before {
		t.Errorf("the endpoint saw %d requests", after-before)
	}
}

func (c cell) speaksGRPC() bool { return c.Protocol.HTTP2() && c.upstream == "h2c" }

// unary is the path of a call.
const unary = "/grpc.testing.TestService/UnaryCall"

func (c cell) call(t *testing.T, authorization string) error {
	t.Helper()
	address, settings := c.world.sluice.Addr("web"), (*tls.Config)(nil)
	if c.Protocol.Secure() {
		address, settings = c.world.sluice.Addr("websecure"), c.settings()
	}
	ctx := t.Context()
	if authorization != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", authorization)
	}
	_, err := harness.NewGRPC(t, address, c.host, settings).UnaryCall(ctx, &grpc_testing.SimpleRequest{})
	return err
}

func (c cell) dialWebSocket(t *testing.T, authorization string) (*websocket.Conn, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), bounded)
	defer cancel()
	header := http.Header{}
	if authorization != "" {
		header.Set("Authorization", authorization)
	}
	connection, response, err := websocket.Dial(ctx, c.URL("/websocket"), &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: c.Transport}, HTTPHeader: header, Subprotocols: []string{"echo"},
	})
	if err != nil && response != nil && response.Body != nil {
		_ = response.Body.Close()
	}
	return connection, err
}
