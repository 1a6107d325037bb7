package datagram

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/sluiceproxy/sluice/httpio/descriptors"
)

const (
	// maxEvents is how many events one call takes.
	maxEvents = 128
	// The first slots of a worker's events; those of sessions follow.
	listenerSlot = 0
	wakerSlot    = 1
	firstSlot    = 2
	// lateness is the part of the time-out, as a divisor, by which a session may end late, so that those that become idle
	// one after another are ended together.
	lateness = 32
)

// broadcast is an address that no datagram can come from (RFC 919, section 7).
var broadcast = netip.AddrFrom4([4]byte{255, 255, 255, 255})

// serve runs a worker for each socket.
func (s *Server) serve(ctx context.Context, sockets []net.PacketConn) error {
	var workers []*worker
	var failed error
	for i, conn := range sockets {
		one, err := newWorker(s, conn, i)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		workers = append(workers, one)
	}
	if failed != nil {
		s.refuse()
		closeAll(workers)
		return fmt.Errorf("sockets for datagrams: %w", failed)
	}
	if !s.begin(slices.Clone(workers)) {
		closeAll(workers)
		workers = nil
	}
	var running sync.WaitGroup
	for _, one := range workers {
		running.Go(one.run)
	}
	<-ctx.Done()
	for _, one := range workers {
		one.stop()
	}
	running.Wait()
	return nil
}

// worker relays the datagrams of one socket of the entrypoint. All but its waker belongs to one goroutine.
type worker struct {
	table
	*waker
	listener *listener
	// position is that of the socket in the group of the address.
	position int
	// set is the epoll set. Its file is non-blocking, so that the goroutine that waits takes no thread.
	set  *os.File
	raw  syscall.RawConn
	poll func(fd uintptr) bool
	// events are those of the last poll.
	events [maxEvents]unix.EpollEvent
	ready  int
	failed error
	// armed is whether the set's deadline is set, at which the next session may be idle.
	armed bool

	slots      []*session
	free       []int32
	generation int32

	memory    []byte
	clients   intake
	endpoints intake
	out       run
	replies   replies
	// pending is how many slots hold answers that are not sent yet, lost how many datagrams the kernel has dropped.
	pending int
	lost    uint32
}

func newWorker(server *Server, conn net.PacketConn, position int) (*worker, error) {
	listener, err := takeOver(conn)
	if err != nil {
		return nil, err
	}
	w := &worker{listener: listener, position: position, slots: make([]*session, firstSlot)}
	w.table = newTable(server, w)
	w.poll = w.pollOnce
	if err := w.prepare(); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

// prepare makes what the worker waits with, and its buffers.
func (w *worker) prepare() error {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return err
	}
	w.set = os.NewFile(uintptr(fd), "epoll")
	if w.raw, err = w.set.SyscallConn(); err != nil {
		return err
	}
	if w.waker, err = newWaker(); err != nil {
		return err
	}
	if w.memory, err = newMemory(); err != nil {
		return err
	}
	w.clients.init(w.memory, true)
	w.endpoints.init(w.memory, false)
	w.replies.init()
	return errors.Join(w.watch(w.waker.fd, wakerSlot, 0), w.watch(w.listener.fd, listenerSlot, 0))
}

// watch has the set report when there is something to read.
func (w *worker) watch(fd int, slot, generation int32) error {
	event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: slot, Pad: generation}
	var err error
	control := w.raw.Control(func(set uintptr) { err = unix.EpollCtl(int(set), unix.EPOLL_CTL_ADD, fd, &event) })
	return errors.Join(control, err)
}

// unwatch undoes watch. Closing a descriptor does not while another process has the socket.
func (w *worker) unwatch(fd int) {
	_ = w.raw.Control(func(set uintptr) { _ = unix.EpollCtl(int(set), unix.EPOLL_CTL_DEL, fd, nil) })
}

// closeAll closes workers that have not run.
func closeAll(workers []*worker) {
	for _, one := range workers {
		one.close()
	}
}

