package log

import (
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/telemetry/queue"
)

const (
	// queueBytes is how many bytes may wait to be written, queueLines how many lines.
	queueBytes = 512 << 10
	queueLines = queueBytes / 64
	// keptBytes is the capacity in bytes above which the buffer is not reused.
	keptBytes = 64 << 10
)

// writer writes lines on a goroutine of its own, in order. Adding a line does not block.
type writer struct {
	output  io.Writer
	lost    func(count uint64) []byte
	queue   *queue.Queue[[]byte]
	dropped atomic.Uint64
	closed  atomic.Bool
	once    sync.Once
	closing chan struct{}
	done    chan struct{}
	// torn says that the output took only a part of the last line.
	torn bool
}

// newWriter returns a writer that works until it is closed. lost formats the line that reports how many lines were
// dropped.
func newWriter(output io.Writer, lost func(count uint64) []byte) *writer {
	w := &writer{
		output: output, lost: lost, closing: make(chan struct{}), done: make(chan struct{}),
		queue: queue.New[[]byte](queue.Limits{Nodes: queueLines, Bytes: queueBytes, Full: queueBytes}),
	}
	go w.run()
	return w
}

// add queues a line, or drops and counts it.
func (w *writer) add(line []byte) {
	node := w.queue.Take()
	node.Value = line
	if w.closed.Load() || !w.queue.Push(node, len(line)) {
		w.dropped.Add(1)
	}
}

// run writes until the writer is closed and the queue is empty.
func (w *writer) run() {
	defer close(w.done)
	var batch []*queue.Node[[]byte]
	var text []byte
	var reported uint64
	for last := false; !last; {
		select {
		case <-w.queue.Begun():
		case <-w.closing:
			last = true
		}
		batch = w.queue.Drain(batch[:0])
		for _, node := range batch {
			text = append(text, node.Value...)
			node.Value = nil
			w.queue.Recycle(node)
		}
		if len(batch) > 0 && !w.write(text) {
			w.dropped.Add(uint64(len(batch)))
		} else if now := w.dropped.Load(); now > reported && w.write(w.lost(now-reported)) {
			reported = now
		}
		if text = text[:0]; cap(text) > keptBytes {
			text = nil
		}
	}
}

// write writes text, and reports whether all of it was taken. A line of which only a part was taken is ended before the
// next.
func (w *writer) write(text []byte) bool {
	if w.torn {
		if _, err := w.output.Write([]byte("\n")); err != nil {
			return false
		}
		w.torn = false
	}
	n, err := w.output.Write(text)
	if n > 0 && n < len(text) {
		w.torn = text[n-1] != '\n'
	}
	return err == nil
}

// close has the rest written and reports whether it was taken within the given time.
func (w *writer) close(within time.Duration) bool {
	w.closed.Store(true)
	w.once.Do(func() { close(w.closing) })
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-w.done:
		return true
	case <-timer.C:
		return false
	}
}
