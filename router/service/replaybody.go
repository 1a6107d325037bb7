package service

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/sluiceproxy/sluice/httpio"
)

var errGivenUp = errors.New("the request body is read by another service now")

// The states of a replay body.
const (
	// keeping: what is read is buffered.
	keeping int32 = iota
	// lost: the limit was exceeded, the body is only passed on.
	lost
	// settled: the buffered part is replayed, and what the last reader reads on is not buffered.
	settled
	// finished: the buffer is no longer needed.
	finished
)

// replayBody is a client's request body that is buffered while it is read, so that it can be read again from
// its beginning. Readers take turns; what one of them has read from the client is available to the others,
// including a read that was pending when it was abandoned.
type replayBody struct {
	inner     io.Reader
	now       httpio.ReadyReader
	asyncBody *asyncBody
	memory    *Memory
	limit     int64
	declared  int64
	state     atomic.Int32
	// taken is how many bytes are reserved in memory.
	taken atomic.Int64

	// turn is held while the client's body is read, mutex guards data and ended.
	turn  sync.Mutex
	mutex sync.Mutex
	data  []byte
	ended bool
}

// hasBody reports whether a request has a body.
func hasBody(r *http.Request) bool {
	return r.ContentLength != 0 && r.Body != nil && r.Body != http.NoBody
}

// newReplayBody returns a replay body for a request, which buffers at most limit bytes; negative is no limit.
func newReplayBody(r *http.Request, limit int64, memory *Memory) *replayBody {
	b := &replayBody{inner: r.Body, memory: memory, limit: limit, declared: r.ContentLength}
	b.now, _ = r.Body.(httpio.ReadyReader)
	if limit >= 0 && r.ContentLength > limit {
		b.state.Store(lost)
	}
	return b
}

// reader returns a reader at the beginning of the body.
func (b *replayBody) reader() *reader { return &reader{from: b} }

// leaving returns a reader that can stop waiting for the client without ending the body.
func (b *replayBody) leaving(r *http.Request) *reader {
	reader := b.reader()
	if r.ProtoMajor > 1 && b.now == nil {
		b.asyncBody, reader.givenUp = newAsyncBody(b.inner), make(chan struct{})
	}
	return reader
}

// settle stops buffering for the last reader, and reports whether all that was read is buffered.
func (b *replayBody) settle() bool { return b.state.CompareAndSwap(keeping, settled) }

// forgo stops buffering: the body is not replayed.
func (b *replayBody) forgo() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.state.CompareAndSwap(keeping, lost) {
		b.data = nil
		b.memory.give(b.taken.Swap(0))
	}
}

// whole returns the body if it was read to its end within the limit, and stops buffering.
func (b *replayBody) whole() ([]byte, bool) {
	if !b.turn.TryLock() {
		return nil, false
	}
	defer b.turn.Unlock()
	if !b.state.CompareAndSwap(keeping, finished) {
		return nil, false
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.data, b.ended || int64(len(b.data)) == b.declared
}

// release returns the reserved memory.
func (b *replayBody) release() {
	b.state.Store(finished)
	b.memory.give(b.taken.Swap(0))
}

// note buffers what was read from the client.
func (b *replayBody) note(piece []byte, err error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.ended = b.ended || errors.Is(err, io.EOF)
	if len(piece) == 0 || b.state.Load() == lost || b.state.Load() == finished {
		return
	}
	if b.grow(int64(len(piece))) || !b.state.CompareAndSwap(keeping, lost) {
		b.data = append(b.data, piece...)
		return
	}
	b.data = nil
	b.memory.give(b.taken.Swap(0))
}

// minReplayBytes is the smallest reservation.
const minReplayBytes = 4 << 10

// grow makes room for more bytes, within the limits.
func (b *replayBody) grow(more int64) bool {
	need := int64(len(b.data)) + more
	if b.limit >= 0 && need > b.limit {
		return false
	}
	if need <= int64(cap(b.data)) {
		return true
	}
	size := max(need, 2*int64(cap(b.data)), minReplayBytes)
	if b.declared >= need {
		size = min(size, b.declared)
	}
	if b.limit >= 0 {
		size = min(size, b.limit)
	}
	if !b.memory.take(size - int64(cap(b.data))) {
		return false
	}
	b.taken.Add(size - int64(cap(b.data)))
	grown := make([]byte, len(b.data), size)
	copy(grown, b.data)
	b.data = grown
	return true
}

// reader reads a replayBody. It never closes the client's body, which belongs to the server.
type reader struct {
	from *replayBody
	at   int
	// last says that no reader follows, over that another reader has taken over.
	last bool
	over atomic.Bool
	// givenUp is closed when the reader must stop waiting for the client; nil where a read deadline does that.
	givenUp chan struct{}
}

// Read reads from the buffer, and then from the client.
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
	if b.from.asyncBody != nil {
		return b.from.asyncBody.read(p, b.givenUp)
	}
	return b.from.inner.Read(p)
}

// Close ends reading for this reader.
func (b *reader) Close() error {
	b.over.Store(true)
	return nil
}

// known reads from the buffer; found is false when the client's body has to be read.
func (b *reader) known(p []byte) (n int, found bool, err error) {
	if b.over.Load() {
		return 0, true, errGivenUp
	}
	body := b.from
	body.mutex.Lock()
	defer body.mutex.Unlock()
	if b.at < len(body.data) {
		n = copy(p, body.data[b.at:])
		b.at += n
		found = true
	}
	if body.ended && b.at >= len(body.data) {
		return n, true, io.EOF
	}
	return n, found, nil
}

// fresh reads from the client, unless another reader has meanwhile. The turn is held.
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

// ReadNow reads what is buffered or has arrived from the client.
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

// DefaultMemory is the default bound of buffered request bodies over all services: 64 MiB. It also bounds a
// body whose option sets no limit.
const DefaultMemory = 64 << 20

// Memory bounds the bytes of request bodies that are buffered for a second use, over all services that share
// it. A body beyond the bound is passed on without a buffer; no request waits.
type Memory struct{ left atomic.Int64 }

// NewMemory returns a bound of that many bytes.
func NewMemory(bytes int64) *Memory {
	m := &Memory{}
	m.left.Store(bytes)
	return m
}

// take reserves bytes if that many are left.
func (m *Memory) take(bytes int64) bool {
	if m.left.Add(-bytes) >= 0 {
		return true
	}
	m.left.Add(bytes)
	return false
}

func (m *Memory) give(bytes int64) { m.left.Add(bytes) }