func (w *worker) close() {
	if w.waker != nil {
		w.waker.close()
	}
	if w.set != nil {
		_ = w.set.Close()
	}
	if w.memory != nil {
		_ = unix.Munmap(w.memory)
	}
	_ = unix.Close(w.listener.fd)
}

// run relays until the waker is stopped.
func (w *worker) run() {
	defer w.close()
	defer w.server.ended(w)
	for w.waitParked() && !w.stopped.Load() && w.wait() {
		w.now = w.server.instant()
		clients := false
		for _, event := range w.events[:w.ready] {
			switch event.Fd {
			case listenerSlot:
				clients = true
			case wakerSlot:
				w.clear()
			default:
				if s := w.slots[event.Fd]; s != nil && s.socket.generation == event.Pad {
					w.fromEndpoint(s)
				}
			}
		}
		w.flush()
		if clients {
			w.fromClients()
		}
		if w.swept.Swap(false) {
			w.endClosed()
		}
		w.arm()
	}
	w.now = w.server.instant()
	w.endAll()
}

// wait waits for events, or until the deadline of the set, after which it ends idle sessions. It returns false if
// the set is unusable.
func (w *worker) wait() bool {
	w.ready, w.failed = 0, nil
	switch err := w.raw.Read(w.poll); {
	case errors.Is(err, os.ErrDeadlineExceeded):
		w.now = w.server.instant()
		w.armed = false
		if next := w.expire(); next > 0 {
			w.armAt(max(next, w.now+w.server.options.Timeout/lateness))
		} else {
			_ = w.set.SetReadDeadline(time.Time{})
		}
		return true
	case err != nil:
		return false
	}
	return w.failed == nil
}

// pollOnce takes the events that there are, and returns false if there are none.
func (w *worker) pollOnce(fd uintptr) bool {
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, fd, uintptr(unsafe.Pointer(&w.events[0])), maxEvents, 0, 0, 0)
	for errno == unix.EINTR { // What is there now may not be reported again.
		n, _, errno = unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, fd, uintptr(unsafe.Pointer(&w.events[0])), maxEvents, 0, 0, 0)
	}
	if errno != 0 {
		w.failed = errno
		return true
	}
	w.ready = int(n)
	return n > 0
}

// arm sets the deadline of the set if there are sessions.
func (w *worker) arm() {
	if !w.armed && len(w.sessions) > 0 {
		w.armAt(w.now + w.server.options.Timeout)
	}
}

func (w *worker) armAt(instant time.Duration) {
	w.armed = true
	_ = w.set.SetReadDeadline(w.server.epoch.Add(instant))
}

// connect makes the socket of a session.
func (w *worker) connect(s *session) error {
	fd, err := dial(s.target.Member.Endpoint().Key().Address, w.listener.joins)
	if err != nil {
		return err
	}
	return w.use(s, fd)
}

// use makes a connected descriptor the socket of a session, or closes it.
func (w *worker) use(s *session, fd int) error {
	if w.server.options.Descriptors.Reserved(fd) {
		_ = unix.Close(fd)
		return descriptors.ErrReserved
	}
	slot := int32(len(w.slots)) //nolint:gosec // as many as descriptors
	if last := len(w.free) - 1; last >= 0 {
		slot, w.free = w.free[last], w.free[:last]
	} else {
		w.slots = append(w.slots, nil)
	}
	w.generation++
	if err := w.watch(fd, slot, w.generation); err != nil {
		_ = unix.Close(fd)
		w.free = append(w.free, slot)
		return err
	}
	s.socket = socket{fd: fd, slot: slot, generation: w.generation, position: w.position, burst: 1}
	s.socket.length = writeName(&s.socket.name, s.key.client, w.listener.ipv6)
	if local := s.key.local; local.IsValid() && !local.IsMulticast() && local != broadcast {
		s.socket.control = appendSource(nil, local, w.listener.ipv6)
	}
	w.slots[slot] = s
	return nil
}

// disconnect closes the socket of a session.
func (w *worker) disconnect(s *session) {
	w.unwatch(s.socket.fd)
	_ = unix.Close(s.socket.fd)
	w.slots[s.socket.slot] = nil
	w.free = append(w.free, s.socket.slot)
}
