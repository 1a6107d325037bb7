package grpcweb

import (
	"encoding/binary"
	"net/http"
	"slices"
	"strings"
)

// frameHead is the length of a frame's head: flags and a length.
const frameHead = 5

// trailerFlag marks the frame that holds trailers.
const trailerFlag = 0x80

// frames tracks the boundaries of messages.
type frames struct {
	head [frameHead]byte
	// got is the number of received bytes of the head, left the rest of the message.
	got  int
	left uint32
}

// pass tracks p.
func (f *frames) pass(p []byte) {
	for len(p) > 0 {
		if f.left > 0 {
			n := min(uint64(f.left), uint64(len(p)))
			f.left, p = f.left-uint32(n), p[n:]
			continue
		}
		n := copy(f.head[f.got:], p)
		if f.got, p = f.got+n, p[n:]; f.got == frameHead {
			f.got, f.left = 0, binary.BigEndian.Uint32(f.head[1:])
		}
	}
}

// between reports whether all messages are complete.
func (f *frames) between() bool { return f.got == 0 && f.left == 0 }

// trailerFrame returns the frame of trailers, with sorted names in lower case.
func trailerFrame(trailer http.Header) []byte {
	frame := make([]byte, frameHead, 128)
	frame[0] = trailerFlag
	names := make([]string, 0, len(trailer))
	for name := range trailer {
		names = append(names, name)
	}
	slices.Sort(names)
	breaks := strings.NewReplacer("\r", " ", "\n", " ")
	for _, name := range names {
		for _, value := range trailer[name] {
			frame = append(frame, strings.ToLower(name)...)
			frame = append(frame, ": "...)
			frame = append(frame, breaks.Replace(value)...)
			frame = append(frame, "\r\n"...)
		}
	}
	binary.BigEndian.PutUint32(frame[1:], uint32(len(frame)-frameHead)) //nolint:gosec // heads are small
	return frame
}
