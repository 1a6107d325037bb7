package descriptors_test

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sluiceproxy/sluice/httpio/descriptors"
)

// child is the variable that names the test that this process runs with fewer descriptors.
const child = "TEST_DESCRIPTORS_CHILD"

// inChild runs a test in a process of its own that may have so many descriptors.
func inChild(t *testing.T, limit uint64, test func(*testing.T)) {
	t.Helper()
	if os.Getenv(child) == t.Name() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
			t.Fatal(err)
		}
		test(t)
		return
	}
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	command.Env = append(os.Environ(), child+"="+t.Name())
	output, err := command.CombinedOutput()
	if err != nil || !strings.Contains(string(output), "--- PASS: "+t.Name()) {
		t.Errorf("%v\n%s", err, output)
	}
}

// fill opens files until the process has no descriptor left. The last ones have the highest numbers.
func fill(t *testing.T) []*os.File {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var files []*os.File
	for {
		file, err := os.Open(name)
		if errors.Is(err, syscall.EMFILE) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = file.Close() })
		files = append(files, file)
	}
}

// pair connects with a dialer, and returns both ends.
func pair(t *testing.T, dialer *net.Dialer, listener net.Listener) (ours, theirs net.Conn, err error) {
	t.Helper()
	if ours, err = dialer.DialContext(t.Context(), "tcp", listener.Addr().String()); err != nil {
		return nil, nil, err
	}
	if theirs, err = listener.Accept(); err != nil {
		t.Fatal(err)
	}
	return ours, theirs, nil
}

// TestReserve admits connections until only the reserve is left, and again when a descriptor below it is free.
func TestReserve(t *testing.T) {
	inChild(t, 128, func(t *testing.T) {
		limit := descriptors.New(16)
		if got := limit.Reserve(); got != 16 {
			t.Fatalf("%d in reserve", got)
		}
		listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = listener.Close() }()
		ours, theirs, err := pair(t, &net.Dialer{Control: limit.Control}, listener)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _, _ = ours.Close(), theirs.Close() }()
		files, freed := fill(t), 0
		for _, test := range []struct {
			free             int
			dialed, accepted bool
		}{{2, false, false}, {16, false, false}, {17, true, false}, {18, true, true}, {40, true, true}} {
			for ; freed < test.free; freed++ {
				_ = files[len(files)-1-freed].Close()
			}
			ours, theirs, err := pair(t, &net.Dialer{Control: limit.Control}, listener)
			if (err == nil) != test.dialed || err != nil && !errors.Is(err, descriptors.ErrReserved) {
				t.Errorf("%d free: dialed with %v", test.free, err)
			}
			if err != nil {
				continue
			}
			if got := limit.Admits(theirs.(*net.TCPConn)); got != test.accepted {
				t.Errorf("%d free: admitted is %v", test.free, got)
			}
			_, _ = ours.Close(), theirs.Close()
		}
	})
}

// TestReserveIsAQuarterAtMost leaves most descriptors to the clients of a process that has few.
func TestReserveIsAQuarterAtMost(t *testing.T) {
	inChild(t, 100, func(t *testing.T) {
		for reserve, want := range map[int]int{64: 25, 25: 25, 24: 24, 1: 1, 0: 0, -1: 0} {
			if got := descriptors.New(reserve).Reserve(); got != want {
				t.Errorf("%d: %d in reserve, want %d", reserve, got, want)
			}
		}
	})
}
