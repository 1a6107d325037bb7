package http1

// Close closes the idle connections and aborts those in use, switched ones too (101). There are no new ones afterwards:
// requests fail before anything is sent. The list that it goes through is touched once in the life of a connection, and
// by no request.
func (u *Upstream) Close() {
	u.mutex.Lock()
	u.closed = true
	for l := u.conns; l != nil; l = l.next {
		l.abort()
	}
	u.mutex.Unlock()
	u.CloseIdleConnections()
}

// over reports whether the upstream was closed.
func (u *Upstream) over() bool {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	return u.closed
}

// list takes a connection into the list of all; it is false once the upstream is closed.
func (u *Upstream) list(l *clientConn) bool {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	if u.closed {
		return false
	}
	if l.next = u.conns; l.next != nil {
		l.next.previous = l
	}
	u.conns = l
	return true
}

// forget takes a connection out of the list of all, where it may not be any more.
func (u *Upstream) forget(l *clientConn) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	switch {
	case l.previous != nil:
		l.previous.next = l.next
	case u.conns == l:
		u.conns = l.next
	default:
		return
	}
	if l.next != nil {
		l.next.previous = l.previous
	}
	l.next, l.previous = nil, nil
}
