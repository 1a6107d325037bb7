package http1

import (
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// idleWatch is one epoll set that holds idle connections of any number of upstreams. It waits for one thing of each:
// that the endpoint closed it. Registered edge-triggered for EPOLLRDHUP alone, a connection in use costs nothing, so it
// is put in once and stays until it is closed. The set and its goroutine are there while there are connections.
type idleWatch struct {
	mutex sync.Mutex
	set   *epollSet
	conns map[uint64]*clientConn
	last  uint64
}

// epollSet is the descriptor of a set. Its file is non-blocking, so that the goroutine that waits takes no thread.
type epollSet struct {
	file *os.File
	raw  syscall.RawConn
	fd   int
}

func newEpollSet() (*epollSet, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	s := &epollSet{file: os.NewFile(uintptr(fd), "epoll"), fd: fd}
	if s.raw, err = s.file.SyscallConn(); err != nil {
		_ = s.file.Close()
		return nil, err
	}
	return s, nil
}

// add begins to watch a connection, if it isn't watched yet. Where the system refuses, connections are still looked at
// before they are used.
func (w *idleWatch) add(l *clientConn) {
	if l.watched != 0 || l.raw == nil {
		return
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.set == nil {
		set, err := newEpollSet()
		if err != nil {
			return
		}
		w.set, w.conns = set, make(map[uint64]*clientConn)
		go w.run(set)
	}
	w.last++
	id := w.last
	event := unix.EpollEvent{Events: unix.EPOLLRDHUP | unix.EPOLLET, Fd: int32(uint32(id)), Pad: int32(uint32(id >> 32))}
	var err error
	control := func(descriptor uintptr) { err = unix.EpollCtl(w.set.fd, unix.EPOLL_CTL_ADD, int(descriptor), &event) }
	if l.raw.Control(control) != nil || err != nil {
		w.stopUnused()
		return
	}
	l.watched = id
	w.conns[id] = l
}

// remove forgets a connection that is about to be closed; the system takes closed descriptors out of the set by itself.
func (w *idleWatch) remove(l *clientConn) {
	if l.watched == 0 {
		return
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	delete(w.conns, l.watched)
	l.watched = 0
	w.stopUnused()
}

// stopUnused closes the set when it is empty, which ends its goroutine. The mutex is held.
func (w *idleWatch) stopUnused() {
	if len(w.conns) == 0 {
		_ = w.set.file.Close()
		w.set = nil
	}
}

// watchEvents is how many events one call takes.
const watchEvents = 128

// run drops the connections whose endpoint has closed them, until the set is closed.
func (w *idleWatch) run(set *epollSet) {
	var events [watchEvents]unix.EpollEvent
	n := 0
	var failed error
	wait := func(descriptor uintptr) bool {
		n, failed = unix.EpollWait(int(descriptor), events[:], 0)
		return n > 0 || failed != nil && failed != unix.EINTR
	}
	for {
		if err := set.raw.Read(wait); err != nil || n <= 0 {
			return
		}
		for _, event := range events[:n] {
			id := uint64(uint32(event.Fd)) | uint64(uint32(event.Pad))<<32
			if l := w.find(id); l != nil {
				l.upstream.drop(l)
			}
		}
	}
}

func (w *idleWatch) find(id uint64) *clientConn {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.conns[id]
}
