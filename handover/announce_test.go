package handover_test

import (
	"errors"
	"strings"
	"testing"

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
