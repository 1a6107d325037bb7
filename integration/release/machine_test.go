package release

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// boot is how long the system may take to start, and to stop.
const boot = 2 * time.Minute

// unpack returns the folder of a Debian system with systemd, which `.ci/tools machine` has installed into a tar file.
func unpack(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("missing right: root, to run a system in a container")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(command(t, root, ".ci/tools", "machine")), "\n")
	source := lines[len(lines)-1]
	if _, err := os.Stat(source); err != nil {
		t.Skip(source)
	}
	tree := filepath.Join(t.TempDir(), "tree")
	if err := os.Mkdir(tree, 0o755); err != nil { //nolint:gosec // The root folder of a system is for everybody.
		t.Fatal(err)
	}
	command(t, tree, "tar", "-xpf", source)
	return tree
}

// machine is a Debian system with systemd as its first process and a network of its own.
type machine struct {
	tree   string
	leader string // the process id of its first process
}

// newMachine boots a system. It is stopped when the test ends.
func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{tree: unpack(t)}
	console, err := os.Create(filepath.Join(t.TempDir(), "console"))
	if err != nil {
		t.Fatal(err)
	}
	container := exec.CommandContext(context.WithoutCancel(t.Context()), "systemd-nspawn", "--directory="+m.tree, "--boot",
		"--register=no", "--keep-unit", "--private-network", fmt.Sprintf("--machine=sluice-test-%d", os.Getpid()))
	container.Stdout, container.Stderr = console, console
	if err := container.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = container.Wait() // How it ended does not matter.
	}()
	t.Cleanup(func() {
		_ = container.Process.Signal(syscall.SIGTERM)
		kill := time.AfterFunc(boot, func() { _ = container.Process.Kill() })
		<-ended
		kill.Stop()
		_ = console.Close() // It was for messages.
	})
	limit, tick := time.NewTimer(boot), time.NewTicker(100*time.Millisecond)
	defer limit.Stop()
	defer tick.Stop()
	for !m.booted(t, container.Process.Pid) {
		select {
		case <-tick.C:
			continue
		case <-limit.C:
		case <-ended:
		}
		t.Skipf("systemd does not start in a container here:\n%s", read(t, filepath.Dir(console.Name()), "console"))
	}
	return m
}

// booted reports whether the system has finished its start.
func (m *machine) booted(t *testing.T, container int) bool {
	t.Helper()
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", container))
	if err != nil {
		return false
	}
	for child := range strings.FieldsSeq(string(children)) {
		name, err := os.ReadFile("/proc/" + child + "/comm")
		if err == nil && string(name) == "systemd\n" {
			m.leader = child
		}
	}
	if m.leader == "" {
		return false
	}
	state, _ := m.try(t, "systemctl is-system-running") // Its exit code is not 0 before that.
	return state == "running\n" || state == "degraded\n"
}

// try runs a shell script in the system, as root, and returns all output.
func (m *machine) try(t *testing.T, script string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), boot)
	defer cancel()
	run := exec.CommandContext(ctx, "nsenter", "--target", m.leader, "--mount", "--uts", "--ipc", "--net", "--pid",
		"--root", "--wd", "bash", "-euc", script)
	run.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive"}
	output, err := run.CombinedOutput()
	return string(output), err
}

// run runs a script that must not fail.
func (m *machine) run(t *testing.T, script string) string {
	t.Helper()
	output, err := m.try(t, script)
	if exit, failed := errors.AsType[*exec.ExitError](err); failed {
		log, _ := m.try(t, "systemctl status sluice --no-pager --lines=40") // An inactive unit has an exit code.
		t.Fatalf("exit code %d of\n%s\n%s\n%s", exit.ExitCode(), script, output, log)
	} else if err != nil {
		t.Fatal(err)
	}
	return output
}

// prints runs a script and compares what it prints, without the spaces around it.
func (m *machine) prints(t *testing.T, want, script string) {
	t.Helper()
	if got := strings.TrimSpace(m.run(t, script)); got != want {
		t.Errorf("%s\nprints %q, want %q", script, got, want)
	}
}

// put copies a file of the host into the system.
func (m *machine) put(t *testing.T, from, to string) {
	t.Helper()
	copyFile(t, from, filepath.Join(m.tree, to))
}
