package pages

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// timeout bounds each command of a page.
const timeout = 30 * time.Second

// patience is how long a block `sh await`, or the answer of a process in the background, may take.
const patience = 20 * time.Second

// shell is a bash in namespaces of its own.
type shell struct {
	dir     string // on the host, with the scripts and the outputs of background processes
	stdin   io.WriteCloser
	answers <-chan string // the lines that it prints
	blocks  int
}

// result is what a block has printed, and its exit code.
type result struct {
	output string
	code   int
}

// newShell starts the shell and prepares its namespaces.
func newShell(t *testing.T) *shell {
	t.Helper()
	s := &shell{dir: t.TempDir()}
	bin := filepath.Join(s.dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil { //nolint:gosec // Programs that pages start as other users are here.
		t.Fatal(err)
	}
	if err := os.Symlink(harness.Binary(t), filepath.Join(bin, "sluice")); err != nil {
		t.Fatal(err)
	}
	arguments := []string{
		"--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private", "bash",
	}
	if os.Getuid() != 0 {
		arguments = append([]string{"--map-root-user"}, arguments...)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	command := exec.CommandContext(ctx, "unshare", arguments...)
	command.Dir, command.Env = s.dir, environment(bin)
	stdin, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	command.Stderr = os.Stderr
	if err := command.Start(); err != nil {
		t.Fatalf("unshare, of the package util-linux: %v", err)
	}
	lines := make(chan string)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(stdout); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	s.stdin, s.answers = stdin, lines
	t.Cleanup(func() {
		_ = stdin.Close()
		cancel()
		for range lines { // until the pipe is closed
		}
		_ = command.Wait()
	})
	if done := s.run(t, preparation); done.code != 0 {
		t.Skipf("namespaces with a network and mounts of their own are not allowed here: %s", done.output)
	}
	return s
}

// environment is that of a page: without options of Sluice, and with the binary in the path.
func environment(bin string) []string {
	return []string{"PATH=" + bin + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/srv", "LANG=C.UTF-8"}
}

// preparation makes the private places, the network of a page and the static configuration with which its dynamic files
// are checked, and declares two commands for comments:
// `endpoints ADDRESS...` starts an endpoint at each address, named by its last part before the port; `serve` starts
// Sluice anew and waits until it is ready.
const preparation = `set -e
private=$PWD/private
mkdir "$private"
cp -a /etc "$private/etc" 2>/dev/null || true
rm -rf "$private/etc/sluice"
mount --bind "$private/etc" /etc
for place in /var/log /var/lib/logrotate /srv /run; do
  [ ! -d "$place" ] || mount -t tmpfs tmpfs "$place"
done
mkdir -p /etc/sluice/dynamic /var/log/sluice
ip link set lo up
ip route add local 10.0.0.0/24 dev lo
ip route add local 192.0.2.0/24 dev lo
cat >"$PWD/check.yaml" <<END
entryPoints: {web: {address: ":80"}, websecure: {address: ":443"}, internal: {address: ":8000"}}
END
checking=$PWD/check.yaml
endpoints() {
  local address
  for address in "$@"; do
    sluice whoami --name "$address" --address "$address" >/dev/null 2>&1 </dev/null &
    until sluice healthcheck --url "http://$address/health" >/dev/null 2>&1; do sleep 0.1; done
  done
}
serve() {
  if [ -n "${served:-}" ]; then kill "$served"; wait "$served" || true; fi
  sluice --configFile=/etc/sluice/sluice.yaml >/var/log/sluice/serve.log 2>&1 </dev/null &
  served=$!
  until sluice healthcheck --url http://127.0.0.1:8080/ready >/dev/null 2>&1; do
    sleep 0.1
    kill -0 "$served" || { cat /var/log/sluice/serve.log; return 1; }
  done
}
set +e
cd /srv
`

// run runs a block and returns what it has printed.
func (s *shell) run(t *testing.T, body string) result {
	t.Helper()
	script := s.script(t, body)
	const end = "the block has ended with "
	s.send(t, fmt.Sprintf(". %s </dev/null 2>&1; ended=$?; echo; echo '%s'$ended\n", script, end))
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	var output strings.Builder
	for {
		select {
		case line, running := <-s.answers:
			if !running {
				t.Fatalf("the shell has ended:\n%s", &output)
			}
			if code, ended := strings.CutPrefix(line, end); ended {
				number, err := strconv.Atoi(code)
				if err != nil {
					t.Fatal(err)
				}
				return result{output.String(), number}
			}
			output.WriteString(line + "\n")
		case <-timer.C:
			t.Fatalf("this takes longer than %s:\n%s\n%s", timeout, body, &output)
		}
	}
}

// start runs a block in the background and returns the file with its output.
func (s *shell) start(t *testing.T, body string) string {
	t.Helper()
	script := s.script(t, body)
	output := script + ".log"
	s.run(t, fmt.Sprintf("( . %s ) </dev/null >%s 2>&1 &\n", script, output))
	return output
}

// script writes a block into a file and returns its path.
func (s *shell) script(t *testing.T, body string) string {
	t.Helper()
	s.blocks++
	name := filepath.Join(s.dir, fmt.Sprintf("block-%d.sh", s.blocks))
	if err := os.WriteFile(name, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func (s *shell) send(t *testing.T, text string) {
	t.Helper()
	if _, err := io.WriteString(s.stdin, text); err != nil {
		t.Fatal(err)
	}
}

// write writes a file inside the namespaces.
func (s *shell) write(t *testing.T, name, content string) {
	t.Helper()
	source := s.script(t, content)
	if done := s.run(t, fmt.Sprintf("mkdir -p %q && cp %q %q.new && mv %[3]q.new %[3]q", filepath.Dir(name), source, name)); done.code != 0 {
		t.Fatal(done.output)
	}
}
