package replay

import (
	"io"
	"sync/atomic"
)

// asyncBytes is how much one Read takes from the client: a frame of HTTP/2.
const asyncBytes = 16 << 10

// async reads a source in a goroutine, so that a Reader can stop waiting without a read deadline, which would end a
// body of HTTP/2 for good. What arrives afterwards is for the next Reader. Readers take turns.
type async struct {
	source io.Reader
	// came delivers the result of the goroutine's Read, waiting says that one is running. It ends with the
	// request.
	came    chan arrival
	waiting bool
	memory  []byte
	rest    []byte
	err     error
	// left is closed when the first Reader stops waiting.
	first *Reader
	left  chan struct{}
	gone  atomic.Bool
}

// arrival is the result of one Read.
type arrival struct {
	n   int
	err error
}

// Detach reads the source in a goroutine from now on, so that Leave can end the wait of the first Reader.
func (b *Body) Detach(first *Reader) {
	b.async = &async{source: b.source, came: make(chan arrival, 1), first: first, left: make(chan struct{})}
}

// Leave makes the Read of the first Reader that waits for the client, and all that follow, return ErrClosed. It
// returns false without Detach.
func (b *Body) Leave() bool {
	if b == nil || b.async == nil {
		return false
	}
	if !b.async.gone.Swap(true) {
		close(b.async.left)
	}
	return true
}

// read returns what has arrived, or waits until the Reader leaves.
func (a *async) read(p []byte, by *Reader) (int, error) {
	var left chan struct{}
	if by == a.first {
		left = a.left
	}
	if len(a.rest) == 0 && a.err == nil {
		if !a.waiting {
			a.waiting = true
			if a.memory == nil {
				a.memory = make([]byte, asyncBytes)
			}
			go a.fetch()
		}
		select {
		case <-left:
			return 0, ErrClosed
		case one := <-a.came:
			a.waiting, a.rest, a.err = false, a.memory[:one.n], one.err
		}
	}
	n := copy(p, a.rest)
	if a.rest = a.rest[n:]; len(a.rest) > 0 {
		return n, nil
	}
	return n, a.err
}

func (a *async) fetch() {
	n, err := a.source.Read(a.memory)
	a.came <- arrival{n, err}
}
