package servicemanager_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/sluiceproxy/sluice/entrypoint"
	"github.com/sluiceproxy/sluice/servicemanager"
	"github.com/sluiceproxy/sluice/telemetry"
)

// questionVariable has the question for child: words NETWORK,NAME,ADDRESS, divided by spaces.
const questionVariable = "TEST_SOCKETS"

// printer prints the warnings of a child with their values.
type printer struct{ telemetry.Discard }

func (printer) Warn(message string, keysAndValues ...any) {
	_, _ = fmt.Fprintln(os.Stdout, append([]any{"warning:", message}, keysAndValues...)...)
}

// child is the process that a service manager has started. It prints what it gets for each word of the question.
func child(question string) {
	sockets := servicemanager.Passed(printer{})
	if os.Getenv("LISTEN_FDS") != "" {
		_, _ = fmt.Fprintln(os.Stdout, "LISTEN_FDS is left in the environment")
	}
	words := strings.Fields(question)
	forget := sockets.Select(func(name, network string, _ bool) (string, bool) {
		for _, word := range words {
			if parts := strings.Split(word, ","); parts[0] == network && parts[1] == name {
				return parts[2], true
			}
		}
		return "", false
	})
	servicemanager.New(printer{}).Forget(forget...)
	for _, word := range words {
		_, _ = fmt.Fprintln(os.Stdout, answer(sockets, word))
	}
}

// answer returns what the sockets have for NETWORK,NAME,ADDRESS.
func answer(sockets entrypoint.Inherited, word string) string {
	parts := strings.Split(word, ",")
	if parts[0] == "tcp" {
		listener, ok := sockets.Listener(parts[1], parts[2])
		if !ok {
			return "none"
		}
		defer func() { _ = listener.Close() }()
		conn, err := new(net.Dialer).DialContext(context.Background(), "tcp", listener.Addr().String())
		if err != nil {
			return err.Error()
		}
		defer func() { _ = conn.Close() }()
		accepted, err := listener.Accept()
		if err != nil {
			return err.Error()
		}
		_ = accepted.Close()
		return fmt.Sprintf("%T accepts", listener)
	}
	packets, _ := sockets.Packets(parts[1], parts[2])
	var types []string
	for _, socket := range packets {
		types = append(types, fmt.Sprintf("%T", socket))
		_ = socket.Close()
	}
	return strings.Join(append(types, "end"), " ")
}

// passed is a file that a service manager passes with a name.
type passed struct {
	name string
	file *os.File
}

// start starts this program as a child with files, and returns what it prints. The shell knows the LISTEN_PID.
func start(t *testing.T, files []passed, question string, environ ...string) []string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "sh", "-c", `LISTEN_PID=${PID:-$$} exec "$0"`, os.Args[0])
	var names []string
	for _, one := range files {
		names = append(names, one.name)
		command.ExtraFiles = append(command.ExtraFiles, one.file)
	}
	command.Env = append(os.Environ(), questionVariable+"="+question, fmt.Sprintf("LISTEN_FDS=%d", len(files)),
		"LISTEN_FDNAMES="+strings.Join(names, ":"))
	command.Env = append(command.Env, environ...)
	var errors bytes.Buffer
	command.Stderr = &errors
	output, err := command.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, errors.String())
	}
	return strings.Split(strings.TrimSpace(string(output)), "\n")
}

// filer is a socket of Go.
type filer interface {
	File() (*os.File, error)
}

// fileOf returns a copy of a socket, which is closed at the end of the test.
func fileOf(t *testing.T, of filer) *os.File {
	t.Helper()
	file, err := of.File()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	return file
}

// listenTCP returns the file of a listening socket, and its port.
func listenTCP(t *testing.T, address string) (file *os.File, port string) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	_, port, _ = net.SplitHostPort(listener.Addr().String())
	return fileOf(t, listener.(*net.TCPListener)), port
}

// listenUDP returns the file of a socket, and its port.
func listenUDP(t *testing.T, address string) (file *os.File, port string) {
	t.Helper()
	socket, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = socket.Close() }()
	_, port, _ = net.SplitHostPort(socket.LocalAddr().String())
	return fileOf(t, socket.(*net.UDPConn)), port
}

