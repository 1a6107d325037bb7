package relay

import "time"

// SetParkAfter has goroutines of connections that bring no bytes end after so long.
func (e *Engine) SetParkAfter(wait time.Duration) { e.parkAfter = wait }
