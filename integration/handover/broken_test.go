package handover

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// TestBrokenSuccessor has the running process serve on, whatever is wrong with its successor.
func TestBrokenSuccessor(t *testing.T) {
	s := newService(t, "")
	current := harness.Start(t, s.setup)
	serves := func(t *testing.T) {
		t.Helper()
		s.answers(t, harness.H1)
		select {
		case <-current.Ended():
			t.Error("the running process has ended")
		default:
		}
	}
	taken := harness.FreeAddress(t)
	listener := bind(t, taken)
	defer func() { _ = listener.Close() }()
	for _, test := range []struct {
		name, want string
		change     func(*harness.Setup)
	}{
		{"a wrong flag", "handover.dran", func(setup *harness.Setup) { setup.Args = []string{"--handover.dran=1s"} }},
		{"a wrong option", "is no absolute path", func(setup *harness.Setup) {
			setup.Args = []string{"--handover.socket=a"}
		}},
		{"an address in use", "address already in use", func(setup *harness.Setup) {
			setup.Args = []string{"--entryPoints.more.address=" + taken}
		}},
		{"a log that cannot be written", "/proc/none", func(setup *harness.Setup) {
			setup.Args = []string{"--log.filePath=/proc/none/sluice.log"}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			setup := s.setup
			setup.NotReady = true
			test.change(&setup)
			next := harness.Start(t, setup)
			if code := next.Wait(); code == 0 {
				t.Error("the successor ended without an error")
			}
			if !strings.Contains(next.Log.String(), test.want) {
				t.Errorf("the log lacks %q:\n%s", test.want, next.Log)
			}
			serves(t)
		})
	}
	t.Run("killed", func(t *testing.T) {
		setup := s.setup
		setup.NotReady = true
		next := harness.Start(t, setup)
		next.WaitLog("the sockets of a running process are inherited")
		next.Signal(syscall.SIGKILL)
		next.Wait()
		// It may have taken over before, also without a line of its own about that.
		harness.Until(t, "the running process has handed over, or serves on", func() bool {
			return strings.Contains(current.Log.String(), "no hand-over") ||
				strings.Contains(current.Log.String(), "handed over")
		})
		if !strings.Contains(current.Log.String(), "handed over") {
			serves(t)
		}
	})
}

// TestSharedDirectory refuses a directory that others may write to.
func TestSharedDirectory(t *testing.T) {
	s := newService(t, "")
	if err := os.Chmod(filepath.Dir(s.setup.Vars["SOCKET"]), 0o777); err != nil {
		t.Fatal(err)
	}
	s.setup.NotReady = true
	process := harness.Start(t, s.setup)
	const want = "only its owner may be allowed to write"
	if code := process.Wait(); code != 1 || !strings.Contains(process.Log.String(), want) {
		t.Errorf("exit code %d:\n%s", code, process.Log)
	}
}

// TestStaleFile starts in the place of a process that was killed.
func TestStaleFile(t *testing.T) {
	s := newService(t, "")
	first := harness.Start(t, s.setup)
	first.Signal(syscall.SIGKILL)
	first.Wait()
	s.succeed(harness.Start(t, s.setup))
}
