package service

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
)

var errGivenUp = errors.New("the request body is read by another service now")

// The states of a kept body.
const (
	// keeping: what is read is kept.
	keeping int32 = iota
	// lost: it was too much, and is only passed on.
	lost
	// settled: what was read is wanted, whatever it takes, and what the last reader reads on need not be kept.
	settled
	// finished: nobody wants what was read any more.
	finished
)

// kept is a client's request body that is kept while it is read, so that it can be read once more from its beginning.
// Readers take turns; what one of them has taken from the client the others find here, also when it was still waiting for
// the client after it had been given up.
type kept struct {
	inner    io.Reader
	now      readyReader
	patient  *patient
	memory   *Memory
	limit    int64
	declared int64
	state    atomic.Int32
	// taken is what was reserved of memory.
	taken atomic.Int64

	// turn is held by who waits for the client, mutex guards what has come.
	turn  sync.Mutex
	mutex sync.Mutex
	data  []byte
	ended bool
}

// readyReader is a body that can be read without waiting: 0 bytes without an error say that nothing has come.
type readyReader interface {
	ReadNow(p []byte) (n int, err error)
}

// hasBody tells whether a request brings a body.
func hasBody(r *http.Request) bool {
	return r.ContentLength != 0 && r.Body != nil && r.Body != http.NoBody
}

// keep prepares to keep the body of a request, if it has at most limit bytes; less than 0 is no limit.
func keep(r *http.Request, limit int64, memory *Memory) *kept {
	k := &kept{inner: r.Body, memory: memory, limit: limit, declared: r.ContentLength}
	k.now, _ = r.Body.(readyReader)
	if limit >= 0 && r.ContentLength > limit {
		k.state.Store(lost)
	}
	return k
}

// reader returns a body that begins at the beginning.
func (k *kept) reader() *reader { return &reader{from: k} }

// leaving returns a reader that can give up waiting for the client without an end of the body.
func (k *kept) leaving(r *http.Request) *reader {
	b := k.reader()
	if r.ProtoMajor > 1 && k.now == nil {
		k.patient, b.givenUp = newPatient(k.inner), make(chan struct{})
	}
	return b
}

// settle stops keeping for the sake of the last reader, and reports whether all that was read is at hand.
func (k *kept) settle() bool { return k.state.CompareAndSwap(keeping, settled) }

// forgo stops keeping, as nobody will read from the beginning again.
func (k *kept) forgo() {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if k.state.CompareAndSwap(keeping, lost) {
		k.data = nil
		k.memory.give(k.taken.Swap(0))
	}
}

// whole returns the body, if it has been read to its end and was not too large. Nothing is kept any more.
func (k *kept) whole() ([]byte, bool) {
	if !k.turn.TryLock() {
		return nil, false
	}
	defer k.turn.Unlock()
	if !k.state.CompareAndSwap(keeping, finished) {
		return nil, false
	}
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return k.data, k.ended || int64(len(k.data)) == k.declared
}

// release gives the memory back.
func (k *kept) release() {
	k.state.Store(finished)
	k.memory.give(k.taken.Swap(0))
}

// note keeps what was read from the client.
func (k *kept) note(piece []byte, err error) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.ended = k.ended || errors.Is(err, io.EOF)
	if len(piece) == 0 || k.state.Load() == lost || k.state.Load() == finished {
		return
	}
	if k.grow(int64(len(piece))) || !k.state.CompareAndSwap(keeping, lost) {
		k.data = append(k.data, piece...)
		return
	}
	k.data = nil
	k.memory.give(k.taken.Swap(0))
}

// leastKept is how much is reserved at a time at least.
const leastKept = 4 << 10

// grow makes room for some more bytes, within the limits.
func (k *kept) grow(more int64) bool {
	need := int64(len(k.data)) + more
	if k.limit >= 0 && need > k.limit {
		return false
	}
	if need <= int64(cap(k.data)) {
		return true
	}
	size := max(need, 2*int64(cap(k.data)), leastKept)
	if k.declared >= need {
		size = min(size, k.declared)
	}
	if k.limit >= 0 {
		size = min(size, k.limit)
	}
	if !k.memory.take(size - int64(cap(k.data))) {
		return false
	}
	k.taken.Add(size - int64(cap(k.data)))
	grown := make([]byte, len(k.data), size)
	copy(grown, k.data)
	k.data = grown
	return true
}

// reader reads a kept body. It never closes the client's body, which is the server's to end.
type reader struct {
	from *kept
	at   int
	// last says that nobody reads after this one, over that somebody else does.
	last bool
	over atomic.Bool
	// givenUp is closed when the reader shall not wait for the client any more; nil where a deadline says so.
	givenUp chan struct{}
}

// Read reads what was kept, and then from the client.
func (b *reader) Read(p []byte) (int, error) {
	if n, found, err := b.known(p); found {
		return n, err
	}
	b.from.turn.Lock()
	defer b.from.turn.Unlock()
	return b.fresh(p, b.wait)
}

// wait reads from the client.
func (b *reader) wait(p []byte) (int, error) {
	if b.from.patient != nil {
		return b.from.patient.read(p, b.givenUp)
	}
	return b.from.inner.Read(p)
}

// Close ends reading for this reader.
func (b *reader) Close() error {
	b.over.Store(true)
	return nil
}

// known reads what is at hand; it is not found when the client has to be asked.
func (b *reader) known(p []byte) (n int, found bool, err error) {
	if b.over.Load() {
		return 0, true, errGivenUp
	}
	k := b.from
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if b.at < len(k.data) {
		n = copy(p, k.data[b.at:])
		b.at += n
		found = true
	}
	if k.ended && b.at >= len(k.data) {
		return n, true, io.EOF
	}
	return n, found, nil
}

// fresh reads from the client, unless somebody else has meanwhile. It is called in turn.
func (b *reader) fresh(p []byte, source func(p []byte) (int, error)) (int, error) {
	if n, found, err := b.known(p); found {
		return n, err
	}
	n, err := source(p)
	if b.last {
		b.from.note(nil, err)
		return n, err
	}
	b.at += n
	b.from.note(p[:n], err)
	return n, err
}

// readyBody is a reader that can be read without waiting.
type readyBody struct{ *reader }

// ReadNow reads what was kept or has come from the client.
func (b readyBody) ReadNow(p []byte) (int, error) {
	if n, found, err := b.known(p); found {
		return n, err
	}
	if !b.from.turn.TryLock() {
		return 0, nil
	}
	defer b.from.turn.Unlock()
	return b.fresh(p, b.from.now.ReadNow)
}

// body returns the reader as a request's body.
func (b *reader) body() io.ReadCloser {
	if b.from.now != nil {
		return readyBody{b}
	}
	return b
}
