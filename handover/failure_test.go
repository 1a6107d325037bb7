package handover_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/handover"
)

// TestPlaces names what is wrong with the path of the socket, or its directory.
func TestPlaces(t *testing.T) {
	onLinux(t)
	folder := filepath.Dir(socketPath(t))
	file, shared := filepath.Join(folder, "file"), filepath.Join(folder, "shared")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Mkdir(shared, 0o700), os.Chmod(shared, 0o770)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"sluice.sock":                              "is no absolute path",
		"/run/link/../sluice.sock":                 `the path without them is "/run/sluice.sock"`,
		"/run/" + strings.Repeat("x", 96):          "has 101 bytes, more than 100",
		file:                                       "exists and is no socket",
		filepath.Join(file, "sluice.sock"):         "not a directory",
		filepath.Join(shared, "sluice.sock"):       "has the mode 0770; only its owner may be allowed to write",
		filepath.Join(folder, "no", "sluice.sock"): "no such file or directory",
	} {
		server, err := handover.Listen(path)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("Listen: error %v, want %q", err, want)
		}
		if err == nil {
			_ = server.Close()
		}
		_, err = handover.Connect(t.Context(), path, "")
		if missing := strings.Contains(want, "no such file"); missing != errors.Is(err, handover.ErrNoPredecessor) ||
			!missing && !strings.Contains(err.Error(), want) {
			t.Errorf("Connect: error %v, want %q", err, want)
		}
	}
}

// TestNoPredecessor starts where no process listens, also behind the file of one that has ended.
func TestNoPredecessor(t *testing.T) {
	onLinux(t)
	path := socketPath(t)
	absent := func() {
		t.Helper()
		_, err := handover.Connect(t.Context(), path, "")
		_, upgrade := handover.Upgrade(t.Context(), path)
		_, holder := handover.Holder(t.Context(), path)
		for _, err := range []error{err, upgrade, holder} {
			if !errors.Is(err, handover.ErrNoPredecessor) || !strings.Contains(err.Error(), path) {
				t.Errorf("error %v", err)
			}
		}
	}
	absent()
	leave := func(path string) {
		stale, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: path, Net: "unixpacket"})
		if err != nil {
			t.Fatal(err)
		}
		stale.SetUnlinkOnClose(false)
		_ = stale.Close()
	}
	leave(path)
	absent()
	first, err := handover.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := handover.Listen(path); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("twice with a PID: %v", err)
	}
	absent()
	if err := first.Publish(); err != nil {
		t.Fatal(err)
	}
	if pid, err := handover.Holder(t.Context(), path); err != nil || pid != os.Getpid() {
		t.Errorf("the socket is held by %d, error %v", pid, err)
	}
	file, err := os.Lstat(path)
	if err != nil || file.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, error %v", file, err)
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	absent()
}

// TestStaleTemporaryFile binds in the place of the file of a process with the same PID that has ended.
func TestStaleTemporaryFile(t *testing.T) {
	onLinux(t)
	path := socketPath(t)
	first, err := handover.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(path + ".*")
	if err != nil || len(names) != 1 {
		t.Fatalf("the files are %v, error %v", names, err)
	}
	if err := os.Link(names[0], names[0]+"x"); err != nil {
		t.Fatal(err)
	}
	_ = first.Close() // It removes its name alone.
	if err := os.Rename(names[0]+"x", names[0]); err != nil {
		t.Fatal(err)
	}
	second, err := handover.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
}

// TestOneHandOverAtATime refuses another successor, and serves it after the first one has given up.
func TestOneHandOverAtATime(t *testing.T) {
	p := newProcess(t)
	p.upgrader = newStarter()
	p.start(handover.Limits{})
	first := p.connect()
	_, err := handover.Connect(t.Context(), p.path, "2.0.1")
	var refused *handover.RefusedError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "busy") || !strings.Contains(err.Error(), p.path) {
		t.Errorf("error %v", err)
	}
	p.failure()
	if _, err := handover.Upgrade(t.Context(), p.path); err == nil || !strings.Contains(err.Error(), "busy") {
		t.Errorf("an upgrade during a hand-over: error %v", err)
	}
	p.failure()
	_ = first.Close()
	if err := receive(t, p.failed, "the end of the first"); !strings.Contains(err.Error(), "closed the connection") {
		t.Errorf("the failure is %v", err)
	}
	second := p.connect()
	if err := errors.Join(second.TakeOver(t.Context()), second.Confirm()); err != nil {
		t.Error(err)
	}
}

