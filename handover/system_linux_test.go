package handover_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/sluiceproxy/sluice/handover"
)

// TestDescriptorLimit names the limit that keeps a successor from getting all sockets, and leaves none open.
func TestDescriptorLimit(t *testing.T) {
	p := newProcess(t)
	for i := range 60 {
		p.listen(fmt.Sprintf("entrypoint%d", i), ":80")
	}
	p.start(handover.Limits{})
	before := open(t)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	low := syscall.Rlimit{Cur: uint64(before) + 8, Max: limit.Max}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	_, err := handover.Connect(t.Context(), p.path, "2.0.0")
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if err == nil || !strings.Contains(err.Error(), "LimitNOFILE") {
		t.Errorf("error %v", err)
	}
	p.failure()
	if after := open(t); after > before+1 {
		t.Errorf("%d descriptors are open, before it were %d", after, before)
	}
}

// otherUser is a user that the tests are not run by.
const otherUser = 65534

// asOtherUser calls f with the rights of another user.
func asOtherUser(t *testing.T, f func() error) error {
	t.Helper()
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // The thread ends with the goroutine.
		// Unlike that of package syscall, it changes the thread alone.
		_, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, otherUser, otherUser, otherUser)
		if errno != 0 {
			result <- errno
			return
		}
		result <- f()
	}()
	return receive(t, result, "the other user")
}

// asRoot skips a test that cannot act as another user.
func asRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("missing tool: only root can act as another user")
	}
}

// TestSuccessorOfAnotherUser is refused, even where the file system lets it connect.
func TestSuccessorOfAnotherUser(t *testing.T) {
	asRoot(t)
	p := newProcess(t)
	p.listen("web", ":80")
	p.start(handover.Limits{})
	if err := errors.Join(os.Chmod(filepath.Dir(p.path), 0o755), os.Chmod(p.path, 0o666)); err != nil {
		t.Fatal(err)
	}
	err := asOtherUser(t, func() error {
		_, err := handover.Connect(t.Context(), p.path, "2.0.0")
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "belongs to the user 0") {
		t.Errorf("error %v", err)
	}
	var answer string
	err = asOtherUser(t, func() error {
		conn, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: p.path, Net: "unixpacket"})
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }()
		buffer := make([]byte, 1024)
		n, err := conn.Read(buffer)
		answer = string(buffer[:n])
		return err
	})
	want := `{"type":"refuse","reason":"the other process belongs to the user 65534, this one to 0"}`
	if err != nil || answer != want {
		t.Errorf("answer %s, error %v", answer, err)
	}
	p.failure()
	err = asOtherUser(t, func() error {
		_, err := handover.Upgrade(t.Context(), p.path)
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "belongs to the user 0, this one to 65534") {
		t.Errorf("error %v", err)
	}
}

// TestPredecessorOfAnotherUser gets nothing from a successor, which does not serve its sockets.
func TestPredecessorOfAnotherUser(t *testing.T) {
	asRoot(t)
	onLinux(t)
	path := socketPath(t)
	folder := filepath.Dir(path)
	if err := os.Chmod(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	err := asOtherUser(t, func() error {
		listener, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: path, Net: "unixpacket"})
		if err == nil {
			t.Cleanup(func() { _ = listener.Close() })
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	_, err = handover.Connect(t.Context(), path, "2.0.0")
	if err == nil || !strings.Contains(err.Error(), "belongs to the user 65534, this one to 0") {
		t.Errorf("error %v", err)
	}
}
