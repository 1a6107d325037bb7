package server

// ReadNow reads what has come of the body, without waiting for more; 0 bytes without an error say that nothing has, or
// that the client waits for 100 Continue.
func (b *requestBody) ReadNow(p []byte) (int, error) {
	x := b.exchange
	if b.expects || !x.guard.Read() {
		return 0, nil
	}
	defer x.guard.EndRead()
	c := x.conn
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if b.closed || b.err != nil {
		return 0, nil
	}
	n := b.came.Take(&c.server.pool.Pools, p)
	if n > 0 {
		b.bytes += int64(n)
		b.use(n)
		c.out.start()
	}
	if b.ended && b.came.Empty() {
		return n, b.atEnd()
	}
	return n, nil
}
