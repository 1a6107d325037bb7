package streams

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// timeout bounds every wait, also on a busy machine.
const timeout = time.Minute

// program returns the path of a program, or skips the test: what `.ci/tools` could not install it has named.
func program(t *testing.T, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
		if found, _ := filepath.Glob(name); len(found) > 0 {
			return found[len(found)-1]
		}
	}
	t.Skip("missing tool: " + names[0])
	return ""
}

// folder returns a directory that a system user may write, with a path that is short enough for sockets.
func folder(t *testing.T, owner string) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "streams-") //nolint:usetesting // The path of a test is too long for a socket.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if os.Getuid() != 0 || owner == "" {
		return dir
	}
	id := credential(t, owner)
	if err := os.Chown(dir, int(id.Uid), int(id.Gid)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// credential returns the ids of a system user.
func credential(t *testing.T, name string) *syscall.Credential {
	t.Helper()
	found, err := user.Lookup(name)
	if err != nil {
		t.Skip("missing tool: the user " + name)
	}
	uid, _ := strconv.ParseUint(found.Uid, 10, 32)
	gid, _ := strconv.ParseUint(found.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

// as makes a command run as a system user where the test runs as root, since many servers do not start as root.
func as(t *testing.T, owner string, command *exec.Cmd) *exec.Cmd {
	t.Helper()
	if os.Getuid() == 0 && owner != "" {
		command.SysProcAttr = &syscall.SysProcAttr{Credential: credential(t, owner)}
	}
	return command
}

// output collects what a process writes.
type output struct {
	file string
}

func (o output) String() string {
	text, _ := os.ReadFile(o.file)
	return string(text)
}

// start runs a server until the test ends, and waits until it accepts connections at an address; "" does not wait.
func start(t *testing.T, address, owner, path string, args ...string) {
	t.Helper()
	log := output{filepath.Join(t.TempDir(), "log")}
	file, err := os.Create(log.file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	command := as(t, owner, exec.Command(path, args...)) //nolint:noctx // It is ended by a signal.
	command.Stdout, command.Stderr = file, file
	command.Dir = "/"
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = command.Wait()
	}()
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		timer := time.AfterFunc(timeout, func() { _ = command.Process.Kill() })
		<-ended
		timer.Stop()
	})
	if address == "" {
		return
	}
	harness.Eventually(t, timeout, func() bool {
		conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(t.Context(), "tcp", address)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}, func() string { return fmt.Sprintf("%s does not listen on %s:\n%s", path, address, log) })
}

// run runs a client to its end, and returns what it printed. It fails the test if the exit code is another one.
func run(t *testing.T, want int, stdin string, env []string, path string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	command := exec.CommandContext(ctx, path, args...)
	command.Env = append(os.Environ(), env...)
	command.Stdin = strings.NewReader(stdin)
	var printed bytes.Buffer
	command.Stdout, command.Stderr = &printed, &printed
	_ = command.Run()
	if command.ProcessState == nil || command.ProcessState.ExitCode() != want {
		t.Errorf("%s %q: %v\n%s", filepath.Base(path), args, command.ProcessState, &printed)
	}
	return printed.String()
}

// split returns the host and port of an address.
func split(t *testing.T, address string) (host, port string) {
	t.Helper()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return host, port
}

// write writes a file that everyone may read.
func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil { //nolint:gosec // Servers run as other users.
		t.Fatal(err)
	}
	return path
}

// setup is the static configuration of a Sluice with an entrypoint for each name.
func setup(entrypoints ...string) string {
	var b strings.Builder
	b.WriteString("entryPoints:\n  traefik: {address: 127.0.0.1:0}\n")
	for _, name := range entrypoints {
		fmt.Fprintf(&b, "  %s: {address: 127.0.0.1:0}\n", name)
	}
	b.WriteString("providers: {file: {directory: ${DYNAMIC}}}\nping: {}\nlog: {level: DEBUG}\naccessLog: {format: json}\n")
	return b.String()
}
