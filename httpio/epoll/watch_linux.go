package epoll

import (
	"errors"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Watch is one epoll set that holds any number of connections. The set and its goroutine exist while there are
// connections. The zero value is ready.
type Watch struct {
	mutex   sync.Mutex
	set     *set
	conns   map[uint64]Conn
	readers map[uint64]Reader
	last    uint64
}

// set is the descriptor of an epoll set. Its file is non-blocking, so that the goroutine that waits takes no thread.
type set struct {
	file *os.File
	raw  syscall.RawConn
	fd   int
}

func newSet() (*set, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	s := &set{file: os.NewFile(uintptr(fd), "epoll"), fd: fd}
	if s.raw, err = s.file.SyscallConn(); err != nil {
		_ = s.file.Close()
		return nil, err
	}
	return s, nil
}

// Able reports whether the system can watch connections.
func (w *Watch) Able() bool { return true }

// Add begins to watch for the end of a connection, whose descriptor is raw. Registered edge-triggered for EPOLLRDHUP
// alone, a connection is put in once and stays until it is closed, so that a request costs nothing. The ticket is never
// 0; it is not ok where the system refuses.
func (w *Watch) Add(raw syscall.RawConn, conn Conn) (ticket uint64, ok bool) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if !w.register(raw, unix.EPOLLRDHUP|unix.EPOLLET) {
		return 0, false
	}
	w.conns[w.last] = conn
	return w.last, true
}

// AddReader waits for a connection, whose descriptor is raw, to become readable. After that, or Remove, it may be added
// again. The ticket is never 0; it is not ok where the system refuses, and then Readable is not called.
func (w *Watch) AddReader(raw syscall.RawConn, reader Reader) (ticket uint64, ok bool) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if !w.register(raw, unix.EPOLLIN|unix.EPOLLRDHUP|unix.EPOLLONESHOT) {
		return 0, false
	}
	w.readers[w.last] = reader
	return w.last, true
}

// register puts a descriptor into the set under a new ticket. The mutex is held.
func (w *Watch) register(raw syscall.RawConn, events uint32) bool {
	if w.set == nil {
		made, err := newSet()
		if err != nil {
			return false
		}
		w.set, w.conns, w.readers = made, make(map[uint64]Conn), make(map[uint64]Reader)
		go w.run(made)
	}
	w.last++
	event := unix.EpollEvent{
		Events: events,
		Fd:     int32(uint32(w.last)), //nolint:gosec // both halves of the ticket
		Pad:    int32(uint32(w.last >> 32)),
	}
	var err error
	control := func(fd uintptr) {
		err = unix.EpollCtl(w.set.fd, unix.EPOLL_CTL_ADD, int(fd), &event)
		if errors.Is(err, unix.EEXIST) { // A reader that was in the set before.
			err = unix.EpollCtl(w.set.fd, unix.EPOLL_CTL_MOD, int(fd), &event)
		}
	}
	if raw.Control(control) != nil || err != nil {
		w.stopUnused()
		return false
	}
	return true
}

// Remove removes a connection that is about to be closed; the system takes closed descriptors out of the set. The
// ticket 0 is none, and one that is not in the set does nothing.
func (w *Watch) Remove(ticket uint64) {
	if ticket == 0 {
		return
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	delete(w.conns, ticket)
	delete(w.readers, ticket)
	w.stopUnused()
}

// stopUnused closes an empty set, which ends its goroutine. The mutex is held.
func (w *Watch) stopUnused() {
	if len(w.conns) == 0 && len(w.readers) == 0 && w.set != nil {
		_ = w.set.file.Close()
		w.set = nil
	}
}

// maxEvents is how many events one call takes.
const maxEvents = 128

func (w *Watch) run(s *set) {
	var events [maxEvents]unix.EpollEvent
	n := 0
	var failed error
	wait := func(fd uintptr) bool {
		n, failed = unix.EpollWait(int(fd), events[:], 0)
		return n > 0 || failed != nil && failed != unix.EINTR
	}
	for {
		if err := s.raw.Read(wait); err != nil || n <= 0 {
			return
		}
		for _, event := range events[:n] {
			conn, reader := w.take(uint64(uint32(event.Fd)) | uint64(uint32(event.Pad))<<32)
			if conn != nil {
				conn.PeerClosed(event.Events&(unix.EPOLLHUP|unix.EPOLLERR) != 0)
			}
			if reader != nil {
				reader.Readable()
			}
		}
	}
}

// take returns what a ticket was given for, and removes it if that is a reader. After Remove there is neither.
func (w *Watch) take(ticket uint64) (Conn, Reader) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	conn, reader := w.conns[ticket], w.readers[ticket]
	if reader != nil {
		delete(w.readers, ticket)
		w.stopUnused()
	}
	return conn, reader
}
