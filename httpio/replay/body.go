package replay

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/httpio"
)

// Body is a client's request body for one attempt after another. What is read is buffered, within the limit, so that
// the next attempt can start at the beginning. Init prepares it; methods that report something may be called on nil,
// for a request without a body.
type Body struct {
	source io.Reader
	// length is the declared length; -1 is unknown.
	length int64

	// abandoned says that only the current Reader may exceed the limit.
	abandoned atomic.Bool

	// turn is held while the source is read. An abandoned Reader may still wait there: its successor gets what
	// it reads.
	turn sync.Mutex
	// reading says that a Read of the source is pending, interrupted that it was ended early.
	reading, interrupted atomic.Bool
	failure              atomic.Pointer[error]

	// mutex guards what follows.
	mutex sync.Mutex
	// limit is how much is buffered; negative is no limit.
	limit int64
	// spool holds what was read from start on. Earlier bytes were dropped because the limit was exceeded or no
	// attempt needs them.
	spool Spool
	start int64
	// reserved extends the limit by reserveBytes, settled drops the buffer once the current Reader has read it,
	// released ends buffering.
	reserved, settled, released bool
	// ended says that the source is at its end, timed that progress records when the source was read.
	ended, timed bool
	// current is the Reader of the current attempt.
	current *Reader
	// total is how much was read.
	total int64
	// moved is when the last Read of the source began or, if timed, returned.
	moved time.Time
	async *async
}

// Init prepares the Body for a source of a declared length; -1 is unknown. It buffers at most limit bytes, and
// nothing of a body that is declared to be longer; negative is no limit. The memory may be nil.
func (b *Body) Init(source io.Reader, length, limit int64, memory *Memory) {
	if length > limit && limit >= 0 {
		limit = 0
	}
	b.source, b.length, b.limit, b.spool.Memory = source, length, limit, memory
}

// Measure has the meter follow the memory of the buffer. It is called before the first read.
func (b *Body) Measure(meter Meter) { b.spool.Meter = meter }

// Open makes r the current Reader, at the beginning of the body. An earlier Reader must be closed, unless all of the
// body is buffered.
func (b *Body) Open(r *Reader) {
	r.body = b
	b.Resume(r)
}

// Reserve reports whether another attempt can get the whole body, and keeps that so while at most 64 KiB are read.
func (b *Body) Reserve() bool {
	if b == nil {
		return true
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.reserved = b.start == 0
	return b.reserved
}

// HandOver reports whether another attempt can get the whole body. Then what is read from now on is buffered for it.
func (b *Body) HandOver() bool {
	if b == nil {
		return true
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.start > 0 {
		return false
	}
	b.current = nil
	return true
}

// Abandon is HandOver without a Resume: what the Reader reads from now on is buffered within the limit, beyond which it
// returns ErrClosed.
func (b *Body) Abandon() bool {
	if !b.HandOver() {
		return false
	}
	if b != nil {
		b.abandoned.Store(true)
	}
	return true
}

// Resume makes r the current Reader, and undoes Reserve and HandOver.
func (b *Body) Resume(r *Reader) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.current, b.reserved = r, false
	b.interrupted.Store(false)
}

// Settle ends buffering for attempts after the current one.
func (b *Body) Settle() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.limit, b.reserved, b.settled = 0, false, true
	if b.current != nil && b.current.at.Load() == b.total {
		b.drop()
	}
}

// Release frees the buffer. No attempt follows.
func (b *Body) Release() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.released = true
	b.drop()
}

// Fill reads the source to its end. It holds so many bytes in memory, 0 for all, and the rest in a temporary file.
// Its errors are ErrTooLarge beyond the limit, a *DiskError, and those of the source.
func (b *Body) Fill(inMemory int64) error {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.spool.InMemory, b.spool.Limit = inMemory, max(b.limit, 0)
	n, err := b.spool.ReadFrom(b.source)
	b.total, b.ended = n, err == nil
	return err
}

// Finish ends reading of the source, and reports whether all of the body is buffered.
func (b *Body) Finish() bool {
	if !b.turn.TryLock() {
		return false
	}
	defer b.turn.Unlock()
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.start > 0 || !b.ended && b.total != b.length {
		return false
	}
	b.ended = true
	return true
}

