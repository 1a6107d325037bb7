package descriptors_test

import (
	"errors"
	"net"
	"testing"

	"github.com/sluiceproxy/sluice/httpio/descriptors"
	"github.com/sluiceproxy/sluice/httpio/descriptors/descriptorstest"
)

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
	descriptorstest.InChild(t, 128, func(t *testing.T) {
		limit := descriptors.New(16)
		if got := limit.Reserve(); got != 16 {
			t.Fatalf("%d in reserve", got)
		}
		listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = listener.Close() }()
		// Both ends stay open, so that the poller has its own descriptors before the others are taken.
		ours, theirs, err := pair(t, &net.Dialer{Control: limit.Control}, listener)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _, _ = ours.Close(), theirs.Close() }()
		release, released := descriptorstest.Fill(t), 0
		for _, test := range []struct {
			free             int
			dialed, accepted bool
		}{{2, false, false}, {16, false, false}, {17, true, false}, {18, true, true}, {40, true, true}} {
			release(test.free - released)
			released = test.free
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
	descriptorstest.InChild(t, 100, func(t *testing.T) {
		for reserve, want := range map[int]int{64: 25, 25: 25, 24: 24, 1: 1, 0: 0, -1: 0} {
			if got := descriptors.New(reserve).Reserve(); got != want {
				t.Errorf("%d: %d in reserve, want %d", reserve, got, want)
			}
		}
	})
}

// TestOpen counts what is open as descriptors are taken, up to all that the process may have.
func TestOpen(t *testing.T) {
	descriptorstest.InChild(t, 128, func(t *testing.T) {
		if got := descriptors.Available(16); got != 112 {
			t.Errorf("%d are available", got)
		}
		release := descriptorstest.Fill(t)
		full, err := descriptors.Open()
		if err != nil || full < 128 {
			t.Errorf("%d of 128 are open, %v", full, err)
		}
		release(8)
		counts := map[string]func() (int, error){
			"the count of the kernel": descriptors.Open,
			"a list":                  func() (int, error) { return descriptors.List("/proc/self/fd") },
		}
		for name, count := range counts {
			if got, err := count(); err != nil || got != full-8 {
				t.Errorf("%s: %d are open of %d, %v", name, got, full, err)
			}
		}
	})
}
