package servicemanager_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/servicemanager"
)

// receive returns the next message with the file descriptor that it carries; nil is none.
func (m *manager) receive() (string, *os.File) {
	m.t.Helper()
	if err := m.socket.SetReadDeadline(time.Now().Add(timeout)); err != nil {
		m.t.Fatal(err)
	}
	message, control := make([]byte, 512), make([]byte, 64)
	n, controls, _, _, err := m.socket.ReadMsgUnix(message, control)
	if err != nil {
		m.t.Fatal(err)
	}
	if controls == 0 {
		return string(message[:n]), nil
	}
	messages, err := syscall.ParseSocketControlMessage(control[:controls])
	if err != nil || len(messages) != 1 {
		m.t.Fatalf("%d control messages: %v", len(messages), err)
	}
	descriptors, err := syscall.ParseUnixRights(&messages[0])
	if err != nil || len(descriptors) != 1 {
		m.t.Fatalf("descriptors %v: %v", descriptors, err)
	}
	file := os.NewFile(uintptr(descriptors[0]), "stored")
	m.t.Cleanup(func() { _ = file.Close() })
	return string(message[:n]), file
}

// TestStore sends sockets to the service manager, from which the next process has them with the clients in their
// queues.
func TestStore(t *testing.T) {
	manager, log := newManager(t), &memory{}
	t.Setenv("FDSTORE", "2")
	notifier := servicemanager.New(log)
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	socket, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	notifier.Store("web", "tcp", listener)
	notifier.Store("web", "udp", socket)
	var files []passed
	for _, name := range []string{"web/tcp", "web/udp"} {
		message, file := manager.receive()
		if want := "FDSTORE=1\nFDNAME=" + name + "\nFDPOLL=0"; message != want || file == nil {
			t.Fatalf("got %q with %v, want %q", message, file, want)
		}
		files = append(files, passed{name, file})
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Error(err)
	}
	if err := socket.Close(); err != nil {
		t.Error(err)
	}
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatalf("a client while no process runs: %v", err)
	}
	_ = conn.Close()
	got := start(t, files, "tcp,web,"+address+" udp,web,127.0.0.1:0")
	if want := "*net.TCPListener accepts, *net.UDPConn end"; strings.Join(got, ", ") != want {
		t.Errorf("the next process: %q, want %q", got, want)
	}
	if len(log.lines) > 0 {
		t.Errorf("logged %q", log.lines)
	}
}

// TestForget has the service manager close what no entrypoint takes, once for each name.
func TestForget(t *testing.T) {
	t.Parallel()
	web, _ := listenTCP(t, "127.0.0.1:0")
	dns, _ := listenUDP(t, "127.0.0.1:0")
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = manager.Close() }()
	start(t, []passed{{"web/tcp", web}, {"dns/udp", dns}, {"dns/udp", dns}, {"dns", dns}}, "udp,other,127.0.0.1:0",
		"NOTIFY_SOCKET="+manager.LocalAddr().String())
	if err := manager.SetReadDeadline(time.Now().Add(timeout)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"FDSTOREREMOVE=1\nFDNAME=web/tcp", "FDSTOREREMOVE=1\nFDNAME=dns/udp"} {
		message := make([]byte, 512)
		if n, err := manager.Read(message); err != nil || string(message[:n]) != want {
			t.Errorf("got %q, %v, want %q", message[:n], err, want)
		}
	}
}

// TestStoreNothing sends nothing to a service manager that keeps no sockets, and no name that it refuses.
func TestStoreNothing(t *testing.T) {
	manager := newManager(t)
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	for _, test := range []struct {
		store, name string
		lines       int
	}{
		{"", "web", 0},
		{"0", "web", 0},
		{"many", "web", 0},
		{"9", "", 1},
		{"9", "a:b", 1},
		{"9", "é", 1},
		{"9", strings.Repeat("n", 252), 1},
	} {
		t.Setenv("FDSTORE", test.store)
		log := &memory{}
		servicemanager.New(log).Store(test.name, "tcp", listener)
		if len(log.lines) != test.lines {
			t.Errorf("FDSTORE=%s, name %q: logged %q", test.store, test.name, log.lines)
		}
	}
	if more := manager.waiting(); more > 0 {
		t.Errorf("%d messages", more)
	}
}
