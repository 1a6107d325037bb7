package replay

import (
	"errors"
	"sync/atomic"

	"github.com/sluiceproxy/sluice/httpio"
)

// Reader is a Body as one attempt reads it. Body.Open prepares it. Its Read methods are called by one goroutine at a
// time.
type Reader struct {
	body *Body
	// at is how many bytes the attempt has read.
	at     atomic.Int64
	closed atomic.Bool
}

// Read reads what is buffered, and then from the client.
func (r *Reader) Read(p []byte) (int, error) {
	if n, ok, err := r.buffered(p, false); ok {
		return n, err
	}
	b := r.body
	b.turn.Lock()
	defer b.turn.Unlock()
	b.reading.Store(true)
	defer b.reading.Store(false)
	// An earlier Reader may have read something while this one waited for its turn.
	if n, ok, err := r.buffered(p, true); ok {
		return n, err
	}
	room, ok := b.room(len(p), r)
	if !ok {
		return 0, ErrClosed
	}
	p = p[:room]
	if b.async == nil {
		n, err := b.source.Read(p)
		return r.took(p[:n], err)
	}
	n, err := b.async.read(p, r)
	if errors.Is(err, ErrClosed) {
		return n, err
	}
	return r.took(p[:n], err)
}

// ReadNow reads what is buffered or has arrived from the client. It returns 0 bytes without an error if nothing has,
// or the client's body is no [httpio.ReadyReader].
func (r *Reader) ReadNow(p []byte) (int, error) {
	n, ok, err := r.buffered(p, false)
	b := r.body
	ready, can := b.source.(httpio.ReadyReader)
	if ok || !can || !b.turn.TryLock() {
		return n, err
	}
	defer b.turn.Unlock()
	if n, ok, err := r.buffered(p, false); ok {
		return n, err
	}
	room, ok := b.room(len(p), r)
	if !ok {
		return 0, ErrClosed
	}
	p = p[:room]
	n, err = ready.ReadNow(p)
	return r.took(p[:n], err)
}

// Close ends reading. A Read that waits for the client goes on; what it gets is for the next Reader.
func (r *Reader) Close() error {
	r.Halt()
	return nil
}

// Halt is Close. It reports whether a Read of the source is pending.
func (r *Reader) Halt() (pending bool) {
	r.closed.Store(true)
	return r.body.Reading()
}

// buffered reads from the buffer, unless the source has to be read.
func (r *Reader) buffered(p []byte, begin bool) (n int, ok bool, err error) {
	if r.closed.Load() {
		return 0, true, ErrClosed
	}
	n, ok, err = r.body.buffered(p, r.at.Load(), begin)
	r.at.Add(int64(n))
	return n, ok, err
}

// took counts what was read of the source.
func (r *Reader) took(p []byte, err error) (int, error) {
	r.body.took(p, err, r)
	r.at.Add(int64(len(p)))
	return len(p), err
}
