package service

import "io"

// patientBytes is how much is read ahead for who may give up waiting: a frame of HTTP/2.
const patientBytes = 16 << 10

// patient reads a body that a deadline in the past would end for good, as it does those of HTTP/2. Who waits for the client may
// give up instead: what comes then is for the next one. Readers take turns.
type patient struct {
	inner io.Reader
	// came brings what was read by a goroutine of its own, of which waiting says that there is one. It ends with the request.
	came    chan arrival
	waiting bool
	memory  []byte
	rest    []byte
	err     error
}

// arrival is what one Read has brought.
type arrival struct {
	n   int
	err error
}

func newPatient(inner io.Reader) *patient { return &patient{inner: inner, came: make(chan arrival, 1)} }

// read reads what has come, or waits for it until the reader gives up.
func (b *patient) read(p []byte, givenUp <-chan struct{}) (int, error) {
	if len(b.rest) == 0 && b.err == nil {
		if !b.waiting {
			b.waiting = true
			if b.memory == nil {
				b.memory = make([]byte, patientBytes)
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

func (b *patient) fetch() {
	n, err := b.inner.Read(b.memory)
	b.came <- arrival{n, err}
}
