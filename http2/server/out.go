package server

import (
	"cmp"
	"math"
	"net"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/httpio"
)

const (
	// outBytes is the size of a new buffer of frames. maxOut is how many bytes of bodies wait in it at most, and
	// maxControl how many bytes there are in all before nothing more is read.
	outBytes   = 4 << 10
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
	// waiters are the exchanges that wait for a window or for room, reserved is what they were granted of the room.
	waiters  []*exchange
	reserved int
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
		q.pending = q.conn.server.pool.out()
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
func (q *outQueue) free() int { return maxOut - q.size() - q.reserved }

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
		c.server.pool.putOut(batch)
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

// take gives a part of the windows and of the room to an exchange that has n bytes to send.
func (q *outQueue) take(x *exchange, n int) int {
	if x.granted > 0 {
		n = min(n, x.granted)
		x.granted -= n
		q.reserved -= n
		return n
	}
	if n = q.limit(x, n); n <= 0 {
		return 0
	}
	x.sendWindow -= int64(n)
	q.conn.sendWindow -= int64(n)
	return n
}

// limit returns how many of n bytes the windows and the room admit.
func (q *outQueue) limit(x *exchange, n int) int {
	return int(min(int64(n), x.sendWindow, q.conn.sendWindow, int64(q.free())))
}

// wait waits until the exchange is granted something of n bytes, or has ended.
func (q *outQueue) wait(x *exchange, n int) {
	x.wanted = n
	for x.granted == 0 && x.failure == nil {
		q.await(x)
	}
	x.wanted = 0
}

// await waits until something has changed for the exchange. Where it wants nothing, that is room.
func (q *outQueue) await(x *exchange) {
	q.waiters = append(q.waiters, x)
	x.sendable.Wait()
	if at := slices.Index(q.waiters, x); at >= 0 {
		q.waiters = slices.Delete(q.waiters, at, at+1)
	}
}

// wake grants windows and room to those that wait, in the order of RFC 9218, section 10: by urgency, and then responses
// that are not incremental one after the other, and the others frame by frame.
func (q *outQueue) wake() {
	if len(q.waiters) > 1 {
		slices.SortStableFunc(q.waiters, func(a, b *exchange) int {
			return cmp.Or(cmp.Compare(a.priority.urgency, b.priority.urgency),
				cmp.Compare(turn(a.priority), turn(b.priority)), cmp.Compare(a.id, b.id)*(1-turn(a.priority)))
		})
	}
	for _, x := range q.waiters {
		switch {
		case x.failure != nil:
			continue
		case x.wanted == 0:
			x.sendable.Signal()
			continue
		}
		n := q.limit(x, x.wanted-x.granted)
		if x.priority.incremental {
			n = min(n, q.conn.maxFrame)
		}
		if n <= 0 {
			continue
		}
		x.granted += n
		q.reserved += n
		x.sendWindow -= int64(n)
		q.conn.sendWindow -= int64(n)
		x.sendable.Signal()
	}
}

func turn(p priority) int {
	if p.incremental {
		return 1
	}
	return 0
}

// revoke takes back what an exchange was granted and has not used.
func (q *outQueue) revoke(x *exchange) {
	x.sendWindow += int64(x.granted)
	q.conn.sendWindow += int64(x.granted)
	q.reserved -= x.granted
	x.granted = 0
}

// forgo gives back what an exchange was granted and does not use.
func (q *outQueue) forgo(x *exchange) {
	if x.granted > 0 {
		q.reserved -= x.granted
		q.conn.sendWindow += int64(x.granted)
		x.granted = 0
		q.wake()
	}
}
