package handover_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/handover"
)

// replace has a process that has ended replace the socket file.
func replace(t *testing.T, path string) {
	t.Helper()
	other := filepath.Join(filepath.Dir(path), "other")
	stale, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: other, Net: "unixpacket"})
	if err != nil {
		t.Fatal(err)
	}
	stale.SetUnlinkOnClose(false)
	if err := errors.Join(stale.Close(), os.Rename(other, path)); err != nil {
		t.Fatal(err)
	}
}

// files returns the names beside a path.
func files(t *testing.T, path string) string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return strings.Join(names, " ")
}

// TestSuccessorEndsAfterPublish has the path lead to the running process again, for the next successor.
func TestSuccessorEndsAfterPublish(t *testing.T) {
	p := newProcess(t)
	p.start(handover.Limits{})
	for range 2 {
		client := p.connect()
		if err := client.TakeOver(t.Context()); err != nil {
			t.Fatal(err)
		}
		replace(t, p.path)
		_ = client.Close()
		p.failure()
		if pid, err := handover.Holder(t.Context(), p.path); err != nil || pid != os.Getpid() {
			t.Fatalf("the socket is held by %d, error %v", pid, err)
		}
	}
	p.stop()
	p.wait()
	if got := files(t, p.path); got != "" {
		t.Errorf("the files %q are left", got)
	}
}

// TestSuccessorPublishesLate restores the file also where the successor has replaced it after its time had passed.
func TestSuccessorPublishesLate(t *testing.T) {
	p := newProcess(t)
	p.start(handover.Limits{Confirm: soon})
	client := p.connect()
	if err := client.TakeOver(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.failure()
	replace(t, p.path)
	if err := client.Confirm(); err == nil {
		t.Error("the hand-over is confirmed")
	}
	retry := time.NewTicker(10 * time.Millisecond)
	defer retry.Stop()
	for end := time.Now().Add(timeout); ; <-retry.C {
		_, err := handover.Holder(t.Context(), p.path)
		if err == nil {
			break
		}
		if !errors.Is(err, handover.ErrNoPredecessor) || time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// TestSuccessorServes leaves the file of the successor at the path, and nothing else.
func TestSuccessorServes(t *testing.T) {
	p := newProcess(t)
	p.start(handover.Limits{})
	client := p.connect()
	if err := client.TakeOver(t.Context()); err != nil {
		t.Fatal(err)
	}
	replace(t, p.path)
	if err := client.Confirm(); err != nil {
		t.Fatal(err)
	}
	p.wait()
	if got := files(t, p.path); got != filepath.Base(p.path) {
		t.Errorf("the files are %q", got)
	}
}

// TestStartDuringDrain has a process that starts find no predecessor once Serve has returned, and while it returns.
func TestStartDuringDrain(t *testing.T) {
	p := newProcess(t)
	p.start(handover.Limits{})
	started := make(chan error, 1)
	go func() {
		for {
			client, err := handover.Connect(t.Context(), p.path, "")
			if err != nil {
				started <- err
				return
			}
			_ = client.Close()
		}
	}()
	p.failure() // It has connected, and gone away again.
	p.stop()
	p.wait()
	refused := new(handover.RefusedError) // One may come before the end of the one before is known.
	err := receive(t, started, "the other process")
	if !errors.Is(err, handover.ErrNoPredecessor) && !errors.As(err, &refused) {
		t.Errorf("meanwhile: error %v", err)
	}
	if _, err := handover.Connect(t.Context(), p.path, ""); !errors.Is(err, handover.ErrNoPredecessor) {
		t.Errorf("then: error %v", err)
	}
	if got := files(t, p.path); got != "" {
		t.Errorf("the files %q are left", got)
	}
}
