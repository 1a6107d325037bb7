package datagram

import (
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// waker is an eventfd, by which other goroutines wake the one that waits in an epoll set.
type waker struct {
	// swept is set when sessions are to end whose connections are closed, stopped when all are.
	swept, stopped atomic.Bool
	// place is where the goroutine is to wait; nil while it reads.
	place atomic.Pointer[place]
	mutex sync.Mutex
	// fd is -1 once it is closed.
	fd int
}

func newWaker() (*waker, error) {
	fd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	return &waker{fd: fd}, err
}

func (w *waker) sweep() {
	w.swept.Store(true)
	w.wake()
}

func (w *waker) stop() {
	w.stopped.Store(true)
	w.wake()
}

func (w *waker) park(at *place) {
	w.place.Store(at)
	w.wake()
}

func (w *waker) wake() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.fd >= 0 {
		_, _ = unix.Write(w.fd, []byte{7: 1})
	}
}

// clear makes the next wake an event again.
func (w *waker) clear() {
	var b [8]byte
	_, _ = unix.Read(w.fd, b[:])
}

func (w *waker) close() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	_ = unix.Close(w.fd)
	w.fd = -1
}
