package service

import "io"

// asyncBodyBytes is how much one Read takes from the client: a frame of HTTP/2.
const asyncBodyBytes = 16 << 10

// asyncBody reads a body in a goroutine, so that a reader can stop waiting without a read deadline, which would
// end a body of HTTP/2 for good. What arrives afterwards is for the next reader. Readers take turns.
type asyncBody struct {
	inner io.Reader
	// came delivers the result of the goroutine's Read, waiting says that one is running. It ends with the
	// request.
	came    chan arrival
	waiting bool
	memory  []byte
	rest    []byte
	err     error
}

// arrival is the result of one Read.
type arrival struct {
	n   int
	err error
}

func newAsyncBody(inner io.Reader) *asyncBody {
	return &asyncBody{inner: inner, came: make(chan arrival, 1)}
}

// read returns what has arrived, or waits until givenUp is closed.
func (b *asyncBody) read(p []byte, givenUp <-chan struct{}) (int, error) {
	if len(b.rest) == 0 && b.err == nil {
		if !b.waiting {
			b.waiting = true
			if b.memory == nil {
				b.memory = make([]byte, asyncBodyBytes)
			}
			go b.fetch()
		}
		select {
		case <-givenUp:
			return 0, errGivenUp
		case one := <-b.came:
			b.waiting, b.rest, b.err = false, b.memory[:one.n], one.err
		}
	}
	n := copy(p, b.rest)
	if b.rest = b.rest[n:]; len(b.rest) > 0 {
		return n, nil
	}
	return n, b.err
}

func (b *asyncBody) fetch() {
	n, err := b.inner.Read(b.memory)
	b.came <- arrival{n, err}
}
