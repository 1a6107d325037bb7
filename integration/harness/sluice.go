package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const (
	// timeout bounds every wait.
	timeout = time.Minute
	// stopTime is how long a process may take to end after SIGTERM; graceTimeOut is 10 s by default.
	stopTime = 30 * time.Second
)

// Setup is a user's configuration. In all of its texts ${DYNAMIC} is replaced by the directory of the dynamic files,
// ${DIR} by the one above it, and ${NAME} by the value of NAME in Vars.
type Setup struct {
	// Static is the text of the static configuration, whose entrypoints listen on 127.0.0.1:0. If it has ping, Start waits
	// until /ready on the entrypoint traefik answers 200.
	Static string
	// Format is yaml (the default) or toml, for Static.
	Format string
	// Dynamic maps names of dynamic files to their texts.
	Dynamic map[string]string
	// Vars are the variables of the texts.
	Vars map[string]string
	// Args follow --configFile on the command line; Env, NAME=VALUE, is added to the environment.
	Args []string
	Env  []string
	// Descriptors is how many file descriptors the process may have (RLIMIT_NOFILE); 0 leaves that as it is.
	Descriptors int
	// ControlGroup is the file cgroup.procs of the control group that the process runs in; empty for that of the test.
	ControlGroup string
	// NotReady makes Start return as soon as the process has started.
	NotReady bool
	// Stdout receives the standard output instead of Log.
	Stdout *os.File
	// Sockets are passed as a service manager does (sd_listen_fds(3)), with these names.
	Sockets []Socket
}

// Socket is a socket that a service manager has bound.
type Socket struct {
	Name string
	File *os.File
}

// Sluice is a running process.
type Sluice struct {
	// Log is the standard error and standard output of the process.
	Log *Log
	// Dir holds the static configuration, DynamicDir the dynamic files.
	Dir, DynamicDir string

	t       testing.TB
	vars    *strings.Replacer
	command *exec.Cmd
	ended   chan struct{} // closed when the process has ended
	over    atomic.Bool   // the end has been checked
}

