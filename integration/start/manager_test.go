package start

import (
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// notifySocket is the socket of a service manager, of Type=notify (systemd.service(5)).
type notifySocket struct {
	t      *testing.T
	socket *net.UnixConn
}

func newNotifySocket(t *testing.T) *notifySocket {
	t.Helper()
	name := filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	if err := socket.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return &notifySocket{t: t, socket: socket}
}

// environment returns the variable that names the service manager.
func (m *notifySocket) environment() string {
	return "NOTIFY_SOCKET=" + m.socket.LocalAddr().String()
}

// expect fails unless the first line of the next state is this one.
func (m *notifySocket) expect(want string) {
	m.t.Helper()
	message := make([]byte, 256)
	n, err := m.socket.Read(message)
	if err != nil {
		m.t.Fatalf("waiting for %s: %v", want, err)
	}
	if got, _, _ := strings.Cut(string(message[:n]), "\n"); got != want {
		m.t.Errorf("the next state is %q, want %s", got, want)
	}
}

// TestTheServiceManagerIsNotified sends READY=1 once the entrypoints accept connections, and STOPPING=1 when they
// drain.
func TestTheServiceManagerIsNotified(t *testing.T) {
	t.Parallel()
	manager := newNotifySocket(t)
	s := harness.Start(t, harness.Setup{
		Static: `entryPoints: {web: {address: "127.0.0.1:0"}}`, NotReady: true, Env: []string{manager.environment()},
	})
	manager.expect("READY=1")
	connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", s.Addr("web"))
	if err != nil {
		t.Fatalf("after READY=1: %v", err)
	}
	_ = connection.Close() // Only that it was accepted counts.
	s.Stop()
	manager.expect("STOPPING=1")
}

// TestTheServiceManagerWaitsForAReload sends RELOADING=1 at SIGHUP, and READY=1 when the files have been read, also
// where there are none.
func TestTheServiceManagerWaitsForAReload(t *testing.T) {
	t.Parallel()
	for _, files := range []string{"", "providers: {file: {directory: \"${DYNAMIC}\"}}"} {
		manager := newNotifySocket(t)
		s := harness.Start(t, harness.Setup{
			Static:   "entryPoints: {web: {address: \"127.0.0.1:0\"}}\n" + files,
			NotReady: true, Env: []string{manager.environment()},
		})
		manager.expect("READY=1")
		for range 2 {
			s.Signal(syscall.SIGHUP)
			manager.expect("RELOADING=1")
			manager.expect("READY=1")
		}
		s.Stop()
		manager.expect("STOPPING=1")
	}
}

// TestTheWatchdogIsAnswered sends WATCHDOG=1 again and again while Sluice runs.
func TestTheWatchdogIsAnswered(t *testing.T) {
	t.Parallel()
	manager := newNotifySocket(t)
	harness.Start(t, harness.Setup{
		Static: `entryPoints: {web: {address: "127.0.0.1:0"}}`, NotReady: true,
		Env: []string{manager.environment(), "WATCHDOG_USEC=200000"},
	})
	manager.expect("READY=1")
	for range 3 {
		manager.expect("WATCHDOG=1")
	}
}

// TestAServiceManagerThatIsGoneIsLogged sends the states to a socket that does not exist: Sluice serves and logs it.
func TestAServiceManagerThatIsGoneIsLogged(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Setup{
		Static: `{entryPoints: {web: {address: "127.0.0.1:0"}, traefik: {address: "127.0.0.1:0"}}, ping: {}}`,
		Env:    []string{"NOTIFY_SOCKET=" + filepath.Join(t.TempDir(), "none")},
	})
	s.WaitLog("the service manager is not notified", "READY=1")
}
