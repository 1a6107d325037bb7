package handover

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
	"github.com/sluiceproxy/sluice/integration/traffic"
)

// number returns the number that a variable of the environment has, or else another one.
func number(t *testing.T, variable string, otherwise int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	value, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// TestManyHandOvers hands over again and again under clients of all kinds, of which none may see an error: also slow
// ones, and idle connections. TEST_HANDOVERS (3) and TEST_IDLE (200) are how many hand-overs and idle connections,
// TEST_PAUSE (1) and TEST_IDLE_PAUSE (5) the seconds between hand-overs and the least of them between the requests of
// an idle connection, and TEST_BETWEEN (5) the milliseconds between those of other clients; with TEST_PEERS, nginx and
// haproxy reload under the same clients beside it.
func TestManyHandOvers(t *testing.T) {
	handOvers, idle := number(t, "TEST_HANDOVERS", 3), number(t, "TEST_IDLE", 200)
	s := newService(t, "")
	clients := traffic.New(t)
	clients.Between = time.Duration(number(t, "TEST_BETWEEN", 5)) * time.Millisecond
	clients.Idle = time.Duration(number(t, "TEST_IDLE_PAUSE", 5)) * time.Second
	longest := 2*clients.Idle + 10*time.Second
	s.setup.Args = []string{
		"--handover.drain=" + longest.String(),
		// Idle connections also wait before their first request.
		"--entrypoints.web.transport.respondingtimeouts.readtimeout=" + max(longest, time.Minute).String(),
	}
	current := harness.Start(t, s.setup)
	clients.StartAll(s.target(), idle)
	repeat(t, clients, handOvers, func() { current = s.succeedWithout(current) })
	clients.Finish("sluice, " + strconv.Itoa(handOvers) + " hand-overs")
	if log := current.Log.String(); strings.Contains(log, "level=error") {
		t.Errorf("the log of the last process has errors:\n%s", log)
	}
	if os.Getenv("TEST_PEERS") != "" {
		reloadPeers(t, handOvers, idle)
	}
}

// repeat makes changes with pauses, and ends the clients. Many changes have a time without them before and after, for
// the latencies: windows of the same length.
func repeat(t *testing.T, clients *traffic.Load, changes int, change func()) {
	t.Helper()
	const steady = 30 * time.Second
	pause := time.Duration(number(t, "TEST_PAUSE", 1)) * time.Second
	settle := 5*time.Second + 2*clients.Idle
	without := func() {
		for begin := time.Now(); changes > 3 && time.Since(begin) < steady; {
			clients.Pause(pause)
			clients.Window(false)
		}
	}
	if changes > 3 {
		clients.Pause(settle) // Until all are connected, and send at a steady rate.
		clients.Discard()
	}
	without()
	for range changes {
		clients.Pause(pause)
		change()
		clients.Window(true)
	}
	if changes > 3 {
		clients.Pause(settle + pause) // Until no process drains.
		clients.Discard()
	}
	without()
	clients.Close()
}

// target returns the addresses of a service.
func (s *service) target() traffic.Target {
	return traffic.Target{Web: s.web, Secure: s.secure, Mail: s.mail, DNS: s.dns, HTTP3: true}
}
