package client

import (
	"net"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/sluiceproxy/sluice/http2/wire"
)

const (
	// maxOut is how many bytes of bodies wait to be written at most, and maxControl how many bytes there are in all before
	// nothing more is read.
	maxOut     = 64 << 10
	maxControl = 128 << 10
	// writeTimeout is how long an endpoint may accept no byte, sliceBytes how much is written within it.
	writeTimeout = time.Minute
	sliceBytes   = 32 << 10
	// surelyTaken is how many bytes a connection takes whether the endpoint reads or not: the buffers of TCP are larger.
	surelyTaken = 32 << 10
	// lastTime is how long what is left of a connection may take to be written.
	lastTime = 500 * time.Millisecond
)

// queue holds the frames that are to be written. The mutex of the connection guards it, and is not held while bytes are
// written.
type queue struct {
	conn *clientConn
	// pending is what comes next; nil where nothing does.
	pending *[]byte
	// writing says that a goroutine is writing.
	writing bool
	// waiters are the uploads that wait for a window or for room.
	waiters []*RoundTrip
	// written is signalled when something was written.
	written sync.Cond
	// err is why nothing more can be queued.
	err error
	// armed is the write deadline that is set, by the clock of the upstream. It belongs to the goroutine that writes.
	armed time.Duration
	// passed is how many bytes were taken for writing, and read how many of them the endpoint has read at least.
	passed, read int64
}

func (q *queue) init(c *clientConn) {
	q.conn = c
	q.written.L = &c.mutex
}

// room returns the slice to which a frame is appended, and set stores it.
func (q *queue) room() []byte {
	if q.pending == nil {
		q.pending = q.conn.upstream.resources.pools.Frames()
	}
	return *q.pending
}

func (q *queue) set(b []byte) { *q.pending = b }

// size returns how many bytes are to be written.
func (q *queue) size() int {
	if q.pending == nil {
		return 0
	}
	return len(*q.pending)
}

// position is how many bytes have been queued so far.
func (q *queue) position() int64 { return q.passed + int64(q.size()) }

// free returns how many bytes of a body have room, in one frame.
func (q *queue) free() int { return maxOut - q.size() - wire.HeaderBytes }

// start has what there is written by another goroutine.
func (q *queue) start() {
	if !q.writing && q.size() > 0 && q.err == nil {
		q.writing = true
		go q.run()
	}
}

// run writes as long as there is something.
func (q *queue) run() {
	q.conn.mutex.Lock()
	defer q.conn.mutex.Unlock()
	for q.size() > 0 {
		q.write()
	}
	q.idle()
}

// flush writes what there is after the other goroutines that are ready have had a turn: their frames go into the same
// write, and the same record of TLS. What could wait for the endpoint to read is left to another goroutine, so that the
// caller notices the end of its request, and so is what comes while it writes.
func (q *queue) flush() {
	if q.writing || q.size() == 0 || q.err != nil {
		return
	}
	q.writing = true
	q.conn.mutex.Unlock()
	runtime.Gosched()
	q.conn.mutex.Lock()
	if q.position()-q.read <= surelyTaken {
		q.write()
	}
	if q.size() > 0 {
		go q.run()
		return
	}
	q.idle()
}

// idle ends writing. The mutex is held.
func (q *queue) idle() {
	q.writing = false
	if q.err != nil {
		q.conn.close()
	}
	q.written.Broadcast()
}

// write writes what there is. The mutex is held, but for the write.
func (q *queue) write() {
	c := q.conn
	batch := q.pending
	q.pending = nil
	if batch == nil {
		return
	}
	q.passed += int64(len(*batch))
	c.mutex.Unlock()
	err := q.writeBatch(*batch)
	c.upstream.resources.pools.PutFrames(batch)
	c.mutex.Lock()
	if err != nil {
		q.drop()
		c.shutLocked(err)
		return
	}
	q.wake()
	q.written.Broadcast()
}

// writeBatch writes a batch. Only one goroutine writes at a time.
func (q *queue) writeBatch(batch []byte) error {
	for len(batch) > 0 {
		if err := q.arm(); err != nil {
			return err
		}
		n := min(len(batch), sliceBytes)
		if _, err := q.conn.rwc.Write(batch[:n]); err != nil {
			return err
		}
		batch = batch[n:]
	}
	return nil
}

// arm sets the write deadline, unless one is set between half of its time and all, or the connection has ended.
func (q *queue) arm() error {
	u := q.conn.upstream
	now := u.clock()
	if q.armed-now > writeTimeout/2 {
		return nil
	}
	q.conn.mutex.Lock()
	defer q.conn.mutex.Unlock()
	if q.err != nil {
		return nil // The deadline is that of the end.
	}
	q.armed = now + writeTimeout
	return q.conn.rwc.SetWriteDeadline(u.start.Add(q.armed))
}

// end has what there is written as the last, and the connection closed then. The mutex is held.
func (q *queue) end(err error) {
	q.start()
	q.err = err
	q.wake()
	q.written.Broadcast()
	if q.writing {
		// A write that is under way, and the last one, have a moment.
		_ = q.conn.rwc.SetWriteDeadline(time.Now().Add(lastTime))
		return
	}
	q.conn.close()
}

// drop gives up what there is. The mutex is held.
func (q *queue) drop() {
	if q.pending != nil {
		q.conn.upstream.resources.pools.PutFrames(q.pending)
		q.pending = nil
	}
	if q.err == nil {
		q.err = net.ErrClosed
	}
}

// await waits until something has changed for an upload. The mutex is held, but for the wait.
func (q *queue) await(rt *RoundTrip) {
	q.waiters = append(q.waiters, rt)
	rt.sendable.Wait()
	if at := slices.Index(q.waiters, rt); at >= 0 {
		q.waiters = slices.Delete(q.waiters, at, at+1)
	}
}

// wake has the uploads go on that wait. The mutex is held.
func (q *queue) wake() {
	for _, rt := range q.waiters {
		rt.sendable.Signal()
	}
}
