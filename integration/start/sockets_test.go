package start

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// filer is a socket of Go.
type filer interface {
	File() (*os.File, error)
	Close() error
}

// socketFile returns the file of a socket, which stays bound until the end of the test.
func socketFile(t *testing.T, socket filer, err error) *os.File {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	file, err := socket.File()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	if err := socket.Close(); err != nil {
		t.Fatal(err)
	}
	return file
}

// bindTCP and bindUDP return the file of a socket.
func bindTCP(t *testing.T, address string) *os.File {
	t.Helper()
	socket, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.MustParseAddrPort(address)))
	return socketFile(t, socket, err)
}

func bindUDP(t *testing.T, address string) *os.File {
	t.Helper()
	socket, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.MustParseAddrPort(address)))
	return socketFile(t, socket, err)
}

// TestSocketsOfTheServiceManager starts Sluice twice with the sockets of TCP, HTTP/3 and UDP entrypoints. A client
// that connects while no process runs is answered by the second one.
func TestSocketsOfTheServiceManager(t *testing.T) {
	t.Parallel()
	web, dns := harness.FreeAddress(t), harness.FreeAddress(t)
	setup := harness.Setup{
		Static: `
entryPoints:
  web: {address: "${WEB}", http3: {}, http: {tls: {}}}
  dns: {address: "${DNS}/udp"}
  traefik: {address: "127.0.0.1:0"}
ping: {}
providers: {file: {directory: "${DYNAMIC}"}}
`,
		Dynamic: map[string]string{"udp.yaml": `
udp:
  routers: {echo: {entryPoints: [dns], service: echo}}
  services: {echo: {loadBalancer: {servers: [{address: "${ECHO}"}]}}}
`},
		Vars: map[string]string{"WEB": web, "DNS": dns, "ECHO": harness.StartPacketEcho(t).Address},
		Sockets: []harness.Socket{
			{Name: "web", File: bindTCP(t, web)},
			{Name: "web", File: bindUDP(t, web)},
			{Name: "dns", File: bindUDP(t, dns)},
			{Name: "dns", File: bindUDP(t, "127.0.0.1:0")},
		},
	}
	settings := &tls.Config{InsecureSkipVerify: true} //nolint:gosec // The certificate is generated.
	for range 2 {
		early := harness.NewClient(t, harness.H1TLS, web, "any.test", settings)
		answered := make(chan harness.Response, 1)
		go func() {
			got, err := early.Try(early.Request(http.MethodGet, "/", nil))
			if err != nil {
				t.Errorf("a client before the start: %v", err)
			}
			answered <- got
		}()
		s := harness.Start(t, setup)
		got := harness.Await(t, answered, "the answer to a client before the start")
		if got.StatusCode != http.StatusNotFound {
			t.Errorf("a client before the start: status %d", got.StatusCode)
		}
		client := harness.NewClient(t, harness.H3, web, "any.test", settings)
		if got := client.Get("/"); got.StatusCode != http.StatusNotFound {
			t.Errorf("HTTP/3: status %d", got.StatusCode)
		}
		expectEcho(t, dns)
		s.WaitLog("a socket of the service manager is not used", "dns") // The one with another port.
		s.Stop()
	}
}

// stored returns the sockets that Sluice has the service manager keep, of which there are so many.
func (m *notifySocket) stored(number int) []harness.Socket {
	m.t.Helper()
	var sockets []harness.Socket
	for range number {
		message, control := make([]byte, 256), make([]byte, 64)
		n, controls, _, _, err := m.socket.ReadMsgUnix(message, control)
		if err != nil {
			m.t.Fatal(err)
		}
		name, isStore := strings.CutPrefix(string(message[:n]), "FDSTORE=1\nFDNAME=")
		messages, err := syscall.ParseSocketControlMessage(control[:controls])
		if err != nil || !isStore || len(messages) != 1 {
			m.t.Fatalf("got %q with %d control messages, want a socket", message[:n], len(messages))
		}
		descriptors, err := syscall.ParseUnixRights(&messages[0])
		if err != nil || len(descriptors) != 1 {
			m.t.Fatalf("descriptors %v: %v", descriptors, err)
		}
		name, _, _ = strings.Cut(name, "\n")
		file := os.NewFile(uintptr(descriptors[0]), name)
		m.t.Cleanup(func() { _ = file.Close() })
		sockets = append(sockets, harness.Socket{Name: name, File: file})
	}
	return sockets
}

