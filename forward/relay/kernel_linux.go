package relay

import (
	"errors"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// rawAccess is whether descriptors are read and written past the connection.
	rawAccess = true
	// spliceAfter is after how many buffers in a row, at least half full, a flow is spliced.
	spliceAfter = 4
	// spliceLeast is what a splice must move, or else the flow is copied again: the two calls cost more then.
	spliceLeast = 8 << 10
	// spliceFlags do not have SPLICE_F_MORE, which withholds the end of a message for 200 ms.
	spliceFlags = unix.SPLICE_F_MOVE | unix.SPLICE_F_NONBLOCK
	// tcpClose is a socket's state after a reset, or after both directions have ended (TCP_CLOSE).
	tcpClose = 7
)

// kernel is the state of a flow that reads or writes descriptors. The functions are bound once, so that no read
// allocates.
type kernel struct {
	readable, writable func(fd uintptr) bool
	pipe               *pipe
	splicing           bool
	// full counts buffers in a row that were at least half full.
	full uint8
	// n and err are the result of readable, err of writable.
	n   int32
	err error
}

func (k *kernel) init(f *flow) {
	if f.source.plain != nil {
		k.readable = f.readable
	}
	if f.sink.plainOut {
		k.writable = f.writable
	}
}

// passRaw waits for bytes of a plain source and passes on what is there.
func (f *flow) passRaw() (*end, error) {
	k := &f.kernel
	k.n, k.err = 0, nil
	if err := f.source.tcp.Read(k.readable); err != nil {
		if f.join.parks && errors.Is(err, os.ErrDeadlineExceeded) {
			err = f.idle()
		}
		return f.source, err
	}
	if k.err != nil {
		return f.source, k.err
	}
	f.received.Add(int64(k.n))
	if k.pipe != nil {
		return f.sink, f.drain()
	}
	err := f.send(f.large[:k.n])
	f.putLarge()
	return f.sink, err
}

// expect limits the wait for bytes of a plain source, after which idle is called.
func (f *flow) expect() error {
	if f.source.plain == nil || !f.join.parks {
		return nil
	}
	wait := f.join.engine.parkAfter
	if wait <= 0 {
		wait = parkAfter
	}
	return f.source.plain.SetReadDeadline(time.Now().Add(wait))
}

// idle parks a flow that has received nothing since the last time.
func (f *flow) idle() error {
	if received := f.received.Load(); received != f.seen {
		f.seen = received
		return f.expect()
	}
	if f == &f.join.down {
		f.join.probe()
	}
	if f.join.park(f) {
		return errParked
	}
	return f.expect()
}

// readable reads what is there, or returns false if nothing is, with neither buffer nor pipe then.
func (f *flow) readable(fd uintptr) bool {
	k := &f.kernel
	if k.splicing && k.pipe == nil {
		if k.pipe = f.join.engine.pipes.get(f.join.engine.Reserve); k.pipe == nil {
			k.splicing, k.full = false, 0
		}
	}
	if !k.splicing && f.large == nil {
		f.large = f.join.engine.buffer()
	}
	n, err := f.readOnce(int(fd))
	if n > 0 {
		k.n = int32(n) //nolint:gosec // The size of a pipe or a buffer.
		f.judge(n)
		return true
	}
	f.putLarge()
	f.putPipe()
	switch {
	case errors.Is(err, unix.EAGAIN):
		return false
	case err != nil:
		k.err = err
	case f.wasReset(int(fd)):
		k.err = unix.ECONNRESET
	default:
		k.err = io.EOF
	}
	return true
}

// readOnce reads into the pipe, or into the buffer.
func (f *flow) readOnce(fd int) (int, error) {
	for {
		var n int
		var err error
		if p := f.kernel.pipe; p != nil {
			n, err = splice(fd, p.w, p.size)
			p.held = max(n, 0)
		} else {
			n, err = unix.Read(fd, f.large[:])
		}
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

// judge decides how the next bytes are read.
func (f *flow) judge(n int) {
	k := &f.kernel
	switch {
	case k.splicing && n < spliceLeast:
		k.splicing, k.full = false, 0
	case k.splicing:
	case n < bufferBytes/2:
		k.full = 0
	default:
		k.full++
		k.splicing = k.full >= spliceAfter && f.sink.plainOut
	}
}

// drain empties the pipe into the sink. A pipe that still holds bytes is not used again.
func (f *flow) drain() error {
	k := &f.kernel
	err := f.writeRaw()
	if err != nil {
		f.join.engine.pipes.destroy(k.pipe)
		k.pipe = nil
		return err
	}
	if !k.splicing {
		f.putPipe()
	}
	return nil
}

func (f *flow) putPipe() {
	if f.kernel.pipe != nil {
		f.join.engine.pipes.put(f.kernel.pipe)
		f.kernel.pipe = nil
	}
}

// writeRaw writes what the pipe holds, or what is unsent.
func (f *flow) writeRaw() error {
	f.kernel.err = nil
	if err := f.sink.tcp.Write(f.kernel.writable); err != nil {
		return err
	}
	return f.kernel.err
}

// writable writes until all is written, or returns false if the sink takes no more for now.
func (f *flow) writable(fd uintptr) bool {
	k := &f.kernel
	for {
		var n int
		var err error
		switch {
		case k.pipe != nil && k.pipe.held > 0:
			if n, err = splice(k.pipe.r, int(fd), k.pipe.held); n > 0 {
				k.pipe.held -= n
				f.spliced += int64(n)
			}
		case len(f.unsent) > 0:
			if n, err = unix.Write(int(fd), f.unsent); n > 0 {
				f.unsent = f.unsent[n:]
			}
		default:
			return true
		}
		switch {
		case n > 0:
			f.delivered.Add(int64(n))
		case errors.Is(err, unix.EAGAIN):
			return false
		case errors.Is(err, unix.EINTR):
		case err == nil:
			k.err = io.ErrUnexpectedEOF
			return true
		default:
			k.err = err
			return true
		}
	}
}

// wasReset reports whether the end of the source is a reset that was reported to a write before: it is where the socket
// is closed without an end in the other direction.
func (f *flow) wasReset(fd int) bool {
	return !f.back().ending.Load() && closed(fd)
}

// closed reports whether the socket is in the state TCP_CLOSE.
func closed(fd int) bool {
	info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	return err == nil && info.State == tcpClose
}

// watch waits, after the end of the source, until it is reset or closed: otherwise a peer that is gone would be noticed
// only by the next bytes for it.
func (f *flow) watch() {
	if f.source.tcp == nil {
		return
	}
	if f.source.plain != nil {
		if err := f.source.plain.SetReadDeadline(time.Time{}); err != nil {
			f.join.fail(f.source, err)
			return
		}
	}
	reset := false
	err := f.source.tcp.Read(func(fd uintptr) bool {
		if !closed(int(fd)) {
			return false
		}
		reset = !f.back().ending.Load()
		return true
	})
	switch {
	case err != nil:
		f.join.fail(f.source, err)
	case reset:
		f.join.fail(f.source, syscall.ECONNRESET)
	}
}
