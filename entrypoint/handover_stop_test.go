package entrypoint_test

import (
	"bufio"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/entrypoint"
	"github.com/sluiceproxy/sluice/static"
)

// closed returns a channel that is closed.
func closed() <-chan struct{} {
	channel := make(chan struct{})
	close(channel)
	return channel
}

// TestHandedOverStops ends idle connections when the process is to end, and lets requests finish.
func TestHandedOverStops(t *testing.T) {
	t.Parallel()
	stopping := make(chan struct{})
	first := newGeneration(t, "first", nil, func(c *static.EntryPoint, _ *entrypoint.Dependencies) {
		c.Transport.LifeCycle.GraceTimeOut = static.Duration(timeout)
	}).serve()
	idle := first.dial()
	say(t, idle, get)
	answer(t, bufio.NewReader(idle))
	first.park()
	first.end(entrypoint.HandedOver{Drain: time.Hour, Stopping: stopping})
	first.eventually("draining", first.entrypoint.Draining)
	close(stopping)
	if n, err := idle.Read(make([]byte, 1)); err == nil || isTimeout(err) {
		t.Errorf("the idle connection stays: %d bytes, error %v", n, err)
	}
	first.wait()
}
