package start

import (
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// TestTheServiceManagerIsNotified is a service manager of Type=notify (systemd.service(5)): it gets READY=1 once the
// entrypoints accept connections, and STOPPING=1 when they drain.
func TestTheServiceManagerIsNotified(t *testing.T) {
	t.Parallel()
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close() //nolint:errcheck // Nothing is lost.
	if err := socket.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	next := func() string {
		t.Helper()
		message := make([]byte, 256)
		n, err := socket.Read(message)
		if err != nil {
			t.Fatal(err)
		}
		return string(message[:n])
	}
	s := harness.Start(t, harness.Setup{
		Static: `entryPoints: {web: {address: "127.0.0.1:0"}}`, NotReady: true,
		Env: []string{"NOTIFY_SOCKET=" + socket.LocalAddr().String()},
	})
	if got := next(); got != "READY=1" {
		t.Errorf("the first state is %q, want READY=1", got)
	}
	connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", s.Addr("web"))
	if err != nil {
		t.Fatalf("after READY=1: %v", err)
	}
	_ = connection.Close() // Only that it was accepted counts.
	s.Stop()
	if got := next(); got != "STOPPING=1" {
		t.Errorf("the state at the end is %q, want STOPPING=1", got)
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
