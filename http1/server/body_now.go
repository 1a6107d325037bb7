package server

import "io"

// ReadNow reads what has come of a body with a length, without waiting for more; 0 bytes without an error say that
// nothing has. Package client sends such bytes together with the head of the request.
func (b *requestBody) ReadNow(p []byte) (int, error) {
	x := b.exchange
	if b.chunks != nil || b.expects || !x.guard.Read() {
		return 0, nil
	}
	defer x.guard.EndRead()
	if x.hijacked.Load() || b.closed.Load() || b.ended.Load() || b.err != nil {
		return 0, nil
	}
	c := x.conn
	p = p[:min(int64(len(p)), b.left)]
	n := 0
	if c.at < c.end {
		n = copy(p, c.in[c.at:c.end])
		c.at += n
		c.release()
	} else if c.plain != nil {
		n = readNow(c.plain, p)
	}
	if n == 0 {
		return 0, nil
	}
	b.started.Store(true)
	if b.left -= int64(n); b.left == 0 {
		b.end()
		return n, io.EOF
	}
	return n, nil
}
