package telemetry

import (
	"io"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// logQueueBytes is how many bytes may wait to be written.
	logQueueBytes = 512 << 10
	// logQueueKept is the capacity in bytes above which the buffer is not reused.
	logQueueKept = 64 << 10
)

// logQueue writes lines on a goroutine of its own, in order. Adding a line does not block.
type logQueue struct {
	output  io.Writer
	lost    func(count uint64) []byte
	dropped atomic.Uint64
	wake    chan struct{}
	done    chan struct{}

	mu      sync.Mutex
	closed  bool
	pending []byte
	lines   uint64
}

// newLogQueue returns a queue that writes until it is closed. lost formats the line that reports how many lines
// were dropped.
func newLogQueue(output io.Writer, lost func(count uint64) []byte) *logQueue {
	q := &logQueue{output: output, lost: lost, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go q.run()
	return q
}

// add queues a line, or drops and counts it.
func (q *logQueue) add(line []byte) {
	q.mu.Lock()
	fits := !q.closed && len(q.pending)+len(line) <= logQueueBytes
	if fits {
		q.pending = append(q.pending, line...)
		q.lines++
	}
	q.mu.Unlock()
	if !fits {
		q.dropped.Add(1)
		return
	}
	select {
	case q.wake <- struct{}{}:
	default: // The writer has been woken already, and takes everything.
	}
}

// take returns what is queued, how many lines it is, and whether nothing follows.
func (q *logQueue) take(spare []byte) (text []byte, lines uint64, last bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	text, lines, last = q.pending, q.lines, q.closed
	q.pending, q.lines = spare[:0], 0
	return text, lines, last
}

// run writes until the queue is closed and empty.
func (q *logQueue) run() {
	defer close(q.done)
	var spare, text []byte
	var reported uint64
	var torn, last bool
	for !last {
		<-q.wake
		var lines uint64
		text, lines, last = q.take(spare)
		if lines > 0 && !q.write(text, &torn) {
			q.dropped.Add(lines)
		} else if now := q.dropped.Load(); now > reported && q.write(q.lost(now-reported), &torn) {
			reported = now
		}
		if spare = text; cap(spare) > logQueueKept {
			spare = nil
		}
	}
}

// write writes text, and reports whether all of it was taken. A line of which only a part was taken is ended
// before the next.
func (q *logQueue) write(text []byte, torn *bool) bool {
	if *torn {
		if _, err := q.output.Write([]byte("\n")); err != nil {
			return false
		}
		*torn = false
	}
	n, err := q.output.Write(text)
	if n > 0 && n < len(text) {
		*torn = text[n-1] != '\n'
	}
	return err == nil
}

// close has the rest written and reports whether it was taken within the given time.
func (q *logQueue) close(within time.Duration) bool {
	q.mu.Lock()
	again := q.closed
	q.closed = true
	q.mu.Unlock()
	if !again {
		select {
		case q.wake <- struct{}{}:
		default:
		}
	}
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-q.done:
		return true
	case <-timer.C:
		return false
	}
}
