package grpcweb

import (
	"encoding/base64"
	"errors"
	"io"
	"sync"
)

// errOver is the error of writes after the response is complete.
var errOver = errors.New("the answer to the call is complete")

// encoder writes frames in base64.
type encoder struct {
	// mutex serializes goroutines that a handler may have left behind.
	mutex  sync.Mutex
	frames frames
	// rest holds up to two bytes that are no group of three yet; held is their number.
	rest [3]byte
	held int
	over bool
	// memory is the output buffer.
	memory []byte
}

// write encodes p; up to two bytes wait for more.
func (e *encoder) write(to io.Writer, p []byte) (int, error) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.over {
		return 0, errOver
	}
	if err := e.encode(to, p); err != nil {
		return 0, err
	}
	e.frames.pass(p)
	return len(p), nil
}

func (e *encoder) encode(to io.Writer, p []byte) error {
	if e.held > 0 {
		n := copy(e.rest[e.held:], p)
		if e.held, p = e.held+n, p[n:]; e.held < len(e.rest) {
			return nil
		}
		e.held = 0
		if err := e.put(to, e.rest[:]); err != nil {
			return err
		}
	}
	const most = groupBytes / 4 * 3
	for len(p) >= len(e.rest) {
		piece := p[:min(len(p)/3*3, most)]
		if err := e.put(to, piece); err != nil {
			return err
		}
		p = p[len(piece):]
	}
	e.held = copy(e.rest[:], p)
	return nil
}

// put writes a piece, padded if it ends with a partial group.
func (e *encoder) put(to io.Writer, piece []byte) error {
	if e.memory == nil {
		e.memory = make([]byte, groupBytes)
	}
	text := e.memory[:base64.StdEncoding.EncodedLen(len(piece))]
	base64.StdEncoding.Encode(text, piece)
	_, err := to.Write(text)
	return err
}

// pad completes the last group at the end of a message or of the response.
func (e *encoder) pad(to io.Writer, end bool) error {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.over {
		return errOver
	}
	e.over = end
	if e.held == 0 || !end && !e.frames.between() {
		return nil
	}
	n := e.held
	e.held = 0
	return e.put(to, e.rest[:n])
}