// TestSuccessorGivesUp has the predecessor serve on, whenever the successor ends.
func TestSuccessorGivesUp(t *testing.T) {
	for name, takes := range map[string]bool{"loading": false, "adopting": true} {
		t.Run(name, func(t *testing.T) {
			p := newProcess(t)
			p.start(handover.Limits{})
			client := p.connect()
			if takes {
				if err := client.TakeOver(t.Context()); err != nil {
					t.Fatal(err)
				}
				p.event("yield to 2.0.0")
			}
			_ = client.Close()
			if takes {
				p.event("resume")
			}
			err := receive(t, p.failed, "the failure")
			if !strings.Contains(err.Error(), "closed the connection") || !strings.Contains(err.Error(), `"2.0.0"`) {
				t.Errorf("the failure is %v", err)
			}
			again := p.connect()
			if err := errors.Join(again.TakeOver(t.Context()), again.Confirm()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestSuccessorIsSlow has the predecessor end the hand-over, and say why.
func TestSuccessorIsSlow(t *testing.T) {
	for _, c := range []struct {
		name   string
		limits handover.Limits
		// adopts is whether the successor takes over before it is slow.
		adopts bool
		// looks is whether it looks for the end of the hand-over, and does not confirm.
		looks bool
		want  string
	}{
		{"never ready", handover.Limits{Loading: time.Second}, false, false, "1s have passed"},
		{"silent", handover.Limits{Silence: time.Second}, false, false, "no message within 1s"},
		{"never serving", handover.Limits{Confirm: soon}, true, false, "no message within"},
		{"not serving yet", handover.Limits{Confirm: soon}, true, true, "no message within"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newProcess(t)
			p.start(c.limits)
			client := p.connect()
			result := client.TakeOver
			if c.adopts {
				if err := client.TakeOver(t.Context()); err != nil {
					t.Fatal(err)
				}
				p.event("yield to 2.0.0")
				result = func(context.Context) error { return client.Confirm() }
				if c.looks {
					result = func(context.Context) error { return client.Refused() }
				}
			}
			failure := receive(t, p.failed, "the failure")
			if c.adopts {
				p.event("resume")
			}
			var refused *handover.RefusedError
			if err := result(t.Context()); !errors.As(err, &refused) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if !strings.Contains(failure.Error(), c.want) {
				t.Errorf("the failure is %v, want %q", failure, c.want)
			}
		})
	}
}

// TestSuccessorIsAlive proves that a successor may take longer to load than it may be silent.
func TestSuccessorIsAlive(t *testing.T) {
	p := newProcess(t)
	p.start(handover.Limits{Silence: 2 * time.Second})
	client, err := handover.ConnectWithin(t.Context(), p.path, "2.0.0", handover.Limits{Alive: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	timer := time.NewTimer(3 * time.Second)
	defer timer.Stop()
	select {
	case err := <-p.failed:
		t.Fatal(err)
	case <-timer.C:
	}
	if err := errors.Join(client.TakeOver(t.Context()), client.Confirm()); err != nil {
		t.Error(err)
	}
}

// TestPredecessorDoesNotYield has the successor give up, and the predecessor serve on.
func TestPredecessorDoesNotYield(t *testing.T) {
	for name, yield := range map[string]func(context.Context) error{
		"context deadline exceeded": func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		},
		"a loop runs on": func(context.Context) error { return errors.New("a loop runs on") },
	} {
		t.Run(name, func(t *testing.T) {
			p := newProcess(t)
			p.yield = yield
			p.start(handover.Limits{Yield: soon})
			err := p.connect().TakeOver(t.Context())
			var refused *handover.RefusedError
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), name) {
				t.Errorf("error %v", err)
			}
			p.event("yield to 2.0.0")
			p.event("resume")
		})
	}
	t.Run("hangs", func(t *testing.T) {
		p := newProcess(t)
		release := make(chan struct{})
		p.yield = func(context.Context) error {
			<-release
			return nil
		}
		p.start(handover.Limits{})
		client, err := handover.ConnectWithin(t.Context(), p.path, "2.0.0", handover.Limits{Yield: soon})
		if err != nil {
			t.Fatal(err)
		}
		err = client.TakeOver(t.Context())
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		_ = client.Close()
		close(release)
		p.event("yield to 2.0.0")
		p.event("resume")
	})
}

// TestPredecessorEnds has the successor go on by itself.
func TestPredecessorEnds(t *testing.T) {
	p := newProcess(t)
	listener := p.listen("web", ":80")
	p.start(handover.Limits{})
	client := p.connect()
	p.stop()
	p.wait()
	_ = listener.Close()
	if err := client.TakeOver(t.Context()); !errors.Is(err, handover.ErrPredecessorEnded) {
		t.Errorf("error %v", err)
	}
	inherited, ok := client.Inherited().Listener("web", ":80")
	if !ok {
		t.Fatal("no listener")
	}
	defer func() { _ = inherited.Close() }()
	reach(t, inherited, inherited)
}

// TestEndDuringTakeOver has a predecessor whose context ends wait until its successor serves.
func TestEndDuringTakeOver(t *testing.T) {
	p := newProcess(t)
	p.start(handover.Limits{})
	client := p.connect()
	if err := client.TakeOver(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.stop()
	select {
	case err := <-p.ended:
		t.Fatalf("Serve returns %v before the successor serves", err)
	default:
	}
	if err := client.Confirm(); err != nil {
		t.Error(err)
	}
	p.wait()
	p.event("yield to 2.0.0")
	p.event("leave to 2.0.0")
}

// TestSettle waits for the end of a hand-over that is under way, for as long as the context allows.
func TestSettle(t *testing.T) {
	p := newProcess(t)
	p.start(handover.Limits{})
	p.server.Settle(t.Context())
	client := p.connect()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	p.server.Settle(ended)
	settled := make(chan struct{})
	go func() {
		defer close(settled)
		p.server.Settle(context.Background())
	}()
	select {
	case <-settled:
		t.Error("a successor is loading")
	default:
	}
	_ = client.Close()
	<-settled
	p.failure()
}

// TestCallerGivesUp ends what waits with the context.
func TestCallerGivesUp(t *testing.T) {
	p := newProcess(t)
	yielding, release := make(chan struct{}), make(chan struct{})
	p.yield = func(context.Context) error {
		close(yielding)
		<-release
		return nil
	}
	p.start(handover.Limits{})
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the test ends it")
	go func() {
		<-yielding
		cancel(why)
	}()
	client := p.connect()
	if err := client.TakeOver(ctx); !errors.Is(err, why) {
		t.Errorf("error %v", err)
	}
	close(release)
	p.event("yield to 2.0.0")
	p.event("resume")
	if _, err := handover.Connect(ctx, p.path, ""); err == nil {
		t.Error("it connects though the context has ended")
	}
}
