package quickstart

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// timeout bounds every wait.
const timeout = 2 * time.Minute

// ports are those that the example listens on.
var ports = []string{"8000", "8080", "8443", "9001", "9002", "9003"}

// example is a running copy of the quickstart.
type example struct {
	dir     string
	command *exec.Cmd
	curls   []string // the curl lines that it has printed
	stderr  *strings.Builder
}

// prepare builds Sluice and copies the example, so that its entrypoints listen on the loopback address alone.
func prepare(t *testing.T) *example {
	t.Helper()
	for _, port := range ports {
		listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:"+port)
		if err != nil {
			t.Skipf("the example needs port %s: %v", port, err)
		}
		_ = listener.Close()
	}
	dir := t.TempDir()
	// Without the profile, the packages that the tests have compiled already are used again.
	out := filepath.Join(dir, "sluice")
	build := exec.CommandContext(t.Context(), "go", "build", "-pgo=off", "-o", out, "../../cmd/sluice")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, output)
	}
	if err := os.CopyFS(filepath.Join(dir, "deploy/examples/quickstart"),
		os.DirFS("../../deploy/examples/quickstart")); err != nil {
		t.Fatal(err)
	}
	edit(t, filepath.Join(dir, "deploy/examples/quickstart/sluice.yaml"), `address: ":8`, `address: "127.0.0.1:8`)
	script := filepath.Join(dir, "deploy/examples/quickstart/run.sh")
	if err := os.Chmod(script, 0o700); err != nil {
		t.Fatal(err)
	}
	e := &example{dir: dir, stderr: new(strings.Builder)}
	e.command = exec.CommandContext(t.Context(), script, filepath.Join(dir, "sluice"))
	e.command.Stderr = e.stderr
	e.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	e.command.Cancel = func() error { return e.command.Process.Signal(syscall.SIGTERM) }
	e.command.WaitDelay = timeout
	return e
}

// start runs the example until it reports that it is ready.
func start(t *testing.T) *example {
	t.Helper()
	e := prepare(t)
	stdout, err := e.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := e.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // A test that has failed leaves nothing behind either.
		if e.command.ProcessState == nil {
			_ = e.command.Process.Signal(syscall.SIGTERM)
			_ = e.command.Wait()
		}
	})
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "curl ") {
			e.curls = append(e.curls, line)
		}
		if strings.Contains(line, "Ctrl-C") {
			return e
		}
	}
	t.Fatalf("it ended before it was ready: %v\n%s", e.command.Wait(), e.stderr)
	return nil
}

// edit replaces text in a file, which must contain it.
func edit(t *testing.T, file, old, replacement string) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(content), old) {
		t.Fatalf("%s does not contain %q", file, old)
	}
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(content), old, replacement)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// client reaches every name at the loopback address, and accepts the self-signed certificate as curl -k does.
func client(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			_, port, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			return (&net.Dialer{}).DialContext(ctx, network, net.JoinHostPort("127.0.0.1", port))
		},
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
		ForceAttemptHTTP2: true,
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: timeout}
}

// answer is a client's result.
type answer struct {
	status int
	proto  string
	header http.Header
	body   string
}

func get(t *testing.T, client *http.Client, url string) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response.StatusCode, response.Proto, response.Header, string(body)}
}

// name is which endpoint has answered.
func (a answer) name() string {
	name, _, _ := strings.Cut(strings.TrimPrefix(a.body, "Name: "), "\n")
	return name
}

// exitCode stops the example with a signal and waits for it.
func (e *example) exitCode(t *testing.T, signal os.Signal) int {
	t.Helper()
	if signal != nil {
		if err := e.command.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
	}
	err := e.command.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	if err != nil {
		t.Fatal(err)
	}
	return 0
}
