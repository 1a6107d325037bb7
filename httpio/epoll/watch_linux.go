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
	entries map[uint64]entry
	last    uint64
}

// entry is what an event is reported to: one of the two.
type entry struct {
	conn   Conn
	reader Reader
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

// Add begins to watch for the end of a connection, whose descriptor is raw. Registered edge-triggered for EPOLLRDHUP
// alone, a connection is put in once and stays until it is closed, so that a request costs nothing. The ticket is never
// 0; it is not ok where the system refuses.
func (w *Watch) Add(raw syscall.RawConn, conn Conn) (ticket uint64, ok bool) {
	return w.add(raw, unix.EPOLLRDHUP|unix.EPOLLET, entry{conn: conn})
}

// AddReader waits for a connection, whose descriptor is raw, to become readable. After that, or Remove, it may be added
// again. The ticket is never 0; it is not ok where the system refuses, and then Readable is not called.
func (w *Watch) AddReader(raw syscall.RawConn, reader Reader) (ticket uint64, ok bool) {
	return w.add(raw, unix.EPOLLIN|unix.EPOLLRDHUP|unix.EPOLLONESHOT, entry{reader: reader})
}

func (w *Watch) add(raw syscall.RawConn, events uint32, added entry) (ticket uint64, ok bool) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.set == nil {
		made, err := newSet()
		if err != nil {
			return 0, false
		}
		w.set, w.entries = made, make(map[uint64]entry)
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
		return 0, false
	}
	w.entries[w.last] = added
	return w.last, true
}

// Remove removes a connection that is about to be closed; the system takes closed descriptors out of the set. The
// ticket 0 is none, and one that is not in the set does nothing.
func (w *Watch) Remove(ticket uint64) {
	if ticket == 0 {
		return
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	delete(w.entries, ticket)
	w.stopUnused()
}

// stopUnused closes an empty set, which ends its goroutine. The mutex is held.
func (w *Watch) stopUnused() {
	if len(w.entries) == 0 && w.set != nil {
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
			found := w.take(uint64(uint32(event.Fd)) | uint64(uint32(event.Pad))<<32)
			switch {
			case found.conn != nil:
				found.conn.PeerClosed(event.Events&(unix.EPOLLHUP|unix.EPOLLERR) != 0)
			case found.reader != nil:
				found.reader.Readable()
			}
		}
	}
}

// take returns the entry of a ticket, which is the zero value after Remove. It removes those of readers.
func (w *Watch) take(ticket uint64) entry {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	found := w.entries[ticket]
	if found.reader != nil {
		delete(w.entries, ticket)
		w.stopUnused()
	}
	return found
}
