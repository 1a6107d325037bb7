package handover

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/handover"
	"github.com/sluiceproxy/sluice/integration/harness"
	"github.com/sluiceproxy/sluice/integration/traffic"
)

// TestCrashUnderLoad has successors end at each step of the hand-over, under clients of which none sees an error, and
// hands over to a sound one in the end.
func TestCrashUnderLoad(t *testing.T) {
	s := newService(t, "")
	current := harness.Start(t, s.setup)
	path := s.setup.Vars["SOCKET"]
	clients := traffic.New(t)
	clients.StartAll(s.target(), 50)
	crashes := 0
	crash := func(steps ...func(*handover.Client) error) {
		t.Helper()
		successor, err := handover.Connect(t.Context(), path, "broken")
		for _, step := range steps {
			if err == nil {
				err = step(successor)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := successor.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
		crashes++
		harness.Until(t, "the end of a hand-over", func() bool {
			return strings.Count(current.Log.String(), "no hand-over") >= crashes
		})
	}
	takeOver := func(successor *handover.Client) error { return successor.TakeOver(t.Context()) }
	for range 3 {
		crash()
		crash(takeOver)
		crash(takeOver, func(successor *handover.Client) error {
			clients.Pause(100 * time.Millisecond)
			listener, ok := successor.Inherited().Listener("web", s.web)
			if !ok {
				return errors.New("no listener is inherited")
			}
			return listener.Close()
		})
	}
	s.succeedWithout(current)
	clients.Pause(time.Second)
	clients.Finish("crashes")
}

// succeedWithout is succeed without waiting for the end of the process before.
func (s *service) succeedWithout(before *harness.Sluice) *harness.Sluice {
	s.t.Helper()
	next := harness.Start(s.t, s.setup)
	next.WaitLog("serving in the place of the predecessor")
	before.WaitLog("handed over")
	return next
}

// TestFullDisk starts a successor whose log is on a full disk. Whether it serves or not, clients are served.
func TestFullDisk(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("missing tool: mount needs root")
	}
	s := newService(t, "")
	first := harness.Start(t, s.setup)
	folder := t.TempDir()
	mount := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", folder)
	if output, err := mount.CombinedOutput(); err != nil {
		t.Skipf("missing tool: mount: %v: %s", err, output)
	}
	t.Cleanup(func() {
		_ = exec.Command("umount", "-l", folder).Run() //nolint:noctx // The context of the test is over.
	})
	if err := os.WriteFile(filepath.Join(folder, "full"), make([]byte, 8<<10), 0o600); err == nil {
		t.Fatal("the disk is not full")
	}
	clients := traffic.New(t)
	clients.StartAll(s.target(), 10)
	setup := s.setup
	setup.Args = []string{"--log.filePath=" + filepath.Join(folder, "sluice.log")}
	setup.NotReady = true
	next := harness.Start(t, setup)
	ended := func() bool {
		select {
		case <-next.Ended():
			return true
		default:
			return false
		}
	}
	harness.Until(t, "the successor serves, or has ended", func() bool {
		return ended() || strings.Contains(first.Log.String(), "handed over")
	})
	clients.Pause(2 * time.Second)
	s.answers(t, harness.H1)
	if ended() {
		next.Wait() // Its exit code is that of a failure.
	}
	clients.Finish("full disk")
}
