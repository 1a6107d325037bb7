package harness

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
)

// Log collects the output of a process. It may be read while the process runs.
type Log struct {
	mutex   sync.Mutex
	text    bytes.Buffer
	changed chan struct{} // closed at the next write
}

func newLog() *Log { return &Log{changed: make(chan struct{})} }

func (l *Log) Write(p []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	close(l.changed)
	l.changed = make(chan struct{})
	return l.text.Write(p)
}

// String returns everything that was written so far.
func (l *Log) String() string {
	text, _ := l.read()
	return text
}

func (l *Log) read() (string, <-chan struct{}) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.String(), l.changed
}

// Wait waits for a line that contains all of the words, and returns it. It fails if ctx ends first.
func (l *Log) Wait(ctx context.Context, words ...string) (string, error) {
	for {
		text, changed := l.read()
		for line := range strings.Lines(text) {
			if strings.HasSuffix(line, "\n") && containsAll(line, words) {
				return strings.TrimSuffix(line, "\n"), nil
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return "", fmt.Errorf("no line of the log holds %q: %w", words, ctx.Err())
		}
	}
}

func containsAll(line string, words []string) bool {
	for _, word := range words {
		if !strings.Contains(line, word) {
			return false
		}
	}
	return true
}
