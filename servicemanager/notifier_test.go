package servicemanager_test

import (
	"context"
	"net"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluiceproxy/sluice/servicemanager"
	"github.com/sluiceproxy/sluice/telemetry"
)

// timeout bounds every wait.
const timeout = time.Minute

// memory keeps what is logged.
type memory struct {
	telemetry.Discard
	mu    sync.Mutex
	lines []string
}

func (m *memory) Warn(message string, _ ...any)  { m.add(message) }
func (m *memory) Error(message string, _ ...any) { m.add(message) }

func (m *memory) add(line string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lines = append(m.lines, line)
}

// manager is a service manager that receives states.
type manager struct {
	t      *testing.T
	socket *net.UnixConn
}

// newManager starts a service manager, which is that of the environment from then on.
func newManager(t *testing.T) *manager {
	t.Helper()
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	t.Setenv("NOTIFY_SOCKET", socket.LocalAddr().String())
	return &manager{t: t, socket: socket}
}

// next returns the next message.
func (m *manager) next() string {
	m.t.Helper()
	if err := m.socket.SetReadDeadline(time.Now().Add(timeout)); err != nil {
		m.t.Fatal(err)
	}
	message := make([]byte, 512)
	n, err := m.socket.Read(message)
	if err != nil {
		m.t.Fatal(err)
	}
	return string(message[:n])
}

// waiting returns how many messages have been sent that next has not returned.
func (m *manager) waiting() int {
	m.t.Helper()
	if err := m.socket.SetReadDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
		m.t.Fatal(err)
	}
	for number := 0; ; number++ {
		if _, err := m.socket.Read(make([]byte, 512)); err != nil {
			return number
		}
	}
}

func TestStates(t *testing.T) {
	manager, log := newManager(t), &memory{}
	notifier := servicemanager.New(log)
	notifier.Ready()
	notifier.Reloading()
	notifier.Main(4711)
	notifier.Stopping()
	reloading := `RELOADING=1`
	if runtime.GOOS == "linux" {
		reloading += `\nMONOTONIC_USEC=[1-9]\d*`
	}
	for _, want := range []string{"READY=1", reloading, "MAINPID=4711", "STOPPING=1"} {
		if got := manager.next(); !regexp.MustCompile(`^` + want + `$`).MatchString(got) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if len(log.lines) > 0 {
		t.Errorf("logged %q", log.lines)
	}
}

// TestStatesWithoutAManager sends nothing without a service manager, and logs when there is none at its address.
func TestStatesWithoutAManager(t *testing.T) {
	for address, lines := range map[string]int{"": 0, filepath.Join(t.TempDir(), "none"): 3} {
		t.Setenv("NOTIFY_SOCKET", address)
		log := &memory{}
		notifier := servicemanager.New(log)
		notifier.Ready()
		notifier.Reloading()
		notifier.Stopping()
		if len(log.lines) != lines {
			t.Errorf("%q: logged %q, want %d lines", address, log.lines, lines)
		}
	}
}

// TestWatchdog answers four times in an interval while the process is alive, and not when it is not in time.
func TestWatchdog(t *testing.T) {
	manager, log := newManager(t), &memory{}
	t.Setenv("WATCHDOG_USEC", strconv.Itoa(int((40 * time.Second).Microseconds())))
	t.Setenv("WATCHDOG_PID", "")
	asked := 0
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 55*time.Second)
		defer cancel()
		servicemanager.New(log).Watch(ctx, func(limited context.Context) bool {
			if asked++; asked == 2 {
				<-limited.Done() // After 20 seconds, in which two times pass.
				return false
			}
			return true
		})
	})
	// At 0, 10 (until 30), 30, 40 and 50 seconds; at 30 there may be a tick that has waited, and one of that time.
	if asked < 5 || asked > 6 || len(log.lines) != 1 || !strings.Contains(log.lines[0], "watchdog") {
		t.Errorf("asked %d times, logged %q", asked, log.lines)
	}
	for range asked - 1 {
		if got := manager.next(); got != "WATCHDOG=1" {
			t.Errorf("got %q", got)
		}
	}
	if more := manager.waiting(); more > 0 {
		t.Errorf("%d more messages", more)
	}
}

// TestNoWatchdog returns at once where the service manager expects nothing of this process.
func TestNoWatchdog(t *testing.T) {
	manager := newManager(t)
	for _, test := range []struct {
		interval, process string
		lines             int
	}{
		{"", "", 0}, {"1000000", "1", 0}, {"a minute", "", 1}, {"-1", "", 1},
	} {
		t.Setenv("WATCHDOG_USEC", test.interval)
		t.Setenv("WATCHDOG_PID", test.process)
		log := &memory{}
		servicemanager.New(log).Watch(t.Context(), func(context.Context) bool { return true })
		if len(log.lines) != test.lines {
			t.Errorf("%q, %q: logged %q", test.interval, test.process, log.lines)
		}
	}
	if more := manager.waiting(); more > 0 {
		t.Errorf("%d messages", more)
	}
}
