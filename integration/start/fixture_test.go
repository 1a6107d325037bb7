package start

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/interop/grpc_testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// site is a Sluice that was started with one of the fixtures.
type site struct {
	*harness.Sluice

	settings *tls.Config
}

func startFixture(t *testing.T, format string) site {
	t.Helper()
	authority := harness.NewAuthority(t)
	one, two := harness.StartBackend(t, "one", authority), harness.StartBackend(t, "two", nil)
	front := authority.Issue("site.test", "*.site.test", "grpc.test", "split.test", "certain.test")
	s := harness.Start(t, harness.Setup{
		Static: read(t, "traefik."+format), Format: format,
		Dynamic: map[string]string{"dynamic." + format: read(t, "dynamic."+format)},
		Vars: map[string]string{
			"ONE": one.H1, "ONE_TLS": one.H2, "ONE_H2C": one.H2C, "TWO": two.H1,
			"CA": authority.File, "CERT": front.CertFile, "KEY": front.KeyFile,
		},
	})
	return site{s, &tls.Config{RootCAs: authority.Pool}}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (s site) client(t *testing.T, protocol harness.Protocol, host string) *harness.Client {
	t.Helper()
	entrypoint := "web"
	if protocol.Secure() {
		entrypoint = "websecure"
	}
	return harness.NewClient(t, protocol, s.Addr(entrypoint), host, s.settings)
}

// TestTraefikSpelling starts with the configuration of a Traefik user, once in YAML and once in TOML, and gets through
// with every kind of client. Nothing is quarantined, and nothing is unknown.
func TestTraefikSpelling(t *testing.T) {
	for _, format := range []string{"yaml", "toml"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			s := startFixture(t, format)
			if ready := s.Readiness(); ready.Quarantined != 0 || len(ready.Verdicts) != 0 {
				t.Errorf("objects are refused: %+v", ready)
			}
			for _, protocol := range harness.Protocols() {
				s.expectHTTP(t, protocol)
			}
			s.expectGRPC(t)
			s.expectWebSocket(t)
			s.expectSplit(t)
			s.expectRest(t)
		})
	}
}

func (s site) expectHTTP(t *testing.T, protocol harness.Protocol) {
	t.Helper()
	client := s.client(t, protocol, "site.test")
	plain := client.Post("/path?q=1", "a body")
	echo := plain.Echo(t)
	got := []string{echo.Backend, echo.Method, echo.Host, echo.RequestURI, echo.Proto, fmt.Sprint(echo.BodyLength)}
	if diff := cmp.Diff([]string{"one", "POST", "site.test", "/path?q=1", "HTTP/1.1", "6"}, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", protocol, diff)
	}
	request := client.Request(http.MethodGet, "/api/users", nil)
	request.Header.Set("X-Secret", "of the client")
	answer := client.Send(request)
	echo = answer.Echo(t)
	got = []string{
		echo.RequestURI, echo.Proto, echo.Header.Get("X-From"), echo.Header.Get("X-Secret"),
		answer.Header.Get("X-Answered"),
	}
	if diff := cmp.Diff([]string{"/v1/users", "HTTP/2.0", "the proxy", "", "api"}, got); diff != "" {
		t.Errorf("%s, api (-want +got):\n%s", protocol, diff)
	}
	if echo.Host == "site.test" {
		t.Errorf("%s: the Host header was passed", protocol)
	}
	entry := map[bool]string{true: "websecure"}[protocol.Secure()]
	if got := plain.Header.Get("X-Entry"); got != entry {
		t.Errorf("%s: X-Entry is %q, want %q", protocol, got, entry)
	}
	if protocol.Secure() && plain.TLS.Version != tls.VersionTLS13 {
		t.Errorf("%s: TLS version %x", protocol, plain.TLS.Version)
	}
}

func (s site) expectGRPC(t *testing.T) {
	t.Helper()
	for entrypoint, settings := range map[string]*tls.Config{"web": nil, "websecure": s.settings} {
		client := harness.NewGRPC(t, s.Addr(entrypoint), "grpc.test", settings)
		want := []byte("payload")
		got, err := client.UnaryCall(t.Context(), &grpc_testing.SimpleRequest{Payload: &grpc_testing.Payload{Body: want}})
		if err != nil || !bytes.Equal(got.GetPayload().GetBody(), want) {
			t.Errorf("gRPC on %s: %v, %v", entrypoint, got, err)
		}
	}
}

func (s site) expectWebSocket(t *testing.T) {
	t.Helper()
	for _, protocol := range []harness.Protocol{harness.H1, harness.H1TLS} {
		connection := s.client(t, protocol, "site.test").WebSocket("/websocket")
		if err := connection.Write(t.Context(), websocket.MessageText, []byte("hello")); err != nil {
			t.Error(err)
		}
		if _, got, err := connection.Read(t.Context()); err != nil || string(got) != "hello" {
			t.Errorf("websocket by %s: %q, %v", protocol, got, err)
		}
		if err := connection.Close(websocket.StatusNormalClosure, ""); err != nil {
			t.Error(err)
		}
	}
}

// expectSplit counts endpoints: of eight requests, six go to one and two to two.
func (s site) expectSplit(t *testing.T) {
	t.Helper()
	client := s.client(t, harness.H1, "split.test")
	count := map[string]int{}
	for range 8 {
		count[client.Get("/").Header.Get("X-Backend")]++
	}
	if diff := cmp.Diff(map[string]int{"one": 6, "two": 2}, count); diff != "" {
		t.Errorf("split (-want +got):\n%s", diff)
	}
}

func (s site) expectRest(t *testing.T) {
	t.Helper()
	legacy := harness.NewClient(t, harness.H1, s.Addr("legacy"), "site.test", nil)
	if got := legacy.Get("/path?q=1"); got.StatusCode != http.StatusMovedPermanently ||
		got.Header.Get("Location") != "https://site.test:8443/path?q=1" {
		t.Errorf("redirection: status %d to %q", got.StatusCode, got.Header.Get("Location"))
	}
	if got := s.client(t, harness.H1TLS, "certain.test").Get("/"); got.StatusCode != http.StatusOK {
		t.Errorf("a router with its own TLS options: status %d", got.StatusCode)
	}
	if got := s.client(t, harness.H1, "certain.test").Get("/"); got.StatusCode != http.StatusNotFound {
		t.Errorf("a router of websecure on web: status %d", got.StatusCode)
	}
	internal := harness.NewClient(t, harness.H1, s.Addr("traefik"), "internal.test", nil)
	if got := internal.Get("/ping"); got.StatusCode != http.StatusOK || got.Text != "OK" {
		t.Errorf("/ping: status %d, %q", got.StatusCode, got.Text)
	}
	if got := internal.Get("/api/routes"); got.StatusCode != http.StatusOK || !strings.Contains(got.Text, "site@file") {
		t.Errorf("/api/routes: status %d, %q", got.StatusCode, got.Text)
	}
	if log := s.Log.String(); strings.Contains(log, `"level":"error"`) || !strings.HasPrefix(log, "{") {
		t.Errorf("the log:\n%s", log)
	}
}
