package relay

import (
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/sluiceproxy/sluice/httpio/descriptors"
)

const (
	// pipeBytes is the capacity of a pipe, if the kernel grants it (pipe-user-pages-soft).
	pipeBytes = 256 << 10
	// maxPipes bounds the pipes of an engine, lent and idle: two descriptors each. A flow that gets none is copied.
	maxPipes = 256
)

// pipe is a pipe of the kernel.
type pipe struct {
	r, w int
	// size is the capacity, held is how many bytes are in it.
	size, held int
	cleanup    runtime.Cleanup
}

// pipes lends pipes. Those that are not lent are closed by the garbage collector in time.
type pipes struct {
	idle  sync.Pool
	count atomic.Int64
}

// get returns an empty pipe, or nil if there is none without a descriptor in reserve.
func (p *pipes) get(reserve *descriptors.Limit) *pipe {
	if recycled, ok := p.idle.Get().(*pipe); ok {
		return recycled
	}
	if p.count.Add(1) > maxPipes {
		p.count.Add(-1)
		return nil
	}
	var fds [2]int
	if unix.Pipe2(fds[:], unix.O_CLOEXEC|unix.O_NONBLOCK) != nil {
		p.count.Add(-1)
		return nil
	}
	if reserve.Reserved(max(fds[0], fds[1])) {
		p.close(fds)
		return nil
	}
	created := &pipe{r: fds[0], w: fds[1]}
	size, err := unix.FcntlInt(uintptr(created.w), unix.F_SETPIPE_SZ, pipeBytes)
	if err != nil {
		size, err = unix.FcntlInt(uintptr(created.w), unix.F_GETPIPE_SZ, 0)
	}
	if err != nil || size < bufferBytes {
		p.close(fds) // Too small to be better than copying.
		return nil
	}
	created.size = size
	created.cleanup = runtime.AddCleanup(created, p.close, fds)
	return created
}

// put takes an empty pipe back.
func (p *pipes) put(used *pipe) { p.idle.Put(used) }

// destroy closes a pipe that holds bytes.
func (p *pipes) destroy(used *pipe) {
	used.cleanup.Stop()
	p.close([2]int{used.r, used.w})
}

func (p *pipes) close(fds [2]int) {
	_ = unix.Close(fds[0])
	_ = unix.Close(fds[1])
	p.count.Add(-1)
}

// splice moves bytes between a pipe and a socket, one of which is from.
func splice(from, to, most int) (int, error) {
	n, err := unix.Splice(from, nil, to, nil, most, spliceFlags)
	return int(n), err
}
