package grpcweb

import (
	"encoding/base64"
	"errors"
	"io"
	"sync"
)

// errOver is what a goroutine gets that writes when the answer is complete.
var errOver = errors.New("the answer to the call is complete")

// encoder writes frames in base64.
type encoder struct {
	// mutex keeps the goroutines apart that a handler may have left behind.
	mutex  sync.Mutex
	frames frames
	// rest are the bytes that are not a group of three yet, held their number.
	rest [3]byte
	held int
	over bool
	// memory holds what is about to be written.
	memory []byte
}

// write encodes p. Up to two bytes of it wait for more.
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

// put writes a piece, padded where it is not a number of whole groups.
func (e *encoder) put(to io.Writer, piece []byte) error {
	if e.memory == nil {
		e.memory = make([]byte, groupBytes)
	}
	text := e.memory[:base64.StdEncoding.EncodedLen(len(piece))]
	base64.StdEncoding.Encode(text, piece)
	_, err := to.Write(text)
	return err
}

// pad completes the text, if what was written ends with a message, or if it is the end.
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
