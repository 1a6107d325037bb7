package server

import (
	"math"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/httpio"
)

const (
	// maxOut is how many bytes of bodies wait to be written at most, and maxControl how many bytes there are in all before
	// nothing more is read.
	maxOut     = 64 << 10
	maxControl = 128 << 10
)

// outQueue holds the frames that are to be written. The mutex of the connection guards it, and is not held while bytes
// are written.
type outQueue struct {
	conn *serverConn
	// pending is what comes next; nil where nothing does.
	pending *[]byte
	// writing says that a goroutine is writing, which goes on as long as there is something.
	writing bool
	// ending are the exchanges whose last frame is in pending; spare is memory for others.
	ending, spare []*exchange
	// waiters are the exchanges that wait for a window or for room.
	waiters []*exchange
	// written is signalled when the writer has nothing more to do.
	written sync.Cond
	// err is why nothing can be written.
	err error
	// armed is the write deadline that is set, in nanoseconds since the start of the connection.
	armed atomic.Int64
}

func (q *outQueue) init(c *serverConn) {
	q.conn = c
	q.written.L = &c.mutex
}

// room returns the slice to which a frame is appended, and set stores it.
func (q *outQueue) room() []byte {
	if q.pending == nil {
		q.pending = q.conn.server.pool.Frames()
	}
	return *q.pending
}

func (q *outQueue) set(b []byte) { *q.pending = b }

// size returns how many bytes are to be written.
func (q *outQueue) size() int {
	if q.pending == nil {
		return 0
	}
	return len(*q.pending)
}

// free returns how many bytes of bodies have room.
func (q *outQueue) free() int { return maxOut - q.size() }

// kick has what there is written by another goroutine, and waits where that is so much that the client does not read.
func (q *outQueue) kick() {
	q.conn.mutex.Lock()
	defer q.conn.mutex.Unlock()
	q.start()
	for q.size() > maxControl && q.err == nil {
		q.written.Wait()
	}
}

// start has what there is written by another goroutine.
func (q *outQueue) start() {
	if !q.writing && q.size() > 0 && q.err == nil {
		q.writing = true
		go func() {
			q.conn.mutex.Lock()
			defer q.conn.mutex.Unlock()
			q.write()
		}()
	}
}

// flush has what there is written by the caller, unless another goroutine is at it.
func (q *outQueue) flush() {
	if q.writing || q.size() == 0 || q.err != nil {
		return
	}
	q.writing = true
	q.write()
}

// flushLater is flush after the other goroutines that are ready have had a turn: their frames go into the same write,
// and the same record of TLS.
func (q *outQueue) flushLater() {
	if q.writing || q.err != nil {
		return
	}
	q.writing = true
	q.conn.mutex.Unlock()
	runtime.Gosched()
	q.conn.mutex.Lock()
	q.write()
}

// last waits until what there is has been written, or for a moment if the client does not read.
func (q *outQueue) last() {
	q.armed.Store(math.MaxInt64)
	if q.conn.rwc.SetWriteDeadline(time.Now().Add(lingerTime)) != nil {
		return
	}
	q.flush()
	for q.writing {
		q.written.Wait()
	}
}

// write writes as long as there is something. The mutex is held, but for the writes.
func (q *outQueue) write() {
	c := q.conn
	for q.size() > 0 && q.err == nil {
		batch, ending := q.pending, q.ending
		q.pending, q.ending = nil, q.spare[:0]
		c.mutex.Unlock()
		err := q.writeBatch(*batch)
		c.server.pool.PutFrames(batch)
		for i, x := range ending {
			x.completed(err)
			ending[i] = nil
		}
		c.mutex.Lock()
		q.spare = ending[:0]
		if err != nil {
			q.fail(err)
		}
		q.wake()
		if q.size() <= maxControl {
			q.written.Broadcast()
		}
	}
	q.writing = false
	q.written.Broadcast()
}

// sliceBytes is how much is written within one deadline: two records of TLS. A client may be as slow as that allows.
const sliceBytes = 32 << 10

// writeBatch writes a batch. Only one goroutine writes at a time.
func (q *outQueue) writeBatch(batch []byte) error {
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

// arm sets the write deadline, unless one is set between half of its time and all.
func (q *outQueue) arm() error {
	now := time.Since(q.conn.start)
	if time.Duration(q.armed.Load())-now > writeTimeout/2 {
		return nil
	}
	q.armed.Store(int64(now + writeTimeout))
	return q.conn.rwc.SetWriteDeadline(q.conn.start.Add(now + writeTimeout))
}

// fail ends writing, and with it all streams and the connection.
func (q *outQueue) fail(err error) {
	if q.err != nil {
		return
	}
	q.err = err
	c := q.conn
	c.life.over = true
	for _, x := range c.streams {
		x.abort(errGone)
	}
	clear(c.streams)
	ending := q.ending
	q.ending = nil
	if len(ending) > 0 {
		go func() {
			for _, x := range ending {
				x.completed(err)
			}
		}()
	}
	q.written.Broadcast()
	if err != net.ErrClosed { //nolint:errorlint // finish says so.
		_ = httpio.Bottom(c.rwc).Close()
	}
}
