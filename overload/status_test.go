package overload_test

import (
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/overload"
	"github.com/sluiceproxy/sluice/static"
)

// stuck is a monitor whose measurement lasts until a channel is closed.
type stuck struct{ begun, end chan struct{} }

func (s stuck) Pressure(time.Time) float64 {
	select {
	case s.begun <- struct{}{}:
	default:
	}
	<-s.end
	return 0
}

// TestStatusDoesNotWaitForAMeasurement reads the state while a monitor measures.
func TestStatusDoesNotWaitForAMeasurement(t *testing.T) {
	t.Parallel()
	monitor := stuck{begun: make(chan struct{}, 1), end: make(chan struct{})}
	config := defaults()
	config.Interval = static.Duration(time.Millisecond)
	m := overload.New(config, overload.Options{
		Monitors: []overload.Monitored{{Name: "memory", Monitor: monitor}}, Logger: &lines{},
	})
	run(t, m)
	defer close(monitor.end)
	<-monitor.begun
	read := make(chan overload.Status, 1)
	go func() { read <- m.Status() }()
	limit := time.NewTimer(10 * time.Second)
	defer limit.Stop()
	select {
	case status := <-read:
		if len(status.Pressures) != 1 {
			t.Errorf("status %+v", status)
		}
	case <-limit.C:
		t.Error("the status waits for the measurement")
	}
}
