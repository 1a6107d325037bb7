package http1

import (
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// goneWatch is one epoll set that holds all connections of a server, edge-triggered for EPOLLRDHUP alone. A connection
// is put in once, so that a request costs nothing. The set and its goroutine are there while there are connections.
type goneWatch struct {
	mutex sync.Mutex
	set   *epollSet
	conns map[uint64]*serverConn
	last  uint64
}

// add begins to watch a connection. Where the system refuses, it is not ok.
func (w *goneWatch) add(raw syscall.RawConn, c *serverConn) (ticket uint64, ok bool) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.set == nil {
		set, err := newEpollSet()
		if err != nil {
			return 0, false
		}
		w.set, w.conns = set, make(map[uint64]*serverConn)
		go w.run(set)
	}
	w.last++
	event := unix.EpollEvent{
		Events: unix.EPOLLRDHUP | unix.EPOLLET,
		Fd:     int32(uint32(w.last)), //nolint:gosec // both halves of the ticket
		Pad:    int32(uint32(w.last >> 32)),
	}
	var err error
	control := func(fd uintptr) { err = unix.EpollCtl(w.set.fd, unix.EPOLL_CTL_ADD, int(fd), &event) }
	if raw.Control(control) != nil || err != nil {
		w.stopUnused()
		return 0, false
	}
	w.conns[w.last] = c
	return w.last, true
}

// remove forgets a connection. The system takes descriptors that are closed out of the set.
func (w *goneWatch) remove(ticket uint64) {
	if ticket == 0 {
		return
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	delete(w.conns, ticket)
	w.stopUnused()
}

// stopUnused closes an empty set, which ends its goroutine. The mutex is held.
func (w *goneWatch) stopUnused() {
	if len(w.conns) == 0 && w.set != nil {
		_ = w.set.file.Close()
		w.set = nil
	}
}

func (w *goneWatch) run(set *epollSet) {
	var events [watchEvents]unix.EpollEvent
	n := 0
	var failed error
	wait := func(fd uintptr) bool {
		n, failed = unix.EpollWait(int(fd), events[:], 0)
		return n > 0 || failed != nil && failed != unix.EINTR
	}
	for {
		if err := set.raw.Read(wait); err != nil || n <= 0 {
			return
		}
		for _, event := range events[:n] {
			c := w.find(uint64(uint32(event.Fd)) | uint64(uint32(event.Pad))<<32)
			switch {
			case c == nil:
			case event.Events&(unix.EPOLLHUP|unix.EPOLLERR) != 0:
				c.gone()
			default:
				c.silent()
			}
		}
	}
}

func (w *goneWatch) find(ticket uint64) *serverConn {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.conns[ticket]
}
