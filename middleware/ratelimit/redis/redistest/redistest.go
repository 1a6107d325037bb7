// Package redistest starts a real redis-server for a test.
//
// The server listens on loopback, and can be killed, restarted and stopped. Its files are in a temporary directory, it
// writes no data to disk, and it ends with the test. Tests are skipped on a machine without redis-server; a server that
// runs already is never used.
package redistest

import (
	"bytes"
	"errors"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/http1/http1test"
)

const (
	// starting bounds how long a server takes to be ready.
	starting = 20 * time.Second
	// attempts is how often another port is tried when another process took the one that was free.
	attempts = 5
)

// Server is one redis-server.
type Server struct {
	// Address is host:port; the host is 127.0.0.1.
	Address string

	t         testing.TB
	port      string
	path      string
	folder    string
	arguments func(port string) []string
	command   *exec.Cmd
	output    *output
}

// Start runs a server until the test ends. The arguments come after those that have it listen on one free port of
// loopback and save nothing.
func Start(t testing.TB, arguments ...string) *Server {
	t.Helper()
	return start(t, func(port string) []string { return append([]string{"--port", port}, arguments...) })
}

// StartTLS is Start for a server that speaks TLS alone, with a certificate and key from files. Clients need none.
func StartTLS(t testing.TB, certFile, keyFile string, arguments ...string) *Server {
	t.Helper()
	return start(t, func(port string) []string {
		return append([]string{
			"--port", "0", "--tls-port", port, "--tls-cert-file", certFile, "--tls-key-file", keyFile,
			"--tls-ca-cert-file", certFile, "--tls-auth-clients", "no",
		}, arguments...)
	})
}

func start(t testing.TB, arguments func(port string) []string) *Server {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("missing tool: redis-server")
	}
	s := &Server{t: t, path: path, folder: t.TempDir(), arguments: arguments}
	for range attempts {
		s.port = Port(t)
		if err = s.run(); err == nil {
			s.Address = net.JoinHostPort("127.0.0.1", s.port)
			t.Cleanup(s.end)
			return s
		}
	}
	t.Fatalf("redis-server does not start: %v\n%s", err, s.output)
	return nil
}

// Port returns a port of 127.0.0.1 that is kept for a server until the test ends, also while there is none.
func Port(t testing.TB) string {
	t.Helper()
	_, port, _ := net.SplitHostPort(http1test.Reserve(t))
	return port
}

// run starts the process and waits until it is ready.
func (s *Server) run() error {
	arguments := append([]string{
		"--bind", "127.0.0.1", "--dir", s.folder, "--save", "", "--appendonly", "no", "--daemonize", "no", "--loglevel",
		"notice",
	}, s.arguments(s.port)...)
	s.output = &output{ready: make(chan struct{})}
	s.command = exec.CommandContext(s.t.Context(), s.path, arguments...)
	s.command.Stdout, s.command.Stderr = s.output, s.output
	s.command.WaitDelay = time.Second
	if err := s.command.Start(); err != nil {
		return err
	}
	exited := make(chan struct{})
	go func() {
		_ = s.command.Wait()
		close(exited)
	}()
	s.output.exited = exited
	timer := time.NewTimer(starting)
	defer timer.Stop()
	select {
	case <-s.output.ready:
		return nil
	case <-exited:
		return errors.New("it ended at once")
	case <-timer.C:
		_ = s.command.Process.Kill()
		<-exited
		return errors.New("it is not ready in time")
	}
}

// end is called after the context of the test has ended, and the process with it.
func (s *Server) end() {
	s.Kill()
	if s.t.Failed() {
		s.t.Logf("redis-server:\n%s", s.output)
	}
}

// Kill ends the server with SIGKILL, and returns once it is gone. It may be called more than once.
func (s *Server) Kill() {
	_ = s.command.Process.Kill() // It may have ended.
	<-s.output.exited
}

// Restart starts the server again on its port, after Kill. It is empty.
func (s *Server) Restart() {
	s.t.Helper()
	if err := s.run(); err != nil {
		s.t.Fatalf("redis-server does not start again: %v\n%s", err, s.output)
	}
}

// Stop has the server hang: connections are accepted by the system and stay open, and nothing is answered.
func (s *Server) Stop() { s.signal(syscall.SIGSTOP) }

// Continue ends what Stop began.
func (s *Server) Continue() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(signal os.Signal) {
	s.t.Helper()
	if err := s.command.Process.Signal(signal); err != nil {
		s.t.Fatal(err)
	}
}

// output is what the server writes.
type output struct {
	mu     sync.Mutex
	text   bytes.Buffer
	said   bool
	ready  chan struct{}
	exited chan struct{}
}

// Write looks for the line that says that the server is ready.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Write(p)
	if !o.said && bytes.Contains(o.text.Bytes(), []byte("Ready to accept connections")) {
		o.said = true
		close(o.ready)
	}
	return len(p), nil
}

// String returns all of it.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
