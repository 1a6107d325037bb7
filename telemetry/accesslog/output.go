package accesslog

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/telemetry/queue"
)

const (
	// pause is how long lines gather before they are written: with what writing takes, a line is there within 250 ms.
	pause = 200 * time.Millisecond
	// block is how many bytes are written at once, and how many that wait end the pause. Waking the writer and
	// waiting for the system cost as much as several dozen lines, so that a block holds hundreds.
	block = 512 << 10
	// lineRoom is how many bytes may wait for each line that may, on average, and largestKept how large a
	// line's memory is that is kept.
	lineRoom, largestKept = 1 << 10, 8 << 10
	// unmade is how many lines may wait that are still to be made of their requests: twice what is written at
	// once. While the writer is writing, and may block, they are fewer.
	unmade, unmadeBehind = 2 * block / lineRoom, 128
	// grace is how long what waits is written after the end.
	grace = time.Second
	// quiet is how long nothing must have been dropped before the end of the drops is logged.
	quiet = 5 * time.Second
)

// destination is where lines go in the end. Its methods are called by one goroutine, but for abandon.
type destination interface {
	// deliver writes lines, and returns how many were not written and why. It may block until ctx ends, or longer.
	deliver(ctx context.Context, lines []*queue.Node[line], appendLine lineAppender) (lost int, err error)
	// reopen turns to the file that has the name now.
	reopen() error
	// close ends it after the last line. abandon ends it while deliver blocks.
	close(ctx context.Context) error
	abandon()
}

// lineAppender appends what is to be written of a line to b.
type lineAppender func(b []byte, l *line) []byte

// output carries lines from requests to one destination.
type output struct {
	destination destination
	encoder     *encoder
	name        string
	// collector is set when lines are for a collector.
	collector bool
	logger    telemetry.Logger
	queue     *queue.Queue[line]
	reopened  chan struct{}
	// dropped counts lines. troubled is set when drops have been logged, or are about to be.
	dropped  atomic.Uint64
	troubled atomic.Bool
	trouble  chan struct{}
	// deliveries counts blocks of lines that were written whole, held the lines that are being written; cause
	// is why the last failed.
	deliveries atomic.Uint64
	held       atomic.Int64
	cause      atomic.Pointer[error]
}

func newOutput(destination destination, encoder *encoder, lines int64, logger telemetry.Logger) *output {
	o := &output{
		destination: destination, encoder: encoder, logger: logger, reopened: make(chan struct{}, 1),
		trouble: make(chan struct{}, 1),
		queue: queue.New[line](queue.Limits{
			Nodes: lines, Bytes: max(lines, block/lineRoom) * lineRoom, Full: min(block, max(1, lines/2)*lineRoom),
		}),
	}
	switch destination := destination.(type) {
	case *collector:
		o.name, o.collector = "accessLog.otlp", true
	case *file:
		o.name = destination.name
	}
	return o
}

// leave leaves a line to be written, or drops it. As long as few wait, the writer makes the lines: one after
// the other they cost less than between two requests, whose code and memory push those of a line out of the
// caches. When it does not keep up they are made here, so that what waits is as large as it counts for: the
// texts of a record may be parts of a head that is far larger.
func (o *output) leave(r request) {
	node := o.queue.Take()
	size := lineRoom
	if o.encoder.headers.any() || o.queue.Waiting() >= o.mayWait() {
		o.encoder.encode(&node.Value, r, o.collector)
		size = cap(node.Value.text)
	} else {
		node.Value.keep(r)
	}
	if !o.queue.Push(node, size) {
		o.recycle(node)
		o.drop(1)
	}
}

// mayWait returns how many lines may wait that are still to be made.
func (o *output) mayWait() int64 {
	if o.held.Load() > 0 {
		return unmadeBehind
	}
	return unmade
}

// appendLine appends a line that is to be made, or that is made already.
func (o *output) appendLine(b []byte, l *line) []byte {
	if l.record == nil {
		return append(b, l.text...)
	}
	return o.encoder.appendLine(b, l, o.collector)
}

func (o *output) recycle(node *queue.Node[line]) {
	node.Value.forget()
	if cap(node.Value.text) > largestKept {
		node.Value.text = nil
	}
	o.queue.Recycle(node)
}

func (o *output) drop(lines int) {
	o.dropped.Add(uint64(lines))
	if !o.troubled.Load() && o.troubled.CompareAndSwap(false, true) {
		signal(o.trouble)
	}
}

func signal(to chan<- struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// run writes until ctx ends. The goroutine that writes may block; this one does not.
func (o *output) run(ctx context.Context) error {
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		o.write(ctx, work)
	}()
	o.watch(ctx)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-done:
		return nil
	case <-timer.C:
	}
	stop()
	lost := o.queue.Waiting() + o.held.Load()
	o.dropped.Add(uint64(max(lost, 0)))
	o.destination.abandon()
	if lost <= 0 {
		return nil
	}
	return fmt.Errorf("access log %s: %d lines could not be written within %s", o.name, lost, grace)
}

// write writes what gathers until ctx ends, and then what is left.
func (o *output) write(ctx, work context.Context) {
	defer o.finish(work)
	var batch []*queue.Node[line]
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for busy := false; ctx.Err() == nil; {
		// After lines have come, more are expected: the writer polls and is not woken for the first of them.
		begun, due := o.queue.Begun(), timer.C
		if busy {
			begun = nil
			timer.Reset(pause)
		} else {
			due = nil
		}
		select {
		case <-ctx.Done():
		case <-o.reopened:
			o.reopen()
			continue
		case <-begun:
			busy = true
			continue
		case <-o.queue.Full():
		case <-due:
		}
		batch = o.deliver(work, batch)
		busy = len(batch) > 0
	}
	o.deliver(work, batch)
}

func (o *output) reopen() {
	if err := o.destination.reopen(); err != nil {
		o.logger.Error("the access log cannot be opened anew, and goes on where it was", "output", o.name, "error", err)
	}
}

func (o *output) finish(work context.Context) {
	if err := o.destination.close(work); err != nil && work.Err() == nil {
		o.logger.Error("the access log cannot be closed", "output", o.name, "error", err)
	}
}

// deliver writes everything that waits, and returns the memory of the batch.
func (o *output) deliver(work context.Context, batch []*queue.Node[line]) []*queue.Node[line] {
	if work.Err() != nil {
		return nil
	}
	batch = o.queue.Drain(batch[:0])
	if len(batch) == 0 {
		return batch
	}
	o.held.Store(int64(len(batch)))
	lost, err := o.destination.deliver(work, batch, o.appendLine)
	o.held.Store(0)
	if work.Err() != nil {
		return nil // What was held has been counted.
	}
	for _, node := range batch {
		o.recycle(node)
	}
	clear(batch)
	if err != nil {
		o.cause.Store(&err)
		o.drop(lost)
		return batch
	}
	o.cause.Store(nil)
	o.deliveries.Add(1)
	return batch
}
