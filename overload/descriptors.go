package overload

import "time"

const (
	// countShare is how much of the time is spent on counting descriptors at most.
	countShare = 0.02
	// countInline is how long counting may take in the goroutine of the Ladder, where other monitors wait for it.
	countInline = 10 * time.Millisecond
)

// ConnectionDescriptors is how many descriptors a connection of a client takes: its own, and one to an endpoint.
const ConnectionDescriptors = 2

// descriptors is the monitor of Descriptors.
type descriptors struct {
	open        func() (int, error)
	connections func() int64
	limit       int
	// last is the last count, and rested when the next one may begin.
	last   descriptorCount
	rested time.Time
	// counting gets the count that is under way in another goroutine; nil without one.
	counting chan descriptorCount
}

// descriptorCount is one count of the open descriptors.
type descriptorCount struct {
	open int
	err  error
	// took is how long it has taken, and connections how many were open when it began.
	took        time.Duration
	connections int64
}

// Descriptors returns a monitor of open file descriptors: the pressure is their part of the limit, which is above 0.
// While open fails the pressure is 1, because it may need a descriptor itself. It is called for a fiftieth of the time
// at most, and in another goroutine when it took more than 10 ms the last time; calls do not overlap. Between two calls
// the last one is corrected by connections, which returns how many clients have open: a new connection adds
// ConnectionDescriptors, and one that has closed takes one away.
func Descriptors(open func() (int, error), connections func() int64, limit int) Monitor {
	return &descriptors{open: open, connections: connections, limit: limit}
}

// Pressure implements Monitor.
func (d *descriptors) Pressure(now time.Time) float64 {
	connections := d.connections()
	switch {
	case d.counting != nil:
		select {
		case count := <-d.counting:
			d.counting = nil
			d.take(count, now)
		default:
		}
	case now.Before(d.rested):
	case d.last.took <= countInline:
		d.take(d.count(connections), now)
	default:
		counting := make(chan descriptorCount, 1)
		d.counting = counting
		go func() { counting <- d.count(connections) }()
	}
	if d.last.err != nil {
		return 1
	}
	change := connections - d.last.connections
	if change > 0 {
		change *= ConnectionDescriptors
	}
	return float64(max(int64(d.last.open)+change, 0)) / float64(d.limit)
}

// count counts the descriptors.
func (d *descriptors) count(connections int64) descriptorCount {
	began := time.Now()
	open, err := d.open()
	return descriptorCount{open: open, err: err, took: time.Since(began), connections: connections}
}

// take makes a count the last one.
func (d *descriptors) take(count descriptorCount, now time.Time) {
	d.last = count
	d.rested = now.Add(time.Duration(float64(count.took) / countShare))
}
