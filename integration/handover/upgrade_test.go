package handover

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// notified gets the states of processes.
type notified struct {
	t      *testing.T
	socket *net.UnixConn
	path   string
}

func newNotified(t *testing.T) *notified {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	return &notified{t: t, socket: socket, path: path}
}

// expect gets the next states, which must be these.
func (m *notified) expect(states ...string) {
	m.t.Helper()
	_ = m.socket.SetReadDeadline(time.Now().Add(timeout))
	for _, want := range states {
		message := make([]byte, 512)
		n, err := m.socket.Read(message)
		if got := string(message[:n]); err != nil || !strings.HasPrefix(got, want) {
			m.t.Errorf("state %q, error %v, want %q", got, err, want)
		}
	}
}

// installed is a program that is started by a path relative to its folder, as a process of a service manager.
type installed struct {
	*service

	folder, config string
	manager        *notified
	log            *os.File
}

// install makes the configuration of a service, and a link to the program.
func (s *service) install(t *testing.T) *installed {
	t.Helper()
	i := &installed{service: s, folder: t.TempDir(), manager: newNotified(t)}
	i.config = filepath.Join(i.folder, "sluice.yaml")
	dynamic := filepath.Join(i.folder, "dynamic")
	text := s.setup.Static
	route := s.setup.Dynamic["routes.yaml"]
	for name, value := range s.setup.Vars {
		text, route = strings.ReplaceAll(text, "${"+name+"}", value), strings.ReplaceAll(route, "${"+name+"}", value)
	}
	text = strings.ReplaceAll(text, "${DYNAMIC}", dynamic)
	err := os.Mkdir(dynamic, 0o755)
	for name, text := range map[string]string{i.config: text, filepath.Join(dynamic, "routes.yaml"): route} {
		if err == nil {
			err = os.WriteFile(name, []byte(text), 0o600)
		}
	}
	if err == nil {
		i.log, err = os.Create(filepath.Join(i.folder, "log"))
	}
	if err == nil {
		err = os.Symlink(harness.Binary(t), filepath.Join(i.folder, "sluice"))
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = i.log.Close() })
	return i
}

// start starts the program, whose successors write into the same log.
func (i *installed) start(t *testing.T) *exec.Cmd {
	t.Helper()
	command := &exec.Cmd{
		Path: "./sluice", Args: []string{"./sluice", "--configFile=sluice.yaml"}, Dir: i.folder, Stdout: i.log, Stderr: i.log,
		Env: append(os.Environ(), "NOTIFY_SOCKET="+i.manager.path),
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if command.ProcessState == nil {
			_ = command.Process.Kill()
			_ = command.Wait()
		}
	})
	return command
}

// text returns the log.
func (i *installed) text(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(i.log.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// upgrade runs the command.
func (i *installed) upgrade(t *testing.T) harness.Result {
	t.Helper()
	return harness.Run(t, i.folder, nil, "upgrade", "--configFile="+i.config)
}

// TestUpgrade has a process start its successor from where its program is now, and serve on where that fails.
func TestUpgrade(t *testing.T) {
	s := newService(t, "")
	i := s.install(t)
	if result := i.upgrade(t); result.Code != 2 || !strings.Contains(result.Stderr, "no process listens on") {
		t.Errorf("without a process: %+v", result)
	}
	if result := harness.Run(t, t.TempDir(), nil, "upgrade", "--entryPoints.web.address=:1"); result.Code != 2 ||
		!strings.Contains(result.Stderr, "handover.socket is not configured") {
		t.Errorf("without the option: %+v", result)
	}
	first := i.start(t)
	i.manager.expect("READY=1")
	s.answers(t, harness.H1)
	program := filepath.Join(i.folder, "sluice")
	if err := os.Remove(program); err != nil {
		t.Fatal(err)
	}
	if result := i.upgrade(t); result.Code != 1 || !strings.Contains(result.Stderr, "no such file") {
		t.Errorf("without the program: %+v", result)
	}
	if err := os.WriteFile(program, []byte("#!/bin/sh\nexit 3\n"), 0o700); err != nil { //nolint:gosec // It is a program.
		t.Fatal(err)
	}
	if result := i.upgrade(t); result.Code != 1 || !strings.Contains(result.Stderr, "has ended: exit status 3") {
		t.Errorf("with a broken program: %+v", result)
	}
	s.answers(t, harness.H1)
	if err := os.Remove(program); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(harness.Binary(t), program); err != nil {
		t.Fatal(err)
	}
	result := i.upgrade(t)
	pid, err := strconv.Atoi(strings.TrimSpace(result.Stdout))
	if result.Code != 0 || err != nil {
		t.Fatalf("%+v\n%s", result, i.text(t))
	}
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	i.manager.expect(fmt.Sprintf("MAINPID=%d", pid), "READY=1")
	// There is an idle connection, whose time to drain is limited now.
	if err := first.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if err := first.Wait(); err != nil {
		t.Errorf("the predecessor: %v\n%s", err, i.text(t))
	}
	s.answers(t, harness.H1)
	for _, state := range []struct {
		signal syscall.Signal
		want   []string
	}{{syscall.SIGHUP, []string{"RELOADING=1", "READY=1"}}, {syscall.SIGTERM, []string{"STOPPING=1"}}} {
		if err := syscall.Kill(pid, state.signal); err != nil {
			t.Fatal(err)
		}
		i.manager.expect(state.want...)
	}
	harness.Until(t, "the end of the successor", func() bool {
		_, err := os.Lstat(s.setup.Vars["SOCKET"])
		return os.IsNotExist(err)
	})
	if text := i.text(t); strings.Contains(text, "panic:") || strings.Contains(text, "DATA RACE") {
		t.Error(text)
	}
}
