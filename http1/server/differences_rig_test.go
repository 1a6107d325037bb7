package server_test

import (
	"bufio"
	"bytes"
	"io"
	"log"
	"time"
)

// tContext is a context without anything.
type tContext struct{}

func (tContext) Deadline() (time.Time, bool) { return time.Time{}, false }
func (tContext) Done() <-chan struct{}       { return nil }
func (tContext) Err() error                  { return nil }
func (tContext) Value(any) any               { return nil }

func newReader(raw []byte) *bufio.Reader { return bufio.NewReader(bytes.NewReader(raw)) }

func quietLog() *log.Logger { return log.New(io.Discard, "", 0) }

// noAddr is the address of a connection in memory.
type noAddr struct{}

func (noAddr) Network() string { return "tcp" }
func (noAddr) String() string  { return "192.0.2.1:4711" }
