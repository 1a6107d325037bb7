package nginx

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	// patience is how long nginx may take to start, to apply a configuration, or to end.
	patience = 30 * time.Second
	// pause is the time between two looks at what nginx has done.
	pause = 5 * time.Millisecond
	// maxOutput bounds what is kept of the output, in bytes.
	maxOutput = 1 << 20
	// tested is the version that the expectations of tests are about.
	tested = "nginx/1.22."
)

// emergency matches the messages with which nginx refuses a configuration.
var emergency = regexp.MustCompile(`\[emerg\] \d+#\d+: (.*)`)

// Options are what a configuration has outside of its http block.
type Options struct {
	// Path is the program; the installed one by default.
	Path string
	// Main is text of the main context, in front of the other blocks, such as load_module.
	Main string
}

// Process is a running nginx with one worker. It listens on sockets of its own directory only, and ends with its test.
// It belongs to one goroutine.
type Process struct {
	// Version is what nginx calls itself, such as "nginx version: nginx/1.22.1".
	Version string

	main    string
	dir     string
	command *exec.Cmd
	output  *output
	ended   context.Context
	// generation counts the configurations; worker is the process that serves the last one.
	generation, worker int
}

// Find returns the path of nginx, also where only root looks for it. It is empty where nginx is not installed.
func Find() string {
	for _, name := range []string{"nginx", "/usr/sbin/nginx", "/usr/local/sbin/nginx"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// Start starts nginx with an empty http block, see [Process.Reload]. Where nginx is not installed, the test is skipped.
func Start(t testing.TB, options Options) *Process {
	t.Helper()
	path := cmp.Or(options.Path, Find())
	if path == "" {
		t.Skip("nginx is not installed")
	}
	dir, err := os.MkdirTemp("", "nginx") //nolint:usetesting // The name of a socket has at most 107 bytes, and those of TempDir are long.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	p := &Process{main: options.Main, dir: dir, output: new(output)}
	said, err := exec.CommandContext(t.Context(), path, "-v").CombinedOutput()
	if err != nil {
		t.Fatalf("%s -v: %v", path, err)
	}
	p.Version, _, _ = strings.Cut(string(said), "\n")
	t.Log(p.Version)
	if err := p.write(""); err != nil {
		t.Fatal(err)
	}
	p.command = exec.Command(path, "-e", "stderr", "-c", p.file()) //nolint:noctx // It ends when the test does, below.
	p.command.Stdout, p.command.Stderr = p.output, p.output
	// A group of its own, which has all the workers.
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	var ended context.CancelFunc
	p.ended, ended = context.WithCancel(context.Background())
	go func() { _ = p.command.Wait(); ended() }() // How it ended is of no interest.
	t.Cleanup(p.stop)
	if err := p.settle(0); err != nil {
		t.Fatal(err)
	}
	return p
}

// Tested reports whether this is the version that the expectations of tests are about.
func (p *Process) Tested() bool { return strings.Contains(p.Version, tested) }

// Socket returns the path of a socket of the name, for "listen unix:PATH", or for a backend.
func (p *Process) Socket(name string) string { return filepath.Join(p.dir, name) }

// Reload applies the text as http block. It returns when no connection of an earlier configuration is open any more.
// The error is nginx's own when it refuses the text; the previous configuration then goes on.
func (p *Process) Reload(text string) error {
	if err := p.write(text); err != nil {
		return err
	}
	before := p.output.size()
	if err := p.command.Process.Signal(syscall.SIGHUP); err != nil {
		return err
	}
	return p.settle(before)
}

// Errors returns what nginx has written to its error log.
func (p *Process) Errors() string { return p.output.from(0) }

// Client returns a client that connects to a socket whatever the URL's host is, and follows no redirect. Its idle
// connections must be closed.
func (p *Process) Client(socket string) *http.Client {
	return &http.Client{
		Timeout:       patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DisableCompression: true,
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, "unix", p.Socket(socket))
			},
		},
	}
}

func (p *Process) file() string { return p.Socket("config") }

// control is the name of the socket that says which configuration is served, and by which worker.
const control = "control"

// write writes the next configuration.
func (p *Process) write(text string) error {
	p.generation++
	var config strings.Builder
	fmt.Fprintf(&config, "daemon off;\nworker_processes 1;\nworker_shutdown_timeout 1s;\npid %s;\nerror_log stderr crit;\n",
		p.Socket("pid"))
	if os.Geteuid() == 0 {
		config.WriteString("user root root;\n") // The directory is its owner's.
	}
	fmt.Fprintf(&config, "%s\nevents { worker_connections 512; }\nhttp {\n  access_log off;\n", p.main)
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		fmt.Fprintf(&config, "  %s_temp_path %s;\n", kind, p.Socket(kind))
	}
	fmt.Fprintf(&config, "  server_names_hash_max_size 65536;\n  server_names_hash_bucket_size 256;\n"+
		"  server { listen unix:%s; location / { return 200 \"%d $pid\"; } }\n%s\n}\n",
		p.Socket(control), p.generation, text)
	return os.WriteFile(p.file(), []byte(config.String()), 0o600)
}

// settle waits until the written configuration is the only one that is served, or is refused by what is written to
// the log behind an offset.
func (p *Process) settle(offset int) error {
	ctx, cancel := context.WithTimeout(p.ended, patience)
	defer cancel()
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	var latest error
	for {
		generation, worker, err := p.serving(ctx)
		if err == nil && generation == p.generation && p.alone(worker) {
			p.worker = worker
			return nil
		}
		latest = cmp.Or(err, latest)
		if refused := emergency.FindStringSubmatch(p.output.from(offset)); refused != nil {
			return errors.New(strings.TrimSuffix(refused[1], " in "+p.file()))
		}
		select {
		case <-ticker.C:
		case <-p.ended.Done():
			return fmt.Errorf("nginx has ended: %s", p.output.from(offset))
		case <-ctx.Done():
			return fmt.Errorf("nginx does not serve its configuration: %w\n%s", latest, p.output.from(offset))
		}
	}
}

// alone reports whether the worker before this one has ended.
func (p *Process) alone(worker int) bool {
	return p.worker == 0 || p.worker == worker || errors.Is(syscall.Kill(p.worker, 0), syscall.ESRCH)
}

// serving returns which configuration the worker serves that answers now.
func (p *Process) serving(ctx context.Context) (generation, worker int, err error) {
	client := p.Client(control)
	defer client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+control, nil)
	if err != nil {
		return 0, 0, err
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, 0, err
	}
	text, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return 0, 0, err
	}
	first, second, _ := strings.Cut(string(text), " ")
	generation, err = strconv.Atoi(first)
	if err != nil {
		return 0, 0, err
	}
	worker, err = strconv.Atoi(second)
	return generation, worker, err
}

// stop ends the master, which ends its workers, and then what is left of the group.
func (p *Process) stop() {
	_ = p.command.Process.Signal(syscall.SIGTERM) // It may have ended.
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-p.ended.Done():
	case <-timer.C:
	}
	_ = syscall.Kill(-p.command.Process.Pid, syscall.SIGKILL) // Usually there is no such group any more.
	<-p.ended.Done()
}

// output keeps the beginning of what is written to it.
type output struct {
	mutex sync.Mutex
	bytes bytes.Buffer
}

// Write implements [io.Writer].
func (o *output) Write(p []byte) (int, error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	_, _ = o.bytes.Write(p[:min(len(p), maxOutput-o.bytes.Len())]) // It never fails.
	return len(p), nil
}

func (o *output) size() int {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.bytes.Len()
}

func (o *output) from(offset int) string {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return string(o.bytes.Bytes()[offset:])
}
