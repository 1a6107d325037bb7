package compress

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Names of encodings in Accept-Encoding.
const (
	gzipKind = iota
	brotliKind
	zstdKind
	codings
)

const (
	// defaultMinimum is the default of minResponseBodyBytes.
	defaultMinimum = 1 << 10
	// holdBytes is the maximum that is held of a body of unknown length; a longer one is compressed.
	holdBytes = 1 << 20
	// outputBytes is the size of writes to the server.
	outputBytes = 16 << 10
	// gzipLevel, brotliQuality and zstdLevel are Traefik's.
	gzipLevel     = gzip.DefaultCompression
	brotliQuality = 6
	zstdLevel     = zstd.SpeedDefault
	// brotliWindow (as a power of two) and zstdWindow, in bytes, determine most of an encoder's memory.
	brotliWindow = 18
	zstdWindow   = 256 << 10
)

// encoder is the common interface of the libraries.
type encoder interface {
	io.WriteCloser
	Flush() error
	Reset(destination io.Writer)
}

// coding is one encoding with its pool of streams.
type coding struct {
	kind int
	name string
	// header is the value of Content-Encoding. It is not modified.
	header []string
	idle   sync.Pool
}

// kindOf returns -1 for an unsupported encoding.
func kindOf(name string) int {
	switch len(name) {
	case len("br"):
		if strings.EqualFold(name, "br") {
			return brotliKind
		}
	case len("gzip"):
		if strings.EqualFold(name, "gzip") {
			return gzipKind
		}
		if strings.EqualFold(name, "zstd") {
			return zstdKind
		}
	case len("x-gzip"):
		// RFC 9110, section 8.4.1.3.
		if strings.EqualFold(name, "x-gzip") {
			return gzipKind
		}
	}
	return -1
}

// setCodings validates the encodings. Of duplicates the first counts.
func (c *Compress) setCodings(names []string, fallback string) error {
	if len(names) == 0 {
		return errors.New("compress.encodings is empty; list some of gzip, br and zstd")
	}
	for _, name := range names {
		if !slices.Contains([]string{"gzip", "br", "zstd"}, name) {
			return fmt.Errorf("compress.encodings: %q is none of gzip, br and zstd", name)
		}
		if slices.ContainsFunc(c.codings, func(known *coding) bool { return known.name == name }) {
			continue
		}
		made := &coding{kind: kindOf(name), name: name, header: []string{name}}
		c.codings = append(c.codings, made)
		if name == fallback {
			c.fallback = made
		}
	}
	if fallback != "" && c.fallback == nil {
		return fmt.Errorf("compress.defaultEncoding %q is not among compress.encodings (%s)", fallback,
			strings.Join(names, ", "))
	}
	return nil
}

func minimum(configured int) (int64, error) {
	switch {
	case configured < 0:
		return 0, fmt.Errorf("compress.minResponseBodyBytes %d is negative", configured)
	case configured == 0:
		return defaultMinimum, nil
	}
	return int64(configured), nil
}

// stream is an encoder for one response.
type stream struct {
	encoder encoder
	to      io.Writer
	buffer  []byte
	out     uint64
	err     error
}

// begin returns a stream for a response; end takes it back.
func (c *coding) begin(to io.Writer) (*stream, error) {
	s, recycled := c.idle.Get().(*stream)
	if !recycled {
		s = &stream{buffer: make([]byte, 0, outputBytes)}
		var err error
		if s.encoder, err = newEncoder(c.kind); err != nil {
			return nil, err
		}
	}
	s.to = to
	s.encoder.Reset(s)
	return s, nil
}

// end resets the stream. Data in the encoder is lost.
func (c *coding) end(s *stream) {
	s.to, s.buffer, s.out, s.err = nil, s.buffer[:0], 0, nil
	c.idle.Put(s)
}

func newEncoder(kind int) (encoder, error) {
	switch kind {
	case brotliKind:
		return brotli.NewWriterOptions(nil, brotli.WriterOptions{Quality: brotliQuality, LGWin: brotliWindow}), nil
	case zstdKind:
		return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstdLevel), zstd.WithWindowSize(zstdWindow),
			zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true), zstd.WithZeroFrames(true))
	}
	return gzip.NewWriterLevel(nil, gzipLevel)
}

// Write receives the encoder's output.
func (s *stream) Write(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	if len(s.buffer)+len(p) > cap(s.buffer) {
		if err := s.spill(); err != nil {
			return 0, err
		}
	}
	if len(p) >= cap(s.buffer) {
		return s.pass(p)
	}
	s.buffer = append(s.buffer, p...)
	return len(p), nil
}

// pass writes p to the response.
func (s *stream) pass(p []byte) (int, error) {
	n, err := s.to.Write(p)
	s.out += uint64(max(n, 0)) //nolint:gosec // not negative
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	s.err = err
	return n, err
}

// spill writes buffered output to the response.
func (s *stream) spill() error {
	if s.err != nil || len(s.buffer) == 0 {
		return s.err
	}
	_, err := s.pass(s.buffer)
	s.buffer = s.buffer[:0]
	return err
}
