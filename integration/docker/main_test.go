package docker

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// Environment of this test binary when it starts again within its namespaces: the directory of the engine.
// missingVariable is the reason why there is no engine.
const (
	folderVariable  = "TEST_DOCKER"
	missingVariable = "TEST_DOCKER_MISSING"
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if os.Getenv(folderVariable) == "" && os.Getenv(missingVariable) == "" {
		reason, err := missing(), error(nil)
		if reason == "" {
			err = enter()
		}
		if err == nil {
			err = os.Setenv(missingVariable, reason)
		}
		if err != nil {
			_, _ = fmt.Fprintf(os.Stderr, "docker: %v\n", err)
			return 1
		}
	}
	if folder := os.Getenv(folderVariable); folder != "" {
		if err := furnish(); err != nil {
			_, _ = fmt.Fprintf(os.Stderr, "docker: %v\n", err)
			return 1
		}
		defer discard(folder)
	}
	return harness.Main(m)
}

// missing returns what an engine would lack here, or an empty string.
func missing() string {
	if os.Geteuid() != 0 {
		return "missing right: root, to make network and mount namespaces"
	}
	for _, tool := range []string{"dockerd", "containerd", "runc", "unshare"} {
		if _, err := exec.LookPath(tool); err != nil {
			return "missing tool: " + tool
		}
	}
	return ""
}

// enter builds what needs the network and runs this program again in namespaces of its own, in which everything ends
// with it. It returns only when that fails.
func enter() error {
	folder, err := os.MkdirTemp("", "sluice-docker-")
	if err != nil {
		return err
	}
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", filepath.Join(folder, "web"), "./web") //nolint:noctx // TestMain has no context.
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, output)
	}
	// What Sluice is built of has to be there before the network is gone.
	if output, err := exec.Command("go", "list", "-deps", //nolint:noctx // TestMain has no context.
		"github.com/sluiceproxy/sluice/cmd/sluice").CombinedOutput(); err != nil {
		return fmt.Errorf("go list: %w\n%s", err, output)
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	unshare, err := exec.LookPath("unshare")
	if err != nil {
		return err
	}
	args := append([]string{
		unshare, "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private", program,
	}, os.Args[1:]...)
	err = syscall.Exec(unshare, args, append(os.Environ(), folderVariable+"="+folder))
	return errors.Join(err, os.RemoveAll(folder))
}

// furnish prepares the namespaces: a network with lo, and a private place for the engine's state.
func furnish() error {
	if err := unix.Mount("tmpfs", "/run", "tmpfs", 0, ""); err != nil {
		return fmt.Errorf("mounting /run: %w", err)
	}
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket) //nolint:errcheck // Nothing is lost.
	link, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	link.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, link); err != nil {
		return fmt.Errorf("starting lo: %w", err)
	}
	return nil
}

// discard removes the directory of the engines, with what they have mounted there.
func discard(folder string) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "docker: %v\n", err)
	}
	for line := range strings.Lines(string(mounts)) {
		if fields := strings.Fields(line); len(fields) > 4 && strings.HasPrefix(fields[4], folder) {
			_ = unix.Unmount(fields[4], unix.MNT_DETACH) // What is below it goes with it.
		}
	}
	if err := os.RemoveAll(folder); err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "docker: %v\n", err)
	}
}
