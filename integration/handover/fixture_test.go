package handover

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"golang.org/x/net/http2"

	"github.com/sluiceproxy/sluice/integration/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// timeout bounds every wait.
const timeout = time.Minute

// service is what the generations of a service have in common.
type service struct {
	t     *testing.T
	setup harness.Setup
	// web, secure, dns and mail are addresses of entrypoints: HTTP, HTTPS with HTTP/3, UDP and TCP.
	web, secure, dns, mail string
	// datagrams is the server behind dns.
	datagrams *harness.PacketEcho
}

// newService returns a service that does not run yet. extra is added to the static configuration.
func newService(t *testing.T, extra string) *service {
	t.Helper()
	folder, err := os.MkdirTemp("", "handover") //nolint:usetesting // That of a test may have too long a path.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	s := &service{
		t: t, web: harness.FreeAddress(t), secure: harness.FreeAddress(t), dns: harness.FreeAddress(t),
		mail: harness.FreeAddress(t),
	}
	s.datagrams = harness.StartPacketEcho(t)
	backend := harness.StartBackend(t, "b", nil)
	s.setup = harness.Setup{
		Static: `
entryPoints:
  web: {address: "${WEB}"}
  secure: {address: "${SECURE}", http3: {}, http: {tls: {}}, transport: {lifeCycle: {graceTimeOut: 1s}}}
  dns: {address: "${DNS}/udp", udp: {timeout: 1m}, transport: {lifeCycle: {graceTimeOut: 100ms}}}
  mail: {address: "${MAIL}"}
  traefik: {address: "127.0.0.1:0"}
ping: {}
providers: {file: {directory: "${DYNAMIC}"}}
handover: {socket: "${SOCKET}", drain: 1m}
` + extra,
		Dynamic: map[string]string{"routes.yaml": `
http:
  routers: {all: {rule: "PathPrefix(` + "`/`" + `)", entryPoints: [web, secure], service: backend}}
  services: {backend: {loadBalancer: {servers: [{url: "http://${BACKEND}"}]}}}
tcp:
  routers: {mail: {rule: "HostSNI(` + "`*`" + `)", entryPoints: [mail], service: echo}}
  services: {echo: {loadBalancer: {servers: [{address: "${ECHO}"}]}}}
udp:
  routers: {dns: {entryPoints: [dns], service: echo}}
  services: {echo: {loadBalancer: {servers: [{address: "${ECHO_UDP}"}]}}}
`},
		Vars: map[string]string{
			"WEB": s.web, "SECURE": s.secure, "DNS": s.dns, "MAIL": s.mail, "BACKEND": backend.H1,
			"SOCKET": filepath.Join(folder, "sluice.sock"), "ECHO": harness.StartEcho(t), "ECHO_UDP": s.datagrams.Address,
		},
	}
	return s
}

// succeed starts the next generation, and waits until it serves and the one before has ended.
func (s *service) succeed(before *harness.Sluice) *harness.Sluice {
	s.t.Helper()
	next := harness.Start(s.t, s.setup)
	next.WaitLog("serving in the place of the predecessor")
	before.WaitLog("handed over")
	if code := before.Wait(); code != 0 {
		s.t.Errorf("the predecessor ended with exit code %d", code)
	}
	return next
}

// exchange sends a line and expects it back.
func exchange(t *testing.T, conn io.ReadWriter, line string) {
	t.Helper()
	if conn, ok := conn.(net.Conn); ok {
		_ = conn.SetDeadline(time.Now().Add(timeout))
	}
	if _, err := io.WriteString(conn, line); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(line))
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != line {
		t.Fatalf("got %q, error %v, want %q", got, err, line)
	}
}

// mirror begins a request whose body comes back, and returns both bodies, and what ends it.
func mirror(t *testing.T, client *harness.Client) (io.ReadWriter, func()) {
	t.Helper()
	body, in := io.Pipe()
	response, err := client.Do(client.Request(http.MethodPost, "/mirror", body))
	if err != nil {
		t.Fatal(err)
	}
	end := func() {
		_ = in.Close()
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
	}
	t.Cleanup(end)
	return struct {
		io.Reader
		io.Writer
	}{response.Body, in}, end
}

