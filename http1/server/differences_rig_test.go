package server

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
