package forward

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/httpio"
)

// replayBody is the request body of a client for all attempts. What was read is buffered, within the policy's
// limit, so that the next attempt starts at the beginning. Nothing is read ahead of the endpoint.
type replayBody struct {
	from *http.Request
	// now is the client's body if it can be read without waiting.
	now httpio.ReadyReader

	// turn is held while the client's body is read. An abandoned attempt may still wait there: its successor
	// gets what it reads.
	turn sync.Mutex
	// reading says that a Read of the client's body is pending, interrupted that it was ended early.
	reading, interrupted atomic.Bool
	failure              atomic.Pointer[error]

	// mutex guards what follows.
	mutex sync.Mutex
	// limit is how much is kept; negative is no limit.
	limit int64
	// kept is what was read from start on; earlier bytes were dropped because the limit was exceeded or no
	// attempt needs them. promised extends the limit by promiseBytes, done drops the buffer once the current
	// attempt has read it, over stops buffering.
	kept                 []byte
	start                int64
	promised, done, over bool
	// current is the body of the current attempt.
	current *requestBody
	// total is how much was read, ended why reading ended: io.EOF, or a failure.
	total int64
	ended error
	// moved is when something was last read, if watched.
	watched bool
	moved   time.Time
	// memory is the recycled buffer that kept starts in.
	memory memory
}

// keep buffers what is read up to a limit, in recycled memory of the pool.
func (b *replayBody) keep(limit int64, pool *buffers) {
	b.limit, b.memory.pool = limit, pool
	if b.from.ContentLength > limit && limit >= 0 {
		b.limit = 0
	}
}

// promiseBytes is how much is buffered after promise at least, whatever the limit: what is in flight must not
// break it.
const promiseBytes = 64 << 10

// promise reports whether another attempt can send the whole body, and keeps that true while at most
// promiseBytes are read. b may be nil: there is no body.
func (b *replayBody) promise() bool {
	if b == nil {
		return true
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.promised = b.start == 0
	return b.promised
}

// confirm reports whether the promise holds after a wait, during which an endpoint that refused the request may
// have read on. What is read from now on is buffered for the next attempt.
func (b *replayBody) confirm() bool {
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

// revoke cancels a promise: the body stays with the current attempt.
func (b *replayBody) revoke(body *requestBody) {
	if b != nil {
		b.succeed(body)
	}
}

// keeps reports whether what the current attempt has read is buffered. The mutex is held.
func (b *replayBody) keeps() bool {
	return b.start == 0 && (b.limit < 0 || b.total <= b.limit || b.promised && b.total <= promiseBytes)
}

// watch records the time of each read.
func (b *replayBody) watch() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.watched = true
}

// progress returns how much was read, when the last read was if watched, and whether more may follow.
func (b *replayBody) progress() (total int64, at time.Time, more bool) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.total, b.moved, b.ended == nil
}

// succeed makes a body that of the current attempt. What earlier attempts still read is buffered for it.
func (b *replayBody) succeed(body *requestBody) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.current, b.promised = body, false
}

// settle ends buffering: no attempt follows the one that has read so much.
func (b *replayBody) settle(taken int64) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.limit, b.promised, b.done = 0, false, true
	if taken == b.total {
		b.drop()
	}
}

// release recycles the memory. No attempt follows.
func (b *replayBody) release() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.over = true
	b.drop()
}

// drop discards the buffer. The mutex is held.
func (b *replayBody) drop() {
	b.start, b.kept = b.total, nil
	b.memory.free()
}

// repeat reads from the buffer; ok is false when all of it has been read.
func (b *replayBody) repeat(p []byte, at int64) (n int, ok bool, err error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	switch {
	case at < b.start:
		return 0, true, errBodyClosed
	case at < b.total:
		n = copy(p, b.kept[at-b.start:])
		if b.done && at+int64(n) == b.total {
			b.drop()
		}
		return n, true, nil
	case b.ended != nil:
		return 0, true, b.ended
	}
	return 0, false, nil
}

// took records what was read of the client's body. What an abandoned attempt reads is always buffered: it
// belongs to its successor.
func (b *replayBody) took(p []byte, err error, by *requestBody) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.total += int64(len(p))
	if b.watched {
		b.moved = time.Now()
	}
	switch {
	case len(p) == 0:
	case !b.over && (by != b.current || b.keeps()):
		if b.kept == nil {
			b.kept = b.memory.take(b.from.ContentLength)
		}
		b.kept = append(b.kept, p...)
	default:
		b.drop()
	}
	if err == nil {
		return
	}
	b.ended = err
	// An interrupted read is no failure of the client.
	if !errors.Is(err, io.EOF) && !b.interrupted.Load() {
		b.failure.CompareAndSwap(nil, &err)
	}
}

// whole reports whether all of the client's body has arrived; b may be nil: there is none.
func (b *replayBody) whole() bool {
	if b == nil {
		return true
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return errors.Is(b.ended, io.EOF) || b.from.ContentLength > 0 && b.total >= b.from.ContentLength
}

// awaited reports whether a read of the client's body is pending, or was until it was interrupted; b may be
// nil.
func (b *replayBody) awaited() bool {
	return b != nil && (b.reading.Load() || b.interrupted.Load()) && !b.whole()
}

// failed returns why the client's body could not be read, or nil; b may be nil.
func (b *replayBody) failed() error {
	if b == nil {
		return nil
	}
	if err := b.failure.Load(); err != nil {
		return *err
	}
	return nil
}