// dial connects.
func dial(t *testing.T, network, address string) net.Conn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// clientTLS accepts the generated certificate.
func clientTLS() *tls.Config {
	return &tls.Config{InsecureSkipVerify: true} //nolint:gosec // The certificate is generated.
}

// answers expects an answer of the backend to a new client of a protocol.
func (s *service) answers(t *testing.T, protocol harness.Protocol) {
	t.Helper()
	address := s.web
	if protocol.Secure() {
		address = s.secure
	}
	client := harness.NewClient(t, protocol, address, "any.test", clientTLS())
	defer client.CloseIdleConnections()
	got := client.Get("/ok")
	if got.StatusCode >= http.StatusInternalServerError {
		t.Errorf("%s: status %d", protocol, got.StatusCode)
	}
}

// newHTTP3 returns a client that closes its connection when another one takes its place, as browsers do after GOAWAY.
func (s *service) newHTTP3(t *testing.T) *harness.Client {
	t.Helper()
	client := harness.NewClient(t, harness.H3, s.secure, "any.test", clientTLS())
	transport, ok := client.Client.Transport.(*http3.Transport)
	if !ok {
		t.Fatalf("the transport is a %T", client.Client.Transport)
	}
	inner, before := transport.Dial, (*quic.Conn)(nil)
	transport.Dial = func(
		ctx context.Context, address string, settings *tls.Config, config *quic.Config,
	) (*quic.Conn, error) {
		conn, err := inner(ctx, address, settings, config)
		if err != nil {
			return nil, err
		}
		if before != nil {
			_ = before.CloseWithError(quic.ApplicationErrorCode(http3.ErrCodeNoError), "")
		}
		before = conn
		return conn, nil
	}
	return client
}

// try sends a request, and returns the error of a server as well.
func try(client *harness.Client) (int, error) {
	response, err := client.Try(client.Request(http.MethodGet, "/ok", nil))
	if err == nil && response.StatusCode >= http.StatusInternalServerError {
		err = fmt.Errorf("status %d", response.StatusCode)
	}
	return 1, err
}

// sendHTTP1 sends requests on one connection until a response ends it, or until done is closed, and returns how many.
// No request is repeated, unlike with http.Transport. Unless keep is set, there is one request.
func sendHTTP1(ctx context.Context, address string, secure, keep bool, done <-chan struct{}) (int, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(timeout))
	if secure {
		conn = tls.Client(conn, clientTLS())
	}
	reader := bufio.NewReader(conn)
	for n := 1; ; n++ {
		if _, err := io.WriteString(conn, "GET /ok HTTP/1.1\r\nHost: any.test\r\n\r\n"); err != nil {
			return n, fmt.Errorf("request %d: %w", n, err)
		}
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			return n, fmt.Errorf("response %d: %w", n, err)
		}
		_, err = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode >= http.StatusInternalServerError {
			return n, fmt.Errorf("response %d: status %d, error %w", n, response.StatusCode, err)
		}
		select {
		case <-done:
			return n, nil
		default:
			if !keep || response.Close {
				return n, nil
			}
		}
	}
}

// connectHTTP2 connects to a server that speaks HTTP/2 alone, and expects its settings.
func connectHTTP2(ctx context.Context, address string) (int, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(timeout))
	framer := http2.NewFramer(conn, conn)
	if _, err = io.WriteString(conn, http2.ClientPreface); err == nil {
		err = framer.WriteSettings()
	}
	if err != nil {
		return 0, err
	}
	frame, err := framer.ReadFrame()
	if err != nil {
		return 0, fmt.Errorf("waiting for settings: %w", err)
	}
	if kind := frame.Header().Type; kind != http2.FrameSettings {
		return 0, fmt.Errorf("a frame of type %v", kind)
	}
	return 1, nil
}

// beside adds the variables of the sections that listen beside the entrypoints.
func (s *service) beside() {
	s.t.Helper()
	for _, name := range []string{"XDS", "INSPECTOR", "STATUS"} {
		s.setup.Vars[name] = harness.FreeAddress(s.t)
	}
	issued := harness.NewAuthority(s.t).Issue("localhost")
	s.setup.Vars["CERT"], s.setup.Vars["KEY"] = issued.CertFile, issued.KeyFile
}

// bind listens on an address.
func bind(t *testing.T, address string) net.Listener {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return listener
}
