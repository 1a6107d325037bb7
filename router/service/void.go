package service

import (
	"bytes"
	"net/http"
)

// void is a writer of a response that nobody reads.
type void struct{ header http.Header }

// Header returns a header that nobody reads.
func (v *void) Header() http.Header { return v.header }

// WriteHeader does nothing.
func (*void) WriteHeader(int) {}

// Write takes everything.
func (*void) Write(p []byte) (int, error) { return len(p), nil }

// WriteString takes everything.
func (*void) WriteString(s string) (int, error) { return len(s), nil }

// Flush does nothing.
func (*void) Flush() {}

// memoryBody is a request body that is in memory.
type memoryBody struct{ bytes.Reader }

func newMemoryBody(data []byte) *memoryBody {
	b := &memoryBody{}
	b.Reset(data)
	return b
}

// ReadNow reads without waiting, as there is nothing to wait for.
func (b *memoryBody) ReadNow(p []byte) (int, error) { return b.Read(p) }

// Close does nothing.
func (*memoryBody) Close() error { return nil }