// TestTheServiceManagerKeepsSockets kills Sluice. A client that connects before the next process runs is answered by
// that, which has the ports of the first one.
func TestTheServiceManagerKeepsSockets(t *testing.T) {
	t.Parallel()
	manager := newNotifySocket(t)
	setup := harness.Setup{
		Static: `
entryPoints:
  shared: {address: "127.0.0.1:0", reusePort: true}
  traefik: {address: "127.0.0.1:0"}
  web: {address: "127.0.0.1:0", http3: {}, http: {tls: {}}}
ping: {}
`,
		Env: []string{manager.environment(), "FDSTORE=9"},
	}
	first := harness.Start(t, setup)
	setup.Sockets = manager.stored(3)
	manager.expect("READY=1")
	var names []string
	for _, socket := range setup.Sockets {
		names = append(names, socket.Name)
	}
	if got := strings.Join(names, " "); got != "traefik/tcp web/tcp web/udp" {
		t.Errorf("kept sockets: %s", got)
	}
	web := first.Addr("web")
	first.Signal(syscall.SIGKILL)
	_ = first.Wait()
	settings := &tls.Config{InsecureSkipVerify: true} //nolint:gosec // The certificate is generated.
	early, err := new(net.Dialer).DialContext(t.Context(), "tcp", web)
	if err != nil {
		t.Fatalf("while no process runs: %v", err)
	}
	defer func() { _ = early.Close() }()
	second := harness.Start(t, setup)
	manager.expect("READY=1") // The sockets are kept already.
	if now := second.Addr("web"); now != web {
		t.Errorf("the second process listens on %s, the first on %s", now, web)
	}
	_ = early.SetDeadline(time.Now().Add(time.Minute))
	if err := tls.Client(early, settings).HandshakeContext(t.Context()); err != nil {
		t.Errorf("a client of before: %v", err)
	}
	for _, protocol := range []harness.Protocol{harness.H1TLS, harness.H3} {
		got := harness.NewClient(t, protocol, web, "any.test", settings).Get("/")
		if got.StatusCode != http.StatusNotFound {
			t.Errorf("%v: status %d", protocol, got.StatusCode)
		}
	}
}

// TestTheServiceManagerForgetsSockets has a kept socket closed that the entrypoint must not use any more, since it has
// reusePort now, and listens as soon as the address is free.
func TestTheServiceManagerForgetsSockets(t *testing.T) {
	t.Parallel()
	manager, address := newNotifySocket(t), harness.FreeAddress(t)
	kept := bindTCP(t, address)
	s := harness.Start(t, harness.Setup{
		Static: `entryPoints: {web: {address: "` + address + `", reusePort: true}}`, NotReady: true,
		Env: []string{manager.environment()}, Sockets: []harness.Socket{{Name: "web/tcp", File: kept}},
	})
	manager.expect("FDSTOREREMOVE=1")
	if err := kept.Close(); err != nil {
		t.Error(err)
	}
	manager.expect("READY=1")
	if now := s.Addr("web"); now != address {
		t.Errorf("it listens on %s", now)
	}
}

// expectEcho sends a datagram and gets it back.
func expectEcho(t *testing.T, address string) {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "udp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	if _, err := conn.Write([]byte("datagram")); err != nil {
		t.Fatal(err)
	}
	buffer := make([]byte, 100)
	n, err := conn.Read(buffer)
	if err != nil || string(buffer[:n]) != "datagram" {
		t.Errorf("UDP: %q, %v", buffer[:n], err)
	}
}
