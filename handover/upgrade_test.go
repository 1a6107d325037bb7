package handover_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/handover"
)

// starter is an Upgrader, and the process that it starts.
type starter struct {
	err     error
	started chan struct{}
	ended   chan error
	killed  chan struct{}
}

func newStarter() *starter {
	return &starter{started: make(chan struct{}, 1), ended: make(chan error, 1), killed: make(chan struct{}, 1)}
}

func (s *starter) Start() (handover.Child, error) {
	s.started <- struct{}{}
	return s, s.err
}

func (s *starter) PID() int { return 4711 }

func (s *starter) Ended() <-chan error { return s.ended }

func (s *starter) Kill() { s.killed <- struct{}{} }

// TestUpgrade starts a successor, and waits until it serves.
func TestUpgrade(t *testing.T) {
	p := newProcess(t)
	child := newStarter()
	p.upgrader = child
	p.start(handover.Limits{})
	result := make(chan error, 1)
	go func() {
		<-child.started
		client, err := handover.Connect(t.Context(), p.path, "2.0.0")
		if err == nil {
			err = errors.Join(client.TakeOver(t.Context()), client.Confirm())
		}
		result <- err
	}()
	pid, err := handover.Upgrade(t.Context(), p.path)
	if err != nil || pid != 4711 {
		t.Errorf("PID %d, error %v", pid, err)
	}
	if err := receive(t, result, "the successor"); err != nil {
		t.Error(err)
	}
	p.event("yield to 2.0.0")
	p.event("leave to 2.0.0")
	p.wait()
}

// TestUpgradeFails says why.
func TestUpgradeFails(t *testing.T) {
	start := func(t *testing.T, child *starter, limits handover.Limits) *process {
		p := newProcess(t)
		if child != nil {
			p.upgrader = child
		}
		p.start(limits)
		return p
	}
	fails := func(t *testing.T, p *process, want string) {
		t.Helper()
		_, err := handover.Upgrade(t.Context(), p.path)
		var refused *handover.RefusedError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
		if err := receive(t, p.failed, "the failure"); !strings.Contains(err.Error(), want) {
			t.Errorf("the failure is %v, want %q", err, want)
		}
	}
	t.Run("not offered", func(t *testing.T) {
		fails(t, start(t, nil, handover.Limits{}), "this process starts no successor")
	})
	t.Run("cannot start", func(t *testing.T) {
		child := newStarter()
		child.err = errors.New("permission denied")
		fails(t, start(t, child, handover.Limits{}), "starting a successor: permission denied")
	})
	t.Run("ends", func(t *testing.T) {
		child := newStarter()
		child.ended <- errors.New("exit status 1: unknown option")
		fails(t, start(t, child, handover.Limits{}), "process 4711 has ended: exit status 1: unknown option")
	})
	t.Run("never serves", func(t *testing.T) {
		child := newStarter()
		fails(t, start(t, child, handover.Limits{Loading: soon}), "process 4711 does not serve after 50ms")
		receive(t, child.killed, "the end of the process")
	})
	t.Run("twice", func(t *testing.T) {
		child := newStarter()
		p := start(t, child, handover.Limits{})
		first := make(chan error, 1)
		go func() {
			_, err := handover.Upgrade(t.Context(), p.path)
			first <- err
		}()
		receive(t, child.started, "the first")
		fails(t, p, "busy")
		child.ended <- errors.New("exit status 2")
		if err := receive(t, first, "the first upgrade"); err == nil || !strings.Contains(err.Error(), "exit status 2") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("the process ends", func(t *testing.T) {
		child := newStarter()
		p := start(t, child, handover.Limits{})
		first := make(chan error, 1)
		go func() {
			_, err := handover.Upgrade(t.Context(), p.path)
			first <- err
		}()
		receive(t, child.started, "the start")
		p.stop()
		if err := receive(t, first, "the upgrade"); err == nil || !strings.Contains(err.Error(), "goes on by itself") {
			t.Errorf("error %v", err)
		}
	})
}
