package handover_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/handover"
)

// TestAnnounce has the running process know what the successor announces, until the hand-over fails.
func TestAnnounce(t *testing.T) {
	p := newProcess(t)
	p.announced = func(state handover.State) error {
		p.events <- "announced " + state.Kind + " " + string(state.Data)
		if string(state.Data) == "bad" {
			return errors.New("malformed")
		}
		return nil
	}
	p.start(handover.Limits{})
	announce := func(client *handover.Client, data string) error {
		return client.Announce(t.Context(), handover.State{Kind: "addresses", Version: 1, Data: []byte(data)})
	}
	failing := p.connect()
	late := p.listen("late", ":81")
	if err := announce(failing, "one"); err != nil {
		t.Fatal(err)
	}
	p.event("announced addresses one")
	listener, ok := failing.Inherited().Listener("late", ":81")
	if !ok {
		t.Fatal("a socket that is new is not there")
	}
	defer func() { _ = listener.Close() }()
	reach(t, late, listener)
	if err := announce(failing, strings.Repeat("x", 32<<10+1)); err == nil || !strings.Contains(err.Error(), "32768") {
		t.Errorf("too much: error %v", err)
	}
	_ = failing.Close()
	p.failure()
	p.event("announced  ")

	refused := new(handover.RefusedError)
	if err := announce(p.connect(), "bad"); !errors.As(err, &refused) || !strings.Contains(refused.Reason, "malformed") {
		t.Errorf("malformed: error %v", err)
	}
	p.failure()
	p.event("announced addresses bad")
	p.event("announced  ")

	client := p.connect()
	for _, data := range []string{"one", "two"} {
		if err := announce(client, data); err != nil {
			t.Fatal(err)
		}
		p.event("announced addresses " + data)
	}
	if err := errors.Join(client.TakeOver(t.Context()), client.Confirm()); err != nil {
		t.Fatal(err)
	}
	p.event("yield to 2.0.0")
	p.event("leave to 2.0.0")
	p.wait()
	if len(p.events) > 0 {
		t.Errorf("what was announced is forgotten: %s", <-p.events)
	}
	if err := announce(client, "late"); !errors.Is(err, handover.ErrPredecessorEnded) {
		t.Errorf("after the end: error %v", err)
	}
}

// TestAnnouncedWhileThePredecessorEnds has the running process end while the successor loads, which serves then.
func TestAnnouncedWhileThePredecessorEnds(t *testing.T) {
	p := newProcess(t)
	p.announced = func(state handover.State) error {
		p.events <- "announced " + state.Kind
		return nil
	}
	p.start(handover.Limits{})
	client := p.connect()
	if err := client.Announce(t.Context(), handover.State{Kind: "addresses", Version: 1}); err != nil {
		t.Fatal(err)
	}
	p.event("announced addresses")
	p.stop()
	p.wait()
	if err := client.TakeOver(t.Context()); !errors.Is(err, handover.ErrPredecessorEnded) {
		t.Errorf("error %v", err)
	}
	if len(p.events) > 0 {
		t.Errorf("%q, although the successor goes on", <-p.events)
	}
}

// TestAnnounceBetweenSignsOfLife has new sockets come while the successor says that it is loading.
func TestAnnounceBetweenSignsOfLife(t *testing.T) {
	p := newProcess(t)
	p.announced = func(handover.State) error { return nil }
	p.start(handover.Limits{})
	client, err := handover.ConnectWithin(t.Context(), p.path, "2.0.0", handover.Limits{Alive: time.Microsecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	for i := range 30 {
		p.listen("late", ":"+strconv.Itoa(81+i))
		if err := client.Announce(t.Context(), handover.State{Kind: "addresses", Version: 1}); err != nil {
			t.Fatal(err)
		}
	}
}