// TestPassed gives each socket to the entrypoint of its name and address, once.
func TestPassed(t *testing.T) {
	t.Parallel()
	web, webPort := listenTCP(t, "127.0.0.1:0")
	all, allPort := listenTCP(t, ":0")
	http3, http3Port := listenUDP(t, "127.0.0.1:0")
	second, secondPort := listenUDP(t, "127.0.0.1:0")
	files := []passed{{"web", web}, {"all", all}, {"web", http3}, {"dns", second}, {"dns/udp", second}, {"web/tcp", web}}
	const accepts, none, end = "*net.TCPListener accepts", "none", "end"
	for _, test := range []struct{ name, question, want string }{
		{"configured address", "tcp,web,127.0.0.1:" + webPort, accepts},
		{"once", "tcp,web,127.0.0.1:" + webPort + " tcp,web,127.0.0.1:" + webPort, accepts + "\n" + none},
		{"any port", "tcp,web,127.0.0.1:0", accepts},
		{"localhost", "tcp,web,localhost:" + webPort, accepts},
		{"all addresses", "tcp,all,:" + allPort, accepts},
		{"other name", "tcp,Web,127.0.0.1:" + webPort, none},
		{"other port", "tcp,web,127.0.0.1:1", none},
		{"other address", "tcp,web,127.0.0.2:" + webPort, none},
		{"only one is configured", "tcp,all,127.0.0.1:" + allPort, none},
		{"only one is bound", "tcp,web,:" + webPort, none},
		{"host name", "tcp,web,web.test:" + webPort, none},
		{"no address", "tcp,web,web", none},
		{"UDP of the same name", "udp,web,127.0.0.1:" + http3Port, "*net.UDPConn end"},
		{"a group", "udp,dns,127.0.0.1:" + secondPort, "*net.UDPConn *net.UDPConn end"},
		{"a group once", "udp,dns,127.0.0.1:0 udp,dns,127.0.0.1:0", "*net.UDPConn *net.UDPConn end\n" + end},
		{"UDP is no TCP", "tcp,dns,127.0.0.1:0 udp,all,:0", none + "\n" + end},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := start(t, files, test.question)
			got = slices.DeleteFunc(got, func(line string) bool { return strings.HasPrefix(line, "warning: ") })
			if strings.Join(got, "\n") != test.want {
				t.Errorf("%s: got %q, want %q", test.question, got, test.want)
			}
		})
	}
}

// TestUnused logs what no entrypoint takes, and what none can take.
func TestUnused(t *testing.T) {
	t.Parallel()
	web, _ := listenTCP(t, "127.0.0.1:0")
	packets, _ := listenUDP(t, "127.0.0.1:0")
	local, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "socket"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = local.Close() })
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	connection := os.NewFile(uintptr(pair[0]), "connection")
	t.Cleanup(func() { _ = connection.Close(); _ = syscall.Close(pair[1]) })
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = null.Close() })
	got := start(t, []passed{
		{"web", web}, {"dns", packets}, {"local", fileOf(t, local)}, {"connection", connection}, {"null", null},
	}, "tcp,other,127.0.0.1:0")
	for _, want := range []string{
		"warning: a socket of the service manager is not used entrypoint web network tcp address 127.0.0.1:",
		"warning: a socket of the service manager is not used entrypoint dns network udp address 127.0.0.1:",
		"warning: a file descriptor of the service manager is not used name local error it is no listening TCP socket",
		"warning: a file descriptor of the service manager is not used name connection error it is a connection",
		"warning: a file descriptor of the service manager is not used name null error it is no listening TCP socket",
	} {
		if !slices.ContainsFunc(got, func(line string) bool { return strings.HasPrefix(line, want) }) {
			t.Errorf("no line begins with %q:\n%s", want, strings.Join(got, "\n"))
		}
	}
	if len(got) != 6 || !slices.Contains(got, "none") {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}

// TestPassedToAnother takes nothing that is meant for another process.
func TestPassedToAnother(t *testing.T) {
	t.Parallel()
	web, _ := listenTCP(t, "127.0.0.1:0")
	for _, variable := range []string{"PID=1", "LISTEN_FDS=", "LISTEN_FDS=-1", "LISTEN_FDS=many"} {
		got := start(t, []passed{{"web", web}}, "tcp,web,127.0.0.1:0", variable)
		if len(got) != 1 || got[0] != "none" {
			t.Errorf("%s: got %q", variable, got)
		}
	}
}
