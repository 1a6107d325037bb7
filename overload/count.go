package overload

import "time"

// count is the monitor of Count.
type count struct {
	open  func() int64
	limit int64
}

// Count returns a monitor of something that is counted, such as open connections: the pressure is its part of the
// limit, which is above 0.
func Count(open func() int64, limit int64) Monitor { return count{open: open, limit: limit} }

// Pressure implements Monitor.
func (c count) Pressure(time.Time) float64 { return float64(c.open()) / float64(c.limit) }