// Start writes the files, starts Sluice and waits until it is ready. It is stopped when the test ends.
func Start(t testing.TB, setup Setup) *Sluice {
	t.Helper()
	s := &Sluice{Log: newLog(), Dir: t.TempDir(), t: t, ended: make(chan struct{})}
	s.DynamicDir = filepath.Join(s.Dir, "dynamic")
	s.vars = replacer(s.Dir, s.DynamicDir, setup.Vars)
	if err := os.Mkdir(s.DynamicDir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range setup.Dynamic {
		s.Write(name, text)
	}
	args := setup.Args
	if setup.Static != "" {
		format := setup.Format
		if format == "" {
			format = "yaml"
		}
		file := filepath.Join(s.Dir, "sluice."+format)
		if err := os.WriteFile(file, []byte(s.vars.Replace(setup.Static)), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append([]string{"--configFile=" + file}, args...)
	}
	for i, arg := range args {
		args[i] = s.vars.Replace(arg)
	}
	s.launch(args, setup)
	if !setup.NotReady {
		s.awaitReady()
	}
	return s
}

func replacer(dir, dynamic string, vars map[string]string) *strings.Replacer {
	pairs := []string{"${DIR}", dir, "${DYNAMIC}", dynamic}
	for name, value := range vars {
		pairs = append(pairs, "${"+name+"}", value)
	}
	return strings.NewReplacer(pairs...)
}

func (s *Sluice) launch(args []string, setup Setup) {
	s.t.Helper()
	s.command = s.program(args, setup)
	s.command.Stdout, s.command.Stderr = s.Log, s.Log
	if setup.Stdout != nil {
		s.command.Stdout = setup.Stdout
	}
	s.command.Dir = s.Dir
	s.command.Env = append(append(environment(), s.command.Env...), setup.Env...)
	if err := s.command.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() {
		defer close(s.ended)
		_ = s.command.Wait() // ProcessState has the result.
	}()
	s.t.Cleanup(func() { s.Stop() })
}

// program returns the command. With sockets in its environment, a limit of descriptors or a control group, a shell is
// replaced by it: the shell's process id becomes its own.
func (s *Sluice) program(args []string, setup Setup) *exec.Cmd {
	s.t.Helper()
	if len(setup.Sockets) == 0 && setup.Descriptors == 0 && setup.ControlGroup == "" {
		return exec.Command(Binary(s.t), args...) //nolint:noctx // ends by a signal, not by being killed
	}
	script := `exec "$0" "$@"`
	if len(setup.Sockets) > 0 {
		script = "LISTEN_PID=$$ " + script
	}
	if setup.Descriptors > 0 {
		script = "ulimit -n " + strconv.Itoa(setup.Descriptors) + " && " + script
	}
	if setup.ControlGroup != "" {
		script = "echo $$ >" + setup.ControlGroup + " && " + script
	}
	args = append([]string{"-c", script, Binary(s.t)}, args...)
	command := exec.Command("sh", args...) //nolint:noctx // as above
	if len(setup.Sockets) == 0 {
		return command
	}
	names := make([]string, 0, len(setup.Sockets))
	for _, socket := range setup.Sockets {
		names = append(names, socket.Name)
		command.ExtraFiles = append(command.ExtraFiles, socket.File)
	}
	command.Env = []string{
		"LISTEN_FDS=" + strconv.Itoa(len(names)), "LISTEN_FDNAMES=" + strings.Join(names, ":"),
	}
	return command
}

// Stop sends SIGTERM and waits for the end; a further call, or one after Wait, does nothing. The test fails if the exit
// code is not 0, on timeout, or if the log contains signs of a bug.
func (s *Sluice) Stop() {
	s.t.Helper()
	if s.over.Swap(true) {
		return
	}
	s.Signal(syscall.SIGTERM)
	if code := s.Wait(); code != 0 {
		s.t.Errorf("sluice ended with exit code %d", code)
	}
	if s.t.Failed() && testing.Verbose() {
		s.t.Logf("the log of sluice:\n%s", s.Log)
	}
}

// Signal sends a signal, unless the process has ended.
func (s *Sluice) Signal(signal os.Signal) {
	s.t.Helper()
	if err := s.command.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		s.t.Errorf("sending %v: %v", signal, err)
	}
}

// Wait waits for the end of the process, checks its log for signs of a bug, and returns the exit code.
func (s *Sluice) Wait() int {
	s.t.Helper()
	timer := time.NewTimer(stopTime)
	defer timer.Stop()
	select {
	case <-s.ended:
	case <-timer.C:
		s.Signal(syscall.SIGQUIT) // The Go runtime prints all goroutines.
		<-s.ended
		s.t.Errorf("sluice did not end within %v:\n%s", stopTime, s.Log)
	}
	s.over.Store(true)
	if sign := trouble.FindString(s.Log.String()); sign != "" {
		s.t.Errorf("the log of sluice holds %q:\n%s", sign, s.Log)
	}
	return s.command.ProcessState.ExitCode()
}

// trouble matches log lines that indicate a bug.
var trouble = regexp.MustCompile(`WARNING: DATA RACE|(?m)^panic:|(?m)^fatal error:|handler panicked|goroutine \d+ \[`)

// Ended is closed when the process has ended.
func (s *Sluice) Ended() <-chan struct{} { return s.ended }

// PID returns the number of the process.
func (s *Sluice) PID() int { return s.command.Process.Pid }

// Addr returns the host and port on which an entrypoint listens, from the log.
func (s *Sluice) Addr(entrypoint string) string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), timeout)
	defer cancel()
	stop := s.cancelAtEnd(cancel)
	defer stop()
	line, err := s.Log.Wait(ctx, "listening", "entrypoint", entrypoint)
	if err != nil {
		s.t.Fatalf("entrypoint %s: %v\n%s", entrypoint, err, s.Log)
	}
	return address.FindString(line)
}

var address = regexp.MustCompile(`127\.0\.0\.1:\d+|\[::1\]:\d+`)

// cancelAtEnd cancels a wait when the process ends.
func (s *Sluice) cancelAtEnd(cancel func()) (stop func()) {
	done := make(chan struct{})
	var ended sync.WaitGroup
	ended.Go(func() {
		select {
		case <-s.ended:
			cancel()
		case <-done:
		}
	})
	return func() { close(done); ended.Wait() }
}

// WaitLog waits for a line of the log that contains all of the words, and returns it.
func (s *Sluice) WaitLog(words ...string) string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), timeout)
	defer cancel()
	line, err := s.Log.Wait(ctx, words...)
	if err != nil {
		s.t.Fatalf("%v\n%s", err, s.Log)
	}
	return line
}

// Memory returns the current and the peak resident memory of the process (VmRSS, VmHWM) in bytes.
func (s *Sluice) Memory() (now, peak int64) {
	s.t.Helper()
	return s.status("VmRSS"), s.status("VmHWM")
}

// MappedMemory returns the resident pages of files, such as the binary (RssFile), in bytes. They are part of Memory.
func (s *Sluice) MappedMemory() int64 {
	s.t.Helper()
	return s.status("RssFile")
}

// status returns a size in bytes from /proc/PID/status.
func (s *Sluice) status(name string) int64 {
	s.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.PID()))
	if err != nil {
		s.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var kilobytes int64
		if n, _ := fmt.Sscanf(line, name+": %d kB", &kilobytes); n == 1 {
			return kilobytes << 10
		}
	}
	return 0
}
