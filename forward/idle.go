package forward

// IdleConnections returns how many connections of HTTP/1.1 are kept that no request uses, and how many of HTTP/2 there are, which
// any number of requests may use.
func (c *connections) IdleConnections() (idle, shared int) {
	idle = c.upgrades.Idle()
	if c.main != nil && c.main != c.upgrades {
		idle += c.main.Idle()
	}
	if c.multiplexed != nil {
		shared = c.multiplexed.live.count()
	}
	return idle, shared
}

func (l *live) count() int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return len(l.conns)
}