// Exceeded reports whether the body is too large to be buffered, by its declared length or by what was read.
func (b *Body) Exceeded() bool {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.start > 0 || b.limit >= 0 && b.length > b.limit
}

// Time makes Progress report when the source was read.
func (b *Body) Time() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.timed = true
}

// Progress returns how much was read of the source, when it was read last if Time was called, and whether more may
// follow.
func (b *Body) Progress() (total int64, moved time.Time, more bool) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.total, b.moved, !b.ended && b.failure.Load() == nil
}

// Complete reports whether all of the body was read.
func (b *Body) Complete() bool {
	if b == nil {
		return true
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.ended || b.length > 0 && b.total >= b.length
}

// Ready reports whether a Reader's ReadNow may return something.
func (b *Body) Ready() bool {
	if _, ready := b.source.(httpio.ReadyReader); ready {
		return true
	}
	total, _, _ := b.Progress()
	return total > 0
}

// Reading reports whether a Read of the source is pending.
func (b *Body) Reading() bool { return b.reading.Load() }

// Waited returns how long the pending Read of the source has waited for the client, or had until it was interrupted;
// 0 if there is none.
func (b *Body) Waited() time.Duration {
	if b == nil || !b.reading.Load() && !b.interrupted.Load() || b.Complete() {
		return 0
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return time.Since(b.moved)
}

// Interrupt declares that the pending Read of the source will be made to fail, which is no failure of the client.
func (b *Body) Interrupt() { b.interrupted.Store(true) }

// Failure returns why the source could not be read, or nil.
func (b *Body) Failure() error {
	if b == nil {
		return nil
	}
	if err := b.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// reserveBytes is how much is buffered after Reserve at least, whatever the limit: what is in flight must not break
// the reservation.
const reserveBytes = 64 << 10

// buffers reports whether what the current Reader has read is buffered. The mutex is held.
func (b *Body) buffers() bool {
	return b.start == 0 && (b.limit < 0 || b.total <= b.limit || b.reserved && b.total <= reserveBytes)
}

// drop discards the buffer. The mutex is held.
func (b *Body) drop() {
	b.start = b.total
	b.spool.Release()
}

// buffered reads from the buffer; ok is false when the source has to be read, which begins then if begin is set.
func (b *Body) buffered(p []byte, at int64, begin bool) (n int, ok bool, err error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	switch {
	case at < b.start || b.released:
		return 0, true, ErrClosed
	case at < b.total:
		n, err = b.spool.readAt(p, at-b.start)
		if b.settled && at+int64(n) == b.total {
			b.drop()
		}
		return n, true, err
	case b.ended:
		return 0, true, io.EOF
	}
	if failure := b.failure.Load(); failure != nil {
		return 0, true, *failure
	}
	if begin && (b.length <= 0 || b.total < b.length) {
		b.moved = time.Now()
	}
	return 0, false, nil
}

// room returns how much a Reader may read of the source into n bytes. It is ok unless that is nothing because the
// Reader is abandoned and the limit reached.
func (b *Body) room(n int, by *Reader) (int, bool) {
	if !b.abandoned.Load() {
		return n, true
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if by == b.current {
		return n, true
	}
	if b.limit >= 0 {
		n = int(min(int64(n), b.limit-b.total))
	}
	return n, n > 0 && b.spool.reserve(b.total+int64(n), b.length, false)
}

// took records what a Reader has read of the source. What an abandoned one reads is always buffered: it belongs to
// its successor.
func (b *Body) took(p []byte, err error, by *Reader) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.timed && !b.interrupted.Load() {
		b.moved = time.Now()
	}
	if len(p) > 0 {
		b.total += int64(len(p))
		abandoned := by != b.current
		if b.released || !abandoned && !b.buffers() || b.spool.append(p, b.length, abandoned) != nil {
			b.drop()
		}
	}
	switch {
	case err == nil:
	case errors.Is(err, io.EOF):
		b.ended = true
	case !b.interrupted.Load():
		b.failure.CompareAndSwap(nil, &err)
	}
}
