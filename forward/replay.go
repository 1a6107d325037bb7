package forward

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// source is the body of a client's request for all tries: what was read of it is kept, as far as is allowed, so that the next try begins
// where the first did. Nothing is read ahead of the endpoint that it is for.
type source struct {
	from *http.Request
	// now is the client's body where that tells what has come of it.
	now readyReader

	// turn is held while the client's body is read. A try that was given up may still wait there: its successor gets what it reads.
	turn sync.Mutex
	// reading says that somebody waits for the client, interrupted that this was broken off.
	reading, interrupted atomic.Bool
	failure              atomic.Pointer[error]

	// mutex guards what follows.
	mutex sync.Mutex
	// limit is how much is kept; negative is no limit.
	limit int64
	// kept is what was read from start on; what was before that is lost, because more than the limit was read, or nobody needs it any
	// more. promised says that a little more than the limit is kept, done that it is to be lost once the current try has taken it, over that nobody
	// reads it any more.
	kept                 []byte
	start                int64
	promised, done, over bool
	// current is the body of the try that goes on.
	current *requestBody
	// total is how much was read, ended why there is no more: io.EOF, or a failure.
	total int64
	ended error
	// moved is when something was read last, if it is watched.
	watched bool
	moved   time.Time
	// memory is what kept lies in at first.
	memory memory
}

// keep has what is read kept up to a limit, in memory of the pool's.
func (s *source) keep(limit int64, pool *buffers) {
	s.limit, s.memory.pool = limit, pool
	if s.from.ContentLength > limit && limit >= 0 {
		s.limit = 0
	}
}

// promiseBytes is how much is kept for a promise at least, whatever the limit: what is on its way already must not break it.
const promiseBytes = 64 << 10

// promise reports whether another try can send the whole body, and sees to it that it stays so as far as little more is read. s may be nil:
// there is no body.
func (s *source) promise() bool {
	if s == nil {
		return true
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.promised = s.start == 0
	return s.promised
}

// confirm reports whether a promise holds after a wait, in which an endpoint that has refused the request may have read on. What is read
// from now on is kept for another try.
func (s *source) confirm() bool {
	if s == nil {
		return true
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.start > 0 {
		return false
	}
	s.current = nil
	return true
}

// revoke takes a promise back: the body is that of the try that goes on.
func (s *source) revoke(body *requestBody) {
	if s != nil {
		s.succeed(body)
	}
}

// keeps reports whether what the current try has read is kept. The mutex is held.
func (s *source) keeps() bool {
	return s.start == 0 && (s.limit < 0 || s.total <= s.limit || s.promised && s.total <= promiseBytes)
}

// watch has the time of what is read noted.
func (s *source) watch() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.watched = true
}

// progress returns how much was read and, where that is watched, when, and whether anything may be to come.
func (s *source) progress() (total int64, at time.Time, more bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.total, s.moved, s.ended == nil
}

// succeed makes a body that of the try that goes on. What those before it still read is kept for it.
func (s *source) succeed(body *requestBody) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.current, s.promised = body, false
}

// settle ends keeping: there will be no try after that which has taken so much.
func (s *source) settle(taken int64) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.limit, s.promised, s.done = 0, false, true
	if taken == s.total {
		s.drop()
	}
}

// release gives the memory back. Nothing is repeated any more.
func (s *source) release() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.over = true
	s.drop()
}

// drop forgets what was kept. The mutex is held.
func (s *source) drop() {
	s.start, s.kept = s.total, nil
	s.memory.free()
}

// repeat reads what others have read already; it is not ok when there is nothing of that left.
func (s *source) repeat(p []byte, at int64) (n int, ok bool, err error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	switch {
	case at < s.start:
		return 0, true, errBodyClosed
	case at < s.total:
		n = copy(p, s.kept[at-s.start:])
		if s.done && at+int64(n) == s.total {
			s.drop()
		}
		return n, true, nil
	case s.ended != nil:
		return 0, true, s.ended
	}
	return 0, false, nil
}

// took notes what was read of the client's body. What a try reads that was given up meanwhile is kept in any case: it belongs to its
// successor.
func (s *source) took(p []byte, err error, by *requestBody) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.total += int64(len(p))
	if s.watched {
		s.moved = time.Now()
	}
	switch {
	case len(p) == 0:
	case !s.over && (by != s.current || s.keeps()):
		if s.kept == nil {
			s.kept = s.memory.take(s.from.ContentLength)
		}
		s.kept = append(s.kept, p...)
	default:
		s.drop()
	}
	if err == nil {
		return
	}
	s.ended = err
	// Reading that was interrupted because nobody wants the rest is no fault of the client's.
	if !errors.Is(err, io.EOF) && !s.interrupted.Load() {
		s.failure.CompareAndSwap(nil, &err)
	}
}

// whole reports whether all of the client's body has come; s may be nil: there is none.
func (s *source) whole() bool {
	if s == nil {
		return true
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return errors.Is(s.ended, io.EOF) || s.from.ContentLength > 0 && s.total >= s.from.ContentLength
}

// failed returns why the client's body could not be read, or nil; s may be nil.
func (s *source) failed() error {
	if s == nil {
		return nil
	}
	if err := s.failure.Load(); err != nil {
		return *err
	}
	return nil
}
