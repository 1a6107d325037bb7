package client

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

const (
	// eventPrefix is how an API server begins the event of a watch in JSON, and objectPrefix what follows the type.
	eventPrefix, objectPrefix = `{"type":"`, `,"object":`
	// eventBuffer is how many bytes of a watch are read at a time.
	eventBuffer = 16 << 10
)

// eventDecoder decodes the events of a watch in JSON. Where one is written as an API server does, its object is taken
// out of it without parsing it, which the decoder of the object does.
type eventDecoder struct{ runtime.Serializer }

// Decode implements runtime.Decoder. The object of an event shares the memory of data.
func (d eventDecoder) Decode(
	data []byte, defaults *schema.GroupVersionKind, into runtime.Object,
) (runtime.Object, *schema.GroupVersionKind, error) {
	if event, ok := into.(*metav1.WatchEvent); ok {
		kind, rest, found := leadingMember(data, eventPrefix)
		object, framed := bytes.CutPrefix(rest, []byte(objectPrefix))
		object, closed := bytes.CutSuffix(object, []byte("}"))
		if found && framed && closed && hasObject(watch.EventType(kind)) {
			event.Type, event.Object.Raw = kind, object
			return event, &schema.GroupVersionKind{}, nil
		}
	}
	return d.Serializer.Decode(data, defaults, into)
}

// hasObject reports whether events of a type have an object of the watched resource.
func hasObject(kind watch.EventType) bool {
	return kind == watch.Added || kind == watch.Modified || kind == watch.Deleted || kind == watch.Bookmark
}

// eventFramer divides a watch in JSON into events.
type eventFramer struct{ runtime.Framer }

// NewFrameReader implements runtime.Framer.
func (f eventFramer) NewFrameReader(stream io.ReadCloser) io.ReadCloser {
	return &eventReader{Closer: stream, framer: f.Framer, stream: bufio.NewReaderSize(stream, eventBuffer)}
}

// eventReader reads one event at a time, each of which an API server writes on a line of its own, with the type first.
// A stream that begins otherwise is parsed; only the beginning is examined.
type eventReader struct {
	io.Closer

	framer runtime.Framer
	stream *bufio.Reader
	// parsed reads a stream that is parsed; begun says that the beginning of the stream was looked at.
	parsed io.Reader
	begun  bool
	// rest is what was read of the current line and is not returned yet; more says that the line goes on after it.
	rest []byte
	more bool
}

// Read reads an event. The error is io.ErrShortBuffer where there is no room for all of it, and the next call goes on.
func (r *eventReader) Read(data []byte) (int, error) {
	if !r.begun {
		r.begun = true
		begin, err := r.stream.Peek(len(eventPrefix))
		if string(begin) != eventPrefix && (err == nil || len(begin) > 0) {
			r.parsed = r.framer.NewFrameReader(struct {
				io.Reader
				io.Closer
			}{r.stream, r.Closer})
		}
	}
	if r.parsed != nil {
		return r.parsed.Read(data)
	}
	if len(r.rest) == 0 && !r.more {
		if err := r.line(); err != nil {
			return 0, err
		}
	}
	for n := 0; ; {
		copied := copy(data[n:], r.rest)
		n, r.rest = n+copied, r.rest[copied:]
		switch {
		case len(r.rest) == 0 && !r.more:
			return n, nil
		case n == len(data):
			return n, io.ErrShortBuffer
		}
		if err := r.line(); err != nil {
			return 0, err
		}
	}
}

// line reads the next part of a line that is not empty.
func (r *eventReader) line() error {
	for {
		part, err := r.stream.ReadSlice('\n')
		switch {
		case err == nil || errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(part) == 0 && !r.more:
			return io.EOF
		case errors.Is(err, io.EOF) && !r.more && json.Valid(part):
		case errors.Is(err, io.EOF):
			return io.ErrUnexpectedEOF
		default:
			return err
		}
		inside := r.more
		r.more = errors.Is(err, bufio.ErrBufferFull)
		if part = bytes.TrimRight(part, "\r\n"); len(part) > 0 || inside && !r.more {
			r.rest = part
			return nil
		}
	}
}
