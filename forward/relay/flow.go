package relay

import (
	"errors"
	"io"
	"sync/atomic"
)

// flow is one direction.
type flow struct {
	join         *Joined
	source, sink *end
	// received and delivered count bytes. What is between them is lost if the connection ends.
	received, delivered atomic.Int64
	spliced             int64
	// ending is set before the end is passed on to sink.
	ending atomic.Bool
	// ended, and the ticket under which the source is parked, are guarded by the mutex of join; 0 is not parked.
	ended  bool
	ticket uint64
	// seen is how much was received when the goroutine last came to its deadline.
	seen int64
	// eager reads a source by the large buffer, because what was read filled the last one.
	eager bool

	// small is held while a source is waited for by reading it; large is held as long as there are bytes.
	small *smallBuffer
	large *buffer
	// unsent are bytes of a buffer, and first of all those that come before the bytes of source.
	unsent []byte
	kernel kernel
}

func (f *flow) init(j *Joined, source, sink *end) {
	f.join, f.source, f.sink = j, source, sink
	f.kernel.init(f)
}

// back is the other direction.
func (f *flow) back() *flow {
	if f == &f.join.up {
		return &f.join.down
	}
	return &f.join.up
}

// progress counts what happens to bytes.
func (f *flow) progress() int64 { return f.received.Load() + f.delivered.Load() }

// lost reports whether there are bytes that sink has not got.
func (f *flow) lost() bool { return f.received.Load() != f.delivered.Load() }

// errParked ends the goroutine of a flow, but not the flow.
var errParked = errors.New("parked")

// run passes on bytes until the flow is parked or has ended, and then watches for the reset of its source until all has
// ended.
func (f *flow) run() {
	failed, err := f.begin()
	if errors.Is(err, errParked) {
		return // Another goroutine may run already.
	}
	f.release()
	switch {
	case !errors.Is(err, io.EOF) || failed != f.source:
		f.join.fail(failed, err)
	case f.join.ended(f):
		f.watch()
	}
	f.join.leave(1)
}

// begin sets the deadline of a source that can be parked, and passes on bytes.
func (f *flow) begin() (*end, error) {
	if err := f.expect(); err != nil {
		return f.source, err
	}
	return f.pass()
}

// Readable continues a parked flow.
func (f *flow) Readable() {
	f.join.mutex.Lock()
	parked := f.ticket != 0
	f.ticket = 0
	f.join.mutex.Unlock()
	if parked {
		go f.run()
	}
}

// pass returns the side that failed or, with io.EOF, ended.
func (f *flow) pass() (*end, error) {
	f.received.Add(int64(len(f.unsent)))
	if err := f.send(f.unsent); err != nil {
		return f.sink, err
	}
	f.unsent = nil // The flow may last for days.
	for {
		var failed *end
		var err error
		if f.source.plain != nil {
			failed, err = f.passRaw()
		} else {
			failed, err = f.passStream()
		}
		if err != nil {
			return failed, err
		}
	}
}

// passStream passes on what one Read returns.
func (f *flow) passStream() (*end, error) {
	n, err := f.source.conn.Read(f.room())
	if n > 0 {
		f.received.Add(int64(n))
		if sendErr := f.send(f.room()[:n]); sendErr != nil {
			return f.sink, sendErr
		}
	}
	f.fit(n)
	return f.source, err
}

// room is the buffer for a source that is waited for by reading it.
func (f *flow) room() []byte {
	if f.eager {
		if f.large == nil {
			f.large = f.join.engine.buffer()
		}
		return f.large[:]
	}
	if f.small == nil {
		f.small = f.join.engine.smallBuffer()
	}
	return f.small[:]
}

// fit chooses the buffer of the next read, and returns the other. A record of TLS is read at once at most, 16 KiB or
// what the small buffer has left of it, which counts as a sign of more.
func (f *flow) fit(n int) {
	if f.eager {
		f.eager = n >= bufferBytes/2-smallBytes
	} else {
		f.eager = n == smallBytes
	}
	if f.eager && f.small != nil {
		f.join.engine.small.Put(f.small)
		f.small = nil
	}
	if !f.eager {
		f.putLarge()
	}
}

// send writes bytes to the sink.
func (f *flow) send(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	if f.sink.plainOut {
		f.unsent = p
		err := f.writeRaw()
		f.unsent = nil
		return err
	}
	n, err := f.sink.conn.Write(p)
	f.delivered.Add(int64(n))
	return err
}

func (f *flow) putLarge() {
	if f.large != nil {
		f.join.engine.buffers.Put(f.large)
		f.large = nil
	}
}

// release returns what is held.
func (f *flow) release() {
	f.putLarge()
	f.putPipe()
	if f.small != nil {
		f.join.engine.small.Put(f.small)
		f.small = nil
	}
}
