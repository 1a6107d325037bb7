package overload

import "time"

// countShare is how much of the time is spent on counting descriptors at most.
const countShare = 0.02

// descriptors is the monitor of Descriptors.
type descriptors struct {
	open  func() (int, error)
	limit int
	// pressure is the last one, and rested when the next one may be measured.
	pressure float64
	rested   time.Time
}

// Descriptors returns a monitor of open file descriptors: the pressure is their part of the limit, which is above 0.
// While open fails the pressure is 1, because it may need a descriptor itself. It is called for a fiftieth of the time
// at most; meanwhile the pressure stays as it was.
func Descriptors(open func() (int, error), limit int) Monitor {
	return &descriptors{open: open, limit: limit}
}

// Pressure implements Monitor.
func (d *descriptors) Pressure(now time.Time) float64 {
	if now.Before(d.rested) {
		return d.pressure
	}
	began := time.Now()
	d.pressure = 1
	if open, err := d.open(); err == nil {
		d.pressure = float64(open) / float64(d.limit)
	}
	d.rested = now.Add(time.Duration(float64(time.Since(began)) / countShare))
	return d.pressure
}
