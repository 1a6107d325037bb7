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

// The encodings, as Accept-Encoding names them.
const (
	gzipKind = iota
	brotliKind
	zstdKind
	codings
)

const (
	// defaultMinimum is minResponseBodyBytes where it is not set.
	defaultMinimum = 1 << 10
	// holdBytes is the most that is kept back of a body whose length is not known; a longer one is large enough.
	holdBytes = 1 << 20
	// outputBytes is how much of what an encoder has put out waits for more, so that the server is not given crumbs.
	outputBytes = 16 << 10
	// gzipLevel, brotliQuality and zstdLevel are what Traefik compresses with.
	gzipLevel     = gzip.DefaultCompression
	brotliQuality = 6
	zstdLevel     = zstd.SpeedDefault
	// brotliWindow (as a power of two) and zstdWindow, in bytes, bound the memory of an encoder, which they are the larger
	// part of.
	brotliWindow = 18
	zstdWindow   = 256 << 10
)

// encoder is what the libraries have in common.
type encoder interface {
	io.WriteCloser
	Flush() error
	Reset(destination io.Writer)
}

// coding is one encoding, with the streams that no response uses at the moment.
type coding struct {
	kind int
	name string
	// header is the value of Content-Encoding. Nobody changes it.
	header []string
	idle   sync.Pool
}

// kindOf returns -1 for an encoding that is not made here.
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

// setCodings checks the options about encodings. One that is listed twice has its first place.
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

// stream is an encoder on its way to one response.
type stream struct {
	encoder encoder
	to      io.Writer
	buffer  []byte
	out     uint64
	err     error
}

// begin returns a stream to a response. It is end's before it is another's.
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

// end forgets the response. What is in the encoder then is lost.
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

// Write takes what the encoder has put out.
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

// spill writes what waits to the response.
func (s *stream) spill() error {
	if s.err != nil || len(s.buffer) == 0 {
		return s.err
	}
	_, err := s.pass(s.buffer)
	s.buffer = s.buffer[:0]
	return err
}
